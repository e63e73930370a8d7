"""Habit: what each head does with a place, whatever the words are, measured on plain text and kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from riverhead.core import AttentionMap, attention
from riverhead.inspection.reference import kept, longest_window, windows
from riverhead.transformer import Model

__all__ = [
    "NEAR",
    "Habit",
    "Say",
    "distance_bin",
    "habit_of",
    "manner_of",
    "measure_habit",
    "measure_manner",
    "silent",
    "window_of",
]

BY_PLACE = 32  # longest window whose places are told apart: it still gives some 30 samples of each
LABEL_WINDOW, LABEL_WINDOWS = 128, 4  # close to 500 rows of every head: a mean is good to 0.02
SINGLE = 64  # distances below stand alone, from there on by powers of two
NEAR = 4
ROWS = 256  # queries whose weights are made at once
MANNER = ("previous", "first", "near")

Array = NDArray[np.float32]
Say = Callable[[str], None]


def silent(message: str) -> None:
    """Tell nobody what is being measured."""


@dataclass(frozen=True, slots=True)
class Habit:
    """Mean weights of every head over windows of the reference text, for a text of ``T`` tokens.

    Up to 32 tokens ``means`` is (n_layers, H, T, T), by query and key in windows as long as the text. Above
    that it is by distance, (n_layers, H, 1, bins), or (n_layers, H, 2, bins) where a query sees both ways:
    keys behind it, keys ahead. What lies farther away than any key of a window counts as the farthest. The
    first token and oneself are apart: they have no habit.
    """

    means: Array
    T: int

    def rows(self, queries: NDArray[np.intp]) -> Array:
        """Return each query token's habit for each key token, (n_layers, H, T_q, T); 0 where it has none."""
        return self.on(queries[:, None], np.arange(self.T))

    def on(self, queries: NDArray[np.intp], keys: NDArray[np.intp], head: tuple[int, ...] = ()) -> Array:
        """Return the habit of queries for keys that broadcast together, (n_layers, H, ...).

        With ``head``, a layer or a layer and a head, the result lacks those axes.
        """
        means = self.means[head]
        if self.T <= BY_PLACE:
            by_place: Array = means[..., queries, keys]
            return by_place
        sides, n_bins = means.shape[-2:]
        distance = queries - keys
        looked = (keys > 0) & (distance != 0 if sides == 2 else distance > 0)
        ahead = np.where(looked & (distance < 0), 1, 0)
        bins = np.minimum(distance_bin(np.abs(distance)), n_bins - 1)
        return np.where(looked, means[..., ahead, bins], np.float32(0))


def distance_bin(distance: NDArray[np.intp]) -> NDArray[np.intp]:
    """Number the distances: 0 to 63 singly, then 64–127, 128–255, … one bin each.

    >>> distance_bin(np.array([0, 63, 64, 127, 128])).tolist()
    [0, 63, 64, 64, 65]
    """
    doublings = np.log2(np.maximum(distance, SINGLE) / SINGLE).astype(np.intp)
    return np.where(distance < SINGLE, distance, SINGLE + doublings)


def window_of(model: Model, T: int) -> int:
    """Return how long the windows are on which the habit for ``T`` tokens is measured.

    Up to 32 as long as the text; above, the next power of two, or the longest that the reference text fills.
    """
    return T if T <= BY_PLACE else min(1 << (T - 1).bit_length(), longest_window(model))


def habit_of(model: Model, T: int, say: Say) -> Habit:
    """Return the habit for texts of ``T`` tokens, kept beside the model or measured now (seconds)."""
    window = window_of(model, T)

    def measure() -> Array:
        say(f"habit: plain text in windows of {window} tokens, once for {model.name}")
        return measure_habit(model, T)

    places = (T, T) if T <= BY_PLACE else (1 if model.config.causal else 2, _n_bins(model, window))
    shape = (model.config.n_layers, model.config.n_heads, *places)
    return Habit(kept(model.folder, f"habit-{window}", shape, measure), T)


def manner_of(model: Model, say: Say) -> Array:
    """Return the three means a label follows from, of every head, (n_layers, H, 3), kept or measured now."""

    def measure() -> Array:
        say(f"labels: plain text in windows of {LABEL_WINDOW} tokens, once for {model.name}")
        return measure_manner(model)

    shape = (model.config.n_layers, model.config.n_heads, len(MANNER))
    return kept(model.folder, "manner", shape, measure)


def measure_habit(model: Model, T: int) -> Array:
    """Measure the means of a `Habit` for ``T`` tokens."""
    window = window_of(model, T)
    if T > BY_PLACE:
        return _by_distance(model, window)
    i, j = np.indices((T, T))
    looked = (j > 0) & (i > j if model.config.causal else i != j)
    return _measure(
        model,
        windows(model, T),
        lambda weights: np.where(looked, weights.mean(axis=0, dtype=np.float64), 0.0),  # (H, T, T)
    )


def measure_manner(model: Model) -> Array:
    """Measure each head's mean weight on the previous, the first and the near tokens, (n_layers, H, 3).

    Rows whose near tokens include the first one are left out, so that the three do not overlap there.
    """
    T = min(LABEL_WINDOW, model.config.context_length)
    i, j = np.indices((T, T))[:, NEAR + 1 :]  # (T - 5, T)
    shares = np.stack([i - j == 1, j == 0, np.abs(i - j) <= NEAR]) / len(i)  # (3, T - 5, T)
    return _measure(
        model,
        windows(model, T)[:LABEL_WINDOWS],
        lambda weights: np.einsum(
            "hij,sij->hs", weights.mean(axis=0, dtype=np.float64)[:, NEAR + 1 :], shares
        ),
    )


def _measure(model: Model, batch: NDArray[np.intp], mean: Callable[[Array], NDArray[np.float64]]) -> Array:
    """Run windows (B, T) that are short and reduce each layer's weights (B, H, T, T)."""
    means: list[NDArray[np.float64]] = []

    def watch(layer: int, q: Array, k: Array, v: Array) -> None:
        means.append(mean(attention(q, k, v, **model.config.attention(layer)).weights))

    model.run(batch, watch=watch)
    return np.array(means, np.float32)


def _by_distance(model: Model, window: int) -> Array:
    """Measure mean weights by distance, (n_layers, H, sides, bins), a block of rows at a time."""
    batch = windows(model, window)
    sides, n_bins = 1 if model.config.causal else 2, _n_bins(model, window)
    totals: list[NDArray[np.float64]] = []

    def see(layer: int, A: AttentionMap) -> None:
        total = np.zeros((A.shape[1], sides * n_bins))
        for first in range(0, window, ROWS):
            looked, places = _places(np.arange(first, min(first + ROWS, window)), window, sides, n_bins)
            for b, h in np.ndindex(A.shape[:2]):
                weights = A[b, h, first : first + ROWS][looked]
                total[h] += np.bincount(places, weights, minlength=sides * n_bins)
        totals.append(total)

    model.run(batch, see=see)
    places = _places(np.arange(window), window, sides, n_bins)[1]
    counts = len(batch) * np.bincount(places, minlength=sides * n_bins)
    return (
        (np.array(totals) / np.maximum(counts, 1)).reshape(len(totals), -1, sides, n_bins).astype(np.float32)
    )


def _places(
    queries: NDArray[np.intp], T: int, sides: int, n_bins: int
) -> tuple[NDArray[np.bool_], NDArray[np.intp]]:
    """Return which keys of the queries have a habit, (n, T), and the place of each of those in its means."""
    distance = queries[:, None] - np.arange(T)
    looked = (distance > 0) if sides == 1 else (distance != 0)
    looked[:, 0] = False  # the first token
    found = distance[looked]
    return looked, np.where(found < 0, n_bins, 0) + distance_bin(np.abs(found))


def _n_bins(model: Model, window: int) -> int:
    """How many distances are told apart; the first token is no key, but it is a query."""
    farthest = window - 2 if model.config.causal else window - 1
    return int(distance_bin(np.array(farthest))) + 1
