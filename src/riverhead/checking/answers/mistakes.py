"""The mistakes that are made by hand, a table of data: their words, and what they work out otherwise."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, TypeAlias

from riverhead.checking.answers.sheet import Cell
from riverhead.checking.answers.steps import STEPS
from riverhead.checking.answers.wiring import WHERE, Layout, Pattern
from riverhead.errors import InputError

__all__ = ["Mistake", "Rewiring", "Rule", "Wire", "mistakes"]

Wire: TypeAlias = tuple[str, tuple[str, ...]]  # another step, and other parents
PAIRED = ("dot", "dot of sizes", "cosine", "at the peak")  # take two vectors, which have to be as long


@dataclass(frozen=True, slots=True)
class Rule:
    """Cells of ``grid`` that are worked out by ``step`` from the cells that ``of`` names."""

    grid: str
    where: str
    step: str
    of: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class Mistake:
    """What ``did`` a learner do and what is ``right``, in a sentence each, and the ways to work that out.

    ``name`` is short, for tables; ``skill`` is what to practise. ``named`` are the grids where it is named,
    empty for all that it changes.
    """

    id: str
    skill: str
    name: str
    did: str
    right: str
    ways: tuple[tuple[Rule, ...], ...]
    named: tuple[str, ...] = ()


@cache
def mistakes() -> Mapping[str, Mistake]:
    """Return every known mistake by id.

    >>> print(mistakes()["no-scale"].did)
    You did not divide by √d_k.
    """
    text = files("riverhead.checking.answers").joinpath("mistakes.toml").read_text("utf-8")
    found = [_mistake(raw) for raw in tomllib.loads(text)["mistake"]]
    return MappingProxyType({mistake.id: mistake for mistake in found})


def _mistake(raw: Mapping[str, Any]) -> Mistake:
    ways = tuple(tuple(map(_rule, way)) for way in raw["ways"])
    words = {name: raw[name] for name in ("id", "skill", "name", "did", "right")}
    return Mistake(**words, ways=ways, named=tuple(raw.get("named", ())))


def _rule(raw: Mapping[str, Any]) -> Rule:
    where = raw.get("where", "everywhere")
    if where not in WHERE or raw["is"] not in STEPS:
        raise InputError(f"a rule holds where {where!r} is, and is {raw['is']!r}: one of them is unknown")
    return Rule(raw["in"], where, raw["is"], tuple(map(Pattern.parse, raw["of"])))


class Rewiring:
    """One way to be mistaken on a sheet: which cells it works out otherwise, and how."""

    def __init__(self, layout: Layout, way: tuple[Rule, ...]) -> None:
        self._layout, self._way = layout, way
        self._known: dict[str, Wire | None] = {}

    def __call__(self, cell: Cell) -> Wire | None:
        """Return the other step and the other parents of ``cell``; None where it is worked out rightly."""
        if cell.id not in self._known:
            self._known[cell.id] = self._wire(cell)
        return self._known[cell.id]

    def _wire(self, cell: Cell) -> Wire | None:
        for rule in self._way:
            if cell.grid == rule.grid and cell.step != "given" and WHERE[rule.where](self._layout, cell):
                parents = self._parents(rule, cell)
                if parents is not None and (rule.step, parents) != (cell.step, cell.parents):
                    return rule.step, parents
        return None

    def _parents(self, rule: Rule, cell: Cell) -> tuple[str, ...] | None:
        found = [self._layout.find(pattern, cell) for pattern in rule.of]
        ids = [ids for ids in found if ids is not None]
        if len(ids) < len(found) or (rule.step in PAIRED and len({*map(len, ids)}) > 1):
            return None
        return tuple(id for some in ids for id in some)
