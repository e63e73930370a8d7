"""The steps a cell may follow by, by name: each makes an interval of intervals, as rounding carries on."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

from riverhead.numbers import Interval, Rounding

__all__ = ["EXACT", "STEPS", "follow"]

Make: TypeAlias = Callable[[Sequence[Interval]], Interval]

MINUS_ONE, ZERO, ONE = Interval.point(-1.0), Interval.point(0.0), Interval.point(1.0)


def follow(step: str, parents: Sequence[Interval]) -> Interval | None:
    """Return every value that ``step`` makes of its ``parents``; None where it makes no number of them.

    >>> follow("divide", [Interval.point(4.0), Interval.point(2.0)]), follow("divide", [ONE, ZERO])
    (Interval(lo=2.0, hi=2.0), None)
    """
    try:
        made = STEPS[step](parents)
    except (ArithmeticError, ValueError, IndexError):  # 0/0, √ of a number below 0, the peak of nothing
        return None
    hidden = made.lo == made.hi == -math.inf
    return made if hidden or (math.isfinite(made.lo) and math.isfinite(made.hi)) else None


def _minus(a: Interval, b: Interval) -> Interval:
    return a + MINUS_ONE * b


def _divide(a: Interval, b: Interval) -> Interval:
    if b.lo <= 0 <= b.hi:
        raise ZeroDivisionError
    return a / b


def _halves(items: Sequence[Interval]) -> list[tuple[Interval, Interval]]:
    """Pair the first half of the parents with the second."""
    half = len(items) // 2
    return list(zip(items[:half], items[half:], strict=True))


def _dot(items: Sequence[Interval]) -> Interval:
    return Interval.sum(a * b for a, b in _halves(items))


def _mean(items: Sequence[Interval]) -> Interval:
    return _divide(Interval.sum(items), Interval.point(len(items)))


def _folded(a: Interval, power: int) -> Interval:
    """|a| to a power; squaring an interval as a · a would go below 0."""
    ends = sorted((abs(a.lo) ** power, abs(a.hi) ** power))
    return Interval(0.0 if a.lo < 0 < a.hi else ends[0], ends[1])


def _mean_square(items: Sequence[Interval], fewer: int = 0) -> Interval:
    return _divide(Interval.sum(_folded(a, 2) for a in items), Interval.point(len(items) - fewer))


def _root(a: Interval) -> Interval:
    return Interval(math.sqrt(max(a.lo, 0.0)), math.sqrt(a.hi))


def _length(items: Sequence[Interval]) -> Interval:
    return _root(Interval.sum(_folded(a, 2) for a in items))


def _cosine(items: Sequence[Interval]) -> Interval:
    half = len(items) // 2
    return _divide(_dot(items), _length(items[:half]) * _length(items[half:]))


def _softmax(items: Sequence[Interval]) -> Interval:
    """The weight of the first among the rest: 1 / Σ e^(other − own), monotone in each score."""
    own, others = items[0], list(items[1:])
    others.remove(own)  # equal scores may stand for each other
    if own.hi == -math.inf:
        return ZERO
    least = 1 + math.fsum(math.exp(s.hi - own.lo) for s in others)
    most = 1 + math.fsum(math.exp(s.lo - own.hi) for s in others)
    return Interval(1 / least, 1 / most)


def _share(items: Sequence[Interval]) -> Interval:
    """The first over the sum of the rest, among which it stands."""
    return _divide(items[0], Interval.sum(items[1:]))


def _softmax_twice(items: Sequence[Interval]) -> Interval:
    total = Interval.sum(items[1:])
    return _softmax([_divide(item, total) for item in items])


def _middle(item: Interval) -> float:
    return (item.lo + item.hi) / 2


def _peak(items: Sequence[Interval]) -> Interval:
    return max(items, key=_middle)


def _at_peak(items: Sequence[Interval]) -> Interval:
    return max(_halves(items), key=lambda pair: _middle(pair[0]))[1]


def _is_peak(items: Sequence[Interval]) -> Interval:
    return ONE if _middle(items[0]) == _middle(_peak(items[1:])) else ZERO


def _sine(a: Interval) -> Interval:
    """The sine moves by no more than its angle does."""
    middle, half = math.sin(_middle(a)), (a.hi - a.lo) / 2
    return Interval(max(middle - half, -1.0), min(middle + half, 1.0))


def _power(base: float) -> Make:
    return lambda p: (p[0] * Interval.point(math.log(base))).exp()


def _rounded(decimals: int, make: Make) -> Make:
    return lambda p: Interval.point(Rounding(decimals).nearest(_middle(make(p))))


def _exp(p: Sequence[Interval]) -> Interval:
    return p[0].exp()


def _quotient(p: Sequence[Interval]) -> Interval:
    return _divide(p[0], p[1])


def _whole(a: Interval) -> Interval:
    return Interval(float(math.floor(a.lo)), float(math.floor(a.hi)))


def _remainder(items: Sequence[Interval]) -> Interval:
    """What is left of the first, after the second went into it as often as it goes."""
    return _minus(items[0], items[1] * _whole(_quotient(items)))


def _with_a_bias(items: Sequence[Interval]) -> Interval:
    """A matrix of so many rows, and one row more."""
    return math.prod(items[1:], start=items[0] + ONE)


def _triangle(a: Interval) -> Interval:
    return a * (a + ONE) / Interval.point(2.0)


def _raised(times: float) -> Make:
    """A base to the power ``times`` i / d; of plain numbers only."""
    return lambda p: Interval.point(math.pow(p[0].lo, times * p[1].lo / p[2].lo))


def _degrees(a: Interval) -> Interval:
    return a * Interval.point(math.pi / 180)


def _apart(which: int, make: Callable[[int, Interval], Interval]) -> Make:
    """What ``make`` makes of a line that is written otherwise than it is: the first, the next, the last."""

    def of(items: Sequence[Interval]) -> Interval:
        unit, lines = items[0].hi, _halves(items[1:])
        wrong = [n for n, (there, true) in enumerate(lines) if not _agree(there, true, unit)]
        return make(wrong[which], lines[wrong[which]][1])

    return of


def _agree(there: Interval, true: Interval, unit: float) -> bool:
    return true.lo - unit <= there.hi and there.lo <= true.hi + unit


def _line(n: int, true: Interval) -> Interval:
    return Interval.point(n + 1.0)


def _number(n: int, true: Interval) -> Interval:
    return true


def _copied(items: Sequence[Interval]) -> Interval:
    """The number that stands in the first wrong line."""
    line = _apart(0, _line)(items).lo
    return items[int(line)]


# What the parents are is said where it is not plain; "row" holds the first parent once more.
STEPS: dict[str, Make] = {
    "given": lambda p: p[0],  # what is given follows from nothing: it is never asked
    "hidden": lambda _: Interval.point(-math.inf),
    "zero": lambda _: ZERO,
    "one": lambda _: ONE,
    "same": lambda p: p[0],
    "negative": lambda p: MINUS_ONE * p[0],
    "total": Interval.sum,
    "difference": lambda p: _minus(p[0], p[1]),
    "product": lambda p: math.prod(p, start=ONE),
    "divide": _quotient,
    "divide twice": lambda p: _divide(_quotient(p), p[2]),
    "mean": _mean,
    "dot": _dot,  # a vector, then another
    "dot of sizes": lambda p: _dot([_folded(item, 1) for item in p]),
    "cosine": _cosine,
    "exp": _exp,
    "exp of minus": lambda p: (MINUS_ONE * p[0]).exp(),
    "exp below the peak": lambda p: _minus(p[0], _peak(p[1:])).exp(),  # one score, its row
    "exp, whole": _rounded(0, _exp),
    "2 to the power": _power(2.0),
    "10 to the power": _power(10.0),
    "total of exp": lambda p: Interval.sum(item.exp() for item in p),
    "divide, whole": _rounded(0, _quotient),
    "divide, one decimal": _rounded(1, _quotient),
    "share": _share,  # one number, its row
    "softmax": _softmax,  # one score, its row
    "softmax of the softmax": _softmax_twice,  # one exponential, its row
    "over the largest": lambda p: _divide(p[0], _peak(p[1:])),  # one number, its row
    "over their number": lambda p: _divide(p[0], Interval.point(len(p) - 1)),  # one number, its row
    "1 over their number": lambda p: _divide(ONE, Interval.point(len(p))),  # a row
    "is the peak": _is_peak,  # one number, its row
    "at the peak": _at_peak,  # a row, then what belongs to each of it
    "mean of squares": _mean_square,
    "sum of squares over n − 1": lambda p: _mean_square(p, 1),
    "root": lambda p: _root(Interval.sum(p)),  # of a sum: a variance and its ε
    "times and plus": lambda p: p[0] * p[1] + p[2],
    "sin": lambda p: _sine(p[0]),
    "cos": lambda p: _sine(p[0] + Interval.point(math.pi / 2)),
    "sin, in degrees": lambda p: _sine(_degrees(p[0])),
    "cos, in degrees": lambda p: _sine(_degrees(p[0]) + Interval.point(math.pi / 2)),
    "turned": lambda p: _minus(p[0] * p[2], p[1] * p[3]),  # x, y, cos, sin: x·cos − y·sin
    "base to the 2i/d": _raised(2.0),  # base, i, d
    "base to the i/d": _raised(1.0),
    "base to the 4i/d": _raised(4.0),
    "one later, divide": lambda p: _divide(p[0] + ONE, p[1]),
    "divide, rounded down": lambda p: _whole(_quotient(p)),
    "divide, rounded down, from 1": lambda p: _whole(_quotient(p)) + ONE,
    "remainder": _remainder,
    "product, with a bias": _with_a_bias,
    "triangle": lambda p: _triangle(p[0]),  # 1 + 2 + … + n
    "first wrong line": _apart(0, _line),  # of a worked sheet: its unit, what is written, what is right
    "first number put right": _apart(0, _number),
    "next wrong line": _apart(1, _line),
    "next number put right": _apart(1, _number),
    "last wrong line": _apart(-1, _line),
    "last number put right": _apart(-1, _number),
    "first wrong number": _copied,
}

# Of exact parents these make a number that a learner can write out whole, if it is short.
EXACT = {
    "zero", "one", "hidden", "same", "negative", "total", "difference", "product", "divide", "mean", "dot",
    "mean of squares", "times and plus", "turned", "base to the 2i/d", "divide, rounded down", "remainder",
    "first wrong line",
}  # fmt: skip
