"""What `attention` and its gradient are given: checked, and laid out so that k and v are never copied."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from riverhead.core import masks
from riverhead.core.border import Align, Bools, Floats, booleans, floats, number
from riverhead.errors import ShapeError
from riverhead.shapes import check_axis, check_rank

__all__ = [
    "Inputs",
    "Options",
    "arrange",
    "batch_shape",
    "check_fit",
    "check_groups",
    "check_sinks",
    "fitting",
]


class Options(TypedDict, total=False):
    """The keyword arguments of `attention`, for functions that pass them on."""

    scale: float | None
    mask: ArrayLike | None
    bias: ArrayLike | None
    causal: bool
    align: Align
    window: int | None
    softcap: float | None
    sinks: ArrayLike | None


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """Arrays that fit together; query heads that share a kv head stand in one block of group·T_q rows."""

    q: Floats  # (..., G, group·T_q, d_k)
    k: Floats  # (..., G, T_k, d_k)
    v: Floats  # (..., G, T_k, d_v)
    scale: float
    softcap: float | None
    bias: Floats | None  # broadcasts to shape
    hidden: Bools  # broadcasts to shape
    sinks: Floats | None  # (H, 1, 1)
    shape: tuple[int, ...]  # (..., H, T_q, T_k), without H where one head was given as (T, d)

    def blocks(self, x: NDArray[Any]) -> NDArray[Any]:
        """Return ``x (..., H, T_q, n)`` as ``(..., G, group·T_q, n)``."""
        return x.reshape(*self.q.shape[:-1], x.shape[-1])

    def hidden_blocks(self) -> Bools:
        """Return ``hidden`` as ``(..., G, group·T_q, T_k)``."""
        return self.blocks(np.broadcast_to(self.hidden, self.shape))

    def heads(self, x: Floats) -> Floats:
        """Return ``x (..., G, group·T_q, n)`` as ``(..., H, T_q, n)``."""
        return x.reshape(*self.shape[:-1], x.shape[-1])


def arrange(
    q: ArrayLike,
    k: ArrayLike,
    v: ArrayLike,
    scale: float | None = None,
    mask: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    causal: bool = False,
    align: Align = "end",
    window: int | None = None,
    softcap: float | None = None,
    sinks: ArrayLike | None = None,
) -> Inputs:
    """Check every argument of `attention`, and lay q, k and v out by kv head."""
    q, k, v = floats("q", q), floats("k", k), floats("v", v)
    check_fit(q.shape, k.shape, v.shape)
    dtype = np.result_type(q, k, v)
    one_head = q.ndim == k.ndim == v.ndim == 2
    q, k, v = (x[None] if x.ndim == 2 else x for x in (q, k, v))
    batch = batch_shape(q=q.shape[:-3], k=k.shape[:-3], v=v.shape[:-3])
    (H, T_q, d_k), (G, T_k, _) = q.shape[-3:], k.shape[-3:]
    shape = (T_q, T_k) if one_head else (*batch, H, T_q, T_k)
    q, k, v = (np.broadcast_to(x.astype(dtype, copy=False), batch + x.shape[-3:]) for x in (q, k, v))

    if bias is not None:
        bias = fitting("bias", floats("bias", bias), shape).astype(dtype)
    visible = None if mask is None else fitting("mask", booleans("mask", mask), shape)
    visible = masks.combine(visible, _positional(T_q, T_k, causal, align, window), _additive(bias))
    return Inputs(
        q=q.reshape(*batch, G, H // G * T_q, d_k),
        k=k,
        v=v,
        scale=1 / math.sqrt(d_k) if scale is None else number("scale", scale),
        softcap=None if softcap is None else number("softcap", softcap, above=0),
        bias=bias,
        hidden=np.zeros((), np.bool_) if visible is None else ~visible,
        sinks=None if sinks is None else check_sinks(sinks, H, dtype).reshape(*shape[-3:-2], 1, 1),
        shape=shape,
    )


def check_fit(q: tuple[int, ...], k: tuple[int, ...], v: tuple[int, ...]) -> None:
    """Compare every axis that two arrays share."""
    check_rank("q", q, "T_q d_k")
    check_rank("k", k, "T_k d_k")
    check_rank("v", v, "T_k d_v")
    check_axis("d_k", "each query is compared with each key", q=q[-1], k=k[-1])
    check_axis("T_k", "each key is paired with one value", k=k[-2], v=v[-2])
    H, G, of_v = (1 if len(shape) == 2 else shape[-3] for shape in (q, k, v))
    check_axis("n_kv_heads", "each kv head has its keys and its values", k=G, v=of_v)
    check_groups(H, G)
    if q[-1] == 0:
        raise ShapeError("d_k is 0; a query needs at least one component")


def check_groups(n_heads: int, n_kv_heads: int) -> None:
    """Raise `ShapeError` unless each kv head serves the same number of query heads."""
    if n_heads < 1 or n_kv_heads < 1 or n_heads % n_kv_heads:
        raise ShapeError(
            f"n_heads {n_heads} is not a multiple of n_kv_heads {n_kv_heads}; "
            "each kv head serves the same number of query heads"
        )


def batch_shape(**leading: tuple[int, ...]) -> tuple[int, ...]:
    """Broadcast the axes before heads."""
    try:
        return np.broadcast_shapes(*leading.values())
    except ValueError as error:
        found = ", ".join(f"{name} has {shape}" for name, shape in leading.items())
        raise ShapeError(f"the axes before n_heads do not broadcast: {found}") from error


def fitting(name: str, x: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return ``x`` if it broadcasts to the scores without making them larger."""
    axes = ("T_k", "T_q", "n_heads", *(f"batch axis {i}" for i in range(len(shape))))
    for axis, has, need in zip(axes, reversed(x.shape), reversed(shape), strict=False):
        if has not in (1, need):
            raise ShapeError(
                f"{axis} differs: {name} has {has}, the scores have {need}; {name} {x.shape} "
                f"must broadcast to the scores {shape}"
            )
    if x.ndim > len(shape):
        raise ShapeError(f"{name} has {x.ndim} axes {x.shape}; it must broadcast to the scores {shape}")
    return x


def _positional(T_q: int, T_k: int, causal: bool, align: Align, window: int | None) -> Bools | None:
    """Who may attend by place alone; None if everyone."""
    masks.check_align(align)
    if window is not None:
        return masks.sliding_window(T_q, T_k, window, causal=causal, align=align)
    return masks.causal(T_q, T_k, align) if causal else None


def _additive(bias: Floats | None) -> Bools | None:
    """An added −∞ hides as a False in mask does."""
    hidden = None if bias is None else np.isneginf(bias)
    return ~hidden if hidden is not None and hidden.any() else None


def check_sinks(sinks: ArrayLike, n_heads: int, dtype: DTypeLike) -> Floats:
    """Return one logit a head."""
    logits = floats("sinks", sinks)
    if logits.shape != (n_heads,):
        raise ShapeError(f"n_heads differs: sinks is {logits.shape}, q has {n_heads}; each head has one sink")
    return logits.astype(dtype)
