"""A module of several heads, called: a call of the house's in its own arrays, layout and names, and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from inspect import Parameter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riverhead.checking.rules.adapting.arrays import Kind
from riverhead.checking.rules.adapting.attention import in_form
from riverhead.checking.rules.adapting.module_handed import Handed
from riverhead.checking.rules.adapting.module_names import size_of
from riverhead.checking.rules.adapting.module_parameters import Parameters
from riverhead.checking.rules.adapting.returns import as_array, dtype_of, is_tensor, parts, said
from riverhead.checking.rules.call import Call, Outcome
from riverhead.checking.rules.studies.module_steps import PARAMETERS
from riverhead.errors import InputError

__all__ = ["SHAPES", "HeadsAdapter", "Way", "bring_back", "droppers", "hand_over", "invoke", "weights"]

Array = NDArray[Any]
MASKS = ("mask", "key_mask")
INPUTS = ("x", "q", "k", "v", "context")
SHAPES: Mapping[str, tuple[str, ...]] = {  # in which a mask may be taken, the one that says least first
    "mask": ("T S", "B 1 T S", "B T S", "B H T S", "BH T S"),
    "key_mask": ("B S", "B 1 1 S", "B 1 S", "B 1 T S", "B T S"),
}


@dataclass(frozen=True, slots=True)
class Way:
    """How a module is called: what was found by trying."""

    thing: Any
    called: Any  # itself, or its forward
    roles: Mapping[str, Parameter]  # of forward, by what they are for
    fixed: Mapping[str, Any]  # by the name of the parameter
    kind: Kind
    parameters: Parameters | Handed
    dtype: str = "float64"
    batch: bool = True  # (B, T, d_model), not (T, d_model)
    time_first: bool = False  # (T, B, d_model), as it says itself
    masks: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict
    )  # by role: the shapes in which it is taken

    @property
    def torch(self) -> bool:
        """Whether it is a module of torch."""
        return hasattr(self.thing, "named_parameters")

    def prepare(self) -> None:
        """Make the module's own numbers as wide as this way says."""
        if self.torch:
            import torch

            self.thing.to(getattr(torch, self.dtype))
            mode(self, training=False)


@dataclass(frozen=True, slots=True)
class HeadsAdapter:
    """Calls a module of several heads, with the parameters of each call."""

    name: str
    way: Way
    offers: frozenset[str]
    notes: tuple[str, ...]
    kind: str = "heads"

    def run(self, call: Call) -> Outcome:
        """Call the module once; what it raises goes through. Without an x its parameters alone come back."""
        way = self.way
        if given := {name: x for name, x in call.arrays.items() if name in PARAMETERS}:
            way.parameters.write(given)
        facts = facts_of(way)
        if "x" not in call.arrays:
            return Outcome(way.parameters.read(), facts)
        if "modes" in call.options:
            return in_modes(way, call, facts)
        values = hand_over(way, call)
        if "gradient" in call.want:
            return with_gradient(way, call, values, facts)
        result = invoke(way, values)
        return bring_back(way, call, result, values, facts)


def facts_of(way: Way) -> dict[str, Any]:
    """What is known of a module beside its numbers."""
    p = way.parameters
    return {
        "n_heads": p.n_heads, "n_kv_heads": p.n_kv_heads, "packed": p.packed, "plain": p.plain,
        "turned": p.turned, "batch": way.batch, "time_first": way.time_first,
        "padding_apart": "key_mask" in way.roles,
    }  # fmt: skip


def hand_over(way: Way, call: Call) -> dict[str, Any]:
    """Return what forward takes, by what it is for."""
    x = np.asarray(call.arrays["x"])
    context = np.asarray(call.arrays.get("context", x))
    arrays = {"x": x, "q": x, "k": context, "v": context}
    if "context" in call.arrays:
        arrays["context"] = context
    given = {
        role: way.kind.give(laid(way, call, array), way.dtype, call.how)
        for role, array in arrays.items()
        if role in way.roles
    }
    if "k" in given and context is x:  # one and the same array, as people call self-attention
        given |= dict.fromkeys(("q", "k", "v"), given["q"])
    for role in MASKS:
        if role in call.arrays:
            given |= masked(way, role, np.asarray(call.arrays[role]), call, x.shape, context.shape[-2])
    return stated(way, call) | given


def laid(way: Way, call: Call, x: Array) -> Array:
    """An array (B, T, d_model) as the module takes it, or the other way round."""
    first = call.options.get("time_first", way.time_first)
    return x.swapaxes(0, 1) if first and x.ndim == 3 else x


def masked(way: Way, role: str, mask: Array, call: Call, shape: tuple[int, ...], S: int) -> dict[str, Any]:
    """Return a mask in the module's form, and in the first of its shapes that says all of it."""
    four = mask[:, None, None, :] if role == "key_mask" else mask.reshape((1,) * (4 - mask.ndim) + mask.shape)
    formed = in_form(four, str(call.options.get("mask_form", "boolean")))
    shapes = way.masks.get(role, ())
    for lies in shapes:
        if formed.shape[0] == 1 or "B" in lies:
            made = reshaped(formed, lies, shape, S, way.parameters.n_heads)
            return {role if role in way.roles else "mask": way.kind.give(made, way.dtype)}
    taken = " or ".join(f"({', '.join(lies.split())})" for lies in shapes) or "no shape"
    raise InputError(f"it takes a {role} of {taken}: one for all samples")


def reshaped(four: Array, lies: str, shape: tuple[int, ...], S: int, H: int) -> Array:
    """Lay a mask (B or 1, 1, T_q or 1, T_k) out as ``lies`` says."""
    B, T = (shape[0], shape[1]) if len(shape) == 3 else (1, shape[0])
    letters = lies.split()
    axes = {"B": B, "H": H, "T": T, "S": S, "1": 1, "BH": B * H}
    wide = [B if "B" in lies else 1, H if "H" in lies else 1, T if "T" in letters else 1, S]
    return np.ascontiguousarray(np.broadcast_to(four, wide).reshape([axes[letter] for letter in letters]))


def stated(way: Way, call: Call) -> dict[str, Any]:
    """What is no array: options that are asked for, what must be told, what turns others off."""
    roles, p = way.roles, way.parameters
    told: dict[str, Any] = {
        "n_heads": p.n_heads, "n_kv_heads": p.n_kv_heads, "training": False, "deterministic": True,
        "mask": None, "key_mask": None, "context": None, "causal": False, "dropout": 0.0, "bias": None,
        "scale": None, "window": None, "softcap": None, "sinks": None,
    }  # fmt: skip
    if "d_k" in roles:
        told["d_k"] = p.read()["W_q"].shape[-1] // p.n_heads
    values = {role: told[role] for role in told if role in roles and _must(roles[role])}
    values |= {role: told[role] for role in ("n_heads", "n_kv_heads", "d_k") if role in roles}
    if isinstance(p, Handed):
        values |= {name: way.kind.give(p.stored(name), way.dtype) for name in p.names}
    if "causal" in roles and ("causal" in call.options or roles["causal"].default is True):
        values["causal"] = bool(call.options.get("causal"))
    if "weights" in roles:
        values["weights"] = "weights" in call.want
    if "average" in roles:
        values["average"] = False
    return {role: value for role, value in values.items() if role not in call.arrays or role in PARAMETERS}


def _must(p: Parameter) -> bool:
    return p.default is p.empty


def invoke(way: Way, values: Mapping[str, Any]) -> Any:
    """Call forward, or the function, with what it takes by what it is for."""
    called = way.parameters.called if isinstance(way.parameters, Handed) else {}
    given = {called[role] if role in called else way.roles[role].name: x for role, x in values.items()}
    given |= way.fixed
    positions = []
    for p in way.roles.values():
        if p.kind is p.POSITIONAL_ONLY and p.name in given:
            positions.append(given.pop(p.name))
    return way.called(*positions, **given)


def mode(way: Way, *, training: bool) -> None:
    """Tell the module whether it is trained or used."""
    if callable(switch := getattr(way.thing, "train", None)) and way.torch:
        switch(training)


def bring_back(
    way: Way, call: Call, result: Any, values: Mapping[str, Any], facts: dict[str, Any]
) -> Outcome:
    """Return the output in the house's layout, and what else was asked for."""
    found = output(way, call, result)
    out = as_array(found)
    arrays = {"out": laid(way, call, out)}
    if "weights" in call.want and (found_weights := next(weights(way, call, result), None)) is not None:
        arrays["weights"] = as_array(found_weights)
    if "inputs" in call.want:
        arrays |= {name: laid(way, call, as_array(values[name])) for name in INPUTS if name in values}
    return Outcome(arrays, {**facts, "dtype": dtype_of(found)})


def output(way: Way, call: Call, result: Any) -> Any:
    """Return the first part of a result that has a row for each token."""
    rows = laid(way, call, np.asarray(call.arrays["x"])).shape[:-1]
    for _, _, part in parts(result):
        if _shape(part)[:-1] == rows and len(_shape(part)) == len(rows) + 1:
            return part
    raise InputError(f"it returned {said(result)}; a module gives a row for each token: {(*rows, 'd_model')}")


def weights(way: Way, call: Call, result: Any) -> Iterator[Any]:
    """Yield the weights among the results: what has a number for each query and key."""
    x = np.asarray(call.arrays["x"])
    S = np.asarray(call.arrays.get("context", x)).shape[-2]
    yield from (part for _, _, part in parts(result) if _shape(part)[-2:] == (x.shape[-2], S))


def _shape(x: Any) -> tuple[int, ...]:
    shape = getattr(x, "shape", ())
    return tuple(shape) if isinstance(shape, (tuple, list)) or is_tensor(x) else ()


def with_gradient(way: Way, call: Call, values: dict[str, Any], facts: dict[str, Any]) -> Outcome:
    """Return the output, and what Σ out · probe grows by with each parameter."""
    import torch

    for each in way.thing.parameters():
        each.grad = None
        each.requires_grad_(True)
    out = output(way, call, invoke(way, values))
    probe = torch.from_numpy(laid(way, call, np.array(call.arrays["probe"]))).to(out.dtype)
    (out * probe).sum().backward()
    found = {f"d{name}": x for name, x in way.parameters.read(gradient=True).items()}
    return Outcome({"out": laid(way, call, as_array(out)), **found}, {**facts, "dtype": dtype_of(out)})


def in_modes(way: Way, call: Call, facts: dict[str, Any]) -> Outcome:
    """Return out_0, out_1, …: what the module gives in each of the modes "train" and "eval", in turn."""
    held = droppers(way.thing)
    before = [(owner, name, getattr(owner, name)) for owner, name in held]
    try:
        for owner, name in held:
            setattr(owner, name, float(call.options["dropout"]))
        found = {}
        for i, name in enumerate(call.options["modes"]):
            mode(way, training=name == "train")
            found[f"out_{i}"] = laid(
                way, call, as_array(output(way, call, invoke(way, hand_over(way, call))))
            )
    finally:
        for owner, name, value in before:
            setattr(owner, name, value)
        mode(way, training=False)
    return Outcome({"out": found["out_0"], **found}, facts)


def droppers(thing: Any) -> list[tuple[Any, str]]:
    """Return where a torch module keeps the probabilities of its dropout."""
    if not hasattr(thing, "named_modules"):
        return []
    found = []
    for _, part in thing.named_modules():
        names = ["p"] if type(part).__name__.startswith("Dropout") and hasattr(part, "p") else []
        kept = {key: value for key, value in vars(part).items() if size_of(key) == "dropout"}
        names += [key for key, value in kept.items() if type(value) is float]
        found += [(part, name) for name in dict.fromkeys(names)]
    return found
