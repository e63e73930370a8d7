"""A module of several heads as a row of named steps around those of attention."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from numpy.typing import NDArray

from riverhead.checking.rules.pipeline import ATTENTION, repeated
from riverhead.checking.rules.rule import Change
from riverhead.core.heads import merge, split

__all__ = ["HEADS", "PARAMETERS", "projected"]

PARAMETERS = ("W_q", "W_k", "W_v", "W_o", "b_q", "b_k", "b_v", "b_o")


def projected(x: NDArray[Any], p: SimpleNamespace, of: str) -> NDArray[Any]:
    """Return x @ W + b of q, k, v or o; what the module does not have changes nothing."""
    W, b = getattr(p, f"W_{of}"), getattr(p, f"b_{of}")
    y = x if W is None else x @ W
    return y if b is None else y + b


def _held(name: str) -> Change:
    return lambda p: getattr(p, name, None)


# The output of a module is what W_o makes of the heads' results, which attention itself calls out.
HEADS: Mapping[str, Change] = {
    "given": lambda p: p.x,  # (B, T_q, d_model)
    "x": lambda p: p.x,
    "memory": lambda p: getattr(p, "context", p.x),  # (B, T_k, d_model): what keys and values are made of
    **{name: _held(name) for name in PARAMETERS},
    "q_wide": lambda p: projected(p.x, p, "q"),  # (B, T_q, H·d_k)
    "k_wide": lambda p: projected(p.memory, p, "k"),  # (B, T_k, G·d_k)
    "v_wide": lambda p: projected(p.memory, p, "v"),  # (B, T_k, G·d_v)
    "H": lambda p: p.n_heads,
    "cut": lambda p: split,  # how columns become heads
    "q": lambda p: p.cut(p.q_wide, p.H),  # (B, H, T_q, d_k)
    "k_heads": lambda p: p.cut(p.k_wide, p.n_kv_heads),  # (B, G, T_k, d_k)
    "v_heads": lambda p: p.cut(p.v_wide, p.n_kv_heads),  # (B, G, T_k, d_v)
    "T_q": lambda p: p.q.shape[-2],
    "d_k": lambda p: p.q.shape[-1],
    "T_k": lambda p: p.k_heads.shape[-2],
    "d_v": lambda p: p.v_heads.shape[-1],
    **{name: step for name, step in ATTENTION.items() if name != "out"},
    "k": lambda p: repeated(p.k_heads, p.H),  # (B, H, T_k, d_k)
    "v": lambda p: repeated(p.v_heads, p.H),  # (B, H, T_k, d_v)
    "heads": ATTENTION["out"],  # (B, H, T_q, d_v)
    "merged": lambda p: merge(p.heads),  # (B, T_q, H·d_v)
    "y": lambda p: projected(p.merged, p, "o"),  # (B, T_q, d_model)
    "out": lambda p: p.y,
}
