"""Tiles of the weights, made from q, k and the log-sum-exp, and pictures pooled from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from riverhead.core.blas import one_blas_thread
from riverhead.core.border import Floats
from riverhead.core.job import Index, Job
from riverhead.core.kernel import threads_of

__all__ = ["How", "logs", "pooled"]

T = TypeVar("T")
How = Literal["max", "mean", "sum"]
ROWS, KEYS = 512, 4096  # of a tile: 8 MB, which stay near the processor from one step to the next


def logs(head: Job, lse: Floats, rows: Index, keys: Index) -> Floats:
    """Return the logarithms of one head's weights (n, m), score − lse (T_q,): −∞ where hidden."""
    with np.errstate(all="ignore"):  # ∞ and NaN are results here, not accidents
        found, hidden = head.scores((), 0, rows, keys)
        peak = lse[rows, None]
        found -= np.where(np.isneginf(peak), 0, peak)
    if hidden is not None and np.isnan(peak).any():
        np.copyto(found, -np.inf, where=hidden)  # NaN in a row shows in visible keys only
    return found


def pooled(
    head: Job, lse: Floats, at_row: NDArray[np.intp], at_key: NDArray[np.intp], how: How, every: int = 1
) -> Floats:
    """Return one head's weights as a picture, float64, tile by tile; keys out of reach cost nothing.

    Its rows begin at the queries ``at_row``, its columns at the keys ``at_key``. Of the queries only
    every ``every``-th is read, and ``at_row`` counts those. Threads share the blocks of rows; the result is
    the same to the last bit for any number of them.
    """
    head = head.widened()
    n_q, T_k = len(range(0, head.q.shape[-2], every)), head.k.shape[-2]
    ufunc, blank = (np.maximum, -np.inf) if how == "max" else (np.add, 0.0)
    tall = n_q * len(at_key) >= T_k * len(at_row)  # a cell of the picture has more queries than keys

    def strip(first: int) -> tuple[slice, Floats]:
        """The cells that a block of rows falls into, and what it adds to them."""
        end = min(first + ROWS, n_q)
        rows = slice(first * every, (end - 1) * every + 1, every)
        cells, starts = _bins(at_row, first, end)
        found = np.full((len(starts), len(at_key)), blank)
        span = head.span((), rows.start, rows.stop - 1)
        for low in range(span.start, span.stop, KEYS):
            keys = slice(low, min(low + KEYS, span.stop))
            tile = logs(head, lse, rows, keys)
            with np.errstate(all="ignore"):
                if how != "max":  # the largest weight has the largest logarithm
                    np.exp(tile, out=tile)
                columns, bins = _bins(at_key, keys.start, keys.stop)
                ufunc(found[:, columns], _reduced(ufunc, tile, starts, bins, tall), out=found[:, columns])
        return cells, found

    picture = np.full((len(at_row), len(at_key)), blank)
    with np.errstate(all="ignore"):
        for cells, found in _in_order(strip, range(0, n_q, ROWS)):
            ufunc(picture[cells], found, out=picture[cells])
        if how == "max":
            np.exp(picture, out=picture)
        if how == "mean":
            picture /= np.diff(at_row, append=n_q)[:, None] * np.diff(at_key, append=T_k)
    return picture


def _in_order(work: Callable[[int], T], blocks: range) -> Iterator[T]:
    """What ``work`` gives for each block, made by several threads; after Ctrl-C no other block begins."""
    if len(blocks) < 2:
        yield from map(work, blocks)
        return
    with one_blas_thread(), ThreadPoolExecutor(threads_of(None)) as pool:
        yield from pool.map(work, blocks)


def _bins(at: NDArray[np.intp], first: int, end: int) -> tuple[slice, NDArray[np.intp]]:
    """Which cells the places from ``first`` to ``end`` fall into, and where each begins among them."""
    cells = slice(int(np.searchsorted(at, first, "right")) - 1, int(np.searchsorted(at, end, "left")))
    return cells, np.maximum(at[cells], first) - first


def _reduced(
    ufunc: np.ufunc, tile: Floats, rows: NDArray[np.intp], keys: NDArray[np.intp], tall: bool
) -> Floats:
    """The tile reduced to cells that begin at ``rows`` and ``keys``: first along the side where more meet."""
    if not tall:
        return ufunc.reduceat(ufunc.reduceat(tile, keys, axis=1), rows, axis=0)
    strips = [ufunc.reduce(tile[a:b], axis=0) for a, b in pairwise([*rows, len(tile)])]
    return ufunc.reduceat(np.stack(strips), keys, axis=1)
