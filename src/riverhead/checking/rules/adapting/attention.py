"""Functions of q, k, v: a call of the house's, handed over in the function's own arrays, layout and names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
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
from riverhead.checking.rules.adapting.options import stated
from riverhead.checking.rules.adapting.returns import Reading, as_array, dtype_of, pick
from riverhead.checking.rules.adapting.roles import INPUTS, Roles
from riverhead.checking.rules.adapting.script import script
from riverhead.checking.rules.adapting.wants import WANTS, Made
from riverhead.checking.rules.call import Call, Outcome
from riverhead.errors import InputError

__all__ = ["AttentionAdapter", "Handed", "Way", "hand_over"]


@dataclass(frozen=True, slots=True)
class Way:
    """How a function is called: what was found by trying.

    ``layouts`` by the rank of a call's q; ``readings`` by layout, and whether weights are asked for;
    ``masks`` the shapes in which one is taken, by role and layout; ``forms`` how a dropout, a window, or a
    mask that must be given is given. ``dtype`` is what the function gets where a call says float64.
    """

    function: Callable[..., Any]
    roles: Roles
    kind: Kind
    dtype: str = "float64"
    layouts: Mapping[int, str] = field(default_factory=dict)
    readings: Mapping[tuple[str, bool], Reading] = field(default_factory=dict)
    masks: dict[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    forms: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Handed:
    """A call as the function gets it: values by role, in one layout."""

    values: dict[str, Any]
    layout: str
    sizes: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class AttentionAdapter:
    """Calls a function of q, k, v."""

    name: str
    way: Way
    offers: frozenset[str]
    notes: tuple[str, ...]
    kind: str = "attention"

    def run(self, call: Call) -> Outcome:
        """Call the function once; what it raises goes through.

        ``how`` may be strided, reversed, expanded or readonly (`arrays.laid`); ``want`` weights, inputs,
        gradient, peak_bytes (`wants`); with script it is written down, not called.
        """
        self._check(call)
        rank = call.arrays["q"].ndim
        handed = hand_over(self.way, call, self.way.layouts[rank])
        reading = self.way.readings[handed.layout, "weights" in call.want]
        if "script" in call.want:
            return Outcome(facts={"script": script(self.way, call, handed, reading)})
        looked_at = call.arrays if "inputs" in call.want else {}
        before = {name: as_array(handed.values[name]) for name in looked_at if name in handed.values}
        made = WANTS[next((want for want in call.want if want in WANTS), "")](
            self.way, call, handed, lambda result: pick(result, reading.out), reading.layout
        )
        arrays = results(call, handed, reading, made)
        facts = {"dtype": dtype_of(pick(made.result, reading.out)), **made.facts}
        if call.dtype == "float64" != self.way.dtype:
            facts["given"] = self.way.dtype
        if looked_at:
            inputs, changed = afterwards(call, handed, before)
            arrays, facts = arrays | inputs, facts | {"changed": changed}
        return Outcome(arrays, facts)

    def _check(self, call: Call) -> None:
        """Nothing that was asked for is left out without a word."""
        rank, taken = call.arrays["q"].ndim, [*self.way.roles.by_role, *BESIDE]
        if rank not in self.way.layouts:
            raise InputError(f"{self.name} takes no q of {rank} axes; it takes {sorted(self.way.layouts)}")
        if strange := [name for name in (*call.arrays, *call.options) if name not in taken]:
            raise InputError(f"{self.name} takes no {strange[0]}")
        if "weights" in call.want and (self.way.layouts[rank], True) not in self.way.readings:
            raise InputError(f"{self.name} returns no weights")


BESIDE = ("probe", "mask_form", "causal", "training")  # not handed over as they are; or nothing to hand over


def hand_over(way: Way, call: Call, layout: str) -> Handed:
    """Put a call into the function's arrays, layout and values."""
    q, k, v = (as_four(np.asarray(call.arrays[name])) for name in INPUTS)
    sizes = {"B": q.shape[0], "H": q.shape[1], "T": q.shape[2], "S": k.shape[2],
             "G": k.shape[1], "d_k": q.shape[3], "d_v": v.shape[3]}  # fmt: skip
    dtype = way.dtype if call.dtype == "float64" else call.dtype
    laid = {name: to_layout(x, layout) for name, x in zip(INPUTS, (q, k, v), strict=True)}
    laid |= {
        role: shaped(way, role, mask, layout, sizes) for role, mask in masks_of(way, call, sizes).items()
    }
    if "sinks" in call.arrays:
        laid["sinks"] = np.asarray(call.arrays["sinks"])
    values = {name: way.kind.give(x, dtype, call.how) for name, x in laid.items()}
    return Handed(stated(way.roles, way.forms, call, sizes) | values, layout, sizes)


def masks_of(way: Way, call: Call, sizes: Mapping[str, int]) -> dict[str, NDArray[Any]]:
    """What hides or shifts scores, each (B, H, T_q, T_k), with 1 for the axes that it does not vary along."""
    found: dict[str, NDArray[Any]] = {}
    form = str(call.options.get("mask_form", "boolean"))
    rank = call.arrays["q"].ndim
    for role in ("mask", "key_mask", "bias"):
        if role in call.arrays:
            x = np.asarray(call.arrays[role])
            four = x.reshape(-1, 1, 1, x.shape[-1]) if role == "key_mask" else mask_as_four(x, rank)
            found[role] = four if role == "bias" else in_form(four, form)
    if "mask" not in found and "mask" in way.forms:
        found["mask"] = np.full((1, 1, sizes["T"], sizes["S"]), ALL_VISIBLE[way.forms["mask"]])
    return found


# What may stand for "everything is visible" in a mask that must be given, and what the other way round would
ALL_VISIBLE: Mapping[str, Any] = {"True": True, "1": 1, "0.0": 0.0, "False": False, "0": 0}


def in_form(mask: NDArray[Any], form: str) -> NDArray[Any]:
    """Write a mask (True = may attend) in another form.

    >>> in_form(np.array([True, False]), "added")
    array([  0., -inf])
    """
    if form not in FORMS:
        raise InputError(f"mask_form is one of {', '.join(FORMS)}; {form!r} was given")
    return FORMS[form](mask)


FORMS: Mapping[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
    "boolean": lambda mask: mask.astype(bool),
    "number": lambda mask: mask.astype(int),
    "added": lambda mask: np.where(mask, 0.0, -np.inf),
    "drop": lambda mask: ~mask.astype(bool),
}


def shaped(way: Way, role: str, mask: NDArray[Any], layout: str, sizes: Mapping[str, int]) -> NDArray[Any]:
    """Lay a mask out in the first shape that the function takes and that says all of it.

    A mask of another length than the keys' keeps it: what the function makes of that is asked, too.
    """
    own = {axis: n for axis, n in zip("BHTS", mask.shape, strict=True) if n != 1}
    shapes = way.masks.get((role, layout), ())
    for shape in shapes:
        if (made := mask_to(mask, shape, {**sizes, **own})) is not None:
            return made
    taken = " or ".join(f"({', '.join(shape.split())})" for shape in shapes)
    raise InputError(f"it takes a {role} of {taken or 'no shape'}, S = T_k, which cannot say this one")


def results(call: Call, handed: Handed, reading: Reading, made: Made) -> dict[str, NDArray[Any]]:
    """Put what came back into the house's layout."""
    rank = call.arrays["q"].ndim
    heads = {"out": "H", "dq": "H", "dk": "G", "dv": "G"}
    found = {"out": (as_array(pick(made.result, reading.out)), reading.layout)}
    found |= {name: (x, handed.layout) for name, x in made.arrays.items()}
    arrays = {
        name: from_four(from_layout(x, layout, handed.sizes[heads[name]]), rank)
        for name, (x, layout) in found.items()
    }
    if "weights" in call.want and reading.weights is not None:
        weights = as_array(pick(made.result, reading.weights))
        averaged = reading.weights_layout == "B T S" and rank == 4
        arrays["weights"] = weights if averaged else from_four(as_four(weights), rank)
    return arrays


def afterwards(
    call: Call, handed: Handed, before: Mapping[str, NDArray[Any]]
) -> tuple[dict[str, NDArray[Any]], list[str]]:
    """Return the inputs as they are after a call, and the names of those that are no longer what they were.

    A mask that was changed comes as the function left it: in its own shape and form.
    """
    rank, arrays, changed = call.arrays["q"].ndim, {}, []
    for name, old in before.items():
        new = as_array(handed.values[name])
        if np.array_equal(new, old, equal_nan=True):
            arrays[name] = np.asarray(call.arrays[name])
            continue
        changed.append(name)
        if name in INPUTS and new.shape == old.shape:
            new = from_four(from_layout(new, handed.layout, handed.sizes["H" if name == "q" else "G"]), rank)
        arrays[name] = new
    return arrays, changed
