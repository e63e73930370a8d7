"""Maps over disjoint ranges of keys become the map over all of them: tiles, threads, shards of a cache."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from riverhead.core.border import Floats
from riverhead.core.inputs import check_sinks
from riverhead.core.job import Job
from riverhead.core.map import AttentionMap
from riverhead.core.tiles import logs
from riverhead.errors import InputError

__all__ = ["merge_maps"]

SAME = ("dtype", "bfloat", "batch", "one_head", "scale", "softcap", "causal", "window", "top")
SUMS = ("out", "mean_distance", "self_weight", "previous_weight", "pair_weight")  # over the parts, in shares
GATHERED = 1 << 22  # numbers of k that are held beside k to rank the top

Statistics = dict[str, NDArray[Any]]


def merge_maps(parts: Iterable[AttentionMap], *, sinks: ArrayLike | None = None) -> AttentionMap:
    """Return the map over all keys, from maps of the same queries over one range of keys each.

    A part over the keys from a on is ``attend(q, k[a:b], v[a:b], offset=offset - a, ...)``; query 0 stands at
    the key ``offset`` of the whole, T_k − T_q where the last query sees the last key. So each part says where
    its keys stand, and may be given in any place. Merged maps merge again. What a key received is made from
    q, k and the merged lse when it is asked for; k and v are copied, once. A query to which every key of a
    part scores −∞ is NaN there, and so in the merge.

    ``sinks`` (H,) take their weight once: they are given here, at the last merge, and to no part. Raises
    `InputError` naming the parts that overlap, that leave a gap, or that were made in different ways.

    Milakov & Gimelshein 2018, §3.1; Dao et al. 2023 (Flash-Decoding).

    >>> from riverhead.core import attend
    >>> q, k, v = [[2.0, 1.0]], np.array([[2.0, 0.0], [1.0, 1.0], [0.0, 1.0]]), np.eye(3)
    >>> parts = [attend(q, k[a:b], v[a:b], offset=2 - a) for a, b in ((1, 3), (0, 1))]
    >>> merge_maps(parts).out.round(3), attend(q, k, v).out.round(3)
    (array([[0.62 , 0.306, 0.074]]), array([[0.62 , 0.306, 0.074]]))
    """
    given = list(parts)
    if not given or not all(isinstance(part, AttentionMap) for part in given):
        raise InputError("parts takes one or more AttentionMaps, one for each range of keys")
    _check_alike(given)
    ordered = _ordered(given)
    job = _whole([part._job for part in ordered])
    if sinks is not None:
        job = replace(job, sinks=check_sinks(sinks, job.q.shape[-3], job.dtype))
    heads = ordered[0]._heads
    statistics = _rows(job, heads, [part._statistics for part in ordered])
    if "top_key" in ordered[0]._statistics:
        _rank(job, heads, statistics, ordered)
    return AttentionMap(job, heads, statistics)


def _check_alike(parts: list[AttentionMap]) -> None:
    """All parts are about the same queries, with the same options."""
    first = parts[0]
    for n, part in enumerate(parts):
        job = part._job
        if job.sinks is not None:
            raise InputError(
                f"part {n} was made with sinks, which take their weight once: give them to merge_maps, "
                "at the last merge, and not to the parts"
            )
        alike = {name: (getattr(first._job, name), getattr(job, name)) for name in SAME}
        alike["d_v"] = first._job.v.shape[-1], job.v.shape[-1]
        alike["the choice of heads"] = first._heads.tolist(), part._heads.tolist()
        alike["pairs"] = "pair_weight" in first._statistics, "pair_weight" in part._statistics
        for name, (one, other) in alike.items():
            if one != other:
                raise InputError(
                    f"{name} differs: {one} in part 0, {other} in part {n}; parts of one map are made with "
                    "the same options"
                )
        for name in ("q", "alibi"):
            one, other = getattr(first._job, name), getattr(job, name)
            if one is not other and not np.array_equal(one, other, equal_nan=name == "q" and not job.bfloat):
                raise InputError(f"{name} of part {n} is not that of part 0; parts of one map share it")


def _ordered(parts: list[AttentionMap]) -> list[AttentionMap]:
    """The parts by the place of their keys, which follow on each other without gap or overlap."""
    start = [-part._job.offset for part in parts]  # of the keys, counted from query 0
    size = [part._job.k.shape[-2] for part in parts]
    order = sorted(range(len(parts)), key=lambda n: (start[n], size[n]))
    for a, b in pairwise(order):
        between = start[b] - start[a] - size[a]
        if between:
            what = f"{between} keys are missing between" if between > 0 else f"{-between} keys are in both"
            raise InputError(
                f"{what} part {a} and part {b}; a part from key a on is made with offset=offset - a, so that "
                "it says where its keys stand"
            )
    return [parts[n] for n in order]


def _whole(jobs: list[Job]) -> Job:
    """The job over all keys."""
    first, sizes = jobs[0], [job.k.shape[-2] for job in jobs]
    return replace(
        first,
        k=_joined([job.k for job in jobs], -2),
        v=_joined([job.v for job in jobs], -2),
        mask=_cells([job.mask for job in jobs], sizes, first, True),
        bias=_cells([job.bias for job in jobs], sizes, first, first.dtype.type(0)),
        lengths=_lengths(jobs, sizes),
        pairs=None,  # they have been summed
    )


def _joined(arrays: Sequence[NDArray[Any]], axis: int) -> NDArray[Any]:
    """The arrays one after the other; an axis along which all repeat is not written out."""
    along, shape = arrays[0].ndim + axis, list(arrays[0].shape)
    shape[along] = sum(x.shape[along] for x in arrays)
    repeats = [n != along and all(x.strides[n] == 0 for x in arrays) for n in range(len(shape))]
    once = tuple(slice(1) if repeat else slice(None) for repeat in repeats)
    return np.broadcast_to(np.concatenate([x[once] for x in arrays], axis), shape)


def _cells(arrays: list[NDArray[Any] | None], sizes: list[int], job: Job, blank: Any) -> NDArray[Any] | None:
    """Masks or biases over all keys; a part that was given none has ``blank`` everywhere."""
    if all(x is None for x in arrays):
        return None
    rows = (*job.batch, *job.q.shape[-3:-1])
    filled = (
        np.broadcast_to(blank, (*rows, n)) if x is None else x for x, n in zip(arrays, sizes, strict=True)
    )
    return _joined(list(filled), -1)


def _lengths(jobs: list[Job], sizes: list[int]) -> NDArray[np.int64] | None:
    """How many keys are seen in all; as lengths hide what comes last, none may be seen after a hidden one."""
    if all(job.lengths is None for job in jobs):
        return None
    total, ended = np.zeros(jobs[0].batch, np.int64), np.zeros(jobs[0].batch, np.bool_)
    for job, size in zip(jobs, sizes, strict=True):
        seen = np.full(job.batch, size) if job.lengths is None else job.lengths
        if (ended & (seen > 0)).any():
            at = -job.offset + jobs[0].offset
            raise InputError(
                f"lengths hide keys before key {at}, and show some from there on; lengths of parts are those "
                "of the whole, less the keys before the part, in 0..T_k of the part"
            )
        total += seen
        ended |= seen < size
    return total


def _rows(job: Job, heads: NDArray[np.intp], parts: list[Statistics]) -> Statistics:
    """What is known of each query, from what each part knows of it and that part's share of the weight."""
    with np.errstate(all="ignore"):  # −∞ is the lse of a part in which a query sees nothing
        lse = np.stack([part["lse"].astype(np.float64) for part in parts])  # (parts, ..., H, T_q)
        whole = np.logaddexp.reduce(lse, axis=0)
        if job.sinks is not None:
            whole = np.logaddexp(whole, job.sinks[heads % len(job.sinks)][..., None])
        shares = np.exp(lse - np.where(np.isneginf(whole), 0, whole))
        found = {name: _sum(shares, [part[name] for part in parts]) for name in SUMS if name in parts[0]}
        if "max_weight" in parts[0]:
            largest = [
                _share(*pair) for pair in zip(shares, (part["max_weight"] for part in parts), strict=True)
            ]
            found["max_weight"] = np.maximum.reduce(largest)
            found["first_weight"] = _first(shares, lse, [part["first_weight"] for part in parts])
            surprise = np.where(shares == 0, 0, whole - lse)  # Σ w (lse − score), with the lse of all
            found["entropy_nats"] = _sum(shares, [part["entropy_nats"] for part in parts])
            found["entropy_nats"] += (shares * surprise).sum(axis=0)
    return {name: x.astype(job.dtype) for name, x in {"lse": whole, **found}.items()}


def _share(share: Floats, x: Floats) -> Floats:
    """``x`` (..., H, T_q[, d_v]) in the measure of the whole; what is 0 stays 0 in a row of NaN."""
    share = share.reshape(share.shape + (1,) * (x.ndim - share.ndim))
    return np.where(x == 0, 0, share * x)


def _sum(shares: Floats, parts: list[Floats]) -> Floats:
    total = np.zeros(parts[0].shape, np.float64)
    for share, x in zip(shares, parts, strict=True):
        total += _share(share, x)
    return total


def _first(shares: Floats, lse: Floats, parts: list[Floats]) -> Floats:
    """The weight on the first key a query sees: of the first part in which it sees one."""
    found, sought = np.zeros(lse.shape[1:]), np.ones(lse.shape[1:], np.bool_)
    for share, of_part, x in zip(shares, lse, parts, strict=True):
        here = sought & ~np.isneginf(of_part)
        np.copyto(found, share * x, where=here)
        sought &= ~here
    return found


def _rank(job: Job, heads: NDArray[np.intp], statistics: Statistics, parts: list[AttentionMap]) -> None:
    """Choose the largest weights among those of the parts, scored anew so that equal ones stay equal."""
    before = np.cumsum([0, *(part.shape[-1] for part in parts[:-1])])
    kept = [np.where(part.top_key < 0, -1, part.top_key + n) for part, n in zip(parts, before, strict=True)]
    keys = np.concatenate(kept, axis=-1)  # (..., H, T_q, parts · top)
    found = np.full((*keys.shape[:-1], job.top), -1, np.int32)
    weights = np.zeros(found.shape, job.dtype)
    step = max(1, GATHERED // max(keys.shape[-1] * job.q.shape[-1], 1))
    for where in np.ndindex(heads.shape) if job.k.shape[-2] else ():
        head, lse = job.head(int(heads[where])), statistics["lse"][where]
        for first in range(0, keys.shape[-2], step):
            rows = np.arange(first, min(first + step, keys.shape[-2]))
            key = keys[where][rows]
            log = np.where(key < 0, -np.inf, logs(head, lse, rows, np.maximum(key, 0)))
            best = np.lexsort((key, -log), axis=-1)[:, : job.top]
            found[where][rows] = np.take_along_axis(key, best, axis=-1)
            weights[where][rows] = np.exp(np.take_along_axis(log, best, axis=-1))
    weights[np.isnan(statistics["lse"])] = np.nan  # which has no order, and no keys
    statistics |= {"top_key": found, "top_weight": weights}
