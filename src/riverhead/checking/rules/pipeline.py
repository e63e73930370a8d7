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
from riverhead.core.masks import places

__all__ = ["ATTENTION", "as_it_is", "follow", "repeated", "turned"]


def turned(x: NDArray[Any]) -> NDArray[Any]:
    """Swap the last two axes."""
    return x.swapaxes(-1, -2)


def as_it_is(step: str) -> Change:
    """Return a change that takes over another step."""
    return lambda p: getattr(p, step)


def repeated(x: NDArray[Any], H: int) -> NDArray[Any]:
    """Give each query head its kv head: neighbours share one."""
    return x if x.ndim < 3 else np.repeat(x, H // x.shape[-3], axis=-3)  # (..., H, T_k, d)


def behind(p: SimpleNamespace) -> Any:  # (T_q, T_k)
    """How many places key j lies behind query i; the last query stands at the last key."""
    i, j = places(p.T_q, p.T_k, "end")
    return i - j


def everyone(p: SimpleNamespace) -> Any:  # (T_q, T_k)
    """Hide nothing."""
    return np.ones((p.T_q, p.T_k), bool)


def masked(p: SimpleNamespace) -> Any:  # (..., T_q, T_k)
    """Who may attend by the mask and a bias of −∞."""
    visible = everyone(p) if p.mask is None else p.mask
    return visible if p.bias is None else visible & ~np.isneginf(p.bias)


def padded(p: SimpleNamespace) -> Any:  # (..., 1, T_k)
    """Who may attend by the mask of keys, (B, T_k): the same keys for every query and head of a sample."""
    if p.key_mask is None:
        return everyone(p)
    B, T_k = p.key_mask.shape
    return p.key_mask if p.q.ndim < 3 else p.key_mask.reshape(B, *[1] * (p.q.ndim - 2), T_k)


def spent(p: SimpleNamespace) -> Any:  # (..., H, T_q, d_v)
    """Mix the values; what is hidden adds nothing, whatever it holds."""
    hidden = ~np.broadcast_to(p.seen, p.weights.shape)[..., None]  # (..., T_q, T_k, 1)
    if np.isfinite(p.v).all():
        return p.mixed @ p.v
    return np.where(hidden, 0, p.mixed[..., None] * p.v[..., None, :, :]).sum(axis=-2)


MASKS = ("mask", "key_mask")

# In this order; each is given all that stand before it, and what the call holds.
ATTENTION: Mapping[str, Change] = {
    "k": lambda p: repeated(p.k, p.H),  # (..., H, T_k, d_k)
    "v": lambda p: repeated(p.v, p.H),  # (..., H, T_k, d_v)
    "dots": lambda p: p.q @ turned(p.k),  # (..., H, T_q, T_k)
    "factor": lambda p: 1 / math.sqrt(p.d_k),  # unless another is given
    "scaled_by": lambda p: p.factor if p.scale is None else p.scale,
    "scores": lambda p: p.scaled_by * p.dots,
    "capped": lambda p: p.scores if p.softcap is None else p.softcap * np.tanh(p.scores / p.softcap),
    "biased": lambda p: p.capped if p.bias is None else p.capped + p.bias,
    "masked": masked,  # (..., T_q, T_k)
    "padded": padded,  # (..., 1, T_k)
    "behind": behind,  # (T_q, T_k)
    "past": lambda p: p.behind >= 0 if p.causal else everyone(p),  # (T_q, T_k)
    "near": lambda p: everyone(p) if p.window is None else abs(p.behind) < p.window,  # (T_q, T_k)
    "seen": lambda p: p.masked & p.padded & p.past & p.near,  # (..., T_q, T_k)
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
    given = {name: np.asarray(x, bool if name in MASKS else float) for name, x in call.arrays.items()}
    p = SimpleNamespace(**{**UNGIVEN, **given, **call.options})
    if "q" in given:
        p.H = p.q.shape[-3] if p.q.ndim > 2 else 1
        (p.T_q, p.d_k), (p.T_k, p.d_v) = p.q.shape[-2:], p.v.shape[-2:]
        if p.sinks is not None:
            p.sinks = p.sinks.reshape(*([p.H, 1, 1] if p.q.ndim > 2 else [1, 1]))
    changes = [change for choice in choices for change in choice.changes.items()]
    instead = dict(changes)
    with np.errstate(all="ignore"):
        for name, how in steps.items():
            setattr(p, name, instead.get(name, how)(p))
            for step, then in changes:
                if step == f"{name}+":
                    setattr(p, name, then(p))
    return p


UNGIVEN: Mapping[str, Any] = {
    **dict.fromkeys(("mask", "key_mask", "bias", "sinks", "scale", "window", "softcap")),
    "causal": False,
}
