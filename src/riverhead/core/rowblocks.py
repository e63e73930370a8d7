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

BLOCK_BYTES = 1 << 20  # of scores: the few blocks of this size that are alive stay in the cache
LANES = 128

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
        if progress is not None:
            progress(n / len(blocks))
        with np.errstate(all="ignore"):  # ∞ and NaN are results here, not accidents
            _block(
                job, {name: x[b, h] for name, x in outputs.items()}, item, h, first, min(first + rows, T_q)
            )


def _block(job: Job, to: Outputs, item: tuple[int, ...], h: int, first: int, end: int) -> None:
    rows, keys = slice(first, end), job.span(item, first, end - 1)
    below, hidden = job.scores(item, h, rows, keys)  # (n, m)
    sink = None if job.sinks is None else job.sinks[h]
    peak = below.max(axis=-1, keepdims=True, initial=-np.inf if sink is None else sink)
    blind = not below.size if hidden is None else hidden.all(axis=-1, keepdims=True)
    peak = np.where(
        blind & np.isneginf(peak), 0, peak
    )  # a row that sees −∞ alone is NaN, one that is blind is not
    below -= peak  # how far each score lies below the row's largest
    weights = np.exp(below)
    total = weights.sum(axis=-1, keepdims=True)
    if sink is not None:
        total = total + np.exp(sink - peak)
    lse = np.log(total) + peak
    total = np.where(total == 0, 1, total)  # a row that sees nothing has weights 0
    weights /= total
    if hidden is not None:
        np.copyto(weights, 0, where=hidden)  # NaN in a row shows in visible keys only
    v = job.read(job.v[item][job.kv_head(h), keys])
    to["out"][rows] = product(weights, v, lambda: np.zeros(weights.shape, bool) if hidden is None else hidden)
    to["lse"][rows] = lse[:, 0]
    if "entropy_nats" in to:
        places = job.places(rows, keys)
        of_row = {
            "entropy_nats": _entropy(weights, below, np.log(total)),
            "mean_distance": _distance(weights, *places),
            "max_weight": weights.max(axis=-1, initial=0),
            "first_weight": _first(weights, hidden),
            "self_weight": _at(weights, places[0][:, 0] - keys.start),
            "previous_weight": _at(weights, places[0][:, 0] - 1 - keys.start),
        }
        if job.pairs is not None:
            of_row["pair_weight"] = _pairs(job.pairs, weights, first, end, keys.start)
        if job.top:
            of_row["top_weight"], of_row["top_key"] = _top(below, weights, job.top, keys.start)
            of_row["top_weight"][np.isnan(of_row["max_weight"])] = np.nan  # NaN has no order, and no keys
        for name, values in of_row.items():
            to[name][rows] = values
        received, most = to["received"][keys], to["received_max"][keys]
        received += weights.sum(axis=0)
        np.maximum(most, weights.max(axis=0, initial=0), out=most)


def _entropy(weights: Floats, below: Floats, log_total: Floats) -> Floats:
    """−Σ w ln w with ln w = below − ln total; what is hidden lies infinitely below, and counts nothing."""
    finite = np.maximum(below, np.finfo(below.dtype).min)
    entropy: Floats = weights.sum(axis=-1) * log_total[:, 0] - np.einsum("nm,nm->n", weights, finite)
    return np.maximum(entropy, 0, out=entropy)


def _distance(weights: Floats, i: NDArray[np.int64], j: NDArray[np.int64]) -> Floats:
    distance = np.subtract(i, j, dtype=weights.dtype)
    np.abs(distance, out=distance)
    mean: Floats = np.einsum("nm,nm->n", weights, distance)
    return mean


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


def _top(below: Floats, weights: Floats, top: int, start: int) -> tuple[Floats, NDArray[np.int32]]:
    """The largest weights of each row, and their keys; of equal ones those with the lower key."""
    n, m = below.shape
    kept = min(top, m)
    weight, key = np.zeros((n, top), weights.dtype), np.full((n, top), -1, np.int32)
    if not kept:
        return weight, key
    lanes = below
    if m >= 8 * LANES:  # the kept-th largest of lane maxima is no larger than that of all, and found sooner
        lanes = below[:, : m // LANES * LANES].reshape(n, -1, LANES).max(axis=1)
    bound = np.partition(lanes, lanes.shape[-1] - kept, axis=-1)[:, -kept, None]
    row, at = np.nonzero((below >= bound) & ~np.isneginf(below))
    order = np.lexsort((at, -weights[row, at], row))
    row, at = row[order], at[order]
    place = np.arange(len(row)) - np.searchsorted(row, np.arange(n))[row]
    row, at, place = (x[place < kept] for x in (row, at, place))
    weight[row, place], key[row, place] = weights[row, at], at + start
    return weight, key
