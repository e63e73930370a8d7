"""The answers of a learner who makes no mistake, or one."""

from __future__ import annotations

import math

from riverhead.checking.answers.mistakes import Rewiring, mistakes
from riverhead.checking.answers.sheet import Cell, Sheet
from riverhead.checking.answers.wiring import Layout
from riverhead.checking.answers.working import Working, right
from riverhead.errors import InputError
from riverhead.numbers import fixed, grouped
from riverhead.numbers.interval import slack

__all__ = ["mistaken", "shown", "solved"]


def shown(cell: Cell, value: float) -> str:
    """Return a number as it is written into ``cell``, at the decimals asked for; thousands stand apart.

    >>> shown(Cell("weights", (0, 1), 0.538776), 0.538776), shown(Cell("n", (), 4e10, decimals=0), 4e10)
    ('0.54', '40,000,000,000')
    >>> shown(Cell("scores", (0, 0), -1.7, exact=True), -17 * 0.1)
    '−1.70'
    """
    if cell.exact and math.isfinite(value) and abs(round(value, cell.decimals) - value) > slack(value):
        return fixed(value, cell.decimals + 2).text
    if not cell.decimals and math.isfinite(value):
        return grouped(round(value)).text
    return fixed(value, 0 if float(value).is_integer() and cell.exact else cell.decimals).text


def solved(sheet: Sheet) -> dict[str, str]:
    """Return the answers of a learner who makes no mistake, rounded once.

    >>> from riverhead.checking.answers.sheets import softmax_sheet
    >>> list(solved(softmax_sheet([[0.0, 1.0]])).values())
    ['1.00', '2.72', '3.72', '0.27', '0.73']
    """
    return {cell.id: shown(cell, cell.truth) for cell in sheet.asked}


def mistaken(sheet: Sheet, mistake: str) -> dict[str, str]:
    """Return the answers of a learner who makes one ``mistake`` and goes on from it without another.

    Raises `InputError` where there is no such mistake, or ``sheet`` has no room for it.

    >>> from riverhead.checking.answers.sheets import softmax_sheet
    >>> list(mistaken(softmax_sheet([[1.0, 2.0]], exponentials=False), "no-exponential").values())
    ['0.33', '0.67']
    """
    if mistake not in mistakes():
        raise InputError(f"there is no mistake {mistake[:40]!r}; there are {', '.join(mistakes())}")
    layout = Layout(sheet)
    for way in mistakes()[mistake].ways:
        working = Working(sheet, _unknown, Rewiring(layout, way), rounded=False)
        made = {cell: working.made(cell)[0] for cell in sheet.asked}
        if any(value and not right(cell, value.lo) for cell, value in made.items()):
            return {cell.id: shown(cell, value.lo) for cell, value in made.items() if value}
    raise InputError(f"{mistake!r} changes nothing on the sheet {sheet.title!r}")


def _unknown(cell: Cell) -> None:
    """Nothing but what is given is known."""
