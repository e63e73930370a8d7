"""Cells side by side in a given width: aligned, folded, shaded, in as many groups of columns as it takes."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.text import Text as Line

from riverhead.numbers import Number
from riverhead.render.grid import Grid, fit, groups
from riverhead.render.plain import clamp

__all__ = ["Columns"]

GAP = 3  # between columns, one less where the room is tight
FOCUS, SPOT = "bold", "reverse"
PALE, FULL = (72, 80, 92), (204, 88, 0)  # backgrounds of a small weight and of 1, both under white digits


class Columns:
    """Lays the cells of a grid out in ``room`` characters; ``label`` caps every column, for long tokens."""

    def __init__(self, console: Console, room: int, label: int | None = None) -> None:
        self.console, self.room, self.label = console, room, label

    def lines(self, shown: Grid, cells: list[list[Line]]) -> Iterator[tuple[int | None, Line]]:
        """Each line with the number of the row that begins in it; ``cells`` are the header and the rows."""
        widths = [max(row[j].cell_len for row in cells) for j in range(len(shown.head))]
        widths = [min(width, self.label or width) for width in widths]
        room = self.room - shown.shade  # a shaded cell reaches one character to the right
        gap = GAP if sum(widths) + GAP * (len(widths) - 1) <= room else GAP - 1
        widths = fit(widths, shown.right, gap, room)
        header = any(cell.cell_len for cell in cells[0])
        for block, columns in enumerate(groups(widths, gap, room)):
            if block:
                yield None, Line()
            for at, row in enumerate(cells[0 if header else 1 :], -1 if header else 0):
                folded = {j: self.folded(row[j], widths[j]) for j in columns}
                for k in range(max(map(len, folded.values()))):
                    line = Line()
                    for j in columns:
                        cell = folded[j][k] if k < len(folded[j]) else Line()
                        line.append(self.placed(shown, at, j, cell, widths[j], gap if j != columns[0] else 0))
                    if not shown.shade:
                        line.rstrip()
                    yield (at if k == 0 else None), line

    def folded(self, cell: Line, width: int) -> list[Line]:
        """The lines of a cell, broken at spaces where it has them."""
        if cell.cell_len <= width:
            return [cell]
        pieces = list(cell.wrap(self.console, width, overflow="fold"))
        for piece in pieces:
            piece.rstrip()
        return pieces

    def placed(self, shown: Grid, row: int, column: int, cell: Line, width: int, gap: int) -> Line:
        """One line of a cell, aligned in its column, with its share of the gaps and its styles."""
        cell = cell.copy()
        room = max(width - cell.cell_len, 0)
        cell.pad_left(room) if shown.right[column] else cell.pad_right(room)
        if row == shown.focus:
            cell.stylize(FOCUS)
        if (row, column) == shown.spot:
            cell.stylize(SPOT, room)
        if not shown.shade:
            cell.pad_left(gap)
            return cell
        cell.pad_left(max(gap - 1, 0))
        cell.pad_right(1)
        value = shown.rows[row][column] if row >= 0 else None
        if isinstance(value, Number):
            cell.stylize(shade(value.value))
        return cell


def shade(weight: float) -> str:
    """Return the style of a weight's cell: the larger, the warmer; nothing below one percent.

    >>> shade(0.0), shade(1.0)
    ('', '#ffffff on rgb(204,88,0)')
    """
    weight = clamp(weight)
    if weight < 0.01:
        return ""
    mixed = (round(a + (b - a) * weight) for a, b in zip(PALE, FULL, strict=True))
    return f"#ffffff on rgb({','.join(map(str, mixed))})"
