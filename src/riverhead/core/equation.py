"""Attention(Q, K, V) = softmax(Q Kᵀ / √d_k) V: the whole equation, and the oracle of everything else."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from riverhead.core.border import Align, Bools, Floats
from riverhead.core.inputs import arrange
from riverhead.core.visible import product

__all__ = ["Attention", "attention", "softmax"]


@dataclass(frozen=True, slots=True, eq=False)
class Attention:
    """What attention gives, and what it went through; without the axis H where one head was given."""

    out: Floats  # (..., H, T_q, d_v)
    weights: Floats  # (..., H, T_q, T_k): rows sum to 1, to less with sinks, to 0 where no key is visible
    scores: Floats  # (..., H, T_q, T_k): −∞ where hidden


def attention(
    q: ArrayLike,  # (..., H, T_q, d_k), or (T_q, d_k) for one head
    k: ArrayLike,  # (..., G, T_k, d_k); query head h reads kv head h // (H // G)
    v: ArrayLike,  # (..., G, T_k, d_v)
    *,
    scale: float | None = None,  # multiplies; 1/√d_k
    mask: ArrayLike | None = None,  # boolean, True = may attend; broadcasts to (..., H, T_q, T_k)
    bias: ArrayLike | None = None,  # added to the scores, broadcasts likewise; −∞ hides
    causal: bool = False,
    align: Align = "end",  # the last query stands at the last key; "start": the first at the first
    window: int | None = None,  # only the nearest keys, itself included
    softcap: float | None = None,  # scores become softcap · tanh(scores / softcap)
    sinks: ArrayLike | None = None,  # (H,): logits that take weight and hand nothing over
) -> Attention:
    """Give each query the values, mixed by the softmax of its scores with the keys it may attend to.

    Arrays are float32 or float64; the result is as wide as the widest of q, k and v. A query that sees no
    key gives zeros; a hidden key adds nothing, whatever it holds; visible NaN and ∞ follow IEEE.
    Raises `ShapeError`, `DtypeError` or `InputError`, naming the axis or the argument.

    Vaswani et al. 2017, §3.2.1. Grouped heads: Ainslie et al. 2023, §2.2; soft cap: Gemma 2, 2024, §2;
    sinks: Xiao et al. 2023, §3.3.

    >>> river, bank = [2.0, 0.0], [1.0, 1.0]
    >>> attention([[2.0, 1.0]], k=[river, bank], v=[[1.0, 0.0], [0.0, 1.0]]).weights.round(3)
    array([[0.67, 0.33]])
    """
    with np.errstate(all="ignore"):  # ∞ and NaN are results here, not accidents
        given = arrange(q, k, v, scale, mask, bias, causal, align, window, softcap, sinks)
        scores = (given.scale * given.q) @ given.k.swapaxes(-1, -2)  # (..., G, group·T_q, T_k)
        scores = scores.reshape(given.shape)  # (..., H, T_q, T_k)
        if given.softcap is not None:
            scores /= given.softcap
            np.tanh(scores, out=scores)
            scores *= given.softcap
        if given.bias is not None:
            scores += given.bias
        if given.hidden.any():
            np.copyto(scores, -np.inf, where=given.hidden)
        weights = softmax(scores, hidden=given.hidden, sinks=given.sinks)  # (..., H, T_q, T_k)
        out = product(given.blocks(weights), given.v, given.hidden_blocks)  # (..., G, group·T_q, d_v)
    return Attention(given.heads(out), weights, scores)


def softmax(scores: Floats, *, hidden: Bools | None = None, sinks: Floats | None = None) -> Floats:
    """Turn each row of scores, (..., T_k), into weights: e^score over the row's sum, exactly 0 where hidden.

    A row that sees nothing gives zeros. Without ``hidden`` a score of −∞ is what is hidden; ``sinks``,
    (..., 1), take their share of the sum.

    >>> softmax(np.log([1.0, 3.0])).round(4)
    array([0.25, 0.75])
    """
    peak = scores.max(axis=-1, keepdims=True, initial=-np.inf)  # (..., 1), so that no exponential overflows
    if sinks is not None:
        peak = np.maximum(peak, sinks)
    with np.errstate(all="ignore"):
        weights: Floats = scores - peak
        np.exp(weights, out=weights)
        total = weights.sum(axis=-1, keepdims=True)
        weights /= total if sinks is None else total + np.exp(sinks - peak)
    if not np.isfinite(peak).all():  # rows that see nothing, and NaN and ∞, which only visible keys may show
        np.copyto(weights, 0, where=np.isneginf(scores) if hidden is None else hidden)
    return weights
