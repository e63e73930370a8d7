"""Modules of several heads as people write them: what is one, how it is made, and how it is called."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import replace
from inspect import Parameter
from typing import Any

from riverhead.checking.rules.adapting.arrays import KINDS, Kind, order
from riverhead.checking.rules.adapting.module_calling import HeadsAdapter, Way
from riverhead.checking.rules.adapting.module_handed import Handed, handed
from riverhead.checking.rules.adapting.module_making import is_factory, made
from riverhead.checking.rules.adapting.module_names import forward_role, named, size_of
from riverhead.checking.rules.adapting.module_offers import offered, tried
from riverhead.checking.rules.adapting.module_parameters import Parameters, leaves, parameters_of
from riverhead.checking.rules.adapting.returns import is_tensor
from riverhead.checking.rules.adapting.signature import Asked, name_of, signature_of
from riverhead.errors import InputError

__all__ = ["heads_adapter", "looks_like"]

SELF = ("x", "q", "k", "v")


def looks_like(thing: Any) -> bool:
    """Whether a thing is a module of several heads: it has W_q, W_k and W_v, takes them, or is made of sizes.

    >>> looks_like(lambda x, W_q, W_k, W_v: x), looks_like(lambda q, k, v: q)
    (True, False)
    """
    if inspect.isclass(thing) or inspect.isroutine(thing):
        names = [p.name for p in signature_of(thing).named]
        return _three(names) if not inspect.isclass(thing) and not is_factory(thing) else _makes(thing)
    try:
        return _three([leaf.path for leaf in leaves(thing)])
    except Exception:  # noqa: BLE001 - somebody's object may raise anything when looked at
        return False


def _three(paths: list[str]) -> bool:
    """Whether names are those of W_q, W_k and W_v among others."""
    known = [named(path) for path in paths if len(path) > 1]
    return set("".join(each.job for each in known if each is not None and not each.bias)) >= set("qkv")


def _makes(thing: Any) -> bool:
    """Whether sizes make something that can be called with an x; nobody knows what a factory makes."""
    if not inspect.isclass(thing):
        return True
    forward = getattr(thing, "forward", None) or getattr(thing, "__call__", None)  # noqa: B004
    roles = {forward_role(p.name) for p in signature_of(forward).named} if forward is not None else set()
    return is_factory(thing) and ("x" in roles or {"q", "k", "v"} <= roles)


def heads_adapter(thing: Any, asked: Asked) -> HeadsAdapter:
    """Return how a module, its class or factory, or a function of x and W's is called.

    Raises `InputError`, naming the argument or the parameter, where it cannot be made, read or called.
    """
    name, rest = name_of(thing), dict(asked.arguments)
    told = {role: value for key, value in rest.items() if (role := size_of(key)) and type(value) is int}
    if inspect.isclass(thing) or is_factory(thing):
        taken = {p.name for p in signature_of(thing).named}
        thing, sizes = made(thing, asked)
        told, rest = told | sizes, {key: x for key, x in rest.items() if key not in taken}
    elif not inspect.isroutine(thing):
        thing = copy.deepcopy(thing)
    way = _working(name, _ways(thing, name, told, rest, asked))
    return HeadsAdapter(name, *offered(way))


def _ways(
    thing: Any, name: str, told: Mapping[str, int], rest: Mapping[str, Any], asked: Asked
) -> Iterator[Way]:
    """Every way to call it, the likeliest first."""
    called = thing if callable(thing) else getattr(thing, "forward", None)
    if called is None:
        raise InputError(f"{name} cannot be called: it has no forward(x) and no __call__(x)")
    parameters = [p for p in signature_of(called).named if p.name != "self"]
    names = {p.name for p in parameters}
    if strange := [key for key in rest if key not in names and size_of(key) is None]:
        raise InputError(
            f"{name} takes no argument {strange[0]!r}; it takes {', '.join(names) or 'none by name'}"
        )
    fixed = {key: x for key, x in rest.items() if key in names}
    free = [p for p in parameters if p.name not in fixed]
    held = handed(free, told) if inspect.isroutine(thing) else parameters_of(thing, name, told)
    roles = _roles(name, free, held)
    first = getattr(thing, "batch_first", None) is False
    for kind in _kinds(thing, held, asked):
        for dtype in ("float64", "float32"):
            for turned in (False, True) if held.plain else (False,):
                lies = replace(held, turned=held.turned ^ turned)
                for batch in (True, False):
                    yield Way(thing, called, roles, fixed, kind, lies, dtype, batch, first)


def _roles(name: str, parameters: list[Parameter], held: Parameters | Handed) -> dict[str, Parameter]:
    """What forward's parameters are for, by their names; one alone that must be given is x."""
    called = set(held.called.values()) if isinstance(held, Handed) else set()
    free = [p for p in parameters if p.name not in called]
    needed = [p for p in free if p.default is p.empty]
    found: dict[str, Parameter] = {}
    for p in free:
        role = forward_role(p.name, p.default) or size_of(p.name)
        if needed == [p] and role not in SELF:
            role = "x"
        if role is not None:
            found.setdefault(role, p)
        elif p.default is p.empty:
            raise InputError(
                f"{name} must be given {p.name!r}, and what that is for is not known; give it: "
                f"--argument {p.name}=VALUE"
            )
    if "x" not in found and not {"q", "k", "v"} <= found.keys():
        names = ", ".join(p.name for p in parameters) or "nothing by name"
        raise InputError(f"{name} takes {names}: none of them is x, and no three are query, key and value")
    return found


def _kinds(thing: Any, held: Parameters | Handed, asked: Asked) -> tuple[Kind, ...]:
    if isinstance(held, Handed):
        return order(thing, asked.arrays)
    return (KINDS["torch" if any(is_tensor(place.leaf.held) for place in held.places) else "numpy"],)


def _working(name: str, ways: Iterator[Way]) -> Way:
    """Return the first way in which a module gives a row for each token."""
    raised = ""
    for way in ways:
        try:
            way.prepare()
            tried(way)
        except Exception as error:  # noqa: BLE001 - it is somebody's code
            raised = raised or f"{type(error).__name__}: {error}".splitlines()[0][:300]
        else:
            return way
    raise InputError(f"{name} could not be called with x (B, T, d_model): {raised}")
