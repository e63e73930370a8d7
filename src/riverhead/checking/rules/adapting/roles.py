"""Which parameter of a function is for what: known by its name, from a table, and from nothing else."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from inspect import Parameter
from types import MappingProxyType
from typing import Any

from riverhead.checking.rules.adapting.signature import Asked, Signature
from riverhead.errors import InputError

__all__ = ["Roles", "known_names", "role_of", "roles_of"]

INPUTS = ("q", "k", "v")
NUMBERS = ("scale", "window", "softcap", "dropout")  # a flag of that name is no such number


@cache
def known_names(table: str = "parameters") -> Mapping[str, tuple[str, ...]]:
    """Return the names of each role: of ``parameters``, or of ``results``.

    >>> known_names()["causal"][:2]
    ('causal', 'is_causal')
    """
    text = (files("riverhead.checking.rules.adapting") / "roles.toml").read_text("utf-8")
    return MappingProxyType({role: tuple(names) for role, names in tomllib.loads(text)[table].items()})


def plain(name: str) -> str:
    """A name as it is compared."""
    return name.lower().strip("_")


def role_of(name: str, default: Any = Parameter.empty, table: str = "parameters") -> str | None:
    """Return what a parameter of this name is for; None where the name is not known.

    >>> role_of("attn_mask"), role_of("mask", default=False), role_of("Q"), role_of("temperature")
    ('mask', 'causal', 'q', None)
    """
    role = next((role for role, names in known_names(table).items() if plain(name) in names), None)
    if isinstance(default, bool):
        return None if role in NUMBERS else "causal" if role == "mask" else role
    return role


@dataclass(frozen=True, slots=True)
class Roles:
    """A function's parameters by role; ``fixed`` are arguments given for every call."""

    parameters: tuple[Parameter, ...]
    by_role: Mapping[str, Parameter]
    fixed: Mapping[str, Any] = field(default_factory=dict)
    by_place: tuple[str, ...] = ()  # of q, k, v: those not known by their names
    by_name: bool = False  # hand q, k, v over by name, though they could stand by position

    def __contains__(self, role: str) -> bool:
        return role in self.by_role

    def default(self, role: str) -> Any:
        """What a parameter is when it is not given; ``Parameter.empty`` where it must be."""
        return self.by_role[role].default

    @property
    def inputs(self) -> tuple[str, ...]:
        """What q, k and v are called."""
        return tuple(self.by_role[role].name for role in INPUTS)

    @property
    def lead(self) -> bool:
        """Whether q, k, v are the first three by position."""
        first = [p for p in self.parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)][:3]
        return tuple(p.name for p in first) == self.inputs

    def bind(self, values: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Return positional and named arguments that hand over ``values`` by role."""
        given = {self.by_role[role].name: value for role, value in values.items()} | dict(self.fixed)
        only = [p for p in self.parameters if p.kind is p.POSITIONAL_ONLY]
        while only and only[-1].name not in given:
            only.pop()
        positions = [given.pop(p.name, p.default) for p in only]
        if self.lead and not self.by_name:
            positions += [given.pop(name) for name in self.inputs if name in given]
        return positions, given

    @property
    def words(self) -> str:
        """How q, k and v are handed over, in words."""
        if len(self.by_place) == len(INPUTS):
            return f"q, k, v: the first three parameters, {', '.join(self.inputs)}"
        where = "by position" if self.lead and not self.by_name else "by name"
        guessed = "".join(f"; {role} is {self.by_role[role].name}, by its place" for role in self.by_place)
        return f"q, k, v {where}: {', '.join(self.inputs)}{guessed}"


def roles_of(name: str, signature: Signature, asked: Asked) -> Roles:
    """Return what each parameter is for.

    Raises `InputError` where a parameter that must be given is not known, or where no three are q, k and v.
    """
    named, fixed = signature.named, dict(asked.arguments)
    strange = [each for each in fixed if each not in {p.name for p in named}]
    if strange and not signature.takes_more:
        raise InputError(f"{name} takes no argument {strange[0]!r}; it takes {_listed(named)}")
    if not named and any(p.kind is p.VAR_POSITIONAL for p in signature.parameters):
        three = tuple(Parameter(role, Parameter.POSITIONAL_ONLY) for role in INPUTS)
        return Roles(three, dict(zip(INPUTS, three, strict=True)), fixed)
    free = [p for p in named if p.name not in fixed]
    found = _by_name(free)
    known = {p.name for p in found.values()}
    unknown = [p for p in free if p.default is p.empty and p.name not in known]
    placed = _by_place(found, unknown)
    found |= placed
    if missing := [role for role in INPUTS if role not in found]:
        raise InputError(
            f"{name} takes {_listed(named)}: which of them is {missing[0]} is not known; a function of "
            "attention takes q, k and v, or query, key and value"
        )
    if left := [p.name for p in unknown if p.name not in {each.name for each in placed.values()}]:
        raise InputError(
            f"{name} must be given {left[0]!r}, and what that is for is not known; give it: "
            f"--argument {left[0]}=VALUE"
        )
    return Roles(named, found, fixed, tuple(placed))


def _by_name(parameters: list[Parameter]) -> dict[str, Parameter]:
    """Parameters whose names are known, the first of each role."""
    found: dict[str, Parameter] = {}
    for p in parameters:
        if (role := role_of(p.name, p.default)) is not None:
            found.setdefault(role, p)
    return found


def _by_place(found: Mapping[str, Parameter], unknown: list[Parameter]) -> dict[str, Parameter]:
    """What must be given and has no known name stands for q, k, v in this order: for those that lack one."""
    places = [p for p in unknown if p.kind is not p.KEYWORD_ONLY]
    lacking = [role for role in INPUTS if role not in found]
    return dict(zip(lacking, places, strict=False))


def _listed(parameters: tuple[Parameter, ...]) -> str:
    return ", ".join(p.name for p in parameters[:20]) or "nothing by name"
