"""The fused pass: compiled where it was built and fits, NumPy row blocks otherwise; it says which."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riverhead.core import rowblocks
from riverhead.core.border import count
from riverhead.core.job import Job, own
from riverhead.errors import InputError

try:
    from riverhead import _kernel
except ImportError:  # no compiler where it was installed: the row blocks do the same, slower
    _kernel = None  # type: ignore[assignment]

__all__ = ["NAMES", "path", "paths", "run", "threads_of"]

NAMES = (
    "entropy_nats",
    "mean_distance",
    "max_weight",
    "first_weight",
    "self_weight",
    "previous_weight",
)  # one number a query, beside lse

LARGEST = 1e37  # a number beyond this may leave float32's range on the way
WIDEST = 1 << 20  # d_k or d_v beyond this, and the compiled pass declines
THREADS_WORTH = 4_000_000  # multiply-adds, a millisecond or so: for fewer no further thread is started


def paths() -> tuple[str, ...]:
    """Return the ways the pass can run on this machine, best first."""
    return (*(_kernel.isas() if _kernel is not None else ()), "numpy")


def path() -> str:
    """Return the way it runs: the best one, or what RIVERHEAD_KERNEL says.

    Raises `InputError` naming what there is, where it says something else.
    """
    wanted = os.environ.get("RIVERHEAD_KERNEL")
    if not wanted:
        return paths()[0]
    if wanted not in paths():
        raise InputError(f"RIVERHEAD_KERNEL is {wanted!r}; this machine and build have {', '.join(paths())}")
    return wanted


def threads_of(threads: int | None) -> int:
    """Return how many threads to use: as asked, as the environment says, or one a core.

    Raises `InputError` where RIVERHEAD_NUM_THREADS is no number; OMP_NUM_THREADS is others' to check.
    """
    if threads is not None:
        return count("threads", threads)
    for name in ("RIVERHEAD_NUM_THREADS", "OMP_NUM_THREADS"):
        said = os.environ.get(name, "")
        first = said.partition(",")[0].strip()
        if first.isdecimal() and int(first) > 0:
            return int(first)
        if said and name == "RIVERHEAD_NUM_THREADS":
            raise InputError(f"{name} is {said!r}; it must be a whole number, at least 1")
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run(
    job: Job,
    *,
    statistics: bool = True,
    threads: int | None = None,
    progress: Callable[[float], object] | None = None,
) -> dict[str, NDArray[Any]]:
    """Run one pass over ``job``: out and lse, and with ``statistics`` everything else, by name.

    Arrays come as (*batch, H, ...). Raises `MemoryError` where the results do not fit.
    """
    n_threads, way = threads_of(threads), path()
    if threads is None:
        n_threads = min(n_threads, 1 + _multiply_adds(job) // THREADS_WORTH)
    compiled = way != "numpy" and _fits(job)
    outputs = _outputs(job, statistics)
    if compiled:
        _compiled(way, job, outputs, n_threads, progress)
    else:
        rowblocks.run(job, outputs, progress)
    if progress is not None:
        progress(1.0)
    lead = job.batch + job.q.shape[-3:-2]
    return {name: x.reshape(lead + x.shape[2:]) for name, x in outputs.items()}


def _outputs(job: Job, statistics: bool) -> dict[str, NDArray[Any]]:
    H, T_q, _ = job.q.shape[-3:]
    T_k, d_v = job.v.shape[-2:]
    B = int(np.prod(job.batch, dtype=object)) if job.batch else 1
    shapes: dict[str, tuple[int, ...]] = {"out": (T_q, d_v), "lse": (T_q,)}
    if statistics:
        shapes |= dict.fromkeys(NAMES, (T_q,)) | {"received": (T_k,), "received_max": (T_k,)}
        shapes |= {"top_weight": (T_q, job.top)}
        if job.pairs is not None:
            shapes["pair_weight"] = (T_q,)
    outputs: dict[str, NDArray[Any]] = {
        name: np.zeros((B, H, *shape), job.dtype) for name, shape in shapes.items()
    }
    if statistics:
        outputs["top_key"] = np.full((B, H, T_q, job.top), -1, np.int32)
    return outputs


def _multiply_adds(job: Job) -> int:
    *heads, T_q, d_k = job.q.shape
    T_k, d_v = job.v.shape[-2:]
    return math.prod((*job.batch, heads[-1], T_q, T_k, d_k + d_v))


def _fits(job: Job) -> bool:
    """Whether the compiled pass gives the right numbers: float32 or narrower, no step near overflow."""
    (T_q, d_k), (T_k, d_v) = job.q.shape[-2:], job.v.shape[-2:]
    if job.dtype != np.float32 or 0 in (*job.q.shape, *job.k.shape) or max(d_k, d_v) > WIDEST:
        return False
    q, k, v = (_largest(job, x) for x in (job.q, job.k, job.v))
    bias = 0.0
    if job.bias is not None:
        given = own(job.bias)
        lowest = given.min(initial=0, where=given != -np.inf)
        bias = max(float(given.max(initial=0)), -float(lowest))
    if job.sinks is not None:
        bias += float(np.abs(job.sinks).max())
    if job.alibi is not None:
        bias += float(np.abs(job.alibi).max()) * (T_q + T_k + abs(job.offset))
    scale, softcap, dots = abs(job.scale), job.softcap or 1.0, q * k * d_k
    steps = (scale, scale * q, dots, scale * dots + bias, softcap, 1 / softcap, v * T_k)
    return all(step < LARGEST for step in steps)


def _largest(job: Job, x: NDArray[Any]) -> float:
    """The largest magnitude in ``x``; NaN or ∞ if it holds one."""
    x = own(x)
    if job.bfloat:
        return float(job.read(np.array([(x & 0x7FFF).max(initial=0)], np.uint16))[0])
    return max(float(x.max(initial=0)), -float(x.min(initial=0)))


def _compiled(
    way: str,
    job: Job,
    outputs: dict[str, NDArray[Any]],
    n_threads: int,
    progress: Callable[[float], object] | None,
) -> None:
    mask = None if job.mask is None else job.mask.view(np.uint8)
    arrays = [job.q, job.k, job.v, *(job.q if x is None else x for x in (mask, job.bias))]
    _kernel.run(
        isa=way,
        q=job.q,
        k=job.k,
        v=job.v,
        batch=[_offsets(x) for x in arrays],
        bfloat=job.bfloat,
        scale=job.scale,
        mask=mask,
        bias=job.bias,
        alibi=job.alibi,
        sinks=job.sinks,
        lengths=None if job.lengths is None else np.ascontiguousarray(job.lengths.reshape(-1)),
        softcap=job.softcap or 0.0,
        causal=job.causal,
        offset=job.offset,
        window=job.window or 0,
        top=job.top if "top_key" in outputs else 0,
        pairs=job.pairs if "pair_weight" in outputs else None,
        outputs=outputs,
        n_threads=min(n_threads, 1 << 15),
        progress=progress,
    )


def _offsets(x: NDArray[Any]) -> NDArray[np.int64]:
    """Where each batch item starts, in numbers from the first."""
    offsets = np.zeros((), np.int64)
    for size, stride in zip(x.shape[:-3], x.strides[:-3], strict=True):
        offsets = offsets[..., None] + np.arange(size) * (stride // x.itemsize)
    return np.ascontiguousarray(offsets.reshape(-1))
