"""A function's parameters by what they are for, filled by role; what is not known is not guessed."""

from __future__ import annotations

import inspect
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from inspect import Parameter
from types import MappingProxyType
from typing import Any

from riverhead.checking.rules.adapting.signature import Signature, function_of, name_of, signature_of
from riverhead.errors import InputError

__all__ = ["Slots", "constructor", "named_in", "names", "slots_of"]


@cache
def names() -> Mapping[str, Mapping[str, Sequence[str]]]:
    """Return the names of each role, by table."""
    text = (files("riverhead.checking.rules.adapting") / "position_names.toml").read_text("utf-8")
    return MappingProxyType(tomllib.loads(text))


@dataclass(frozen=True, slots=True)
class Slots:
    """Where a function takes what; ``fixed`` are arguments given by name in every call."""

    function: Callable[..., Any]
    by_role: Mapping[str, Parameter]
    fixed: Mapping[str, Any] = field(default_factory=dict)

    def __contains__(self, role: str) -> bool:
        return role in self.by_role

    @property
    def words(self) -> str:
        """The names of what it takes."""
        return ", ".join(parameter.name for parameter in self.by_role.values())

    def must(self, role: str) -> bool:
        """Whether a parameter has no value of its own."""
        return role in self and self.by_role[role].default is Parameter.empty

    def __call__(self, said: Mapping[str, Any], told: Mapping[str, Any] | None = None) -> Any:
        """Call with what is ``said`` wherever it is taken, and with what is ``told`` where it must be."""
        values = {role: x for role, x in (told or {}).items() if self.must(role)} | dict(said)
        leading, named = [], dict(self.fixed)
        for role, parameter in self.by_role.items():
            if role not in values:
                continue
            if parameter.kind is Parameter.POSITIONAL_ONLY:
                leading.append(values[role])
            else:
                named[parameter.name] = values[role]
        return self.function(*leading, **named)


def slots_of(
    function: Callable[..., Any],
    table: str,
    arguments: Mapping[str, Any] | None = None,
    first: Sequence[str] = (),
    signature: Signature | None = None,
) -> Slots:
    """Return where ``function`` takes what, by the names of a table.

    ``first`` are the roles, in order, of leading parameters whose names are not known. Raises `InputError`
    where a parameter must be given and is not known.

    >>> sorted(slots_of(lambda x, start_pos=0, flag=True: x, "rope").by_role)
    ['offset', 'x']
    """
    signature = signature or signature_of(function)
    arguments = arguments or {}
    if not signature.named:
        made = [Parameter(role, Parameter.POSITIONAL_ONLY) for role in first]
        return Slots(function, dict(zip(first, made, strict=True)), {})
    fixed = {p.name: arguments[p.name] for p in signature.named if p.name in arguments}
    free = [p for p in signature.named if p.name not in fixed]
    found: dict[str, Parameter] = {}
    for parameter in free:
        role = _role(parameter, table, found)
        if role is not None:
            found[role] = parameter
        elif parameter.default is Parameter.empty:
            found[_by_place(function, parameter, free, first, found)] = parameter
    order = {role: p for p in free for role, q in found.items() if q is p}
    return Slots(function, order, fixed)


def constructor(
    made: Callable[..., Any], table: str, arguments: Mapping[str, Any], first: Sequence[str] = ()
) -> Slots:
    """Return what a class is made with; nothing where it does not say."""
    try:
        every = inspect.signature(made).parameters.values()
    except (TypeError, ValueError):
        every = {}.values()
    named = tuple(p for p in every if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD))
    return slots_of(made, table, arguments, first if named else (), Signature(named, "its signature"))


def named_in(thing: Any, argument: str, value: Any) -> Any:
    """Return what an argument stands for: a function or a class, or the name of one beside ``thing``.

    Raises `InputError` where there is none of that name.
    """
    if value is None or callable(value):
        return value
    function = function_of(thing)
    known = dict(getattr(function, "__globals__", {})) | vars(
        sys.modules.get(getattr(thing, "__module__", ""), sys)
    )
    if not callable(known.get(str(value))):
        raise InputError(f"{argument}={value}: nothing of that name is defined beside {name_of(thing)}")
    return known[str(value)]


def _role(parameter: Parameter, table: str, found: Mapping[str, Parameter]) -> str | None:
    """The first role of that name which no other parameter has."""
    for name in (parameter.name, parameter.name.lower().strip("_")):
        for role, known in names()[table].items():
            if name in known and role not in found:
                return role
    return None


def _by_place(
    function: Callable[..., Any],
    parameter: Parameter,
    free: Sequence[Parameter],
    first: Sequence[str],
    found: Mapping[str, Parameter],
) -> str:
    place = free.index(parameter)
    if place < len(first) and first[place] not in found:
        return first[place]
    raise InputError(
        f"{name_of(function)} must be given {parameter.name!r}, and what that is for is not known; give it: "
        f"--argument {parameter.name}=VALUE"
    )
