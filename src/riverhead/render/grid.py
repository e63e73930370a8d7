"""Tables and matrices as one grid, and how its columns share a width."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from riverhead.numbers import Number
from riverhead.scene import Cell, Matrix, Table
from riverhead.shapes import check_axis

__all__ = ["Grid", "bar", "clamp", "fit", "grid", "groups", "told"]

WORDY = 12  # a column of words is not squeezed below this width, in characters


@dataclass(frozen=True, slots=True)
class Grid:
    """A header and rows of cells; ``right`` says which columns hold numbers, ``spot`` counts all columns."""

    head: tuple[Cell, ...]
    rows: tuple[tuple[Cell, ...], ...]
    right: tuple[bool, ...]
    focus: int | None = None
    spot: tuple[int, int] | None = None
    shade: bool = False
    caption: str = ""


def grid(part: Table | Matrix) -> Grid:
    """Return ``part`` as a grid; a matrix gets its name in the corner and its row labels as first column."""
    if isinstance(part, Table):
        for at, row in enumerate(part.rows):
            check_axis(
                "width",
                "a row has a cell under every heading",
                header=len(part.columns),
                **{f"row {at}": len(row)},
            )
        right = tuple(any(isinstance(row[j], Number) for row in part.rows) for j in range(len(part.columns)))
        return Grid(part.columns, part.rows, right, part.focus, caption=part.caption)
    check_axis("rows", "each has a label", labels=len(part.rows), cells=len(part.cells))
    for label, cells in zip(part.rows, part.cells, strict=True):
        check_axis("columns", "each has a label", labels=len(part.columns), **{f"row {label!r}": len(cells)})
    rows = tuple((label, *cells) for label, cells in zip(part.rows, part.cells, strict=True))
    spot = None if part.spot is None else (part.spot[0], part.spot[1] + 1)
    right = (False, *(True for _ in part.columns))
    return Grid((part.name, *part.columns), rows, right, part.focus, spot, part.shade)


def fit(widths: list[int], right: tuple[bool, ...], gap: int, room: int, wordy: int = WORDY) -> list[int]:
    """Return ``widths`` with the columns of words squeezed, widest first, until the row fits ``room``.

    Where that is not enough, the first column and any other one fit side by side.

    >>> fit([5, 40, 6], (False, False, True), 2, 40), fit([30, 9, 9, 9], (False, True, True, True), 2, 24)
    ([5, 25, 6], [8, 9, 9, 9])
    >>> fit([15, 9, 9, 9, 9], (False, True, True, True, True), 2, 45)  # two groups anyway: labels stay whole
    [15, 9, 9, 9, 9]
    """
    widths = [min(width, room) for width in widths]
    label = min(widths[0], room // 3 if len(widths) > 1 else room) if widths else 0
    words = [j for j, number in enumerate(right) if not number]
    while sum(widths) + gap * (len(widths) - 1) > room:
        widest = max(words, key=lambda j: widths[j], default=None)
        if widest is None or widths[widest] <= wordy:
            return [label, *(min(width, room - label - gap) for width in widths[1:])]
        widths[widest] -= 1
    return widths


def groups(widths: list[int], gap: int, room: int) -> list[list[int]]:
    """Return the columns that stand side by side in ``room``; the first column is repeated in every group.

    >>> groups([5, 4, 4, 4], 2, 18)
    [[0, 1, 2], [0, 3]]
    """
    found: list[list[int]] = [[0]] if widths else []
    used = widths[0] if widths else 0
    for j, width in enumerate(widths[1:], 1):
        if used + gap + width > room and len(found[-1]) > 1:
            found.append([0])
            used = widths[0]
        found[-1].append(j)
        used += gap + width
    return found


def told(shown: Grid, columns: list[int]) -> list[int]:
    """Return the rows that say something in a group of ``columns``: beside their labels, or nowhere at all.

    >>> told(Grid((None, "a", "sum"), (("x", "1", None), ("y", "2", "3")), (False,) * 3), [0, 2])
    [1]
    """

    def says(row: tuple[Cell, ...], within: Iterable[int]) -> bool:
        return any(row[j] is not None for j in within)

    beside, everywhere = columns[1:], range(1, len(shown.head))
    return [i for i, row in enumerate(shown.rows) if says(row, beside) or not says(row, everywhere)]


def bar(fraction: float, cells: int) -> str:
    """Return a bar of ``fraction`` of ``cells`` characters, in eighths; what is above zero is never empty.

    >>> bar(0.538776, 10), bar(0.001, 10), bar(0.0, 10)
    ('█████▍', '▏', '')
    """
    eighths = round(clamp(fraction) * cells * 8) or (fraction > 0)
    full, rest = divmod(eighths, 8)
    return "█" * full + " ▏▎▍▌▋▊▉"[rest].strip()


def clamp(fraction: float) -> float:
    """Return ``fraction`` inside 0 to 1; NaN is 0."""
    return min(max(fraction, 0.0), 1.0) if fraction == fraction else 0.0
