"""Attention that is free to look at: one pass gives the output and every statistic, and no T×T is stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Unpack

from numpy.typing import ArrayLike

from riverhead.core import kernel
from riverhead.core.border import Align, Floats
from riverhead.core.inputs import Options
from riverhead.core.job import job_of
from riverhead.core.map import AttentionMap

__all__ = ["attend", "forward"]


def attend(
    q: ArrayLike,  # (..., H, T_q, d_k), or (T_q, d_k) for one head
    k: ArrayLike,  # (..., G, T_k, d_k); query head h reads kv head h // (H // G)
    v: ArrayLike,  # (..., G, T_k, d_v)
    *,
    scale: float | None = None,
    mask: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    causal: bool = False,
    align: Align = "end",
    offset: int | None = None,  # query i stands at key i + offset; the default follows from align
    window: int | None = None,
    softcap: float | None = None,
    sinks: ArrayLike | None = None,
    lengths: ArrayLike | None = None,  # (...): the keys from there on are hidden
    alibi: ArrayLike | None = None,  # (H,): the bias is −alibi · |i − j|
    top: int = 8,  # how many of the largest weights of each query are kept, 0 to 64
    pairs: tuple[ArrayLike, ArrayLike] | None = None,  # CSR: (T_q + 1) starts, and keys
    threads: int | None = None,
    progress: Callable[[float], object] | None = None,  # told the fraction done, now and then
) -> AttentionMap:
    """Give each query the values mixed by its weights, and everything there is to know about the weights.

    The arguments of `attention`, with the same meaning, and float16 arrays and bfloat16 tensors besides.
    Memory grows with T, not with T². Runs compiled where it was built, else in NumPy (`riverhead doctor`
    says which); float64 always runs in NumPy. The result is the same to the last bit for any number of
    threads: as asked, or up to RIVERHEAD_NUM_THREADS, or OMP_NUM_THREADS, or one a core.
    Raises as `attention` does, and `KeyboardInterrupt` within a second of Ctrl-C.

    Milakov & Gimelshein 2018 (online softmax); Dao et al. 2022 (FlashAttention), §3.1.

    >>> A = attend([[2.0, 1.0]], k=[[2.0, 0.0], [1.0, 1.0]], v=[[1.0, 0.0], [0.0, 1.0]])
    >>> A.out.round(3), A.entropy_nats.round(3), A.received.round(3)
    (array([[0.67, 0.33]]), array([0.634]), array([0.67, 0.33]))
    """
    job = job_of(
        q,
        k,
        v,
        scale=scale,
        mask=mask,
        bias=bias,
        causal=causal,
        align=align,
        offset=offset,
        window=window,
        softcap=softcap,
        sinks=sinks,
        lengths=lengths,
        alibi=alibi,
        top=top,
        pairs=pairs,
    )
    return AttentionMap.of(job, kernel.run(job, threads=threads, progress=progress))


def forward(
    q: ArrayLike, k: ArrayLike, v: ArrayLike, *, threads: int | None = None, **options: Unpack[Options]
) -> Floats:
    """Return ``out`` (..., H, T_q, d_v) alone, by the same pass: what a model needs when nobody looks.

    Takes what `attention` takes. Where it was not compiled this is NumPy, block by block.

    >>> forward([[2.0, 1.0]], k=[[2.0, 0.0], [1.0, 1.0]], v=[[1.0, 0.0], [0.0, 1.0]]).round(3)
    array([[0.67, 0.33]])
    """
    job = job_of(q, k, v, **options)
    out: Floats = kernel.run(job, statistics=False, threads=threads)["out"]
    return out[0] if job.one_head else out
