"""KV caches: what holds, what steps, what attends by itself; each wrong one is named, public faults told."""

import numpy as np
import pytest
from cache_styles import Cache, Room, agreed, asked, attend, join, seeds, sizes
from hypothesis import given, settings

from riverhead.checking.rules import implementation
from riverhead.checking.rules.draw import Draw
from riverhead.checking.rules.studies.memory_steps import STEP_WAYS
from riverhead.core import KVCache
from riverhead.errors import InputError


def of(name, **methods):
    return type(name.title().replace("-", ""), (Cache,), methods)


def zeros(x, n=1):
    return np.zeros_like(x[..., :1, :]).repeat(n, -2)


def overwrites(self, old, new):
    old = old.copy()
    old[..., : new.shape[-2], :] = new[..., : old.shape[-2], :]
    return join(old, new[..., old.shape[-2] :, :])


def before(self, k, v):
    was, self.was = getattr(self, "was", (k, v)), (self.k, self.v)
    return was


def hole_for(name):
    """Once for keys, once for values."""

    def more(self, old, new):
        if name in vars(self):
            return join(old, new)
        setattr(self, name, True)
        return join(old, zeros(new), new)

    return more


def twice(self, k, v):
    """Written twice, the first piece, too."""
    k, v = join(k, k), join(v, v)
    self.k, self.v = (k, v) if self.k is None else (join(self.k, k), join(self.v, v))
    return self.k, self.v


def to_first(self, old, new):
    self.room = getattr(self, "room", old.shape[-2])
    return join(old, new)[..., -self.room :, :]


WRONG = {
    "cache-not-appended": of("a", more=lambda self, old, new: new),
    "cache-reads-before-writing": of("b", given=before),
    "cache-frozen": of("c", more=lambda self, old, new: old),
    "cache-appends-twice": of("d", update=twice),
    "cache-appends-twice-later": of("e", more=lambda self, old, new: join(old, new, new)),
    "cache-prepends": of("f", more=lambda self, old, new: join(new, old)),
    "cache-overwrites-first": of("g", more=overwrites),
    "cache-overwrites-last": of("h", more=lambda self, old, new: join(old[..., :-1, :], new)),
    "cache-drops-oldest": of("i", more=to_first),
    "cache-hole": of("j", more=hole_for("once"), more_v=hole_for("once_v")),
    "cache-hole-each": of("k", more=lambda self, old, new: join(old, zeros(new), new)),
    "cache-keys-only": of("l", more_v=lambda self, old, new: join(old, 0 * new)),
    "cache-values-only": of("m", more=lambda self, old, new: join(old, 0 * new),
                            more_v=lambda self, old, new: join(old, new)),
    "cache-values-late": of("n", given=lambda self, k, v:
                            (self.k, join(self.v[..., : -v.shape[-2], :], 0 * v))),
    "cache-values-are-keys": of("o", given=lambda self, k, v: (self.k, self.k)),
    "cache-values-frozen": of("p", more_v=lambda self, old, new: join(old, old[..., : new.shape[-2], :])),
    "cache-concat-wrong-axis": of("q", more=lambda self, old, new: join(old, new, axis=-1)),
}  # fmt: skip


def stepping(held):
    """A step with a cache of that kind inside."""

    def step(q, k, v, cache=None):
        cache = cache or held()
        return attend(q, *cache.update(k, v)), cache

    return step


def test_every_way_has_a_class_here():
    elsewhere = {"cache-concat-heads", "cache-concat-batch", *PIECES}
    assert {way.id for way in STEP_WAYS} == {*WRONG, *elsewhere}


@pytest.mark.parametrize("name", WRONG)
@given(sizes=sizes, seed=seeds)
@settings(max_examples=2, deadline=None)
def test_each_wrong_cache_is_named_and_nothing_else(name, sizes, seed):
    report = asked(WRONG[name], sizes, seed)
    assert report.mistakes == (name,)
    assert len(report.failed) == 1


# The order of keys that each query sees shows in a piece of tokens; an overwritten slot after a prompt.
@pytest.mark.parametrize("name", [name for name in WRONG if "axis" not in name])
@given(sizes=sizes, seed=seeds)
@settings(max_examples=2, deadline=None)
def test_a_step_with_such_a_cache_is_named_alike(name, sizes, seed):
    report = asked(stepping(WRONG[name]), sizes, seed)
    assert report.mistakes == (name,)
    assert len(report.failed) == 1


def prompt_masked(mask):
    """A right cache, and a step whose causal mask is made in another way."""

    def step(q, k, v, cache=None):
        cache = cache or Cache()
        k, v = cache.update(k, v)
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
        scores = np.where(mask(*scores.shape[-2:]), scores, -np.inf)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        return weights / weights.sum(-1, keepdims=True) @ v, cache

    return step


PIECES = {
    "cache-piece-unmasked": lambda T_q, T_k: np.ones((T_q, T_k), bool),
    "cache-mask-from-start": lambda T_q, T_k: np.tri(T_q, T_k, T_k if T_q == 1 else 0, bool),
    "cache-mask-own": lambda T_q, T_k: np.tril(np.ones((T_q, T_k), bool)),
}  # fmt: skip


@pytest.mark.parametrize("name", PIECES)
def test_the_mask_of_a_piece_starts_behind_what_is_held(name):
    (failure,) = asked(prompt_masked(PIECES[name])).failed
    assert (failure.rule, failure.mistake) == ("cache-pieces", name)
    assert "cache-pieces" in asked(prompt_masked(lambda T_q, T_k: np.tri(T_q, T_k, T_k - T_q, bool))).passed


class Whole(Room):
    def given(self):
        return self.k, self.v


def test_a_slot_that_was_never_written_is_read_by_a_step_and_reported_of_a_store():  # CACHE-2
    assert not asked(Room).failed

    report = asked(Whole)
    assert not report.failed
    assert agreed(report)["room"] == "whole"
    (failure,) = asked(Whole, expect={"room": "cut"}).failed
    assert (failure.rule, failure.mistake) == ("cache-slots", "cache-unwritten-read")

    def step(q, k, v, cache=None):
        cache = cache or Whole(*k.shape[:2], 16, k.shape[-1])
        k, v = cache.update(k, v)
        return attend(q, k, v, causal=False), cache

    def one_key_and_an_empty_slot():
        return attend(np.zeros((1, 1)), np.array([[1.0], [0]]), np.array([[1.0], [0]]), causal=False)

    assert one_key_and_an_empty_slot() == 0.5
    report = asked(step)
    assert "cache-unwritten-read" in report.mistakes


def test_the_first_token_after_nine_goes_to_slot_nine():  # CACHE-1
    assert WRONG["cache-hole"]().update(np.ones((9, 1)), np.ones((9, 1)))[0].shape == (9, 1)
    cache = WRONG["cache-hole"]()
    cache.update(np.ones((9, 1)), np.ones((9, 1)))
    keys, _ = cache.update(np.ones((1, 1)), np.ones((1, 1)))
    assert keys[:, 0].tolist() == [1] * 9 + [0, 1]  # slot 9 is a hole, the token is at 10
    (failure,) = asked(WRONG["cache-hole"]).failed
    assert (failure.rule, failure.mistake) == ("cache-slots", "cache-hole")


def test_three_steps_give_the_public_rows():  # CACHE-3
    def rows(step):
        cache, found = None, []
        for t in range(3):
            out, cache = step(np.zeros((1, 3)), np.zeros((1, 3)), np.eye(3)[t : t + 1], cache)
            found.append(out[0].tolist())
        return np.array(found)

    third = 1 / 3
    np.testing.assert_allclose(rows(stepping(Cache)), [[1, 0, 0], [0.5, 0.5, 0], [third] * 3])
    np.testing.assert_allclose(rows(stepping(WRONG["cache-not-appended"])), np.eye(3))
    late = rows(stepping(WRONG["cache-values-late"]))
    np.testing.assert_allclose(late, [[0, 0, 0], [0.5, 0, 0], [third, third, 0]])


def test_the_wrong_cell_is_the_first_that_differs():
    (failure,) = asked(WRONG["cache-prepends"]).failed
    k = Draw().numbers("k", 2, 6, 5, 4)
    assert (failure.array, failure.cell) == ("keys", (0, 0, 0, 0))
    assert (failure.found, failure.right) == (k[0, 0, 1, 0], k[0, 0, 0, 0])
    assert failure.detail == "tokens came 1, 1, 1, 1, 1 at a time; after step 1"


# ---------------------------------------------------------------- forms


def appended(past, k, v):
    return (k, v) if past is None else (join(past[0], k), join(past[1], v))


def by_axis_0(past, k, v):
    return (k, v) if past is None else (join(past[0], k, axis=0), join(past[1], v, axis=0))


def by_axis_1(past, k, v):
    return (k, v) if past is None else (join(past[0], k, axis=1), join(past[1], v, axis=1))


def of_lists(q, k, v, cache):
    """One token, a vector; the cache is a list to which it is added."""
    cache.append((k, v))
    keys, values = (np.array(each) for each in zip(*cache, strict=True))
    return attend(q[None], keys, values)[0]


def of_dict(cache, k, v):
    """A dict that is written to."""
    cache["k"], cache["v"] = appended((cache["k"], cache["v"]) if cache else None, k, v)
    return cache["k"], cache["v"]


def of_new_dict(past, k, v):
    """A dict that is made anew."""
    return dict(zip("kv", appended((past["k"], past["v"]) if past else None, k, v), strict=True))


def of_new_object(past, k, v):
    """An object that is made anew."""
    new = Cache()
    new.k, new.v = appended((past.k, past.v) if past else None, k, v)
    return new


class Attends:
    """An object that is given q, k, v and keeps k and v itself."""

    def __init__(self):
        self.held = Cache()

    def step(self, q, k, v):
        return attend(q, *self.held.update(k, v))


def returns_nothing():
    class Silent(Cache):
        def append(self, keys, values):
            super().update(keys, values)

        update = None

    return Silent


FORMS = {
    "a tuple": (appended, "BHTd"),
    "tokens in the first axis": (by_axis_0, "Td"),
    "tokens before heads": (by_axis_1, "BTHd"),
    "a list of vectors": (of_lists, "d"),
    "a dict that is written to": (of_dict, "BHTd"),
    "a dict made anew": (of_new_dict, "BHTd"),
    "an object made anew": (of_new_object, "BHTd"),
    "an object that attends": (Attends, "BHTd"),
    "an instance": (Attends(), "BHTd"),
    "a method that returns nothing": (returns_nothing(), "BHTd"),
    "a step": (stepping(Cache), "BHTd"),
}


@pytest.mark.parametrize("form", FORMS)
def test_right_forms_pass_untouched(form):
    thing, layout = FORMS[form]
    report = asked(thing)
    assert not report.failed
    assert agreed(report)["layout"] == layout


def test_the_axis_of_the_heads_is_a_mistake_only_where_the_layout_is_asked_for():
    (failure,) = asked(by_axis_1, expect={"layout": "BHTd"}).failed
    assert (failure.rule, failure.mistake) == ("cache-axis", "cache-concat-heads")


def test_an_unknown_wrong_cache_is_told_without_a_name():
    (failure,) = asked(of("z", given=lambda self, k, v: (self.k, self.v * 1.5))).failed
    assert (failure.rule, failure.mistake, failure.array) == ("cache-step", "", "values")


class Module:
    """x (B, T, d_model) and what came before; one head in NumPy."""

    def __init__(self, kept=lambda past, k, v: (join(past[0], k), join(past[1], v))):
        self.W_q, self.W_k, self.W_v = Draw().numbers("W", 3, 7, 7)
        self.kept = kept

    def forward(self, x, past=None):
        k, v = x @ self.W_k, x @ self.W_v
        k, v = (k, v) if past is None else self.kept(past, k, v)
        return attend(x @ self.W_q, k, v), (k, v)

    __call__ = forward


def test_a_module_that_takes_its_cache_back_gives_the_rows_of_a_full_pass():
    report = asked(Module())
    assert not report.failed
    assert "cache-step" in report.passed
    (failure,) = asked(Module(lambda past, k, v: (k, v))).failed
    assert (failure.rule, failure.mistake) == ("cache-step", "cache-not-appended")
    (failure,) = asked(Module(lambda past, k, v: (join(past[0], k), join(past[1], v * 0)))).failed
    assert (failure.rule, failure.mistake) == ("cache-step", "")


def test_riverheads_own_passes_from_outside():
    report = implementation(KVCache, isolated=False)
    assert (report.kind, report.failed) == ("cache", ())
    assert {"cache-window", "cache-count", "cache-stable"} <= set(report.passed)


def made_by_hand(cache, k, v):
    """A function that is handed a cache which somebody else made."""
    return cache.update(k, v)


def test_a_cache_that_a_function_is_handed_is_made_by_what_is_named():
    for maker in (Cache, "Cache"):
        assert not asked(made_by_hand, cache=maker).failed
    with pytest.raises(InputError, match="nothing of that name"):
        asked(made_by_hand, cache="Cash")
    with pytest.raises(InputError, match="could not be given tokens"):
        asked(made_by_hand)


def test_what_is_no_cache_is_refused_with_what_it_takes():
    with pytest.raises(InputError, match="takes k; a cache takes k and v"):
        asked(lambda k: k)
