"""Figures of a worked example, as parts of a scene: its vectors, its scores, its recipe, its mixture."""

from __future__ import annotations

from collections.abc import Sequence

from riverhead.derivation import Derivation, board, changed
from riverhead.derivation import sections as blocks
from riverhead.derivation.notation import Digits, formula, maths
from riverhead.derivation.sections import Sheet
from riverhead.derivation.tokens import position
from riverhead.numbers import fixed, plain
from riverhead.scene import Arrow, Cell, Part, Plane, Table, Text, Word

__all__ = ["NAMES"]


def _sheet(worked: Derivation, focus: str) -> Sheet:
    return Sheet(worked, position(worked.given.tokens, focus, "focus"), Digits.of(None))


def vectors(worked: Derivation, focus: str) -> list[Part]:
    """What each token asks, answers and hands over."""
    sheet = _sheet(worked, focus)
    return [*blocks.projections(sheet), *blocks.vectors(sheet)]


def grid(worked: Derivation, focus: str) -> list[Part]:
    """Every query with every key."""
    return blocks.scores(_sheet(worked, focus))


def recipe(worked: Derivation, focus: str) -> list[Part]:
    """One row, from scores to weights."""
    sheet = _sheet(worked, focus)
    return [blocks.recipe(sheet, head) for head in sheet.heads]


def spent(worked: Derivation, focus: str) -> list[Part]:
    """The weights of one row spent on the values, and what comes of it."""
    sheet = _sheet(worked, focus)
    lines = [Text((maths(Word(focus, 1), "=", blocks.spend(sheet, head)),)) for head in sheet.heads]
    return [*lines, *(part for head in sheet.heads for part in blocks.result(sheet, head))]


def sheet(worked: Derivation, focus: str) -> list[Part]:
    """The whole whiteboard."""
    return list(board(worked, focus=focus).parts)


def differences(before: Derivation, after: Derivation, focus: str | None = None) -> list[Part]:
    """What two derivations do not share."""
    return list(changed(before, after, focus=focus).parts)


def plane(arrows: dict[str, list[float]], axes: tuple[str, str] = ("1", "2"), caption: str = "") -> Plane:
    """Vectors from the origin, by name."""
    drawn = tuple(Arrow(name, (0.0, 0.0), (to[0], to[1])) for name, to in arrows.items())
    return Plane(drawn, (axes[0], axes[1]), caption)


def table(columns: Sequence[str], rows: Sequence[Sequence[Cell | float]], caption: str = "") -> Table:
    """Rows of words and numbers; a number is shown whole or short as it is, else with three decimals."""
    return Table(tuple(columns), tuple(tuple(map(_shown, row)) for row in rows), caption)


def _shown(value: Cell | float) -> Cell:
    if not isinstance(value, int | float):
        return value
    return plain(value) if round(value, 3) == value else fixed(value)


NAMES = {
    "differences": differences,
    "formula": lambda worked: formula(worked.given),
    "grid": grid,
    "plane": plane,
    "recipe": recipe,
    "sheet": sheet,
    "spent": spent,
    "table": table,
    "vectors": vectors,
}
