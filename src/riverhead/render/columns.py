"""Cells side by side in a given width: aligned, folded, shaded, in as many groups of columns as it takes."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.text import Text as Line

from riverhead.numbers import Number
from riverhead.render.grid import Grid, clamp, fit, groups, told

__all__ = ["Columns", "folded", "mixed"]

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
        head = [-1] if any(cell.cell_len for cell in cells[0]) else []
        for block, columns in enumerate(groups(widths, gap, room)):
            if block:
                yield None, Line()
            for at in head + told(shown, columns):
                row = {j: folded(self.console, cells[at + 1][j], widths[j]) for j in columns}
                for k in range(max(map(len, row.values()))):
                    line = Line()
                    for j, lines in row.items():
                        cell = lines[k] if k < len(lines) else Line()
                        line.append(self.placed(shown, at, j, cell, widths[j], gap if j != columns[0] else 0))
                    yield (None if k else at), line

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


def folded(console: Console, line: Line, room: int) -> list[Line]:
    """Return ``line`` in pieces of at most ``room`` characters, cut at spaces where it has them."""
    if line.cell_len <= room:
        return [line]
    pieces = list(line.wrap(console, room, overflow="fold"))
    for piece in pieces:
        piece.rstrip()
    return pieces


def shade(weight: float) -> str:
    """Return the style of a weight's cell: the larger, the warmer; nothing below one percent.

    >>> shade(0.0), shade(1.0)
    ('', '#ffffff on rgb(204,88,0)')
    """
    weight = clamp(weight)
    return f"#ffffff on {mixed(weight)}" if weight >= 0.01 else ""


def mixed(share: float) -> str:
    """Return a colour between the palest and the full one."""
    channels = (round(a + (b - a) * share) for a, b in zip(PALE, FULL, strict=True))
    return f"rgb({','.join(map(str, channels))})"
