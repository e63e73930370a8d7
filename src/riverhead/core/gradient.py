"""The gradient of attention, by hand: back through the weights, the softmax and the scores."""

from __future__ import annotations

from typing import NamedTuple, Unpack

import numpy as np
from numpy.typing import ArrayLike

from riverhead.core.border import Floats, floats
from riverhead.core.equation import attention
from riverhead.core.inputs import Options, arrange
from riverhead.core.visible import product
from riverhead.errors import ShapeError

__all__ = ["AttentionGradient", "attention_gradient"]


class AttentionGradient(NamedTuple):
    """How the loss moves with q, k and v, each in the shape it was given."""

    d_q: Floats  # (..., H, T_q, d_k)
    d_k: Floats  # (..., G, T_k, d_k)
    d_v: Floats  # (..., G, T_k, d_v)


def attention_gradient(
    d_out: ArrayLike, q: ArrayLike, k: ArrayLike, v: ArrayLike, **options: Unpack[Options]
) -> AttentionGradient:
    """Return d_q, d_k and d_v, given how the loss moves with out: ``d_out`` (..., H, T_q, d_v).

    ``options`` are those of `attention`, and its errors. The softmax passes on s_i (δ_ij − s_j) · d_j, that
    is, each weight times how far its key's d is above the row's mean. A query that sees no key and a key that
    no query sees get zeros, never NaN.

    >>> q, k, v = [[1.0]], [[0.0], [0.0]], [[0.0], [4.0]]  # two weights of 1/2
    >>> attention_gradient([[1.0]], q, k, v).d_k.ravel()  # 1/2 · (4 − 2) · q, up for one, down for the other
    array([-1.,  1.])
    """
    with np.errstate(all="ignore"):
        given = arrange(q, k, v, **options)
        found = attention(q, k, v, **options)
        d_out = floats("d_out", d_out).astype(found.out.dtype, copy=False)
        if d_out.shape != found.out.shape:
            raise ShapeError(
                f"d_out is {d_out.shape}, out is {found.out.shape}; each number of out has its own"
            )

        hidden = given.hidden_blocks()  # (..., G, group·T_q, T_k), as all below
        weights, d_out = given.blocks(found.weights), given.blocks(d_out)
        d_weights = d_out @ given.v.swapaxes(-1, -2)
        np.copyto(d_weights, 0, where=hidden)
        mean = (weights * d_weights).sum(axis=-1, keepdims=True)
        d_dots = weights * (d_weights - mean) * given.scale
        if given.softcap is not None:
            dots = given.scale * given.q @ given.k.swapaxes(-1, -2)
            d_dots /= np.cosh(dots / given.softcap) ** 2  # tanh′ = 1/cosh²
        np.copyto(d_dots, 0, where=hidden)

        d_q = given.heads(product(d_dots, given.k, lambda: hidden))
        d_k = product(d_dots.swapaxes(-1, -2), given.q, lambda: hidden.swapaxes(-1, -2))
        d_v = product(weights.swapaxes(-1, -2), d_out, lambda: hidden.swapaxes(-1, -2))
    return AttentionGradient(*(_like(d, x) for d, x in ((d_q, q), (d_k, k), (d_v, v))))


def _like(d: Floats, x: ArrayLike) -> Floats:
    """Sum ``d`` over the axes along which ``x`` was broadcast."""
    shape = np.shape(x)
    leading = d.ndim - len(shape)
    stretched = (i for i, size in enumerate(shape, start=leading) if size == 1 != d.shape[i])
    summed: Floats = d.sum(axis=(*range(leading), *stretched), keepdims=True)
    return summed.reshape(shape)
