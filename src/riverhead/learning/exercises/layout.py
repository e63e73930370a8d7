"""The cells of a sheet as a page to fill in: lines of cells in the order of the work, columns under words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, takewhile

from riverhead.checking.answers import Cell, Sheet

__all__ = ["Block", "Line", "blocks", "moved", "named"]


@dataclass(frozen=True, slots=True)
class Line:
    """Cells side by side: what their names share, and the cells."""

    label: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Block:
    """Lines under the same ``columns``; without any, a line has one cell."""

    columns: tuple[str, ...]
    lines: tuple[Line, ...]


def blocks(sheet: Sheet) -> tuple[Block, ...]:
    """Return the cells asked for, those of one row of a grid in one line, lines of like columns together.

    >>> from riverhead.checking.answers import softmax_sheet
    >>> (block,) = blocks(softmax_sheet([[0.0, 2.0]], asking=["bank"], answering=["river", "bank"]))
    >>> block.columns, [line.label for line in block.lines]
    (('river', 'bank'), ['e^score of bank on', "sum of bank's row", 'weight of bank on'])
    """
    found: list[tuple[tuple[str, ...], list[Line]]] = []
    for _, row in groupby(sheet.asked, lambda cell: (cell.grid, cell.head, cell.at[:-1])):
        cells = tuple(row)
        label, columns = named(cells)
        line = Line(label, cells)
        if found and (not columns or columns == found[-1][0]):
            found[-1][1].append(line)
        else:
            found.append((columns, [line]))
    return tuple(Block(columns, tuple(lines)) for columns, lines in found)


def moved(sheet: Sequence[Block], id: str, down: int, right: int) -> str:
    """Return the id of the cell one step away; where there is none, the cell itself.

    Right of a line's last cell comes the next line's first; down stays in the column as far as it goes.
    """
    lines = [line.cells for block in sheet for line in block.lines]
    order = [cell.id for cells in lines for cell in cells]
    if right:
        return order[min(max(order.index(id) + right, 0), len(order) - 1)]
    at, column = next(_places(lines, id))
    cells = lines[min(max(at + down, 0), len(lines) - 1)]
    return cells[min(column, len(cells) - 1)].id


def named(cells: Sequence[Cell]) -> tuple[str, tuple[str, ...]]:
    """Return the words that the names of some cells share, and what is left of each; of one, its name alone.

    >>> named([Cell("y", (0,), 1.0, label="y of bank, 1"), Cell("y", (1,), 1.0, label="y of bank, 2")])
    ('y of bank', ('1', '2'))
    """
    names = [cell.name.split() for cell in cells]
    if len(names) == 1:
        return cells[0].name, ()
    n_before = _shared(names)
    n_after = _shared([name[n_before:][::-1] for name in names])
    before, after = names[0][:n_before], names[0][len(names[0]) - n_after :]
    left = tuple(" ".join(name[n_before : len(name) - n_after]).strip(",") for name in names)
    return " ".join([*before, *["…"] * bool(after), *after]).rstrip(","), left


def _shared(names: Sequence[Sequence[str]]) -> int:
    """How many words all of ``names`` begin with."""
    at_each = zip(*names, strict=False)
    return sum(1 for _ in takewhile(lambda words: len(set(words)) == 1, at_each))


def _places(lines: Sequence[Sequence[Cell]], id: str) -> Iterator[tuple[int, int]]:
    return ((i, j) for i, cells in enumerate(lines) for j, cell in enumerate(cells) if cell.id == id)
