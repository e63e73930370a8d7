"""A line chart of a few points as a table: where numbers are read, they beat a drawing."""

from __future__ import annotations

import math

from riverhead.numbers import Number, plain, significant
from riverhead.render.lines import captioned, paired
from riverhead.scene import Cell, Line, Lines, Table

__all__ = ["lines_table"]

ROWS, COLUMNS = 12, 6  # of a table that is read at a glance


def lines_table(part: Lines) -> Table | None:
    """Return a table with a row for each x and a column for each line, or None where it would be long.

    >>> lines_table(Lines((Line("a", ((1, 5), (2, 10))),), "tokens", "bytes")).rows[1]
    (Number(value=2, text='2'), Number(value=10, text='10'))
    """
    places = {x for line in part.lines for x, _ in line.points}
    once = all(len({x for x, _ in line.points}) == len(line.points) for line in part.lines)
    small = len(part.lines) <= COLUMNS and 0 < len(places) <= ROWS
    if not (once and small) or any(map(math.isnan, places)):
        return None
    columns = [_column(line) for line in part.lines]
    rows = tuple((_number(x), *(column.get(x) for column in columns)) for x in sorted(places))
    labels = (f"{line.label}{' (predicted)' if line.predicted else ''}" for line in part.lines)
    said = [f"{part.y} by {part.x}"] if part.x and part.y else []
    said += ["from low to high in parentheses"] if any(line.spread for line in part.lines) else []
    return Table((part.x, *labels), rows, captioned(part, said))


def _column(line: Line) -> dict[float, Cell]:
    if not line.spread:
        return {x: _number(y) for x, y in line.points}
    return {
        x: f"{_number(y).text} ({' to '.join(_number(edge).text for edge in spread)})"
        for (x, y), spread in paired(line)
    }


def _number(value: float) -> Number:
    return min(plain(value), significant(value, 4), key=lambda number: len(number.text))
