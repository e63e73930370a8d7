"""The same pass in NumPy, a block of rows at a time: for float64, the not finite, and without a compiler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riverhead.core.border import Bools, Floats
from riverhead.core.job import Job, Pairs
from riverhead.core.visible import product

__all__ = ["run"]

BLOCK_BYTES = 8 << 20  # of scores: a few blocks of this size are alive at a time

Outputs = dict[str, NDArray[Any]]


def run(job: Job, outputs: Outputs, progress: Callable[[float], object] | None) -> None:
    """Fill ``outputs``, arrays (batch items, H, ...) by name, one head and one block of rows at a time."""
    T_q, T_k = job.q.shape[-2], job.k.shape[-2]
    H = job.q.shape[-3]
    rows = max(1, BLOCK_BYTES // (job.dtype.itemsize * max(T_k, 1)))
    blocks = [
        (b, item, h, first)
        for b, item in enumerate(np.ndindex(job.batch))
        for h in range(H)
        for first in range(0, T_q, rows)
    ]
    for n, (b, item, h, first) in enumerate(blocks):
        with np.errstate(all="ignore"):  # ∞ and NaN are results here, not accidents
            _block(
                job, {name: x[b, h] for name, x in outputs.items()}, item, h, first, min(first + rows, T_q)
            )
        if progress is not None:
            progress((n + 1) / len(blocks))


def _block(job: Job, to: Outputs, item: tuple[int, ...], h: int, first: int, end: int) -> None:
    rows, keys = slice(first, end), job.span(item, first, end - 1)
    scores, hidden = job.scores(item, h, rows, keys)  # (n, m)
    sink = None if job.sinks is None else job.sinks[h]
    peak = scores.max(axis=-1, keepdims=True, initial=-np.inf)
    shift = np.where(np.isneginf(peak), 0, peak) if sink is None else np.maximum(peak, sink)
    weights = np.exp(scores - shift)
    total = weights.sum(axis=-1, keepdims=True)
    if sink is not None:
        total = total + np.exp(sink - shift)
    lse = np.log(total) + shift
    weights /= np.where(total == 0, 1, total)
    if hidden is not None:
        np.copyto(weights, 0, where=hidden)  # NaN in a row shows in visible keys only
    v = job.read(job.v[item][h // (job.q.shape[-3] // job.k.shape[-3]), keys])
    to["out"][rows] = product(weights, v, lambda: np.zeros(weights.shape, bool) if hidden is None else hidden)
    to["lse"][rows] = lse[:, 0]
    if "entropy_nats" in to:
        _statistics(job, to, first, end, keys, scores, weights, hidden, lse)


def _statistics(
    job: Job,
    to: Outputs,
    first: int,
    end: int,
    keys: slice,
    scores: Floats,
    weights: Floats,
    hidden: Bools | None,
    lse: Floats,
) -> None:
    rows = slice(first, end)
    i, j = job.places(rows, keys)
    to["entropy_nats"][rows] = (weights * np.where(weights > 0, lse - scores, 0)).sum(axis=-1)
    to["mean_distance"][rows] = (weights * np.abs(i - j)).sum(axis=-1)
    to["max_weight"][rows] = weights.max(axis=-1, initial=0)
    to["first_weight"][rows] = _first(weights, hidden)
    to["self_weight"][rows] = _at(weights, i[:, 0] - keys.start)
    to["previous_weight"][rows] = _at(weights, i[:, 0] - 1 - keys.start)
    if job.pairs is not None:
        to["pair_weight"][rows] = _pairs(job.pairs, weights, first, end, keys.start)
    if job.top:
        to["top_weight"][rows], to["top_key"][rows] = _top(scores, weights, hidden, job.top, keys.start)
    received, most = to["received"][keys], to["received_max"][keys]
    received += weights.sum(axis=0)
    np.fmax(most, weights.max(axis=0, initial=0), out=most)


def _at(weights: Floats, key: NDArray[np.integer[Any]]) -> Floats:
    """The weight of row i on key[i], 0 where there is no such key."""
    n = weights.shape[-1]
    there = (key >= 0) & (key < n)
    found = np.zeros(len(key), weights.dtype)
    found[there] = weights[np.flatnonzero(there), key[there]]
    return found


def _first(weights: Floats, hidden: Bools | None) -> Floats:
    """The weight on the first key each row sees."""
    if not weights.shape[-1]:
        return np.zeros(len(weights), weights.dtype)
    first = np.zeros(len(weights), np.int64) if hidden is None else (~hidden).argmax(axis=-1)
    return _at(weights, first)


def _pairs(pairs: Pairs, weights: Floats, first: int, end: int, low: int) -> Floats:
    """The sum of each row's weights on the keys named for it; the first weight is of the key ``low``."""
    start, key = pairs
    key = key[start[first] : start[end]] - low
    row = np.repeat(np.arange(end - first), np.diff(start[first : end + 1]))
    there = (key >= 0) & (key < weights.shape[-1])
    found = np.zeros(end - first)
    np.add.at(found, row[there], weights[row[there], key[there]])
    return found


def _top(
    scores: Floats, weights: Floats, hidden: Bools | None, top: int, start: int
) -> tuple[Floats, NDArray[np.int32]]:
    """The largest weights of each row, and their keys; of equal ones those with the lower key."""
    n, m = scores.shape
    kept = min(top, m)
    weight, key = np.zeros((n, top), weights.dtype), np.full((n, top), -1, np.int32)
    if not kept:
        return weight, key
    bound = np.partition(scores, m - kept, axis=-1)[:, m - kept, None]  # the kept-th largest
    above = scores > bound
    level = (scores == bound) & (
        (scores == bound).cumsum(axis=-1) <= kept - above.sum(axis=-1, keepdims=True)
    )
    chosen = above | level if hidden is None else (above | level) & ~hidden
    row, at = np.nonzero(chosen)
    order = np.lexsort((at, -scores[row, at], row))
    row, at = row[order], at[order]
    place = np.arange(len(row)) - np.searchsorted(row, np.arange(n))[row]
    weight[row, place], key[row, place] = weights[row, at], at + start
    return weight, key
