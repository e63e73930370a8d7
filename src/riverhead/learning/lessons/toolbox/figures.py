"""Figures of a worked example, as parts of a scene: its vectors, its scores, its recipe, its mixture."""

from __future__ import annotations

import math
from collections.abc import Sequence

from riverhead.derivation import Derivation, changed
from riverhead.derivation import sections as blocks
from riverhead.derivation.notation import Digits, maths
from riverhead.derivation.sections import Sheet
from riverhead.derivation.tokens import position
from riverhead.numbers import Number, fixed, plain
from riverhead.scene import Cell, Part, Table, Text, Word

__all__ = ["NAMES", "sheet_of", "short", "table"]

DECIMALS = 3  # of a number that is not short as it stands
ROUNDINGS = 1e-12  # by which float64 may miss a short number: 0.2 + 0.7 is 0.8999999999999999


def sheet_of(worked: Derivation, focus: str) -> Sheet:
    """Return the sheet of one token, as `riverhead.derivation.sections` draws from it."""
    return Sheet(worked, position(worked.given.tokens, focus, "focus"), Digits.of(None))


def vectors(worked: Derivation, focus: str) -> list[Part]:
    """What each token asks, answers and hands over."""
    sheet = sheet_of(worked, focus)
    return [*blocks.projections(sheet), *blocks.vectors(sheet)]


def grid(worked: Derivation, focus: str) -> list[Part]:
    """Every query with every key."""
    return blocks.scores(sheet_of(worked, focus))


def recipe(worked: Derivation, focus: str) -> list[Part]:
    """One row, from scores to weights."""
    sheet = sheet_of(worked, focus)
    return [blocks.recipe(sheet, head) for head in sheet.heads]


def spent(worked: Derivation, focus: str) -> list[Part]:
    """The weights of one row spent on the values, and what comes of it."""
    sheet = sheet_of(worked, focus)
    lines = [Text((maths(Word(focus, 1), "=", blocks.spend(sheet, head)),)) for head in sheet.heads]
    return [*lines, *(part for head in sheet.heads for part in blocks.result(sheet, head))]


def differences(before: Derivation, after: Derivation, focus: str | None = None) -> list[Part]:
    """What two derivations do not share."""
    return list(changed(before, after, focus=focus).parts)


def table(columns: Sequence[str], rows: Sequence[Sequence[Cell | float]], caption: str = "") -> Table:
    """Rows of words and numbers, each number as `short` shows it."""
    cells = (tuple(short(cell) if isinstance(cell, int | float) else cell for cell in row) for row in rows)
    return Table(tuple(columns), tuple(cells), caption)


def short(value: float) -> Number:
    """Return a number as lessons show it: whole or short as it stands, else with three decimals.

    >>> [short(value).text for value in (4.0, 0.5, 0.2 + 0.7, 0.538776)]
    ['4', '0.5', '0.9', '0.539']
    """
    rounded = round(value, DECIMALS)
    as_it_stands = math.isclose(rounded, value, rel_tol=ROUNDINGS, abs_tol=ROUNDINGS)
    return plain(rounded) if as_it_stands else fixed(value, DECIMALS)


NAMES = {
    "differences": differences,
    "grid": grid,
    "recipe": recipe,
    "spent": spent,
    "vectors": vectors,
}
