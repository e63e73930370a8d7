"""Which mistakes a sheet cannot tell apart, or from the truth."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from riverhead.checking.answers.diagnosis import Trail, trails
from riverhead.checking.answers.sheet import MOST_DECIMALS, Cell, Sheet
from riverhead.checking.answers.steps import follow
from riverhead.checking.answers.working import Working, fits, right, truth
from riverhead.numbers import Interval

__all__ = ["Blur", "blurs"]

Way: TypeAlias = tuple[str, int]  # a mistake, and which of its ways
Pair: TypeAlias = tuple[Way, Way]
Wiring: TypeAlias = tuple[tuple[str, tuple[int, ...], str, tuple[str, ...], int | None, bool], ...]

TRUTH: Way = ("", 0)
OTHERS = 16  # sheets with other numbers: two mistakes that pick one of two meet on all of them once in 65,536
TRIES = 10 * OTHERS


@dataclass(frozen=True, slots=True)
class Blur:
    """A mistake that the sheet cannot tell ``apart_from`` another, or from the truth where that is empty."""

    mistake: str
    apart_from: str = ""


def blurs(sheet: Sheet) -> tuple[Blur, ...]:
    """Return what the numbers of a sheet hide at the decimals asked for: an exercise is best without any.

    A mistake is named at the first asked cells that it changes; there it has to differ from the truth, and
    from every other mistake in at least one. What no numbers on this sheet would tell apart is left out: over
    a single row, the sum of the whole grid is the sum of the row, and dividing by it is no mistake.

    >>> from riverhead.checking.answers.sheets import softmax_sheet
    >>> [blur.apart_from for blur in blurs(softmax_sheet([[1.0, 1.0]])) if blur.mistake == "averaged"]
    ['']
    >>> blurs(softmax_sheet([[1.5, -0.5, 0.5]]))
    ()
    """
    found = _alike(sheet)
    if found:
        found -= _never_apart(tuple((c.grid, c.at, c.step, c.parents, c.head, c.asked) for c in sheet.cells))
    return tuple({Blur(mistake, other): None for (mistake, _), (other, _) in sorted(found)})


def _alike(sheet: Sheet, among: Collection[Way] | None = None) -> set[Pair]:
    """The ways to make a mistake that look like another on ``sheet``, or like the truth."""
    rightly, shows = Working(sheet, _asked), dict[Way, Mapping[str, float]]()
    for trail in trails(sheet, _asked, rounded=False):
        way = trail.mistake.id, trail.way
        made = {} if among is not None and way not in among else _made(sheet, trail)
        if made:
            shows[way] = _changes(made, rightly)
    found = {(way, TRUTH) for way, numbers in shows.items() if not numbers}
    for way, numbers in shows.items():
        for other, others in shows.items():
            if numbers and way[0] != other[0] and _same(sheet, numbers, others):
                found.add((way, other))
    return found


@lru_cache(maxsize=256)
def _never_apart(wiring: Wiring) -> frozenset[Pair]:
    """What looks alike whatever the numbers: on many sheets of this ``wiring``, the given numbers drawn."""
    draw, found, made = random.Random(0).random, None, 0
    for _ in range(TRIES):
        other = _with_other_numbers(wiring, draw)
        if other is not None:
            made += 1
            among = None if found is None else {way for pair in found for way in pair}
            alike = _alike(other, among)
            found = alike if found is None else found & alike
        if made == OTHERS or not (found or found is None):
            break
    return frozenset(found or ())


def _with_other_numbers(wiring: Wiring, draw: Callable[[], float]) -> Sheet | None:
    """A sheet of the same cells, to all decimals; None where the numbers drawn lead to none (0/0, √−1)."""
    truths: dict[str, Interval] = {}
    cells = []
    for grid, at, step, parents, head, asked in wiring:
        given = step == "given"
        made = Interval.point(5.0 * draw() - 2.0) if given else follow(step, [truths[id] for id in parents])
        if made is None:
            return None
        cell = Cell(grid, at, made.lo, step, parents, head, MOST_DECIMALS, asked=asked)
        truths[cell.id] = made
        cells.append(cell)
    return Sheet("", tuple(cells))


def _made(sheet: Sheet, trail: Trail) -> dict[Cell, float]:
    """What a mistake makes of the asked cells that it has a part in, as it is written."""
    made = {cell: trail.makes(cell) for cell in sheet.asked}
    return {
        cell: value.lo if cell.exact or not math.isfinite(value.lo) else round(value.lo, cell.decimals)
        for cell, value in made.items()
        if value
    }


def _changes(made: Mapping[Cell, float], rightly: Working) -> dict[str, float]:
    """What of it differs from the truth: where it would pass as right, nothing shows."""
    return {
        cell.id: value
        for cell, value in made.items()
        if not right(cell, value) and not fits(cell, value, rightly.made(cell)[0])
    }


def _same(sheet: Sheet, numbers: Mapping[str, float], others: Mapping[str, float]) -> bool:
    """Whether ``others`` explain all that ``numbers`` show."""
    return numbers.keys() <= others.keys() and all(
        abs(others[id] - number) <= 10.0 ** -sheet[id].decimals for id, number in numbers.items()
    )


def _asked(cell: Cell) -> Interval | None:
    """All that is asked for is known, and right."""
    return truth(cell) if cell.asked else None
