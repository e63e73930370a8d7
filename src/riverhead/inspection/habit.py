"""Habit: what each head does with a place, whatever the words are, measured on plain text and kept."""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from riverhead.core import attention
from riverhead.inspection.tables import first_that_holds, reference_text, rules
from riverhead.transformer import Model

__all__ = [
    "Habit",
    "Say",
    "distance_bin",
    "habit_of",
    "label_of",
    "manner_of",
    "measure_habit",
    "measure_manner",
    "silent",
]

BY_PLACE = 32  # longest window whose places are told apart: it still gives some 30 samples of each
LABEL_WINDOW, LABEL_WINDOWS = 128, 4  # close to 500 rows of every head: a mean is good to 0.02
SINGLE = 64  # distances below stand alone, from there on by powers of two
NEAR = 4
MANNER = ("previous", "first", "near")
VERSION = 1  # raise it whenever another number would be measured from the same text

Array = NDArray[np.float32]
Say = Callable[[str], None]


def silent(message: str) -> None:
    """Tell nobody what is being measured."""


@dataclass(frozen=True, slots=True)
class Habit:
    """Mean weights of every head over windows of the reference text as long as the sentence.

    ``means`` is (n_layers, H, T, T), by query and key, for T up to 32, and (n_layers, H, bins) by distance
    above. The first token and oneself are apart: they have no habit.
    """

    means: Array
    T: int

    def rows(self, queries: NDArray[np.intp]) -> Array:
        """Return each query token's habit for each key token, (n_layers, H, T_q, T); 0 where it has none."""
        if self.means.ndim == 4:
            return self.means[:, :, queries]
        distance = queries[:, None] - np.arange(self.T)  # (T_q, T)
        looked = (distance > 0) & (np.arange(self.T) > 0)
        return np.where(looked, self.means[..., distance_bin(np.where(looked, distance, 0))], np.float32(0))


def distance_bin(distance: NDArray[np.intp]) -> NDArray[np.intp]:
    """Number the distances: 0 to 63 singly, then 64–127, 128–255, … one bin each.

    >>> distance_bin(np.array([0, 63, 64, 127, 128])).tolist()
    [0, 63, 64, 64, 65]
    """
    doublings = np.log2(np.maximum(distance, SINGLE) / SINGLE).astype(np.intp)
    return np.where(distance < SINGLE, distance, SINGLE + doublings)


def habit_of(model: Model, T: int, say: Say) -> Habit:
    """Return the habit for texts of ``T`` tokens, kept beside the model or measured now (seconds)."""

    def measure() -> Array:
        say(f"habit: plain text in windows of {T} tokens, once for {model.name}")
        return measure_habit(model, T)

    farthest = np.array(T - 2)  # the first token is apart
    places = (T, T) if T <= BY_PLACE else (int(distance_bin(farthest)) + 1,)
    shape = (model.config.n_layers, model.config.n_heads, *places)
    return Habit(_kept(model.folder, f"habit-{T}", shape, measure), T)


def manner_of(model: Model, say: Say) -> Array:
    """Return the three means a label follows from, of every head, (n_layers, H, 3), kept or measured now."""

    def measure() -> Array:
        say(f"labels: plain text in windows of {LABEL_WINDOW} tokens, once for {model.name}")
        return measure_manner(model)

    shape = (model.config.n_layers, model.config.n_heads, len(MANNER))
    return _kept(model.folder, "manner", shape, measure)


def label_of(means: Array) -> str:
    """Name a head by its mean weights on the previous, the first and the near tokens, (3,).

    >>> label_of(np.array([0.8, 0.1, 0.9]))
    'previous-token'
    """
    return first_that_holds(rules("label"), dict(zip(MANNER, means.tolist(), strict=True))).words


def measure_habit(model: Model, T: int) -> Array:
    """Measure the means of a `Habit` over windows of ``T`` tokens."""
    i, j = np.indices((T, T))
    looked = (i > j) & (j > 0)
    bins = distance_bin((i - j)[looked])

    def mean(weights: Array) -> NDArray[np.float64]:
        place = np.where(looked, weights.mean(axis=0, dtype=np.float64), 0.0)  # (H, T, T)
        if T <= BY_PLACE:
            return place
        by_distance = [np.bincount(bins, head[looked], minlength=bins.max() + 1) for head in place]
        return np.array(by_distance) / np.maximum(np.bincount(bins), 1)  # (H, bins), no bin 0

    return _measure(model, _windows(model, T), mean)


def measure_manner(model: Model) -> Array:
    """Measure each head's mean weight on the previous, the first and the near tokens, (n_layers, H, 3).

    Rows whose near tokens include the first one are left out, so that the three do not overlap there.
    """
    T = min(LABEL_WINDOW, model.config.context_length)
    i, j = np.indices((T, T))[:, NEAR + 1 :]  # (T - 5, T)
    shares = np.stack([i - j == 1, j == 0, (i >= j) & (i - j <= NEAR)]) / len(i)  # (3, T - 5, T)
    return _measure(
        model,
        _windows(model, T)[:LABEL_WINDOWS],
        lambda weights: np.einsum(
            "hij,sij->hs", weights.mean(axis=0, dtype=np.float64)[:, NEAR + 1 :], shares
        ),
    )


def _measure(model: Model, windows: NDArray[np.intp], mean: Callable[[Array], NDArray[np.float64]]) -> Array:
    """Run ``windows`` (B, T) and reduce each layer's weights (B, H, T, T)."""
    means: list[NDArray[np.float64]] = []

    def watch(layer: int, q: Array, k: Array, v: Array) -> None:
        means.append(mean(attention(q, k, v, causal=True).weights))

    model.run(windows, watch=watch)
    return np.array(means, np.float32)


def _windows(model: Model, T: int) -> NDArray[np.intp]:
    """Cut the reference text into windows of ``T`` tokens, each opened as the model opens a text, (B, T)."""
    opening = model.tokenizer.ids("")
    ids = model.tokenizer.ids(reference_text(), add_bos=False)
    step = T - len(opening)
    cut = [ids[at : at + step] for at in range(0, len(ids) - step + 1, step)]
    return np.array([opening + window for window in cut], np.intp)


def _kept(folder: Path, name: str, shape: tuple[int, ...], measure: Callable[[], Array]) -> Array:
    """Read a measurement from the model's folder, or make it and leave it there if the folder allows."""
    digest = hashlib.sha256(f"{VERSION} {reference_text()}".encode()).hexdigest()[:12]
    file = folder / f"{name}-{digest}.f32"  # the bare numbers: no header to believe
    with contextlib.suppress(OSError):
        if file.stat().st_size == 4 * math.prod(shape):
            kept = np.fromfile(file, "<f4").reshape(shape)
            if np.isfinite(kept).all():
                return kept
    measured = measure()
    with contextlib.suppress(OSError):  # a folder that cannot be written: used, not kept
        _write(file, measured.astype("<f4").tobytes())
    return measured


def _write(file: Path, data: bytes) -> None:
    """Write beside and rename, so that nobody ever reads half a file."""
    handle, beside = tempfile.mkstemp(dir=file.parent, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        os.replace(beside, file)
    except BaseException:
        os.unlink(beside)
        raise
