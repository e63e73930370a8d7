"""Every kind of exercise, and an exercise as data, with the id that makes it again: kind, version, seed."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any

from riverhead.checking.answers import Cell, Sheet, blurs
from riverhead.display import Displayable
from riverhead.errors import InputError
from riverhead.learning.exercises.clean import saturates
from riverhead.learning.exercises.draw import Draw
from riverhead.scene import Part, Scene, Table

__all__ = ["SCHEMA", "VERSION", "Exercise", "Kind", "Made", "asked_as", "exercise", "fresh", "kinds"]

SCHEMA = "riverhead.exercise/1"
VERSION = 1  # of all kinds together: whatever changes what an id gives makes it one more
MOST_TRIES = 5_000
ID = re.compile(r"([a-z]+(?:-[a-z]+)*)-(\d{1,4})-([a-z0-9]{6})")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of exercise: what it is called, where in the course it stands, what it trains."""

    name: str
    title: str
    lesson: int
    skills: tuple[str, ...]
    module: str

    def make(self, draw: Draw) -> Made | None:
        """Draw one; None where the numbers drawn make no good one."""
        makers: Mapping[str, Callable[[Draw], Made | None]] = import_module(
            f"riverhead.learning.exercises.makers.{self.module}"
        ).MAKERS
        return makers[self.name](draw)


@dataclass(frozen=True, slots=True)
class Made:
    """What a kind draws: the task in words and grids, and the sheet that it is worked on."""

    task: tuple[Part, ...]
    sheet: Sheet


@dataclass(frozen=True, slots=True)
class Exercise(Displayable):
    """A task and its sheet; the same ``id`` makes the same one anywhere."""

    id: str
    kind: Kind
    task: tuple[Part, ...]
    sheet: Sheet

    @property
    def title(self) -> str:
        """What the kind is called."""
        return self.kind.title

    def scene(self) -> Scene:
        """Lay out the task, and the cells to fill in."""
        rows = tuple((cell.name, cell.unit, asked_as(self.sheet, cell)) for cell in self.sheet.asked)
        return Scene(self.title, (*self.task, Table(("to fill in", "", "as"), rows, caption=self.id)))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data under the schema ``riverhead.exercise/1``, without the answers."""
        return {
            "schema": SCHEMA,
            "id": self.id,
            "kind": self.kind.name,
            "title": self.title,
            "lesson": self.kind.lesson,
            "skills": list(self.kind.skills),
            "task": str(Scene(self.title, self.task)),
            "cells": [
                {
                    "id": cell.id,
                    "name": cell.name,
                    "unit": cell.unit,
                    "as": asked_as(self.sheet, cell),
                }
                for cell in self.sheet.asked
            ],
        }


def asked_as(sheet: Sheet, cell: Cell) -> str:
    """Say how the number of a cell is to be written: as all of its grid are, so that it gives nothing away.

    >>> from riverhead.checking.answers import masked_sheet
    >>> sheet = masked_sheet([[1.0, 0.5]], [[True, False]], query=0)
    >>> [asked_as(sheet, sheet[id]) for id in ("masked.0.1", "weights.0.1")]
    ['exactly', '2 decimals']
    """
    if all(other.exact for other in sheet.asked if (other.grid, other.head) == (cell.grid, cell.head)):
        return "exactly"
    return f"{cell.decimals} decimal{'s' * (cell.decimals != 1)}"


@cache
def kinds() -> Mapping[str, Kind]:
    """Return every kind by its name, in the order of the lessons.

    >>> kinds()["softmax"].title
    'Softmax by hand'
    """
    text = (files("riverhead.learning.exercises") / "kinds.toml").read_text("utf-8")
    found = [
        Kind(**{**raw, "name": name, "skills": tuple(raw["skills"])})
        for name, raw in tomllib.loads(text).items()
    ]
    return {kind.name: kind for kind in sorted(found, key=lambda kind: kind.lesson)}


def exercise(id: str) -> Exercise:
    """Return the exercise of an id; the same on every machine. Raises `InputError`.

    >>> exercise("softmax-1-k3m9q2").sheet == fresh("softmax", "k3m9q2").sheet
    True
    """
    found = ID.fullmatch(id)
    if found is None:
        raise InputError(
            f"{id[:60]!r} is no exercise; an id is kind-version-seed, as softmax-{VERSION}-k3m9q2"
        )
    name, version, seed = found[1], int(found[2]), found[3]
    if version != VERSION:
        raise InputError(
            f"{id} was made by version {version} of the exercises; this riverhead makes version {VERSION}"
        )
    return fresh(name, seed)


def fresh(kind: str, seed: str) -> Exercise:
    """Return the exercise of ``kind`` that ``seed``, six letters or digits, makes.

    Draws until no weight is all or nothing, and no two mistakes look alike, nor one like the truth
    (`checking.answers.blurs`). Raises `InputError`.
    """
    if kind not in kinds():
        raise InputError(f"there is no kind of exercise {kind[:40]!r}; there are {', '.join(kinds())}")
    id = f"{kind}-{VERSION}-{seed}"
    if ID.fullmatch(id) is None:
        raise InputError(f"seed is {seed[:40]!r}; it is six letters a to z or digits, as k3m9q2")
    draw = Draw(id)
    for _ in range(MOST_TRIES):
        made = kinds()[kind].make(draw)
        if made is not None and not saturates(made.sheet) and not blurs(made.sheet):
            return Exercise(id, kinds()[kind], made.task, made.sheet)
    raise InputError(
        f"{id}: {MOST_TRIES} draws made no exercise that tells every mistake apart; take another seed"
    )
