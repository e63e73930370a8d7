"""Attention as a row of named steps, any of which may be done otherwise: what a mistake would have given."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riverhead.checking.rules.call import Call
from riverhead.checking.rules.rule import Change, Choice
from riverhead.core.equation import softmax
from riverhead.core.masks import causal, sliding_window

__all__ = ["ATTENTION", "follow", "repeated", "turned"]


def turned(x: NDArray[Any]) -> NDArray[Any]:
    """Swap the last two axes."""
    return x.swapaxes(-1, -2)


def repeated(x: NDArray[Any], H: int) -> NDArray[Any]:
    """Give each query head its kv head: neighbours share one."""
    return x if x.ndim < 3 else np.repeat(x, H // x.shape[-3], axis=-3)  # (..., H, T_k, d)


def seen(p: SimpleNamespace) -> Any:  # (..., T_q, T_k)
    """Who may attend: by the mask, by place, by a bias of −∞."""
    visible = np.ones((p.T_q, p.T_k), bool) if p.mask is None else np.asarray(p.mask, bool)
    visible = visible & p.placed
    return visible if p.bias is None else visible & ~np.isneginf(p.bias)


def placed(p: SimpleNamespace) -> Any:  # (T_q, T_k)
    """Who may attend by place alone."""
    if p.window is not None:
        return sliding_window(p.T_q, p.T_k, p.window, causal=p.causal, align="end")
    return causal(p.T_q, p.T_k, "end") if p.causal else np.ones((p.T_q, p.T_k), bool)


def spent(p: SimpleNamespace) -> Any:  # (..., H, T_q, d_v)
    """Mix the values; what is hidden adds nothing, whatever it holds."""
    hidden = ~np.broadcast_to(p.seen, p.weights.shape)[..., None]  # (..., T_q, T_k, 1)
    if np.isfinite(p.v).all():
        return p.mixed @ p.v
    return np.where(hidden, 0, p.mixed[..., None] * p.v[..., None, :, :]).sum(axis=-2)


# In this order; each is given all that stand before it, and what the call holds.
ATTENTION: Mapping[str, Change] = {
    "k": lambda p: repeated(p.k, p.H),  # (..., H, T_k, d_k)
    "v": lambda p: repeated(p.v, p.H),  # (..., H, T_k, d_v)
    "dots": lambda p: p.q @ turned(p.k),  # (..., H, T_q, T_k)
    "factor": lambda p: 1 / math.sqrt(p.d_k) if p.scale is None else p.scale,
    "scores": lambda p: p.factor * p.dots,
    "capped": lambda p: p.scores if p.softcap is None else p.softcap * np.tanh(p.scores / p.softcap),
    "biased": lambda p: p.capped if p.bias is None else p.capped + p.bias,
    "placed": placed,  # (T_q, T_k)
    "seen": seen,  # (..., T_q, T_k)
    "filled": lambda p: np.where(p.seen, p.biased, -np.inf),
    "weights": lambda p: softmax(p.filled, hidden=np.broadcast_to(~p.seen, p.filled.shape), sinks=p.sinks),
    "mixed": lambda p: p.weights,  # what the values are mixed with
    "out": spent,  # (..., H, T_q, d_v)
}


def follow(call: Call, choices: Iterable[Choice] = (), steps: Mapping[str, Change] = ATTENTION) -> Any:
    """Return every step of a call, in float64, with the changes that ``choices`` make to them.

    >>> import numpy as np
    >>> call = Call({"q": np.array([[2.0, 1.0]]), "k": np.eye(2), "v": np.array([[0.0], [1.0]])})
    >>> follow(call).out.round(4)
    array([[0.3302]])
    """
    given = {name: np.asarray(x, bool if name == "mask" else float) for name, x in call.arrays.items()}
    p = SimpleNamespace(**{**UNGIVEN, **given, **call.options})
    if "q" in given:
        p.H = p.q.shape[-3] if p.q.ndim > 2 else 1
        (p.T_q, p.d_k), (p.T_k, p.d_v) = p.q.shape[-2:], p.v.shape[-2:]
        if p.sinks is not None:
            p.sinks = p.sinks.reshape(*([p.H, 1, 1] if p.q.ndim > 2 else [1, 1]))
    changes = {name: how for choice in choices for name, how in choice.changes.items()}
    with np.errstate(all="ignore"):
        for name, how in steps.items():
            setattr(p, name, changes.get(name, how)(p))
    return p


UNGIVEN: Mapping[str, Any] = {
    **dict.fromkeys(("mask", "bias", "sinks", "scale", "window", "softcap")),
    "causal": False,
}
