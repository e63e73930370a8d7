"""What the numbers of a sheet can be, worked out from those that are known, rightly or by a mistake."""

from __future__ import annotations

import math
from collections.abc import Callable

from riverhead.checking.answers.mistakes import Rewiring
from riverhead.checking.answers.sheet import Cell, Sheet
from riverhead.checking.answers.steps import follow
from riverhead.numbers import Interval, Rounding
from riverhead.numbers.interval import slack

__all__ = ["Known", "Working", "fits", "kept", "percentage", "right", "truth"]

Known = Callable[[Cell], Interval | None]


class Working:
    """Cells worked out from what is ``known`` of others, and ``rewired`` where a mistake changes how.

    What is not known (scratch paper, blank cells) is worked out in turn: as it is, and if ``rounded`` as it
    is rounded, too. What no mistake has a part in is taken from ``plain``, the same without one.
    """

    def __init__(
        self,
        sheet: Sheet,
        known: Known,
        rewired: Rewiring | None = None,
        rounded: bool = True,
        plain: Working | None = None,
    ) -> None:
        self._sheet, self._known, self._rewired, self._rounded = sheet, known, rewired, rounded
        self._plain = plain
        self._knows: dict[str, Interval | None] = plain._knows if plain else {}
        self._made: dict[str, tuple[Interval | None, bool]] = {}
        self._exactly: Working = self
        if rounded:
            exactly = plain._exactly if plain else None
            self._exactly = Working(sheet, known, rewired, rounded=False, plain=exactly)

    def made(self, cell: Cell) -> tuple[Interval | None, bool]:
        """Return what ``cell`` can be, None where no number, and whether the mistake has a part in it."""
        if cell.id not in self._made:
            self._made[cell.id] = self._make(cell)
        return self._made[cell.id]

    def _make(self, cell: Cell) -> tuple[Interval | None, bool]:
        wire = self._rewired and self._rewired(cell)
        step, parents = wire or (cell.step, cell.parents)
        held = [self._held(self._sheet.by_id[parent]) for parent in parents]
        mistaken = bool(wire) or any(by_mistake for _, by_mistake in held)
        if self._plain and not mistaken:
            return self._plain.made(cell)
        items = [item for item, _ in held if item is not None]
        if len(items) < len(held):
            return (None, False) if self._exactly is self else self._exactly.made(cell)
        made = follow(step, items)
        if (
            made is None and self._rounded
        ):  # nothing can be divided by what rounds to 0: scratch paper has its digits
            return self._exactly.made(cell)
        return made, mistaken

    def exactly(self, cell: Cell) -> Interval | None:
        """Return what ``cell`` is where nothing is rounded on scratch paper."""
        return self._exactly.made(cell)[0]

    def _held(self, cell: Cell) -> tuple[Interval | None, bool]:
        """What the next step is given."""
        if cell.id not in self._knows:
            self._knows[cell.id] = truth(cell) if cell.step == "given" else self._known(cell)
        known = self._knows[cell.id]
        if known is not None:
            return known, False
        made, mistaken = self.made(cell)
        return (kept(cell, made) if made and self._rounded else made), mistaken


def truth(cell: Cell) -> Interval:
    """Return the truth of a cell as an interval."""
    return Interval.point(cell.truth)


def kept(cell: Cell, made: Interval) -> Interval:
    """Return what is carried on of ``made``: as it is, and rounded to the decimals asked for."""
    return made if cell.exact or not math.isfinite(made.lo) else made.rounded(Rounding(cell.decimals))


def right(cell: Cell, value: float) -> bool:
    """Say whether ``value`` is the truth: itself where exact, else within one of the last decimal asked for.

    >>> weight = Cell("weights", (0, 1), 0.538776)
    >>> [right(weight, value) for value in (0.52, 0.53, 0.54, 0.55, 0.56)]
    [False, True, True, True, False]
    """
    if cell.exact or not math.isfinite(cell.truth):
        return value == cell.truth or abs(value - cell.truth) <= slack(cell.truth)
    return abs(value - round(cell.truth, cell.decimals)) <= 10.0**-cell.decimals + slack(cell.truth)


def fits(cell: Cell, value: float, made: Interval | None) -> bool:
    """Say whether ``value`` is what ``made`` rounds to, at the decimals asked for.

    >>> fits(Cell("out", (0,), 0.604269), 0.61, Interval(0.6, 0.605))
    True
    """
    if made is None or not math.isfinite(made.lo) or not math.isfinite(value):
        return made is not None and value == made.lo == made.hi
    half = 10.0**-cell.decimals / 2 + slack(max(abs(made.lo), abs(made.hi)))
    return made.lo - half <= value <= made.hi + half


def percentage(cell: Cell, value: float, made: Interval | None) -> bool:
    """Say whether ``value`` would be right, or fit, with a % behind it; near 0 every number would.

    >>> percentage(Cell("weights", (0, 1), 0.538776), 54, None)
    True
    """
    share = value / 100
    return abs(share) >= 10.0**-cell.decimals and (right(cell, share) or fits(cell, share, made))
