"""One side of a claim held against the other: exact, rounded once, right of rounded terms, or false."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from riverhead.checking.claims.causes.likely_causes import likely
from riverhead.checking.claims.claim import Finding, Found, Truth
from riverhead.checking.claims.reading.expression import Expression, Items, Name, Number, Operation
from riverhead.checking.claims.reading.notation import UNITS
from riverhead.checking.claims.reading.numerals import trailing_zeros
from riverhead.checking.claims.values import scalars
from riverhead.checking.claims.values.evaluate import Evaluator, Reading, Value, rank
from riverhead.checking.claims.values.ranges import BUDGET, Tape, reaches
from riverhead.checking.claims.values.scalars import Scalar, Unreadable
from riverhead.numbers.interval import slack

__all__ = ["Link", "Pool", "Print", "is_literal", "judge", "matches", "prints"]

SMALLEST_COUNT = 1000  # bytes and numbers from here on are said in K, M and G

HALF = 0.5
ABOUT = 0.005  # of itself: half a unit of a second digit
EXACT, ROUNDED, CARRIED = "exact", "rounded", "carried"
_RANKS = {EXACT: 0, ROUNDED: 1, CARRIED: 2}


@dataclass(frozen=True, slots=True)
class Link:
    """``left relation right``, from ``start`` to ``end`` in the text."""

    left: Expression
    right: Expression
    relation: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Print:
    """A printed result: its value, half a unit of its last digit that counts, and its unit's factor."""

    value: int | float
    half: float
    factor: int | float
    number: Number


Prints: TypeAlias = Print | tuple["Prints", ...]


def is_literal(expression: Expression) -> bool:
    """Say whether an expression is only printed numbers: one, or a list of them."""
    if isinstance(expression, Number):
        return True
    if isinstance(expression, Items):
        return all(map(is_literal, expression.items))
    if isinstance(expression, Operation):
        return expression.what == "neg" and isinstance(expression.args[0], Number)
    return expression.text == "…"


def matches(printed: Number, exact: float, about: bool = False) -> bool:
    """Say whether a printed number is ``exact`` rounded to its digits.

    Trailing zeros of an integer are not significant, but its first two digits are; with ``about`` its first.

    >>> from riverhead.checking.claims.reading.parse import expression
    >>> number = expression("6,500")
    >>> matches(number, 6538.5), matches(number, 6551)
    (True, False)
    """
    factor = UNITS.get(printed.unit, (1, 1))[0]
    half = _half(printed, about) * factor
    return abs(printed.value * factor - exact) <= half + slack(exact)


def _half(printed: Number, about: bool, coarsest: float = 0.0) -> float:
    """Half a unit of the last digit that counts; in a list with decimals (``coarsest``) 0 is no coarser."""
    if printed.half:
        return printed.half
    if not isinstance(printed.value, int):  # ½ is exact
        return 0.0
    if coarsest:
        return max(coarsest, 0.005)
    digits = str(abs(int(printed.value)))
    zeros = min(trailing_zeros(int(printed.value)), len(digits) - (1 if about else 2))
    return 0.5 * 10.0 ** max(zeros, 0)


def prints(literal: Expression, evaluator: Evaluator, about: bool = False, coarsest: float = 0.0) -> Prints:
    """Return the printed numbers of a literal, with what their last digits leave open."""
    if isinstance(literal, Items):
        inner = _coarsest(literal)
        items = (item for item in literal.items if not isinstance(item, Name))
        return tuple(prints(item, evaluator, about, inner or coarsest) for item in items)
    sign = -1 if isinstance(literal, Operation) else 1
    number = literal.args[0] if isinstance(literal, Operation) else literal
    assert isinstance(number, Number)
    factor = evaluator.factor(number.unit, result=True) if number.unit else 1
    return Print(sign * number.value, _half(number, about, coarsest), factor, number)


def _coarsest(literal: Items) -> float:
    numbers = (item.args[0] if isinstance(item, Operation) else item for item in literal.items)
    return max((item.half for item in numbers if isinstance(item, Number)), default=0.0)


@dataclass(slots=True)
class Pool:
    """The work that one page may take: steps of the search for roundings, false claims that are explained.

    Without steps, interval arithmetic answers, which accuses no more than the search; a cause that was not
    looked for is said to be so.
    """

    steps: int = 4_000_000
    causes: int = 400


def judge(link: Link, names: Mapping[str, Expression], pool: Pool | None = None) -> Finding | None:
    """Judge one link; None where it claims nothing (two printed numbers of no common unit)."""
    try:
        return _Judge(link, names, pool or Pool()).finding()
    except OverflowError:
        return Finding(link.start, link.end, Truth.UNCHECKED, cause="a number too large")


class _Judge:
    """The work on one link: the printed side is held against the one that is worked out."""

    def __init__(self, link: Link, names: Mapping[str, Expression], pool: Pool) -> None:
        self.link, self.names, self.pool = link, names, pool
        self.about = link.relation != "="
        self.printed: Expression | None = None
        self.worked, self.other = link.left, link.right
        if is_literal(link.right):
            self.printed = link.right
        elif is_literal(link.left):
            self.printed, self.worked = link.left, link.right
        self.open = self.printed is not None and _is_open(self.printed)

    def finding(self) -> Finding | None:
        if self.printed is not None and is_literal(self.worked) and not self._comparable():
            return None
        choices: set[str] = set()
        first = Reading()
        best = self._quietly(first, choices)
        if "unitless" in choices and not self._of_one_unit():
            choices.discard("unitless")
        reading = first
        for other in first.others(choices):
            if best is not None and best[0]:
                break
            tried = self._quietly(other, set())
            if tried is not None and (best is None or tried[0] or _nearer(tried[1], best[1], self._target())):
                best, reading = tried, other
        if best is None:
            return self._unread(choices)
        how, exact = best
        if not how:
            carried = (other for other in (first, *first.others(choices)) if self._carried(other))
            found = next(carried, None)
            how, reading = (CARRIED, found) if found is not None else ("", reading)
        return self._said(how, reading, exact)

    def _of_one_unit(self) -> bool:
        """Whether the result has no unit and the terms that have one share it: 192 GB − 140 GB = 52."""
        result = [] if self.printed is None else [p.unit for p in walk(self.printed) if isinstance(p, Number)]
        units = {p.unit for p in walk(self.worked) if isinstance(p, Number) and p.unit}
        return bool(result) and not any(result) and len(units) == 1

    def _comparable(self) -> bool:
        """Whether two printed numbers are held against each other: 524,288 bytes = 512 KiB, 0.54 = 54%."""
        left, right = self.link.left, self.link.right
        if not (isinstance(left, Number) and isinstance(right, Number)) or self.link.relation not in "=≈≠":
            return False
        units = [UNITS.get(side.unit, (1, 1)) for side in (left, right)]
        if left.unit == right.unit or all(unit == (1, 1) for unit in units):
            return False
        plain = next((side for side in (left, right) if not side.unit), None)
        return plain is None or abs(plain.value) <= 1 or abs(plain.value) >= SMALLEST_COUNT

    def _target(self) -> float:
        if self.printed is None:
            return 0.0
        found = next(_numbers(prints(self.printed, Evaluator(self.names))), None)
        return float(found.value) if found else 0.0  # in the printed unit, as the right value is

    def _plainly(self, reading: Reading, choices: set[str]) -> tuple[str, Found]:
        """How the sides agree with every number as typed, and the right value in the printed unit."""
        evaluator = Evaluator(self.names, reading, choices=choices)
        value = evaluator.value(self.worked)
        if self.printed is None:
            right = evaluator.value(self.other)
            pairs = list(_pairs(value, right))
            how = EXACT if all(_equal(a, b) for a, b in pairs) else ""
            if not how and self.about and all(_about(a, b) for a, b in pairs):
                how = ROUNDED
            return how, _found(value, 1)
        printed = prints(self.printed, evaluator, self.about)
        tight = self._tight()
        ranks = [_how(a, b, tight) for a, b in _print_pairs(value, printed, self.open)]
        how = "" if "" in ranks else max(ranks, key=_RANKS.__getitem__)
        factor = next((p.factor for p in _numbers(printed)), 1)
        return how, _found(value, factor)

    def _tight(self) -> float:
        """How far a whole number may be from a sum of decimals that it is said to equal; 0 if none is."""
        whole = isinstance(self.printed, Number) and not self.printed.half
        return _sum_half(self.worked) if whole and not self.about else 0.0

    def _quietly(self, reading: Reading, choices: set[str]) -> tuple[str, Found] | None:
        try:
            return self._plainly(reading, choices)
        except Unreadable:
            return None

    def _carried(self, reading: Reading) -> bool:
        """Whether values that print as the typed ones do give the printed result."""
        tape = Tape(min(BUDGET, self.pool.steps))
        budget, rounded = tape.budget, False

        def unknown(number: Number) -> Scalar:
            nonlocal rounded
            rounded = rounded or number.half > 0
            return (
                tape.unknown(number.text, float(number.value), number.half) if number.half else number.value
            )

        try:
            return self._reached(Evaluator(self.names, reading, unknown)) and rounded
        except Unreadable:
            return False
        finally:
            self.pool.steps -= budget - tape.budget

    def _reached(self, evaluator: Evaluator) -> bool:
        """Whether the printed result is among the values of numbers that are each as uncertain as printed."""
        value = evaluator.value(self.worked)
        if self.printed is None:
            pairs = _pairs(value, evaluator.value(self.other))
            return all(reaches(scalars.subtract(a, b)) for a, b in pairs)
        printed = prints(self.printed, evaluator, self.about)
        tight = self._tight()
        held = list(_print_pairs(value, printed, self.open))
        for a, b in held:
            half = min(b.half, tight) if tight else b.half
            if not reaches(a, float(b.value * b.factor), half * b.factor):
                return False
        return self._in_order(value, [b for _, b in held])

    def _in_order(self, weights: Value, printed: Sequence[Print]) -> bool:
        """Whether weights keep the order of their scores: scores that differ in print weigh unequal."""
        operation = self.worked
        if not (isinstance(operation, Operation) and operation.what == "softmax" and rank(weights) == 1):
            return True
        exact = [float(scalars.center(w)) for w in weights]  # type: ignore[union-attr, arg-type]  # rank 1
        shown = [p.value for p in printed]
        unit = max((2 * p.half for p in printed), default=0.0)
        order = sorted(range(min(len(exact), len(shown))), key=exact.__getitem__)
        return not any(exact[b] - exact[a] > unit and shown[b] <= shown[a] for a, b in pairwise(order))

    def _unread(self, choices: set[str]) -> Finding | None:
        """Not checkable, where numbers stand on both sides and a name has none."""
        if self.printed is None or not any(isinstance(part, Number) for part in walk(self.worked)):
            return None
        evaluator = Evaluator(self.names, choices=choices)
        for part in walk(self.worked):
            if isinstance(part, Name):
                try:
                    evaluator.value(part)
                except Unreadable:
                    continue
        cause = (
            f"{', '.join(sorted(evaluator.unknown)[:3])}: no number in the text" if evaluator.unknown else ""
        )
        return Finding(self.link.start, self.link.end, Truth.UNCHECKED, cause=cause)

    def _said(self, how: str, reading: Reading, exact: Found) -> Finding:
        link = self.link
        if link.relation == "≠":
            truth = Truth.FALSE if how in (EXACT, ROUNDED) else Truth.TRUE
            return Finding(link.start, link.end, truth, EXACT if truth is Truth.TRUE else "", exact)
        if how:
            return Finding(link.start, link.end, Truth.TRUE, how, exact, _words(reading))
        return Finding(link.start, link.end, Truth.FALSE, "", exact, self._cause(reading, exact))

    def _cause(self, reading: Reading, exact: Found) -> str:
        """The likely cause, by the reading whose value comes nearest."""
        if self.pool.causes <= 0:
            return "cause not looked for: so many numbers of this page are false"
        self.pool.causes -= 1

        def value_of(part: Expression) -> Found:
            return _found(Evaluator(self.names, reading).value(part), 1)

        return likely(self.worked, self.other if self.printed is None else self.printed, exact, value_of)


def _is_open(printed: Expression) -> bool:
    """Whether a list ends in …, or the last list in it does."""
    while isinstance(printed, Items) and printed.items:
        printed = printed.items[-1]
    return isinstance(printed, Name)


def _words(reading: Reading) -> str:
    if reading == Reading():
        return ""
    words = {
        "binary": "in binary units",
        "billions": "B as billion",
        "bare": "",
        "unitless": "",
        "symbol": "",
        "counted": "",
        "degrees": "in degrees",
        "of_itself": "percent of the number before it",
        "dot": "products of the vectors number by number",
        "sample": "divided by n − 1",
        "base": f"log to base {reading.base:g}",
    }
    said = (words[name] for name in words if getattr(reading, name) != getattr(Reading(), name))
    return ", ".join(filter(None, said))


def walk(expression: Expression) -> Iterator[Expression]:
    """Yield an expression and all its parts."""
    waiting: list[Expression] = [expression]
    while waiting:
        part = waiting.pop()
        yield part
        waiting += part.items if isinstance(part, Items) else part.args if isinstance(part, Operation) else ()


def _sum_half(expression: Expression) -> float:
    """Of a sum of decimals, half a unit of the coarsest: a sum has no fewer places than its terms. Else 0."""
    parts = list(walk(expression))
    if any(isinstance(part, Operation) and part.what not in ("+", "-", "neg", "sum") for part in parts):
        return 0.0
    if any(isinstance(part, Name) for part in parts):
        return 0.0
    return max((part.half for part in parts if isinstance(part, Number) and not part.unit), default=0.0)


def _numbers(printed: Prints) -> Iterator[Print]:
    if isinstance(printed, Print):
        yield printed
    else:
        for part in printed:
            yield from _numbers(part)


def _print_pairs(value: Value, printed: Prints, open_end: bool = False) -> Iterator[tuple[Scalar, Print]]:
    """Pair each value with its print; a list that ends in … is held against the first of the values."""
    if isinstance(value, tuple) and isinstance(printed, tuple):
        if len(value) == 1 and len(printed) > 1 and isinstance(value[0], tuple):
            value = value[0]
        elif len(printed) == 1 and len(value) > 1 and isinstance(printed[0], tuple):
            printed = printed[0]
        if not printed or len(value) < len(printed) or (len(value) > len(printed) and not open_end):
            raise Unreadable("lists of unequal length")
        for a, b in zip(value, printed, strict=False):
            yield from _print_pairs(a, b, open_end)
    elif isinstance(value, tuple):
        if len(value) != 1:
            raise Unreadable("a list and a number")
        yield from _print_pairs(value[0], printed, open_end)
    elif isinstance(printed, tuple):
        if len(printed) != 1:
            raise Unreadable("a number and a list")
        yield from _print_pairs(value, printed[0], open_end)
    else:
        yield value, printed


def _pairs(left: Value, right: Value) -> Iterator[tuple[Scalar, Scalar]]:
    if isinstance(left, tuple) and isinstance(right, tuple):
        if len(left) != len(right):
            raise Unreadable("lists of unequal length")
        for a, b in zip(left, right, strict=True):
            yield from _pairs(a, b)
    elif isinstance(left, tuple) or isinstance(right, tuple):
        part, whole = (left, right) if isinstance(left, tuple) else (right, left)
        if len(part) != 1:  # type: ignore[arg-type]  # part is the tuple of the two
            raise Unreadable("a list and a number")
        yield from _pairs(part[0], whole)  # type: ignore[index]  # as above
    else:
        yield left, right


def _equal(a: Scalar, b: Scalar) -> bool:
    left, right = scalars.center(a), scalars.center(b)
    return left == right or abs(left - right) <= _noise(left, right)


def _about(a: Scalar, b: Scalar) -> bool:
    """Whether two numbers, both worked out, are the same to the two digits that ≈ is held to."""
    left, right = scalars.center(a), scalars.center(b)
    return abs(left - right) <= ABOUT * max(abs(left), abs(right))


def _how(value: Scalar, printed: Print, tight: float) -> str:
    exact, shown = scalars.center(value), printed.value * printed.factor
    if exact == shown:
        return EXACT
    off, noise = abs(exact - shown), _noise(exact, shown)
    if off <= noise:
        return EXACT
    half = min(printed.half, tight) if tight else printed.half
    if isinstance(printed.value, int) and half == HALF and abs(off - HALF) <= noise and printed.factor == 1:
        return ROUNDED if printed.value % 2 == 0 or abs(shown) > abs(exact) else ""  # 5/2 is 3, or 2 to even
    return ROUNDED if off <= half * printed.factor + noise else ""


def _noise(a: float, b: float) -> float:
    """How far float64 may have moved two numbers apart: not at all, where both are integers."""
    return 0.0 if isinstance(a, int) and isinstance(b, int) else slack(max(abs(a), abs(b)))


def _found(value: Value, factor: float) -> Found:
    if isinstance(value, tuple):
        return tuple(_found(part, factor) for part in value)
    number = scalars.center(value)
    return number if factor == 1 else float(number / factor)


def _nearer(other: Found | None, best: Found | None, target: float) -> bool:
    if not isinstance(other, (int, float)) or not isinstance(best, (int, float)):
        return False
    return abs(other - target) < abs(best - target)
