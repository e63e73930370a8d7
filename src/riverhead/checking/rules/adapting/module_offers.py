"""What a module takes beside x, found by tiny calls."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from riverhead.checking.rules.adapting.module_calling import (
    SHAPES,
    Way,
    bring_back,
    droppers,
    hand_over,
    invoke,
    weights,
)
from riverhead.checking.rules.adapting.module_handed import Handed
from riverhead.checking.rules.call import Call
from riverhead.checking.rules.draw import Draw

__all__ = ["offered", "tried"]

DRAW = Draw(seed=5)
SIZES = (5, 7, 9, 11)  # of texts and batches: two that are neither n_heads nor n_kv_heads


def sizes(way: Way) -> tuple[int, int, int]:
    """Return B, T and S, none of which is the number of heads."""
    free = [n for n in SIZES if n not in (way.parameters.n_heads, way.parameters.n_kv_heads)]
    return next(n for n in (2, 3, 4) if n != way.parameters.n_heads), free[0], free[1]


def call(way: Way, context: str = "", **more: Any) -> Call:
    """A call with tiny arrays; with a context as long as x, or "longer"."""
    B, T, S = sizes(way)
    d_model = len(way.parameters.read()["W_q"])
    axes = (B,) if way.batch else ()
    arrays = {"x": DRAW.numbers("x", *axes, T, d_model)}
    if context:
        arrays["context"] = DRAW.numbers("context", *axes, S if context == "longer" else T, d_model)
    return Call({**arrays, **more.pop("arrays", {})}, more.pop("options", {}), **more)


def tried(way: Way, **about: Any) -> tuple[Call, Any, Any]:
    """Return a call, what the module gave, and the outcome; raises what the module raises."""
    made = call(way, **about)
    with np.errstate(all="ignore"):
        values = hand_over(way, made)
        result = invoke(way, values)
    return made, result, bring_back(way, made, result, values, {})


def works(way: Way, **about: Any) -> bool:
    """Whether a call comes back with a row for each token."""
    try:
        tried(way, **about)
    except Exception:  # noqa: BLE001 - it is somebody's code
        return False
    return True


def offered(way: Way) -> tuple[Way, frozenset[str], tuple[str, ...]]:
    """Return a way with the masks that it takes, all that calls may hold, and how it is called, in words."""
    way = replace(way, masks=_masks(way))
    p, names = way.parameters, way.parameters.names
    said = {
        "inputs": True, "batch": way.batch, "heads": p.n_heads > 1, "grouped": p.n_kv_heads < p.n_heads,
        "W_o": "W_o" in names, "biases": any(name.startswith("b_") for name in names),
        "gradient": way.torch, "dropout": bool(droppers(way.thing)),
        "causal": "causal" in way.roles and works(way, options={"causal": True}),
        "always_causal": "causal" not in way.roles and _always_causal(way), "weights": _gives_weights(way),
    }  # fmt: skip
    if {"k", "v"} <= way.roles.keys() or "context" in way.roles:
        said |= {"context": works(way, context="same"), "cross": works(way, context="longer")}
    return way, frozenset({*way.masks, *(what for what, offers in said.items() if offers)}), _notes(way, said)


def _masks(way: Way) -> dict[str, tuple[str, ...]]:
    """The shapes in which each mask is taken, in the first form that works."""
    found = {}
    B, T, _ = sizes(way)
    for role, array in (("mask", np.ones((T, T), bool)), ("key_mask", np.ones((B, T), bool))):
        if role not in way.roles and not (role == "key_mask" and "mask" in way.roles and way.batch):
            continue
        for form in ("boolean", "number", "added"):
            about: dict[str, Any] = {"arrays": {role: array}, "options": {"mask_form": form}}
            taken = tuple(
                lies for lies in SHAPES[role] if works(replace(way, masks={role: (lies,)}), **about)
            )
            if taken:
                found[role] = taken
                break
    return found


def _always_causal(way: Way) -> bool:
    """Whether the last token never reaches the first, or the first never the last, and not both."""
    try:
        made, _, base = tried(way)
        reached = []
        for token, row in ((-1, 0), (0, -1)):
            x = np.array(made.arrays["x"])
            x[..., token, :] += 1
            _, _, outcome = tried(way, arrays={"x": x})
            reached.append(not np.array_equal(outcome.out[..., row, :], base.out[..., row, :]))
    except Exception:  # noqa: BLE001 - it is somebody's code
        return False
    return reached[0] != reached[1]


def _gives_weights(way: Way) -> bool:
    try:
        made, result, _ = tried(way, want=("weights",))
    except Exception:  # noqa: BLE001 - it is somebody's code
        return False
    return any(True for _ in weights(way, made, result))


def _notes(way: Way, said: dict[str, bool]) -> tuple[str, ...]:
    p = way.parameters
    heads = f"{p.n_heads} heads" if p.n_heads > 1 else "one head"
    if p.n_kv_heads < p.n_heads:
        heads += f", {p.n_kv_heads} of keys and values"
    axes = "(T, B, d_model)" if way.time_first else "(B, T, d_model)" if way.batch else "(T, d_model)"
    where = "handed over" if isinstance(p, Handed) else "written into it"
    d_model = len(p.read()["W_q"])
    notes = (
        f"{way.kind.words} of {way.dtype}",
        f"x {axes}, d_model {d_model}, {heads}",
        f"its parameters, {where}: {', '.join(sorted(p.names))}",
    )
    return (*notes, "always causal: no token sees what comes after it") if said["always_causal"] else notes
