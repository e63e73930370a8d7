"""What some caches do besides: count, reorder, cut, forget, keep layers apart; wrong ones are named."""

import numpy as np
import pytest
from cache_styles import Cache, Room, agreed, asked, join, seeds, sizes
from hypothesis import given, settings


class Full(Cache):
    """Right, and counts, reorders, is cut, and is emptied."""

    def __init__(self, window=None):
        super().__init__()
        self.window, self.n = window, 0

    def __len__(self):
        return self.n

    def given(self, k, v):
        self.n += k.shape[-2]
        if self.window:
            self.k, self.v = self.k[..., -self.window :, :], self.v[..., -self.window :, :]
        return self.k, self.v

    def reorder_cache(self, beam_idx):
        self.k, self.v = self.k[beam_idx], self.v[beam_idx]

    def crop(self, max_length):
        self.n = max_length
        self.k, self.v = self.k[..., :max_length, :], self.v[..., :max_length, :]

    def reset(self):
        self.__init__(self.window)


def full(**methods):
    return type("Wrong", (Full,), methods)


def keeping(window):
    """A cache that keeps what ``window`` leaves of all keys."""

    def given(self, k, v):
        if not self.window:
            return Full.given(self, k, v)
        self.n += k.shape[-2]
        self.all = (
            tuple(join(a, b) for a, b in zip(self.all, (k, v), strict=True))
            if hasattr(self, "all")
            else (k, v)
        )
        return tuple(window(x, self.window) for x in self.all)

    return given


def scattered(self, beam_idx):
    k = self.k.copy()
    k[beam_idx] = self.k
    v = self.v.copy()
    v[beam_idx] = self.v
    self.k, self.v = k, v


def keys_reordered(self, beam_idx):
    self.k = self.k[beam_idx]


def cut_to(part):
    def crop(self, max_length):
        self.k, self.v = part(self.k, max_length), part(self.v, max_length)

    return crop


BESIDE = {
    "cache-not-reordered": full(reorder_cache=lambda self, beam_idx: None),
    "cache-reordered-backwards": full(reorder_cache=scattered),
    "cache-values-not-reordered": full(reorder_cache=keys_reordered),
    "cache-not-cropped": full(crop=lambda self, max_length: None),
    "cache-crop-keeps-last": full(crop=cut_to(lambda x, n: x[..., -n:, :])),
    "cache-crop-drops": full(crop=cut_to(lambda x, n: x[..., :-n, :])),
    "cache-window-ignored": full(given=keeping(lambda x, w: x)),
    "cache-window-keeps-first": full(given=keeping(lambda x, w: x[..., :w, :])),
    "cache-window-one-more": full(given=keeping(lambda x, w: x[..., -(w + 1) :, :])),
    "cache-window-one-less": full(given=keeping(lambda x, w: x[..., 1 - w :, :])),
    "cache-not-reset": full(reset=lambda self: None),
    "cache-counts-kept": full(__len__=lambda self: 0 if self.k is None else self.k.shape[-2]),
    "cache-counts-one-more": full(__len__=lambda self: self.n + 1),
}  # fmt: skip


def test_all_that_is_offered_is_asked_and_holds():
    report = asked(Full)
    assert not report.failed
    wanted = {
        "cache-count",
        "cache-rows",
        "cache-crop",
        "cache-window",
        "cache-reset",
        "cache-fresh",
        "cache-stable",
    }
    assert wanted <= set(report.passed)
    assert {"cache-layers", "cache-pieces"} == {each.rule for each in report.not_offered}


@pytest.mark.parametrize("name", BESIDE)
@given(sizes=sizes, seed=seeds)
@settings(max_examples=2, deadline=None)
def test_what_a_cache_does_besides_is_named_where_it_is_wrong(name, sizes, seed):
    report = asked(BESIDE[name], sizes, seed)
    assert report.mistakes == (name,)
    assert len(report.failed) == 1


def test_beams_are_fetched_by_their_index():  # CACHE-4
    def rows(cache):
        letters = np.array([ord(letter) for letter in "ABC"], float)[:, None, None, None]
        cache.update(letters, letters)
        cache.reorder_cache(np.array([2, 2, 0]))
        return "".join(chr(int(x)) for x in cache.k[:, 0, 0, 0])

    assert rows(Full()) == "CCA"
    assert rows(BESIDE["cache-not-reordered"]()) == "ABC"


def test_the_next_position_counts_tokens_that_a_window_dropped():  # ROPE-6
    assert [each.rule for each in asked(BESIDE["cache-counts-kept"]).failed] == ["cache-count"]


def test_a_ring_of_slots_is_reported_as_what_was_chosen():
    def ring(self, k, v):
        """The token at position n lies in slot n mod window."""
        if not self.window or self.n < self.window:
            return Full.given(self, k, v)
        self.k, self.v = (np.delete(x, self.window, -2) for x in (self.k, self.v))
        self.k[..., self.n % self.window, :], self.v[..., self.n % self.window, :] = (
            k[..., 0, :],
            v[..., 0, :],
        )
        self.n += 1
        return self.k, self.v

    report = asked(full(given=ring))
    assert not report.failed
    assert agreed(report)["cache-window"] == "ring"


def test_what_another_cache_read_is_not_in_a_new_one():
    class Shared(Cache):
        kept = {}  # noqa: RUF012 - the mistake

        def update(self, k, v):
            for name, x in (("k", k), ("v", v)):
                self.kept[name] = join(self.kept[name], x) if name in self.kept else x
            return self.kept["k"], self.kept["v"]

    (failure,) = asked(Shared).failed
    assert (failure.rule, failure.mistake) == ("cache-fresh", "cache-shared")

    class Emptied(Shared):
        """Looks new as long as there is one at a time."""

        def __init__(self):
            super().__init__()
            self.kept.clear()

    (failure,) = asked(Emptied).failed
    assert (failure.rule, failure.mistake) == ("cache-fresh", "cache-shared")


def test_arrays_that_were_handed_out_do_not_change():
    class Ring(Room):
        """Hands out its own room, and shifts it at each step once it is full: the past moves."""

        def update(self, k, v):
            self.k, self.v = self.k, self.v
            T = k.shape[-2]
            self.k[..., :-T, :], self.k[..., -T:, :] = self.k[..., T:, :].copy(), k
            self.v[..., :-T, :], self.v[..., -T:, :] = self.v[..., T:, :].copy(), v
            self.n += T
            return self.k[..., -self.n :, :], self.v[..., -self.n :, :]

    (failure,) = asked(Ring).failed
    assert (failure.rule, failure.level, failure.mistake) == (
        "cache-stable",
        "should",
        "cache-changes-the-past",
    )


def test_layers_have_rows_of_their_own():
    class Layered:
        def __init__(self):
            self.layers = {}

        def update(self, key_states, value_states, layer_idx):
            cache = self.layers.setdefault(self.of(layer_idx), Cache())
            return cache.update(key_states, value_states)

        def of(self, layer_idx):
            return layer_idx

    assert "cache-layers" in asked(Layered).passed
    (failure,) = asked(type("Wrong", (Layered,), {"of": lambda self, layer_idx: 0})).failed
    assert (failure.rule, failure.mistake) == ("cache-layers", "cache-layers-shared")
