"""A sheet to be worked by hand, as data: cells with their truth, and how each follows from its parents."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from riverhead.checking.answers.steps import STEPS, follow
from riverhead.errors import InputError
from riverhead.numbers import Interval

__all__ = ["MOST_CELLS", "SCHEMA", "Cell", "Sheet"]

SCHEMA = "riverhead.sheet/1"
MOST_CELLS = 20_000  # nobody works more by hand
MOST_DECIMALS = 9
TOLERANCE = 1e-9  # of the number, or of 1: NumPy and plain Python sum in another order


@dataclass(frozen=True, slots=True)
class Cell:
    """One number of a sheet: what it is, and how it follows from its ``parents``.

    ``decimals`` are asked for; ``exact`` asks for the number itself. A cell that is not ``asked`` is given,
    or left to the learner's scratch paper. ``grid``, ``head`` and ``at`` (row, column; fewer for a vector or
    a single number) say where it stands. ``step`` is one of `STEPS`, ``label`` names the cell in words.

    >>> Cell("weights", (2, 1), 0.54).id, Cell("d_k", (), 2.0).id, Cell("dots", (0, 1), 4.0, head=1).id
    ('weights.2.1', 'd_k', 'dots.h1.0.1')
    """

    grid: str
    at: tuple[int, ...]
    truth: float
    step: str = "given"
    parents: tuple[str, ...] = ()
    head: int | None = None
    decimals: int = 2
    exact: bool = False
    asked: bool = True
    label: str = ""
    unit: str = ""
    id: str = field(init=False, compare=False)  # in answers: grid, head where there are several, row, column

    def __post_init__(self) -> None:
        head = () if self.head is None else (f"h{self.head}",)
        object.__setattr__(self, "id", ".".join((self.grid, *head, *map(str, self.at))))

    @property
    def name(self) -> str:
        """The label, or else the id."""
        return self.label or self.id


@dataclass(frozen=True, slots=True)
class Sheet:
    """Cells in an order in which each stands behind its parents.

    Raises `InputError` where it does not, where a step is unknown, or where a truth does not follow.

    >>> three = Cell("a", (), 3.0, asked=False)
    >>> sheet = Sheet("Twice", (three, Cell("b", (), 6.0, "total", ("a", "a"))))
    >>> [cell.id for cell in sheet.asked], Sheet.from_json(sheet.to_json()) == sheet
    (['b'], True)
    """

    title: str
    cells: tuple[Cell, ...]
    by_id: Mapping[str, Cell] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if len(self.cells) > MOST_CELLS:
            raise InputError(f"a sheet has {len(self.cells):,} cells; up to {MOST_CELLS:,} fit")
        found: dict[str, Cell] = {}
        for cell in self.cells:
            _check(cell, found)
            found[cell.id] = cell
        object.__setattr__(self, "by_id", found)

    @property
    def asked(self) -> tuple[Cell, ...]:
        """The cells to fill in."""
        return tuple(cell for cell in self.cells if cell.asked)

    def __getitem__(self, id: str) -> Cell:
        if id not in self.by_id:
            raise InputError(f"there is no cell {id[:60]!r}; the cells asked for are {_listed(self.asked)}")
        return self.by_id[id]

    def to_json(self) -> str:
        """Return the sheet as a JSON document with a ``schema``; −∞, which JSON lacks, is null."""
        plain = [{name: getattr(cell, name) for name in KINDS} for cell in self.cells]
        for raw in plain:
            raw["truth"] = raw["truth"] if math.isfinite(raw["truth"]) else None
        return json.dumps({"schema": SCHEMA, "title": self.title, "cells": plain}, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Sheet:
        """Return the sheet of a document; everything is checked again. Raises `InputError`."""
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InputError(f"this is not JSON: {error}") from error
        if not isinstance(found, dict) or found.get("schema") != SCHEMA:
            raise InputError(f"this is no sheet; it needs the schema {SCHEMA!r}, a title and cells")
        if not isinstance(found.get("title"), str) or not isinstance(found.get("cells"), list):
            raise InputError("a sheet has a title (a text) and cells (a list)")
        return cls(found["title"], tuple(map(_cell, found["cells"])))


def _check(cell: Cell, before: Mapping[str, Cell]) -> None:
    """Refuse a cell that cannot stand behind those ``before`` it."""
    if cell.id in before:
        raise InputError(f"cell {cell.id} stands there twice")
    if cell.step not in STEPS:
        raise InputError(f"cell {cell.id} follows by {cell.step[:40]!r}; the steps are {', '.join(STEPS)}")
    if not 0 <= cell.decimals <= MOST_DECIMALS:
        raise InputError(
            f"cell {cell.id} asks for {cell.decimals} decimals; it can ask for 0 to {MOST_DECIMALS}"
        )
    if math.isnan(cell.truth) or cell.truth == math.inf:
        raise InputError(f"cell {cell.id} is {cell.truth}; it has to be finite, or −∞ where it is hidden")
    missing = [parent for parent in cell.parents if parent not in before]
    if missing:
        raise InputError(f"cell {cell.id} follows from {missing[0]!r}, which does not stand before it")
    if cell.step == "given":
        if cell.asked or cell.parents:
            raise InputError(f"cell {cell.id} is given: it is not asked for, and follows from nothing")
        return
    made = follow(cell.step, [Interval.point(before[parent].truth) for parent in cell.parents])
    room = TOLERANCE * max(1.0, abs(cell.truth)) if math.isfinite(cell.truth) else 0.0
    if made is None or not (made.lo == cell.truth or made.lo - room <= cell.truth <= made.hi + room):
        makes = "no number" if made is None else f"{made.lo!r}"
        raise InputError(f"cell {cell.id} is {cell.truth!r}; its parents make it {makes}")


KINDS: dict[str, type | tuple[type, ...]] = {
    "grid": str, "at": list, "truth": (int, float, type(None)), "step": str, "parents": list,
    "head": (int, type(None)), "decimals": int, "exact": bool, "asked": bool, "label": str, "unit": str,
}  # fmt: skip


def _cell(raw: Any) -> Cell:
    """One cell of a document."""
    if not isinstance(raw, dict) or set(raw) != set(KINDS):
        raise InputError(f"a cell has the fields {', '.join(KINDS)}; found {str(raw)[:60]}")
    for name, kind in KINDS.items():
        if not isinstance(raw[name], kind) or (isinstance(raw[name], bool) and kind is not bool):
            raise InputError(f"{name} of a cell is {str(raw[name])[:40]!r}, which is no such field")
    if not all(type(n) is int for n in raw["at"]) or not all(isinstance(p, str) for p in raw["parents"]):
        raise InputError("a cell's at is a list of whole numbers, its parents a list of ids")
    try:
        truth = -math.inf if raw["truth"] is None else float(raw["truth"])
    except OverflowError as error:
        raise InputError("the truth of a cell leaves float64 (about 1.8e308)") from error
    return Cell(**{**raw, "truth": truth, "at": tuple(raw["at"]), "parents": tuple(raw["parents"])})


def _listed(cells: tuple[Cell, ...], most: int = 8) -> str:
    ids = [cell.id for cell in cells[:most]]
    return ", ".join(ids) + (f" and {len(cells) - most} more" if len(cells) > most else "")
