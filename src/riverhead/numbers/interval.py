"""All the values a number can have when those it was made from were rounded on the way."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from riverhead.numbers.reading import read
from riverhead.numbers.rounding import Rounding

__all__ = ["Interval", "slack"]


def slack(value: float) -> float:
    """Return how far float64 itself may have moved ``value``: far below any digit that is printed."""
    return 1e-12 * max(1.0, abs(value)) if math.isfinite(value) else 0.0


@dataclass(frozen=True, slots=True)
class Interval:
    """Every value from ``lo`` to ``hi``; arithmetic gives an interval that holds every possible result.

    >>> Interval.point(1.2599).rounded(Rounding(1)) * Interval.point(2)
    Interval(lo=2.5198, hi=2.6)
    """

    lo: float
    hi: float

    @classmethod
    def point(cls, value: float) -> Interval:
        """Return the interval that is one exact value."""
        return cls(value, value)

    @classmethod
    def printed(cls, text: str) -> Interval:
        """Return what may stand behind a printed number: half a unit of its last digit to each side.

        >>> Interval.printed("0.54")
        Interval(lo=0.535, hi=0.545)
        """
        number = read(text)
        return cls(float(number.value - number.unit / 2), float(number.value + number.unit / 2))

    def rounded(self, rounding: Rounding | None) -> Interval:
        """Return what is carried forward: the values as they are, and as they are rounded."""
        if rounding is None:
            return self
        # rounding is monotone: the ends rounded are the ends of all that is rounded, ties either way
        lo = rounding.nearest(self.lo - slack(self.lo))
        hi = rounding.nearest(self.hi + slack(self.hi))
        return Interval(min(self.lo, lo), max(self.hi, hi))

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.lo + other.lo, self.hi + other.hi)

    def __mul__(self, other: Interval) -> Interval:
        corners = [a * b for a in (self.lo, self.hi) for b in (other.lo, other.hi)]
        return Interval(min(corners), max(corners))

    def __truediv__(self, other: Interval) -> Interval:
        if other.lo <= 0 <= other.hi:
            return Interval(-math.inf, math.inf)
        return self * Interval(1 / other.hi, 1 / other.lo)

    def exp(self) -> Interval:
        """Return e to the power of every value."""
        return Interval(_exp(self.lo), _exp(self.hi))

    @staticmethod
    def sum(items: Iterable[Interval]) -> Interval:
        """Return the interval of the sum.

        >>> weights = Interval.sum(Interval.printed(w) for w in ("0.065", "0.539", "0.266", "0.131"))
        >>> weights.meets(Interval.printed("1.000")), weights.meets(Interval.printed("1.010"))
        (True, False)
        """
        listed = list(items)
        return Interval(math.fsum(item.lo for item in listed), math.fsum(item.hi for item in listed))

    def meets(self, other: Interval) -> bool:
        """Say whether the two have a value in common, up to float64's own error."""
        edge = slack(max(abs(self.lo), abs(other.lo)))
        return self.lo <= other.hi + edge and other.lo <= self.hi + edge


def _exp(value: float) -> float:
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf
