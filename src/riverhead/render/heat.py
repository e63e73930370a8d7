"""A heat map before any format draws it: numbers as shares of a shade, and the words around them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from riverhead.numbers import significant
from riverhead.render.letters import short
from riverhead.scene import Axis, Heatmap
from riverhead.shapes import check_axis

__all__ = ["Shades", "arrows", "described", "shades"]

NAME = 24  # characters of what a side counts


@dataclass(frozen=True, slots=True)
class Shades:
    """Numbers as shares of the full shade, 0 to 1; NaN where a number is not finite."""

    shares: list[list[float]]
    peak: float  # the number that has the full shade
    of: tuple[int, int]  # the rows and columns of numbers that one shade is the largest of

    @property
    def size(self) -> tuple[int, int]:
        """How many rows and columns there are."""
        return len(self.shares), len(self.shares[0]) if self.shares else 0

    @property
    def broken(self) -> bool:
        """Whether there is a number that is not finite."""
        return any(math.isnan(share) for row in self.shares for share in row)

    @property
    def blank(self) -> str:
        """Why there is no shade at all, if so."""
        return "" if self.peak else "all 0" if self.shares and self.shares[0] else "no cells"

    def number(self, share: float) -> str:
        """Return the number with this share of the full shade, as text."""
        return significant(self.peak * share**2, 2).text

    def note(self) -> str:
        """Return what a shade stands for, where it is more than one number."""
        rows, columns = self.of
        return f"each shade is the largest of {rows:,} × {columns:,} numbers" if rows * columns > 1 else ""


def shades(part: Heatmap, rows: int, columns: int) -> Shades:
    """Return the shades of ``part``, pooled to at most ``rows`` × ``columns`` cells.

    A shade goes with the root of its number, so that small ones show beside a large one.

    >>> shades(Heatmap(((0.0, 0.25), (1.0, 0.5)), Axis("query"), Axis("key")), 2, 1).shares
    [[0.5], [1.0]]
    """
    n, m = len(part.values), len((*part.values, ())[0])
    for at, row in enumerate(part.values):
        check_axis("columns", "all rows are as long", **{"row 0": m, f"row {at}": len(row)})
    for side, axis, size in (("rows", part.rows, n), ("columns", part.columns, m)):
        if axis.labels:
            check_axis(side, "each has a label", labels=len(axis.labels), values=size)
    tall, wide = max(-(-n // rows), 1), max(-(-m // columns), 1)
    values = [
        [
            _largest(x for row in part.values[i : i + tall] for x in row[j : j + wide])
            for j in range(0, m, wide)
        ]
        for i in range(0, n, tall)
    ]
    of = (tall * part.pooled[0], wide * part.pooled[1])
    peak = max((x for row in values for x in row if math.isfinite(x)), default=0.0)
    return Shades([[_share(x, peak) for x in row] for row in values], max(peak, 0.0), of)


def _largest(numbers: Iterable[float]) -> float:
    """The largest number, or NaN if one of them is not finite."""
    found = list(numbers)
    return max(found) if all(map(math.isfinite, found)) else math.nan


def _share(x: float, peak: float) -> float:
    return math.sqrt(max(x / peak, 0.0)) if peak > 0 else x * 0.0


def arrows(part: Heatmap) -> str:
    """Return what the two sides count.

    >>> arrows(Heatmap((), Axis("query"), Axis("key")))
    '↓ query   → key'
    """
    sides = (("↓", part.rows), ("→", part.columns))
    return "   ".join(f"{sign} {short(axis.name, NAME)}" for sign, axis in sides if axis.name)


def described(part: Heatmap) -> str:
    """Return ``part`` in words, for those who do not see it."""
    n, m = len(part.values), len((*part.values, ())[0])
    cells = [(x, i, j) for i, row in enumerate(part.values) for j, x in enumerate(row) if math.isfinite(x)]
    said = f"{n} rows, {m} columns"
    if cells:
        x, i, j = max(cells, key=lambda cell: cell[0])
        places = (_place("row", part.rows, i), _place("column", part.columns, j))
        said += f"; largest {significant(x, 2).text} in {', '.join(places)}"
    return "; ".join(filter(None, (part.caption, said)))


def _place(side: str, axis: Axis, n: int) -> str:
    return f"{side} {axis.first + n}" + (f" ({axis.labels[n]})" if axis.labels else "")
