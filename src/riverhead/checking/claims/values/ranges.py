"""A number made from rounded ones, which remembers how: so all that it may be can be found, with a witness.

Plain interval arithmetic forgets that the x above and the x below the line of eˣ / (eˣ + 1) are one number.
Here every step is written on a tape, whose slopes (reverse-mode differentiation: Griewank and Walther,
Evaluating Derivatives, 2008, chapter 3) lead from a few starting points to the smallest and largest value.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Generator, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from riverhead.checking.claims.values.steps import ANYTHING, Bounds, Step
from riverhead.numbers.interval import slack as float_slack

__all__ = ["BUDGET", "Tape", "Uncertain", "reaches", "span"]

BUDGET = 1_000_000  # steps calculated, forward or backward, for all questions to one tape
VISITS = 40  # points calculated for one question at most; a few are enough where all is monotone
ROUNDS = 4  # climbs from one starting point
CUTS = 6  # looks for a peak between two points
NOISE = 2 * sys.float_info.epsilon  # how far one step of float64 may be off, relatively, with room to spare
_GOLDEN = (math.sqrt(5) - 1) / 2

Point: TypeAlias = tuple[float, ...]


class Uncertain:
    """The number that stands at ``index`` of ``tape``; ``value`` with every unknown at its center."""

    __slots__ = ("index", "tape", "value")

    def __init__(self, tape: Tape, index: int, value: float) -> None:
        self.tape, self.index, self.value = tape, index, value

    def __repr__(self) -> str:
        return f"Uncertain({self.value!r})"


class Tape:
    """The steps of one claim, in order: unknowns, constants, and what is made of earlier ones.

    ``budget`` is what may still be calculated for `span` and `reaches`, in steps; when it is spent they fall
    back on interval arithmetic, whose ranges may be too wide and are never too narrow.

    >>> from riverhead.checking.claims.values.scalars import add, divide, exp
    >>> raised = exp(Tape().unknown("0.707", 0.707, 0.0005))
    >>> [round(end, 5) for end in span(divide(raised, add(raised, 1)))]
    [0.66963, 0.66985]
    """

    def __init__(self, budget: int = BUDGET) -> None:
        self.budget = budget
        self._steps: list[Step | None] = []
        self._parents: list[tuple[int, ...]] = []
        self._values: list[float] = []
        self._bounds: list[Bounds] = []  # of as many as were asked for
        self._given: dict[int, Bounds] = {}  # of what no step made, the errors of float64 included
        self._boxes: dict[int, Bounds] = {}  # of unknowns
        self._unknowns: dict[Hashable, Uncertain] = {}

    @property
    def size(self) -> int:
        """How many numbers stand on the tape."""
        return len(self._values)

    def unknown(self, key: Hashable, center: float, half: float) -> Uncertain:
        """Return the number within ``half`` of ``center`` that ``key`` names: one key is one unknown."""
        if key not in self._unknowns:
            middle, reach = _float(center), abs(_float(half))
            self._boxes[self.size] = (middle - reach, middle + reach)
            self._unknowns[key] = self._give(middle, reach + NOISE * (abs(middle) + reach))
        return self._unknowns[key]

    def record(self, step: Step, *operands: float | Uncertain) -> Uncertain:
        """Return what ``step`` makes of ``operands``: ∞ where it is too large, NaN where it is undefined."""
        made = [item if isinstance(item, Uncertain) else self._constant(item) for item in operands]
        try:
            value = step.value(*(item.value for item in made))
        except OverflowError:
            value = math.inf
        except (ArithmeticError, ValueError):
            value = math.nan
        return self._append(step, tuple(item.index for item in made), value)

    def bounds(self, index: int) -> Bounds:
        """Return an interval that holds every value of the number at ``index``, by interval arithmetic."""
        for i in range(len(self._bounds), index + 1):
            step = self._steps[i]
            given = (self._bounds[parent] for parent in self._parents[i])
            self._bounds.append(self._given[i] if step is None else step.over(*given))
        return self._bounds[index]

    def formula(self, index: int) -> Formula | None:
        """Return what the number at ``index`` depends on, or None where the budget is too small for that."""
        most = self.budget // (2 * VISITS + 1)  # this search, and every visit there and back
        found, waiting = {index}, [index]
        while waiting and len(found) <= most:
            fresh = {parent for parent in self._parents[waiting.pop()] if parent not in found}
            found |= fresh
            waiting.extend(fresh)
        self.budget -= min(len(found), self.budget)
        return None if waiting or len(found) > most else Formula(self, sorted(found))

    def _constant(self, value: float) -> Uncertain:
        number = _float(value)
        return self._give(number, 0.0 if isinstance(value, int) else NOISE * abs(number))

    def _give(self, value: float, off: float) -> Uncertain:
        low, high = (value - off, value + off) if math.isfinite(value) else (value, value)
        self._given[self.size] = (low, high) if low <= high else ANYTHING
        return self._append(None, (), value)

    def _append(self, step: Step | None, parents: tuple[int, ...], value: float) -> Uncertain:
        self._steps.append(step)
        self._parents.append(parents)
        self._values.append(value)
        return Uncertain(self, self.size - 1, value)


@dataclass(frozen=True, slots=True)
class Visit:
    """One choice of the unknowns, what comes of it, and the slope of that by each unknown."""

    point: Point
    value: float
    slopes: Sequence[float]


class Formula:
    """The steps that one number depends on, to be calculated anywhere in the box of its unknowns."""

    def __init__(self, tape: Tape, nodes: Sequence[int]) -> None:
        self._tape = tape
        free = [i for i in nodes if i in tape._boxes]
        constants = [i for i in nodes if tape._steps[i] is None and i not in tape._boxes]
        made = [(i, step) for i in nodes if (step := tape._steps[i]) is not None]
        place = {i: at for at, i in enumerate([*free, *constants, *(i for i, _ in made)])}
        self._constants = [tape._values[i] for i in constants]
        rows = [(step, [place[parent] for parent in tape._parents[i]]) for i, step in made]
        self._forward = [(step.value, at[0], at[1] if len(at) > 1 else -1) for step, at in rows]
        self._backward = [(step.slopes, at[0], at[1] if len(at) > 1 else -1) for step, at in rows]
        self.center: Point = tuple(tape._values[i] for i in free)
        self.low: Point = tuple(tape._boxes[i][0] for i in free)
        self.high: Point = tuple(tape._boxes[i][1] for i in free)
        self._visits: dict[Point, Visit | None] = {}

    def starts(self) -> Iterator[Point]:
        """Yield where to start from: the center, all low, all high, and a place where no two are alike."""
        yield self.center
        yield self.low
        yield self.high
        yield tuple(
            low + (high - low) * (_GOLDEN * (i + 1) % 1)
            for i, (low, high) in enumerate(zip(self.low, self.high, strict=True))
        )

    def corner(self, here: Visit, sign: float) -> Point:
        """Return the corner of the box that the slopes ``here`` point to."""
        return tuple(
            high if sign * slope > 0 else low if sign * slope < 0 else at
            for at, slope, low, high in zip(here.point, here.slopes, self.low, self.high, strict=True)
        )

    def visit(self, point: Point) -> Visit | None:
        """Calculate at ``point``; None where that is undefined, too large, or one visit too many."""
        if point not in self._visits and len(self._visits) < VISITS:
            self._visits[point] = self._visit(point)
        return self._visits.get(point)

    def noise(self, point: Point) -> float:
        """Return how far the errors of float64 in every step may have moved the result at ``point``."""
        values = self._values(point)
        if values is None:
            return 0.0
        moved = (abs(value * slope) for value, slope in zip(values, self._slopes(values), strict=True))
        return NOISE * sum(size for size in moved if math.isfinite(size))

    def _visit(self, point: Point) -> Visit | None:
        self._tape.budget -= 2 * len(self._forward)
        values = self._values(point)
        if values is None or math.isnan(values[-1]):
            return None
        return Visit(point, values[-1], self._slopes(values)[: len(point)])

    def _values(self, point: Point) -> list[float] | None:
        values = [*point, *self._constants]
        try:
            for value, a, b in self._forward:
                values.append(value(values[a]) if b < 0 else value(values[a], values[b]))
        except (ArithmeticError, ValueError):
            return None
        return values

    def _slopes(self, values: Sequence[float]) -> list[float]:
        """Return the derivative of the last value by every value, in one pass back; 0 where it has none."""
        slopes = [0.0] * len(values)
        slopes[-1] = 1.0
        at = len(values)
        try:
            for local, a, b in reversed(self._backward):
                at -= 1
                slope = slopes[at]
                if not slope:
                    continue
                if b < 0:
                    slopes[a] += slope * local(values[a], values[at])
                else:
                    by_a, by_b = local(values[a], values[b], values[at])
                    slopes[a] += slope * by_a
                    slopes[b] += slope * by_b
        except (ArithmeticError, ValueError):
            return [0.0] * len(values)
        return slopes


def span(x: float | Uncertain) -> Bounds:
    """Return the smallest and the largest value found for ``x``, each the result of some choice of unknowns.

    Past the tape's budget these are the ends of interval arithmetic: no choice may give them.
    """
    if not isinstance(x, Uncertain):
        return _float(x), _float(x)
    formula = x.tape.formula(x.index)
    values = [visit.value for visit in _search(formula, (-1.0, 1.0))] if formula else []
    return (min(values), max(values)) if values else x.tape.bounds(x.index)


def reaches(x: float | Uncertain, target: float = 0.0, slack: float = 0.0) -> bool:
    """Say whether some choice of the unknowns brings ``x`` to ``target``, give or take ``slack``.

    The errors of float64 are allowed for. A value on either side is enough: between them lies a choice that
    gives the target, or a pole. Past the tape's budget the answer is what interval arithmetic leaves open.
    """
    if not isinstance(x, Uncertain):
        value = _float(x)
        return value == target or abs(value - target) <= slack + float_slack(max(abs(value), abs(target)))
    low, high = x.tape.bounds(x.index)
    if not low - slack <= target <= high + slack:
        return False
    formula = x.tape.formula(x.index)
    if formula is None:
        return True
    sign = 1.0 if x.value < target else -1.0
    nearest: Visit | None = None
    for visit in _search(formula, (sign,)):
        if sign * visit.value >= sign * target - slack:
            return True
        if nearest is None or sign * visit.value > sign * nearest.value:
            nearest = visit
    return nearest is None or sign * (target - nearest.value) <= slack + formula.noise(nearest.point)


def _search(formula: Formula, signs: Sequence[float]) -> Iterator[Visit]:
    """Visit the box: from every start uphill where ``signs`` holds 1, downhill where it holds −1."""
    for start in formula.starts():
        for sign in signs:
            yield from _climb(formula, start, sign)


def _climb(formula: Formula, start: Point, sign: float) -> Iterator[Visit]:
    here = formula.visit(start)
    for _ in range(ROUNDS):
        if here is None:
            return
        yield here
        corner = formula.corner(here, sign)
        if corner == here.point:
            return
        there = formula.visit(corner)
        if there is not None:
            yield there
            if sign * (there.value - here.value) > 0 and _rise(here, corner, there, sign) >= 0:
                here = there
                continue
        best = yield from _cut(formula, here, corner, there, sign)
        if best is here:
            return
        here = best


def _cut(
    formula: Formula, here: Visit, corner: Point, there: Visit | None, sign: float
) -> Generator[Visit, None, Visit]:
    """Look for the peak between ``here``, where it goes up to the ``corner``, and where it goes down."""
    first = rise = _rise(here, corner, here, sign)
    fall = math.nan if there is None else _rise(here, corner, there, sign)
    near, far = 0.0, 1.0
    best = here if there is None or sign * (there.value - here.value) <= 0 else there
    for _ in range(CUTS):
        at = near + (far - near) * (rise / (rise - fall) if fall < 0 else 0.5)
        middle = formula.visit(tuple(p + at * (c - p) for p, c in zip(here.point, corner, strict=True)))
        if middle is None:
            far, fall = at, math.nan
            continue
        yield middle
        if sign * (middle.value - best.value) > 0:
            best = middle
        slope = _rise(here, corner, middle, sign)
        if abs(slope) <= 1e-9 * first:
            break
        if slope > 0:
            near, rise = at, slope
        else:
            far, fall = at, slope
    return best


def _rise(start: Visit, end: Point, at: Visit, sign: float) -> float:
    """Return the slope ``at`` a place along the way from ``start`` to ``end``."""
    return sign * sum(s * (e - p) for s, e, p in zip(at.slopes, end, start.point, strict=True))


def _float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
