"""What a thing that is no attention looks like: RoPE, ALiBi or a cache, by the names of its parameters."""

from __future__ import annotations

import inspect
from typing import Any

from riverhead.checking.rules.adapting.signature import attribute, signature_of
from riverhead.checking.rules.adapting.slots import names

__all__ = ["has_forward", "looks_like"]

SHORT = 2  # letters: too short a name to tell anything by itself


def looks_like(thing: Any) -> str | None:
    """Return "rope", "alibi" or "cache"; None where a name alone does not say so.

    >>> looks_like(lambda q, k, cos, sin: (q, k)), looks_like(lambda num_heads: [])
    ('rope', 'alibi')
    """
    if not inspect.isroutine(thing):
        return "cache" if _holds(thing) else None
    named = signature_of(thing).named
    must = [p.name for p in named if p.default is p.empty]
    rope, alibi, cache = (names()[table] for table in ("rope", "alibi", "cache"))
    if {"cos", "sin"} <= set(must) or any(name in rope["angles"] and "freqs" in name for name in must):
        return "rope"
    if any(name in cache["k"] for name in must) and any(name in cache["cache"] for name in must):
        return "cache"
    places = [
        p.name for p in named if len(p.name) > SHORT and p.name in (*rope["positions"], *rope["offset"])
    ]
    if places and must and must[0] in rope["x"] and set(must) <= {must[0], *places, *rope["y"]}:
        return "rope"
    lengths = {name for role in ("T", "T_q", "T_k") for name in alibi[role]}
    heads = [name for name in must if name in alibi["n_heads"] and len(name) > SHORT]
    return "alibi" if len(heads) == 1 and set(must) <= {*heads, *lengths} else None


def has_forward(thing: Any) -> bool:
    """Whether a module, or a class of them, is made to be called: torch gives each a forward that is none."""
    forward = attribute(thing, "forward")
    return forward is not None and attribute(forward, "__name__") != "_forward_unimplemented"


def _holds(thing: Any) -> bool:
    """Whether it is given keys and values, and is not called itself."""
    method = attribute(thing, "update") or attribute(thing, "append")
    if not callable(method) or has_forward(thing):
        return False
    taken = [p.name for p in signature_of(method).named]
    return any(name in names()["cache"]["k"] for name in taken) and any(
        name in names()["cache"]["v"] for name in taken
    )
