"""Attention as it is defined, in loops over Python's own numbers: the oracle of `equation.py`, for tests.

It shares no line with what it is compared with and checks nothing: it is given nested lists that fit, none
of them empty.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

__all__ = ["Defined", "attention"]

Nested = Any  # a number, or a list of Nested


class Defined(NamedTuple):
    """Nested lists in the shapes of `riverhead.core.Attention`."""

    out: Nested  # (..., H, T_q, d_v)
    weights: Nested  # (..., H, T_q, T_k)
    scores: Nested  # (..., H, T_q, T_k)


def attention(
    q: Nested,
    k: Nested,
    v: Nested,
    *,
    scale: float | None = None,
    mask: Nested = True,
    bias: Nested = 0.0,
    causal: bool = False,
    align: str = "end",
    window: int | None = None,
    softcap: float | None = None,
    sinks: Sequence[float] | None = None,
) -> Defined:
    """Return what `riverhead.core.attention` returns, row by row.

    >>> attention([[0.0]], [[1.0], [1.0]], [[0.0], [4.0]]).out
    [[2.0]]
    """
    if max(len(size(x)) for x in (q, k, v)) == 2:
        one_head = attention([q], [k], [v], scale=scale, mask=mask, bias=bias, causal=causal, align=align,
                             window=window, softcap=softcap, sinks=sinks)  # fmt: skip
        return Defined(*(x[0] for x in one_head))
    (*_, H, T_q, d_k), (*_, G, T_k, _) = ([1, *size(x)] for x in (q, k))
    batch = [max(axis) for axis in zip(*(leading(x, (q, k, v)) for x in (q, k, v)), strict=True)]
    first = T_k - T_q if align == "end" else 0  # where query 0 stands among the keys

    def sees(i: int, j: int) -> bool:
        behind = first + i - j
        if causal and behind < 0:
            return False
        return window is None or abs(behind) < window

    def row(index: tuple[int, ...]) -> tuple[list[float], list[float], list[float]]:
        *b, h, i = index
        kv_head = (*b, h // (H // G))
        keys, values = pick(k, kv_head, keep=2), pick(v, kv_head, keep=2)
        added = [pick(bias, (*index, j)) for j in range(T_k)]
        visible = [bool(pick(mask, (*index, j))) and sees(i, j) and added[j] != -math.inf for j in range(T_k)]
        scores = [-math.inf] * T_k
        for j in range(T_k):
            if visible[j]:
                score = total(a * c for a, c in zip(pick(q, index, keep=1), keys[j], strict=True))
                score *= 1 / math.sqrt(d_k) if scale is None else scale
                score = score if softcap is None else softcap * math.tanh(score / softcap)
                scores[j] = score + added[j]
        weights = softmax(scores, visible, None if sinks is None else sinks[h])
        out = [
            total(weights[j] * values[j][c] for j in range(T_k) if visible[j]) for c in range(len(values[0]))
        ]
        return out, weights, scores

    rows = nest([*batch, H, T_q], row)
    depth = len(batch) + 2
    return Defined(*(unzip(rows, depth, part) for part in range(3)))


def softmax(scores: list[float], visible: list[bool], sink: float | None) -> list[float]:
    """Weights of one row; the peak is taken off so that no exponential overflows."""
    seen = [score for score, see in zip(scores, visible, strict=True) if see]
    if not seen:
        return [0.0] * len(scores)
    rivals = seen if sink is None else [*seen, sink]
    peak = math.nan if any(map(math.isnan, rivals)) else max(rivals)
    normaliser = total(math.exp(rival - peak) for rival in rivals)
    return [math.exp(s - peak) / normaliser if see else 0.0 for s, see in zip(scores, visible, strict=True)]


def total(terms: Iterable[float]) -> float:
    """The sum, rounded once; the sum as IEEE takes it where a term or the sum is not finite."""
    terms = list(terms)
    try:
        return math.fsum(terms)
    except (OverflowError, ValueError):  # fsum's way to say that the sum overflows, or is ∞ − ∞
        return sum(terms)


def size(x: Nested) -> list[int]:
    """The length of each axis."""
    return [len(x), *size(x[0])] if isinstance(x, list) else []


def leading(x: Nested, among: tuple[Nested, ...]) -> list[int]:
    """The axes before (heads, T, d), as many as any has, missing ones of length 1."""
    axes = size(x)[:-3]
    return [1] * (max(len(size(y)[:-3]) for y in among) - len(axes)) + axes


def pick(x: Nested, index: tuple[int, ...], keep: int = 0) -> Nested:
    """``x`` at ``index``, all but the last ``keep`` axes; missing axes and axes of length 1 repeat."""
    depth = len(size(x)) - keep
    for i in index[len(index) - depth :] if depth > 0 else ():
        x = x[i if len(x) > 1 else 0]
    return x


def nest(shape: list[int], make: Callable[[tuple[int, ...]], Any], index: tuple[int, ...] = ()) -> Nested:
    """Lists within lists, with ``make(index)`` at each place."""
    return [nest(shape[1:], make, (*index, i)) for i in range(shape[0])] if shape else make(index)


def unzip(rows: Nested, depth: int, part: int) -> Nested:
    """The same nest, holding one part of what each place holds."""
    return [unzip(row, depth - 1, part) for row in rows] if depth else rows[part]
