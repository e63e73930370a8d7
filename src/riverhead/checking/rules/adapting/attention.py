"""Functions of q, k, v: a call of the house's handed over in the function's own arrays, layout and names."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riverhead.checking.rules.adapting.arrays import Kind
from riverhead.checking.rules.adapting.layout import (
    as_four,
    from_four,
    from_layout,
    mask_as_four,
    mask_to,
    to_layout,
)
from riverhead.checking.rules.adapting.returns import Reading, as_array, dtype_of, pick
from riverhead.checking.rules.adapting.roles import INPUTS, Roles
from riverhead.checking.rules.call import Call, Outcome
from riverhead.errors import InputError

__all__ = ["AttentionAdapter", "Way"]

Values = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Way:
    """How a function is called: what was found by trying."""

    function: Callable[..., Any]
    roles: Roles
    kind: Kind
    dtype: str = "float64"  # what it is given where a call says float64
    layouts: Mapping[int, str] = field(default_factory=dict)  # by the rank of a call's q
    readings: Mapping[tuple[str, bool], Reading] = field(
        default_factory=dict
    )  # by layout, and with weights asked for
    masks: Mapping[tuple[str, str], tuple[str, ...]] = field(
        default_factory=dict
    )  # by role and layout: its shapes
    forms: Mapping[str, str] = field(
        default_factory=dict
    )  # how a dropout, a window, a mask that must be is given


@dataclass(frozen=True, slots=True)
class AttentionAdapter:
    """Calls a function of q, k, v."""

    name: str
    way: Way
    offers: frozenset[str]
    notes: tuple[str, ...]
    kind: str = "attention"

    def run(self, call: Call) -> Outcome:
        """Call the function once; what it raises goes through."""
        rank = call.arrays["q"].ndim
        if rank not in self.way.layouts:
            raise InputError(f"{self.name} takes no q of {rank} axes; it takes {sorted(self.way.layouts)}")
        handed = hand_over(self.way, call, self.way.layouts[rank])
        result, facts = WANTED.get(next((w for w in call.want if w in WANTED), ""), plainly)(self.way, handed)
        return bring_back(self.way, call, handed, result, facts)


@dataclass(frozen=True, slots=True)
class Handed:
    """A call as the function gets it."""

    values: Values  # by role
    layout: str
    sizes: Mapping[str, int]


def hand_over(way: Way, call: Call, layout: str) -> Handed:
    """Put a call into the function's arrays, layout and values."""
    rank = call.arrays["q"].ndim
    q, k, v = (as_four(np.asarray(call.arrays[name])) for name in INPUTS)
    sizes = {"B": q.shape[0], "H": q.shape[1], "T": q.shape[2], "S": k.shape[2], "d_v": v.shape[3]}
    dtype = way.dtype if call.dtype == "float64" else call.dtype

    def give(x: NDArray[Any]) -> Any:
        return way.kind.give(x, dtype, call.how)

    values: Values = {name: give(to_layout(x, layout)) for name, x in zip(INPUTS, (q, k, v), strict=True)}
    for role in ("mask", "key_mask", "bias"):
        if role in call.arrays:
            x = np.asarray(call.arrays[role])
            four = x[:, None, None] if role == "key_mask" and x.ndim == 2 else mask_as_four(x, rank)
            formed = in_form(four, str(call.options.get("mask_form", "boolean"))) if role != "bias" else four
            values[role] = give(shaped(way, role, formed, layout, sizes))
    if "sinks" in call.arrays:
        values["sinks"] = give(np.asarray(call.arrays["sinks"]))
    values |= stated(way, call, sizes | {"d": q.shape[3], "G": k.shape[1]})
    return Handed(values, layout, sizes)


def in_form(mask: NDArray[Any], form: str) -> NDArray[Any]:
    """Write a mask (True = may attend) in another form.

    >>> in_form(np.array([True, False]), "added")
    array([  0., -inf])
    """
    if form not in FORMS:
        raise InputError(f"mask_form is one of {', '.join(FORMS)}; {form!r} was given")
    return FORMS[form](mask)


FORMS: Mapping[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
    "boolean": lambda mask: mask,
    "number": lambda mask: mask.astype(int),
    "added": lambda mask: np.where(mask, 0.0, -np.inf),
    "drop": lambda mask: ~mask,
}


def shaped(way: Way, role: str, mask: NDArray[Any], layout: str, sizes: Mapping[str, int]) -> NDArray[Any]:
    """Lay a mask out in the first shape that the function takes and that says all of it."""
    shapes = way.masks.get((role, layout), ())
    for shape in shapes:
        if (made := mask_to(mask, shape, sizes)) is not None:
            return made
    raise InputError(
        f"it takes a {role} of {' or '.join(f'({s})' for s in shapes)}, which cannot say this one"
    )


def stated(way: Way, call: Call, sizes: Mapping[str, int]) -> Values:
    """What is no array: options that are asked for, what turns others off, sizes that it must be told."""
    roles, options = way.roles, call.options
    neutral: Values = {
        "causal": False, "dropout": 0.0, "training": False, "deterministic": True,
    }  # fmt: skip
    told: Values = {
        "mask": None, "key_mask": None, "bias": None, "sinks": None, "window": None, "softcap": None,
        "scale": 1 / math.sqrt(sizes["d"]), "d_k": sizes["d"], "n_heads": sizes["H"], "n_kv_heads": sizes["G"],
        "repeats": sizes["H"] // sizes["G"], "grouped": sizes["H"] != sizes["G"], "weights": False,
        "module": SimpleNamespace(training=False, num_key_value_groups=sizes["H"] // sizes["G"], is_causal=False),
    }  # fmt: skip
    values = {role: value for role, value in (neutral | told).items() if role in roles and must(roles, role)}
    values |= {
        role: value
        for role, value in neutral.items()
        if role in roles and roles.default(role) not in (None, value)
    }
    if "grouped" in roles and told["grouped"]:
        values["grouped"] = True
    for role in SIZES:
        if role in roles:
            values[role] = told[role]
    values |= {
        role: options[role]
        for role in ("causal", "scale", "softcap", "training")
        if role in options and role in roles
    }
    if options.get("training"):
        values["deterministic"] = False
    if "dropout" in options:
        values["dropout"] = dropped(way, options["dropout"])
    if "window" in options:
        values["window"] = windowed(way, options["window"], bool(options.get("causal")))
    if "weights" in call.want and "weights" in roles:
        values["weights"] = True
    return {role: value for role, value in values.items() if role not in call.arrays}


SIZES = ("n_heads", "n_kv_heads", "repeats")


def must(roles: Roles, role: str) -> bool:
    """Whether a parameter has no value of its own."""
    p = roles.by_role[role]
    return p.default is p.empty


def dropped(way: Way, p: float) -> Any:
    """A dropout as the function takes it: a number, or a module of torch."""
    if way.forms.get("dropout") != "module":
        return p
    from torch import nn

    return nn.Dropout(p)


def windowed(way: Way, window: int, causal: bool) -> Any:
    """A window as the function takes it: how many keys, or how many (before, after) oneself."""
    return (window - 1, 0 if causal else window - 1) if way.forms.get("window") == "pair" else window


def call_with(way: Way, values: Mapping[str, Any]) -> Any:
    """Call the function."""
    positions, names = way.roles.bind(values)
    return way.function(*positions, **names)


def plainly(way: Way, handed: Handed) -> tuple[Any, dict[str, Any]]:
    """Call it, and nothing else."""
    return call_with(way, handed.values), {}


WANTED: dict[str, Callable[[Way, Handed], tuple[Any, dict[str, Any]]]] = {}


def bring_back(way: Way, call: Call, handed: Handed, result: Any, facts: dict[str, Any]) -> Outcome:
    """Put a result into the house's layout."""
    rank, H = call.arrays["q"].ndim, handed.sizes["H"]
    reading = way.readings[handed.layout, "weights" in call.want]
    out = pick(result, reading.out)
    arrays = {"out": from_four(from_layout(as_array(out), reading.layout, H), rank)}
    if "weights" in call.want and reading.weights is not None:
        weights = as_array(pick(result, reading.weights))
        arrays["weights"] = (
            weights if reading.weights_layout == "B T S" and rank == 4 else from_four(as_four(weights), rank)
        )
    return Outcome(arrays, {"dtype": dtype_of(out), **facts})
