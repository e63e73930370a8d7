"""The cells of an exercise line by line, where a terminal can do no more: a number, or a row at once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from riverhead.cli.screen import Screen
from riverhead.learning.exercises.catalogue import asked_as
from riverhead.learning.exercises.layout import blocks, named
from riverhead.scene import Text

if TYPE_CHECKING:
    from riverhead.learning.exercises.attempt import Attempt

__all__ = ["COMMANDS", "by_line", "split"]

COMMANDS = "Enter leaves a cell as it is · ? hint · back · task · check · q leaves"
TOLD: dict[str, Literal["hint", "task", "check"]] = {"?": "hint", "task": "task", "check": "check"}


def by_line(attempt: Attempt, screen: Screen, at: str | None = None) -> tuple[str, str]:
    """Ask for the open cells, from the cell ``at``; return what is asked for, and where one is.

    What is asked for is "check", "hint", "task" or "leave".
    """
    lines = _open_lines(attempt)
    place = next(((n, cells.index(at)) for n, cells in enumerate(lines) if at in cells), (0, 0))
    if at is None:
        screen.show(Text((COMMANDS,), "note"))
    while place[0] < len(lines):
        cells = lines[place[0]][place[1] :]
        typed = screen.ask(_prompt(attempt, cells))
        if typed is None or typed.lower() == "q":
            return "leave", cells[0]
        if typed.lower() in TOLD:
            return TOLD[typed.lower()], cells[0]
        if typed.lower() == "back":
            place = (place[0] if place[1] else max(place[0] - 1, 0), 0)
            continue
        numbers = split(typed, len(cells))
        if len(numbers) > len(cells):
            words = f"{len(numbers)} numbers came for {len(cells)}; part them with spaces, or one a line."
            screen.show(Text((words,), "note"))
            continue
        for cell, number in zip(cells, numbers, strict=False):
            attempt.write(cell, number)
        rest = numbers and len(numbers) < len(cells)
        place = (place[0], place[1] + len(numbers)) if rest else (place[0] + 1, 0)
    return "check", lines[-1][-1]


def split(typed: str, most: int) -> list[str]:
    """Return the numbers of a row as it was typed: parted by ; or |, or else by spaces; one stays whole.

    >>> split("0.5 25 % 0.25", 3), split("1 000", 1), split("1/2; 1 000", 2)
    (['0.5', '25 %', '0.25'], ['1 000'], ['1/2', '1 000'])
    """
    if most == 1:
        return [typed] if typed else []
    for sign in (";", "|"):
        if sign in typed:
            return [number.strip() for number in typed.split(sign)]
    return re.findall(r"\S+(?:\s+%)?", typed)


def _open_lines(attempt: Attempt) -> list[list[str]]:
    """The ids of the open cells, a list for each line that has any."""
    lines = [line.cells for block in blocks(attempt.exercise.sheet) for line in block.lines]
    still = attempt.open
    found = ([cell.id for cell in cells if cell.id in still] for cells in lines)
    return [ids for ids in found if ids]


def _prompt(attempt: Attempt, cells: Sequence[str]) -> str:
    """The names of some cells of a line, in words, and what stands in them."""
    sheet = attempt.exercise.sheet
    label, columns = named([sheet[cell] for cell in cells])
    said = f"{label}: {', '.join(columns)}" if columns else label
    written = ", ".join(attempt.answers.get(cell) or "–" for cell in cells)
    stands = f" [{written}]" * any(attempt.answers.get(cell) for cell in cells)
    units = {sheet[cell].unit for cell in cells} - {""}
    form = " or ".join(sorted({asked_as(sheet, sheet[cell]) for cell in cells}))
    return f"{said} ({' '.join([*units, form])}){stands}"
