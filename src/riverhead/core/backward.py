"""The gradient without T×T: tile by tile the weights are made again, from q, k and each row's log-sum-exp."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any, NamedTuple

import numpy as np

from riverhead.core.blas import one_blas_thread
from riverhead.core.border import Floats
from riverhead.core.job import Job
from riverhead.core.kernel import threads_of
from riverhead.core.visible import product

__all__ = ["Gradient", "gradient"]

TILE = 384  # queries by keys: the few arrays of this size that are alive stay close to the processor


class Gradient(NamedTuple):
    """How the loss moves with what a job was given."""

    d_q: Floats  # (..., H, T_q, d_k)
    d_k: Floats  # (..., G, T_k, d_k)
    d_v: Floats  # (..., G, T_k, d_v)
    d_sinks: Floats | None  # (H,)


def gradient(job: Job, out: Floats, lse: Floats, d_out: Floats, *, threads: int | None = None) -> Gradient:
    """Return the gradient of ``job``, given what its pass gave and how the loss moves with ``out``.

    ``out`` and ``d_out`` are (..., H, T_q, d_v), ``lse`` is (..., H, T_q). The mean that a row's d_weights
    are measured against, Σ_j weights · d_weights, is also Σ d_out · out: so a row need not be there as a
    whole, memory grows with T, and a block of keys that places hide costs nothing. A query that sees no key
    and a key that no query sees get zeros, whatever they hold. ``threads`` share the kv heads; the result is
    the same to the last bit for any number of them.

    Dao 2023 (FlashAttention-2), §3.1.2, Algorithm 2.
    """
    d_q, d_k, d_v = (np.zeros(x.shape, job.dtype) for x in (job.q, job.k, job.v))

    def share(item: tuple[int, ...], g: int) -> Iterator[None]:
        for h, rows, keys in _tiles(job, item, g):
            at: tuple[Any, ...] = (*item, h, rows)
            by_q, by_k, by_v = _tile(job, item, h, rows, keys, lse[at], mean[at], d_out[at])
            d_q[at] += by_q
            d_k[item][g, keys] += by_k
            d_v[item][g, keys] += by_v
            yield

    with np.errstate(all="ignore"):  # ∞ and NaN are results here, not accidents
        mean = (d_out * out).sum(axis=-1)  # (..., H, T_q)
        np.copyto(mean, 0, where=~out.any(axis=-1))  # and not 0 · NaN, where nothing was seen
        _run([share(at[:-1], at[-1]) for at in np.ndindex(job.k.shape[:-2])], threads_of(threads))
        d_q *= job.scale
        d_k *= job.scale
        return Gradient(d_q, d_k, d_v, None if job.sinks is None else _of_sinks(job.sinks, lse, mean))


def _of_sinks(sinks: Floats, lse: Floats, mean: Floats) -> Floats:
    """A sink takes weight and hands nothing over, so its d_weight is 0: (H,)."""
    taken = np.exp(sinks[:, None] - lse) * -mean  # (..., H, T_q)
    d_sinks: Floats = taken.sum(axis=(*range(taken.ndim - 2), -1))
    return d_sinks


def _run(shares: list[Iterator[None]], threads: int) -> None:
    """Run each share to its end, on several threads; after Ctrl-C each ends with the tile it is at."""
    stopped = Event()

    def run(share: Iterator[None]) -> None:
        with np.errstate(all="ignore"):  # which each thread has its own of
            for _ in share:
                if stopped.is_set():
                    return

    with one_blas_thread(), ThreadPoolExecutor(threads) as pool:
        try:
            for _ in pool.map(run, shares):
                pass
        finally:
            stopped.set()


def _tiles(job: Job, item: tuple[int, ...], g: int) -> Iterator[tuple[int, slice, slice]]:
    """Each head that reads kv head g, each block of its queries, and the blocks of keys they can reach."""
    T_q, group = job.q.shape[-2], job.q.shape[-3] // job.k.shape[-3]
    for h in range(g * group, (g + 1) * group):
        for first in range(0, T_q, TILE):
            end = min(first + TILE, T_q)
            seen = job.span(item, first, end - 1)
            for low in range(seen.start, seen.stop, TILE):
                yield h, slice(first, end), slice(low, min(low + TILE, seen.stop))


def _tile(
    job: Job,
    item: tuple[int, ...],
    h: int,
    rows: slice,
    keys: slice,
    lse: Floats,  # (n,)
    mean: Floats,  # (n,)
    d_out: Floats,  # (n, d_v)
) -> tuple[Floats, Floats, Floats]:
    """What n queries and m keys add to d_q and d_k, but for the scale, and to d_v."""
    scores, hidden = job.scores(item, h, rows, keys)  # (n, m)
    weights = np.exp(np.subtract(scores, lse[:, None], out=scores), out=scores)
    q, d_out = np.ascontiguousarray(job.read(job.q[item][h, rows])), np.ascontiguousarray(d_out)
    k, v = (np.ascontiguousarray(job.read(x[item][job.kv_head(h), keys])) for x in (job.k, job.v))
    d_dots = d_out @ v.T  # (n, m): d_weights, and in place what follows from them
    d_dots -= mean[:, None]
    d_dots *= weights
    if job.softcap is not None:
        d_dots /= np.cosh(job.scaled_dots(item, h, rows, keys) / job.softcap) ** 2  # tanh′ = 1/cosh²
    if hidden is None:
        hidden = np.zeros((1, 1), np.bool_)
    else:
        np.copyto(weights, 0, where=hidden)
        np.copyto(d_dots, 0, where=hidden)
    hidden = np.broadcast_to(hidden, weights.shape)
    return (
        product(d_dots, k, lambda: hidden),
        product(d_dots.T, q, lambda: hidden.T),
        product(weights.T, d_out, lambda: hidden.T),
    )
