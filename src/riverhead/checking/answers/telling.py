"""What a sheet shows of a mistake: the answers of a learner who makes it, and what it cannot tell apart."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from riverhead.checking.answers.diagnosis import Trail, trails
from riverhead.checking.answers.mistakes import Rewiring, mistakes
from riverhead.checking.answers.sheet import Cell, Sheet
from riverhead.checking.answers.wiring import Layout
from riverhead.checking.answers.working import Working, fits, right, truth
from riverhead.errors import InputError
from riverhead.numbers import Interval, fixed

__all__ = ["Blur", "blurs", "mistaken", "shown", "solved"]


@dataclass(frozen=True, slots=True)
class Blur:
    """A mistake that the sheet cannot tell ``apart_from`` another, or from the truth where that is empty."""

    mistake: str
    apart_from: str = ""


def shown(cell: Cell, value: float) -> str:
    """Return a number as it is written into ``cell``, at the decimals asked for."""
    if cell.exact and math.isfinite(value) and round(value, cell.decimals) != value:
        return fixed(value, cell.decimals + 2).text
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


def blurs(sheet: Sheet) -> tuple[Blur, ...]:
    """Return what the sheet cannot tell apart at the decimals asked for: an exercise is best without any.

    A mistake is named at the first asked cells that it changes; there it has to differ from the truth, and
    from every other mistake in at least one.

    >>> from riverhead.checking.answers.sheets import softmax_sheet
    >>> [blur.apart_from for blur in blurs(softmax_sheet([[1.0, 1.0]])) if blur.mistake == "averaged"]
    ['']
    """
    seen: dict[str, dict[str, float]] = {}
    for trail in trails(sheet, _asked, rounded=False):
        if any(trail.makes(cell) for cell in sheet.asked):
            seen.setdefault(trail.mistake.id, _changes(sheet, trail))
    return tuple(
        Blur(name, other)
        for name, numbers in seen.items()
        for other in (seen if numbers else [""])
        if other != name and _same(sheet, numbers, seen.get(other, {}))
    )


def _changes(sheet: Sheet, trail: Trail) -> dict[str, float]:
    """The asked cells that a mistake changes, and to what, but for those where it would pass as right."""
    rightly = Working(sheet, _asked)
    made = {cell: trail.makes(cell) for cell in sheet.asked}
    return {
        cell.id: value.lo
        for cell, value in made.items()
        if value and not right(cell, value.lo) and not fits(cell, value.lo, rightly.made(cell)[0])
    }


def _same(sheet: Sheet, numbers: Mapping[str, float], others: Mapping[str, float]) -> bool:
    """Whether ``others`` explain all that ``numbers`` show."""
    return numbers.keys() <= others.keys() and all(
        abs(others[id] - number) <= 10.0 ** -sheet[id].decimals for id, number in numbers.items()
    )


def _asked(cell: Cell) -> Interval | None:
    """All that is asked for is known, and right."""
    return truth(cell) if cell.asked else None


def _unknown(cell: Cell) -> None:
    """Nothing but what is given is known."""
