"""The cells of an attempt as lines of pieces, each in its role: open, right, wrong, where one is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len

from riverhead.checking.answers import Kind as Marked
from riverhead.render.letters import isolate, short, visible

if TYPE_CHECKING:
    from riverhead.checking.answers import Cell
    from riverhead.learning.exercises.attempt import Attempt
    from riverhead.learning.exercises.layout import Block, Line

__all__ = ["ROLES", "Piece", "sheet"]

Piece = tuple[str, str]  # a role of `ROLES`, and what is written in it

INDENT, NARROWEST, GAP = 2, 6, 2  # characters before a line, of a cell, between two
NARROWEST_LABEL, WIDEST_LABEL = 2, 32  # a letter and …, however narrow a window is made
ROLES = {  # how prompt_toolkit, and how rich, is to show each
    "": ("", ""),
    "head": ("bold", "bold"),
    "here": ("reverse", "reverse"),
    "empty": ("ansibrightblack", "dim"),
    "keys": ("ansibrightblack", "dim"),
    "right": ("ansigreen", "green"),
    "wrong": ("ansired", "red"),
}
MARKS = {  # what was checked: its role, and the sign behind it, for who sees no colours
    None: ("", ""),
    Marked.BLANK: ("", ""),
    Marked.RIGHT: ("right", " ✓"),
    Marked.FOLLOWS: ("right", " ✓"),
}
WRONG = ("wrong", " ✗")


def sheet(
    attempt: Attempt, blocks: Sequence[Block], at: str, width: int
) -> tuple[list[list[Piece]], tuple[int, int]]:
    """Return the lines of a page ``width`` wide, and the place (column, line) of the cell ``at``.

    Columns too many for the window stand below, in groups.
    """
    labels = [cell_len(_shown(line.label)) for block in blocks for line in block.lines]
    label = min(max(labels), WIDEST_LABEL, max(width // 2, NARROWEST_LABEL))
    lines: list[list[Piece]] = []
    place = (0, 0)
    for block in blocks:
        wide = _widths(attempt, block)
        for columns in _groups(wide, width - INDENT - label):
            if block.columns:
                heads = (_fit(block.columns[n], wide[n]) for n in columns)
                lines.append([("head", " " * (INDENT + label) + "".join(" " * GAP + head for head in heads))])
            for line in block.lines:
                cells = [(cell, wide[n]) for n, cell in enumerate(line.cells) if n in columns]
                if any(cell.id == at for cell, _ in cells):
                    place = (INDENT + label + GAP + _before(cells, at), len(lines))
                if cells:
                    lines.append(list(_line(attempt, line, cells, label, at)))
    return lines, place


def _line(
    attempt: Attempt, line: Line, cells: Sequence[tuple[Cell, int]], label: int, at: str
) -> Iterator[Piece]:
    yield "", " " * INDENT + _fit(line.label, label)
    for cell, width in cells:
        yield "", " " * GAP
        role, text = _written(attempt, cell)
        if cell.id == at:
            yield "here", _fit(text, width)
        elif not text:
            yield "empty", _fit("_" * NARROWEST, width)
        else:
            yield role, _fit(text, width)


def _written(attempt: Attempt, cell: Cell) -> Piece:
    """What stands in a cell, marked where it was checked."""
    role, sign = MARKS.get(attempt.marked(cell.id), WRONG)
    return role, attempt.answers.get(cell.id, "") + sign


def _before(cells: Sequence[tuple[Cell, int]], at: str) -> int:
    """How many columns stand before a cell in its line."""
    place = [cell.id for cell, _ in cells].index(at)
    return sum(width + GAP for _, width in cells[:place])


def _widths(attempt: Attempt, block: Block) -> list[int]:
    """How wide each column of a block is: its head, and the longest that is written."""
    found = [max(NARROWEST, cell_len(_shown(head))) for head in block.columns] or [NARROWEST]
    for line in block.lines:
        for n, cell in enumerate(line.cells):
            found[n] = max(found[n], cell_len(_shown(_written(attempt, cell)[1])))
    return found


def _groups(widths: Sequence[int], room: int) -> Iterator[range]:
    """The columns that stand side by side; one always does."""
    first, used = 0, 0
    for n, width in enumerate(widths):
        used += GAP + width
        if used > room and n > first:
            yield range(first, n)
            first, used = n, GAP + width
    yield range(first, len(widths))


def _shown(text: str) -> str:
    return isolate(visible(text))


def _fit(text: str, width: int) -> str:
    """``text``, whole or cut to …, in just ``width`` columns."""
    cut = short(text, width)
    return isolate(cut) + " " * (width - cell_len(cut))
