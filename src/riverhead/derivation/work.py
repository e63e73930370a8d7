"""The working: from what is given to every number of every step, in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from riverhead.core import attention
from riverhead.derivation import remarks
from riverhead.derivation.arrays import Grid, freeze, split
from riverhead.derivation.given import Given
from riverhead.derivation.scaling import multiplier, shift
from riverhead.derivation.steps import Step
from riverhead.errors import InputError

__all__ = ["work"]

Array = NDArray[np.float64]


def work(given: Given) -> tuple[Step, ...]:
    """Return the steps in order; raises `InputError` where a number leaves float64."""
    with np.errstate(all="ignore"):  # what leaves float64 is named below
        q, k, v = project(given)  # (H, T_q, d_k), (G, T_k, d_k), (G, T_k, d_v)
        shared = np.repeat(k, given.n_heads // given.n_kv_heads, axis=0)  # (H, T_k, d_k)
        dots = q @ shared.swapaxes(-1, -2)  # (H, T_q, T_k)
        scores = multiplier(given) * dots
        _check_finite(q=q, k=k, v=v, dots=dots, scores=scores)
        mixed = attention(
            q, k, v, scale=multiplier(given), mask=given.mask, causal=given.causal, align=given.align
        )
    hidden = np.isneginf(mixed.scores)
    masked = np.where(hidden, -np.inf, scores)
    exps = np.exp(masked - shift(masked))  # (H, T_q, T_k)
    merged = mixed.out.swapaxes(0, 1).reshape(1, given.T_q, -1)  # (1, T_q, H·d_v)
    y = None if given.W_o is None else _mixed(merged, np.array(given.W_o))
    found: dict[str, Any] = {"x": given.x, "x_k": given.x_k, "q": q, "k": k, "v": v, "dots": dots}
    found |= {"scores": scores, "masked": masked if hidden.any() else None}
    found |= {"exp": exps, "sum": exps.sum(axis=-1, keepdims=True), "weights": mixed.weights}
    found |= {"out": mixed.out, "merged": merged if given.n_heads > 1 else None, "y": y}
    grids = {name: freeze(np.array(value, ndmin=3)) for name, value in found.items() if value is not None}
    ordered: dict[str, Grid] = {"tokens": (), **grids, "formula": ()}
    return tuple(Step(name, remarks.says(name, given, grids), values) for name, values in ordered.items())


def project(given: Given) -> tuple[Array, Array, Array]:
    """Return q, k and v by head: as given, projected from x, or e three times."""
    if given.q is not None:
        return np.array(given.q), np.array(given.k), np.array(given.v)
    if given.e is not None:
        e = split("e", np.array(given.e), given.n_heads)
        return e, e, e
    asking = np.array(given.x)
    answering = asking if given.x_k is None else np.array(given.x_k)
    H, G = given.n_heads, given.n_kv_heads
    return (
        split("W_q", asking @ np.array(given.W_q), H),
        split("W_k", answering @ np.array(given.W_k), G),
        split("W_v", answering @ np.array(given.W_v), G),
    )


def _mixed(merged: NDArray[np.floating[Any]], W_o: Array) -> Array:
    with np.errstate(all="ignore"):
        y: Array = merged @ W_o  # (1, T_q, d_out)
    _check_finite(y=y)
    return y


def _check_finite(**arrays: Array) -> None:
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise InputError(f"{name} leaves float64 (about 1.8e308): make the vectors smaller")
