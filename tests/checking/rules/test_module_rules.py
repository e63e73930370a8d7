"""Modules of several heads: right ones hold every rule, each wrong one is named, conventions are reported."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from riverhead.checking.rules import implementation
from riverhead.checking.rules.call import Call, Outcome
from riverhead.checking.rules.draw import Draw
from riverhead.checking.rules.judge import differ
from riverhead.checking.rules.pipeline import follow
from riverhead.checking.rules.studies.module import MODULE
from riverhead.checking.rules.studies.module_steps import HEADS
from riverhead.checking.rules.studies.module_values import calls, cross_calls
from riverhead.checking.rules.studies.module_ways import AGREED, CONTEXT, PACKED, STORED, WAYS
from riverhead.checking.rules.trial import Trial
from riverhead.core.heads import MultiHead
from riverhead.core.positions import rope, sinusoidal


def soft(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def cut(x, n):
    return np.stack(np.split(x, n, axis=-1), axis=-3)  # (B, H, T, d)


def together(heads):
    return np.concatenate(list(np.moveaxis(heads, -3, 0)), axis=-1)


def attend(q, k, v, scale=None):
    return soft(q @ np.swapaxes(k, -1, -2) / np.sqrt(scale or q.shape[-1])) @ v


def right(x, W_q, W_k, W_v, W_o, n_heads):
    return together(attend(*(cut(x @ W, n_heads) for W in (W_q, W_k, W_v)))) @ W_o


def by_projections(q, k, v):
    """A module whose queries, keys and values are made as told."""

    def module(x, W_q, W_k, W_v, W_o, n_heads):
        W = {"q": W_q, "k": W_k, "v": W_v}
        return right(x, W[q], W[k], W[v], W_o, n_heads)

    return module


def around(
    split=cut, merge=together, before=lambda x: x, after=lambda y, x: y, scale=lambda d_model, n: None
):
    """A module that does one thing around its heads otherwise."""

    def module(x, W_q, W_k, W_v, W_o, n_heads):
        given = before(x)
        q, k, v = (split(given @ W, n_heads) for W in (W_q, W_k, W_v))
        y = merge(attend(q, k, v, scale(x.shape[-1], n_heads))) @ W_o
        return after(y, x)

    return module


def every(x, n):
    return np.stack([x[..., h::n] for h in range(n)], axis=-3)


def in_turn(heads):
    *batch, H, T, d = heads.shape
    found = np.empty((*batch, T, H * d))
    for h in range(H):
        found[..., h::H] = heads[..., h, :, :]
    return found


def whole_tokens(x, n):
    return x.reshape(*x.shape[:-2], n, x.shape[-2], -1)


def numbers_in_a_row(heads):
    *batch, H, T, d = heads.shape
    return heads.reshape(*batch, T, H * d)


def heads_before_samples(heads):
    B, H, T, d = heads.shape
    return np.moveaxis(heads.reshape(H, B, T, d), 0, 2).reshape(B, T, H * d)


def repeated(heads, of):
    return np.concatenate([of(heads)] * heads.shape[-3], axis=-1)


def chained(x, W_q, W_k, W_v, W_o, n_heads):
    q = x @ W_q
    k = q @ W_k
    return together(attend(*(cut(y, n_heads) for y in (q, k, k @ W_v)))) @ W_o


def keys_of_queries(x, W_q, W_k, W_v, W_o, n_heads):
    q = x @ W_q
    return together(attend(*(cut(y, n_heads) for y in (q, q @ W_k, q @ W_v)))) @ W_o


WRONG = [
    ("merge-without-transposing", "heads-merged", around(merge=numbers_in_a_row)),
    ("split-wrong-axis", "heads-cut", around(split=whole_tokens)),
    ("heads-interleaved", "heads-columns", around(split=every)),
    ("heads-interleaved", "heads-columns", around(merge=in_turn)),
    ("heads-interleaved", "heads-columns", around(split=every, merge=in_turn)),
    ("heads-averaged", "heads-merged", around(merge=lambda x: repeated(x, lambda x: x.mean(-3)))),
    ("heads-summed", "heads-merged", around(merge=lambda x: repeated(x, lambda x: x.sum(-3)))),
    ("heads-and-samples-mixed", "heads-merged", around(merge=heads_before_samples)),
    ("first-head-only", "heads", around(merge=lambda x: repeated(x, lambda x: x[..., 0, :, :]))),
    ("one-wide-head", "heads", lambda x, W_q, W_k, W_v, W_o, n_heads: right(x, W_q, W_k, W_v, W_o, 1)),
    ("scale-by-d_model", "scale", around(scale=lambda d_model, n: d_model)),
    ("no-scale", "scale", around(scale=lambda d_model, n: 1)),
    ("residual-added", "residual", around(after=lambda y, x: y + x)),
    ("samples-see-each-other", "samples",
     around(before=lambda x: x.swapaxes(0, 1), after=lambda y, x: y.swapaxes(0, 1))),
    ("samples-see-each-other", "samples",
     around(before=lambda x: x.reshape(x.shape[1], x.shape[0], -1), after=lambda y, x: y.reshape(x.shape))),
    ("samples-see-each-other", "samples",
     around(before=lambda x: x.reshape(-1, x.shape[-1]), after=lambda y, x: y.reshape(x.shape))),
    ("W_o-missing", "output-projection",
     lambda x, W_q, W_k, W_v, W_o, n_heads: right(x, W_q, W_k, W_v, np.eye(len(W_o)), n_heads)),
    ("W_o-transposed", "output-projection",
     lambda x, W_q, W_k, W_v, W_o, n_heads: right(x, W_q, W_k, W_v, W_o.T, n_heads)),
    ("W-transposed", "projections",
     lambda x, W_q, W_k, W_v, W_o, n_heads: right(x, W_q.T, W_k.T, W_v.T, W_o, n_heads)),
    ("W-transposed", "projections",
     lambda x, W_q, W_k, W_v, W_o, n_heads: right(x, W_q, W_k.T, W_v, W_o, n_heads)),
    ("k-projection-for-values", "projections", by_projections("q", "k", "k")),
    ("q-projection-for-values", "projections", by_projections("q", "k", "q")),
    ("q-projection-for-keys", "projections", by_projections("q", "q", "v")),
    ("v-projection-for-keys", "projections", by_projections("q", "v", "v")),
    ("k-projection-for-queries", "projections", by_projections("k", "k", "v")),
    ("v-projection-for-queries", "projections", by_projections("v", "k", "v")),
    ("one-projection-for-all", "projections", by_projections("q", "q", "q")),
    ("one-projection-for-all", "projections", by_projections("k", "k", "k")),
    ("projections-swapped", "projections", by_projections("q", "v", "k")),
    ("projections-swapped", "projections", by_projections("v", "q", "k")),
    ("projections-unused", "projections",
     lambda x, W_q, W_k, W_v, W_o, n_heads: together(attend(*[cut(x, n_heads)] * 3)) @ W_o),
    ("query-is-overwritten", "projections", chained),
    ("query-is-overwritten", "projections", keys_of_queries),
]  # fmt: skip

sizes = st.fixed_dictionaries(
    {"n_heads": st.sampled_from([3, 4, 6]), "d_k": st.sampled_from([2, 4, 8])}
).filter(lambda s: s["n_heads"] != s["d_k"])
seeds = st.integers(0, 10_000)


def asked(f, seed=0, expect=None, **arguments):
    return implementation(f, kind="heads", isolated=False, seed=seed, expect=expect, arguments=arguments)


@given(sizes, seeds)
@settings(max_examples=3, deadline=None)
def test_a_right_module_holds_every_rule(sizes, seed):
    report = asked(right, seed, **sizes)
    assert report.failed == report.not_judged == ()
    assert {"definition", "scale", "projections", "heads-cut", "heads-merged", "samples"} <= {*report.passed}


@pytest.mark.parametrize(("id", "rule", "f"), WRONG)
@given(sizes=sizes, seed=seeds)
@settings(max_examples=1, deadline=None, phases=[Phase.generate])  # a few sizes over all of them
def test_each_wrong_module_is_named(id, rule, f, sizes, seed):
    (failure,) = asked(f, seed, **sizes).failed
    assert (failure.mistake, failure.rule) == (id, rule)


def test_the_projects_own_module_holds_every_rule():
    def ours(x, W_q, W_k, W_v, W_o, n_heads, n_kv_heads):
        return MultiHead(W_q, W_k, W_v, W_o, n_heads, n_kv_heads).forward(x).y

    report = asked(ours, n_heads=6, n_kv_heads=2)
    assert report.failed == report.not_judged == ()
    assert "kv-heads" in report.passed


def test_kv_heads_read_in_turn_are_named():
    def tiled(x, W_q, W_k, W_v, W_o, n_heads, n_kv_heads):
        q, k, v = cut(x @ W_q, n_heads), cut(x @ W_k, n_kv_heads), cut(x @ W_v, n_kv_heads)
        k, v = (np.concatenate([y] * (n_heads // n_kv_heads), axis=-3) for y in (k, v))
        return together(attend(q, k, v)) @ W_o

    (failure,) = asked(tiled).failed
    assert (failure.mistake, failure.rule) == ("kv-heads-tiled", "kv-heads")


@pytest.mark.parametrize(
    ("forgotten", "words"),
    [("q", "b_q"), ("v", "b_v"), ("qv", "b_q and b_v"), ("qvo", "b_q and b_v and b_o"), ("o", "b_o")],
)
def test_a_bias_that_is_not_added_is_named(forgotten, words):
    def module(x, W_q, W_k, W_v, W_o, b_q, b_k, b_v, b_o, n_heads):
        q, k, v = x @ W_q, x @ W_k + b_k, x @ W_v
        q, v = q if "q" in forgotten else q + b_q, v if "v" in forgotten else v + b_v
        y = together(attend(*(cut(each, n_heads) for each in (q, k, v)))) @ W_o
        return y if "o" in forgotten else y + b_o

    (failure,) = asked(module).failed
    assert failure.mistake == "bias-forgotten"
    assert words in failure.did


def test_a_query_that_each_head_projects_again_is_named():
    """Only where a head is as wide as the model: so it was printed in a book."""

    def looped(x, W_q, W_k, W_v, W_o, n_heads):
        q, found = x, []
        for h in range(n_heads):
            q = q @ np.split(W_q, n_heads, axis=1)[h]
            k, v = (x @ np.split(W, n_heads, axis=1)[h] for W in (W_k, W_v))
            found.append(attend(q, k, v))
        return np.concatenate(found, axis=-1) @ W_o

    (failure,) = asked(looped, n_heads=3, d_k=4, d_model=4).failed
    assert (failure.mistake, failure.rule) == ("query-is-overwritten", "projections")


@pytest.mark.parametrize(
    ("queries", "keys", "values", "id"),
    [("x", "x", "x", "context-ignored"), ("x", "context", "x", "context-for-keys-alone"),
     ("x", "x", "context", "context-for-values-alone"), ("context", "x", "x", "context-asks")],
)  # fmt: skip
def test_a_context_that_is_not_read_is_named(queries, keys, values, id):
    def crossed(x, W_q, W_k, W_v, W_o, n_heads, context=None):
        of = {"x": x, "context": x if context is None else context}
        q, k, v = of[queries] @ W_q, of[keys] @ W_k, of[values] @ W_v
        return together(attend(*(cut(y, n_heads) for y in (q, k, v)))) @ W_o

    (failure,) = asked(crossed).failed
    assert (failure.rule, failure.mistake) == ("context", id)


def test_a_context_is_read_by_keys_and_values():
    def crossed(x, W_q, W_k, W_v, W_o, n_heads, context=None):
        context = x if context is None else context
        return (
            together(attend(cut(x @ W_q, n_heads), cut(context @ W_k, n_heads), cut(context @ W_v, n_heads)))
            @ W_o
        )

    report = asked(crossed)
    assert report.failed == ()
    assert "context" in report.passed


def test_two_mistakes_at_once_are_both_named():
    both = around(merge=numbers_in_a_row, scale=lambda d_model, n: d_model)
    assert asked(both).mistakes == ("scale-by-d_model", "merge-without-transposing")


def test_the_sum_behind_a_right_number_is_shown():
    def one_head(x, W_q, W_k, W_v):
        return attend(x @ W_q, x @ W_k, x @ W_v, 1)

    (failure,) = asked(one_head).failed
    terms = failure.arithmetic.replace("−", "-").replace("(", "").replace(")", "").split(" + ")
    made = sum(np.prod([float(factor) for factor in term.split("·")]) for term in terms)
    assert made == pytest.approx(failure.right, abs=1e-3)  # factors are shown with some digits
    assert failure.working.columns["weight"]

    (failure,) = asked(around(scale=lambda d_model, n: 1)).failed
    assert "24 terms" in failure.arithmetic  # as many as W_o has rows


# What may be agreed upon


def stored_by_rows(x, W_q, W_k, W_v, W_o, n_heads):
    return right(x, W_q.T, W_k.T, W_v.T, W_o.T, n_heads)


def with_rope(x, W_q, W_k, W_v, W_o, n_heads):
    q, k, v = (cut(x @ W, n_heads) for W in (W_q, W_k, W_v))
    return together(attend(rope(q, pairs="interleaved"), rope(k, pairs="interleaved"), v)) @ W_o


def with_waves(x, W_q, W_k, W_v, W_o, n_heads):
    return right(x + sinusoidal(*x.shape[-2:]), W_q, W_k, W_v, W_o, n_heads)


@pytest.mark.parametrize(
    ("f", "aspect", "name", "usual"),
    [(stored_by_rows, "matrices", "out-by-in", "in-by-out"),
     (with_rope, "positions", "rotary-interleaved", "none"),
     (with_waves, "positions", "sinusoidal", "none")],
)  # fmt: skip
def test_a_convention_is_reported_and_wrong_only_where_another_was_asked_for(f, aspect, name, usual):
    report = asked(f)
    assert report.failed == ()
    assert (aspect, name) in {(each.aspect, each.name) for each in report.conventions}
    assert asked(f, expect={aspect: name}).ok
    assert not asked(f, expect={aspect: usual}).ok
    assert asked(right, expect={aspect: usual}).failed == ()
    assert not asked(right, expect={aspect: name}).ok


def test_time_first_is_a_mistake_unless_it_is_asked_for():
    time_first = around(before=lambda x: x.swapaxes(0, 1), after=lambda y, x: y.swapaxes(0, 1))
    assert asked(time_first).mistakes == ("samples-see-each-other",)
    report = asked(time_first, expect={"layout": "time-first"})
    assert report.failed == ()
    assert ("layout", "time-first") in {(each.aspect, each.name) for each in report.conventions}
    assert not asked(right, expect={"layout": "time-first"}).ok


def test_a_mistake_beside_a_convention_is_measured_against_it():
    def module(x, W_q, W_k, W_v, W_o, n_heads):
        q, k, v = (cut(x @ W.T, n_heads) for W in (W_q, W_k, W_v))
        return together(attend(q, k, v, 1)) @ W_o.T

    report = asked(module)
    (failure,) = report.failed
    assert failure.mistake == "no-scale"

    right_there = implementation(stored_by_rows, kind="heads", isolated=False)
    assert right_there.failed == ()
    assert failure.right is not None
    assert failure.found != pytest.approx(failure.right)


# What no single value shows


def test_a_module_of_unknown_values_is_still_asked_whether_samples_are_apart():
    def normed(x, W_q, W_k, W_v, W_o, n_heads):
        return right(x - x.mean(0), W_q, W_k, W_v, W_o, n_heads)

    report = asked(normed)
    assert [failure.rule for failure in report.failed] == ["definition", "samples"]


def test_what_changes_from_call_to_call_is_dropped():
    rng = np.random.default_rng(0)

    def dropping(x, W_q, W_k, W_v, W_o, n_heads):
        y = right(x, W_q, W_k, W_v, W_o, n_heads)
        return y * (rng.random(y.shape) < 0.9) / 0.9

    report = asked(dropping)
    assert [(failure.rule, failure.mistake) for failure in report.failed] == [
        ("dropout", "dropout-in-evaluation")
    ]


def test_an_input_that_is_changed_is_seen():
    def changing(x, W_q, W_k, W_v, W_o, n_heads):
        x -= 1
        x += 1
        y = right(x, W_q, W_k, W_v, W_o, n_heads)
        x *= 2
        return y

    assert asked(changing).mistakes == ("inputs-changed",)


@pytest.mark.parametrize(
    ("hand_back", "id"),
    [
        (lambda A: A, None),
        (lambda A: A.mean(-3), "weights-averaged"),
        (lambda A: A[:, 0], "weights-of-first-head"),
    ],
)
def test_weights_are_each_heads_own(hand_back, id):
    def module(x, W_q, W_k, W_v, W_o, n_heads, return_weights=False):
        q, k, v = (cut(x @ W, n_heads) for W in (W_q, W_k, W_v))
        A = soft(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]))
        y = together(A @ v) @ W_o
        return (y, hand_back(A)) if return_weights else y

    assert asked(module).mistakes == (() if id is None else (id,))


def test_asking_for_weights_must_not_change_the_output():
    def module(x, W_q, W_k, W_v, W_o, n_heads, need_weights=False):
        q, k, v = (cut(x @ W, n_heads) for W in (W_q, W_k, W_v))
        A = soft(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]))
        y = together(A @ v) @ W_o
        return (y.astype(np.float32).astype(float), A) if need_weights else y

    (failure,) = asked(module).failed
    assert (failure.rule, failure.mistake) == ("weights-asked", "weights-change-output")


def masked(x, W_q, W_k, W_v, W_o, n_heads, mask=None):
    q, k, v = (cut(x @ W, n_heads) for W in (W_q, W_k, W_v))
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    seen = np.ones(scores.shape, bool) if mask is None else np.broadcast_to(mask, scores.shape)
    weights = np.where(seen, np.exp(np.where(seen, scores, 0)), 0)
    total = weights.sum(-1, keepdims=True)
    weights = weights / np.where(total == 0, 1, total)
    clean = np.where(np.isfinite(v), v, 0)
    return together(weights @ clean) @ W_o


def test_masks_are_asked_as_of_attention():
    report = asked(masked)
    assert report.failed == ()
    assert {"mask", "mask-own", "padding", "empty-row", "hidden-keys", "hidden-nan"} <= {*report.passed}


@pytest.mark.parametrize(
    ("f", "failed"),
    [(lambda mask: ~mask, []),
     (lambda mask: None, ["mask", "padding"]),
     (lambda mask: mask | np.eye(*mask.shape[-2:], dtype=bool), ["mask", "padding"])],
)  # fmt: skip
def test_a_mask_that_hides_something_else_is_found(f, failed):
    def module(x, W_q, W_k, W_v, W_o, n_heads, mask=None):
        return masked(
            x, W_q, W_k, W_v, W_o, n_heads, None if mask is None else f(np.broadcast_to(mask, mask.shape))
        )

    report = asked(module)
    assert [failure.rule for failure in report.failed if failure.level == "must"][:2] == failed


def test_masks_are_not_asked_of_a_module_whose_samples_see_each_other():
    def swapped(x, W_q, W_k, W_v, W_o, n_heads, mask=None):
        return masked(x.swapaxes(0, 1), W_q, W_k, W_v, W_o, n_heads).swapaxes(0, 1)

    report = asked(swapped)
    assert report.mistakes == ("samples-see-each-other",)
    assert {"mask", "padding", "empty-row"} <= {each.rule for each in report.not_judged}


def test_what_hidden_tokens_hold_leaks_and_is_said():
    def leaking(x, W_q, W_k, W_v, W_o, n_heads, mask=None):
        y = masked(x, W_q, W_k, W_v, W_o, n_heads, mask)
        return y + 0 * x.sum((-1, -2), keepdims=True)

    assert [failure.mistake for failure in asked(leaking).failed] == ["hidden-nan"]


def test_what_follows_from_a_known_mistake_is_not_said_twice():
    def whole(x, W_q, W_k, W_v, W_o, n_heads, mask=None):
        q, k, v = (whole_tokens(x @ W, n_heads) for W in (W_q, W_k, W_v))
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
        return together(soft(np.where(True if mask is None else mask, scores, -np.inf)) @ v) @ W_o

    report = asked(whole)
    assert {"split-wrong-axis"} <= {*report.mistakes} <= {"split-wrong-axis", "empty-row-nan"}
    assert "hidden-keys" in {each.rule for each in report.not_judged}


# All ways are apart


class Shaped:
    """A subject of which only the shapes count."""

    name, kind, notes = "f", "heads", ()
    offers = frozenset({"batch", "heads", "grouped", "context", "cross", "biases", "W_o"})

    def __init__(self, H, G, d_k):
        wide = {"q": H * d_k, "k": G * d_k, "v": G * d_k}
        self.arrays = {f"W_{of}": np.zeros((H * d_k, width)) for of, width in wide.items()}
        self.arrays |= {f"b_{of}": np.zeros(width) for of, width in wide.items()}
        self.arrays |= {"W_o": np.zeros((H * d_k, H * d_k)), "b_o": np.zeros(H * d_k)}
        self.facts = {"n_heads": H, "n_kv_heads": G, "batch": True, "time_first": False, "packed": G == H}

    def call(self, call: Call) -> Outcome:
        return Outcome(self.arrays, self.facts)


@pytest.mark.parametrize("H", range(1, 9))
def test_no_axis_of_a_trial_is_as_long_as_the_module_has_heads(H):
    """A mask of (T, T) fits (B, H, T, T) in more ways than one where T is H."""
    trial = Trial(Shaped(H, 1, 4), Draw())
    calls(trial)
    s = trial.draw.sizes
    assert len({s.B, s.T_q, s.T_k, H, 1}) == (4 if H == 1 else 5)
    assert s.T_q < s.T_k
    assert (s.H, s.G, s.d_k) == (H, 1, 4)


OF_MODULES = {"samples", "residual"}  # rules whose mistakes are made before and after all heads
SAME_HERE = {  # of self-attention; in cross-attention the axes of the first do not fit
    frozenset({"scores-transposed", "projections-swapped"}),
    frozenset({"scores-transposed", "packed-kqv"}),
}


@given(st.sampled_from([(6, 3, 4), (4, 2, 8), (6, 6, 4), (3, 3, 8)]), seeds)
@settings(max_examples=2, deadline=None)
def test_all_ways_are_apart(shape, seed):
    H, G, d_k = shape
    trial = Trial(Shaped(H, G, d_k), Draw(seed=seed))
    made = [*calls(trial), *cross_calls(trial)]
    ways = [*WAYS, *AGREED, STORED, *CONTEXT, *(PACKED if G == H else ())]
    given = [(way, [_out(call, way) for call in made]) for way in ways]
    known = [(way, outs) for way, outs in given if any(out is not None for out in outs)]
    plain = [_out(call) for call in made]
    for (one, a), (other, b) in combinations(known, 2):
        if not (_alike(a, plain) or _alike(b, plain)):
            twins = {one.id, other.id} in SAME_HERE or _packs_as(one, other)
            assert twins or not _alike(a, b), (one.id, one.says, other.id, other.says)


def _packs_as(one, other):
    """Whether one says of packed columns what the other says of matrices; a module has one or the other."""
    return any("packed-" in way.id for way in (one, other)) and one.rule == other.rule == "projections"


def _out(call, *ways):
    try:
        return follow(call, ways, HEADS).out
    except (ValueError, IndexError):
        return None


def _alike(one, other):
    return all(_same(a, b) for a, b in zip(one, other, strict=True))


def _same(a, b):
    if a is None or b is None or a.shape != b.shape:
        return a is None and b is None
    return (
        differ(a, b, 1e-6) is None
    )  # a hundred times what rounding to float64 could blur, and far below a mistake


def test_no_way_of_attention_alone_changes_what_a_module_calls_its_output():
    ways = [*WAYS, *(way for study in MODULE for way in study.ways if way.rule not in OF_MODULES)]
    assert [way.id for way in ways if "out" in way.changes and way.rule not in OF_MODULES] == []


def test_ways_that_give_what_is_right_at_some_sizes_do_so_at_no_others():
    """√d_v is √d_k here; kv heads of their own need no repeating; a head as wide as the model overwrites."""
    trial = Trial(Shaped(6, 3, 4), Draw())
    made = [*calls(trial), *cross_calls(trial)]
    plain = [_out(call) for call in made]
    silent = {way.id for way in (*WAYS, *AGREED, STORED) if _alike([_out(call, way) for call in made], plain)}
    assert silent == {"scale-by-d_v"}
