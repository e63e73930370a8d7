"""One side of a claim held against the other: exact, rounded once, right of rounded terms, or false."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from riverhead.checking.claims.causes.likely_causes import likely
from riverhead.checking.claims.claim import Finding, Found, Truth
from riverhead.checking.claims.prints import (
    CARRIED,
    EXACT,
    ROUNDED,
    Print,
    equal,
    how_printed,
    nearly,
    numbers_of,
    pairs,
    print_pairs,
    prints,
    sum_half,
    whole_tens,
)
from riverhead.checking.claims.reading.expression import (
    Expression,
    Items,
    Name,
    Number,
    Operation,
    is_literal,
    walk,
)
from riverhead.checking.claims.reading.notation import UNITS
from riverhead.checking.claims.values import scalars
from riverhead.checking.claims.values.evaluate import Evaluator, Value, rank
from riverhead.checking.claims.values.ranges import BUDGET, Tape, reaches
from riverhead.checking.claims.values.readings import Reading
from riverhead.checking.claims.values.scalars import Scalar, Unreadable

__all__ = ["Link", "Pool", "judge"]

SMALLEST_COUNT = 1000  # bytes and numbers from here on are said in K, M and G

_RANKS = {EXACT: 0, ROUNDED: 1, CARRIED: 2}


@dataclass(frozen=True, slots=True)
class Link:
    """``left relation right``, from ``start`` to ``end`` in the text."""

    left: Expression
    right: Expression
    relation: str
    start: int
    end: int


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
        tens = whole_tens(link.right) if self.about else None
        if tens is not None:
            self.printed = tens  # 21^7 ≈ 2 × 10^9
        elif is_literal(link.right):
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
        if is_literal(self.worked):
            choices.discard("bare")  # 524,288 bytes = 524 MB: both units are meant
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
        if isinstance(left, Number) and isinstance(self.names.get(left.unit), Number):
            return True  # x = 3, 2x = 6
        if not (isinstance(left, Number) and isinstance(right, Number)) or self.link.relation not in "=≈≠":
            return False
        if {left.unit, right.unit} & {"x", "×"} or (left.unit == "B" and abs(left.value) < SMALLEST_COUNT):
            return False  # 8x = 80 GiB, 70B = 140 GB
        units = [UNITS.get(side.unit, (1, 1)) for side in (left, right)]
        if left.unit == right.unit or all(unit == (1, 1) for unit in units):
            return False
        plain = next((side for side in (left, right) if not side.unit), None)
        return plain is None or abs(plain.value) <= 1 or abs(plain.value) >= SMALLEST_COUNT

    def _target(self) -> float:
        if self.printed is None:
            return 0.0
        found = next(numbers_of(prints(self.printed, Evaluator(self.names))), None)
        return float(found.value) if found else 0.0  # in the printed unit, as the right value is

    def _plainly(self, reading: Reading, choices: set[str]) -> tuple[str, Found]:
        """How the sides agree with every number as typed, and the right value in the printed unit."""
        evaluator = Evaluator(self.names, reading, choices=choices)
        value = evaluator.value(self.worked)
        if self.printed is None:
            right = evaluator.value(self.other)
            both = list(pairs(value, right))
            how = EXACT if all(equal(a, b) for a, b in both) else ""
            if not how and self.about and all(nearly(a, b) for a, b in both):
                how = ROUNDED
            return how, _found(value, 1)
        printed = prints(self.printed, evaluator, self.about)
        tight = self._tight()
        ranks = [how_printed(a, b, tight) for a, b in print_pairs(value, printed, self.open)]
        how = "" if "" in ranks else max(ranks, key=_RANKS.__getitem__)
        factor = next((p.factor for p in numbers_of(printed)), 1)
        return how, _found(value, factor)

    def _tight(self) -> float:
        """How far a whole number may be from a sum of decimals that it is said to equal; 0 if none is."""
        whole = isinstance(self.printed, Number) and not self.printed.half
        return sum_half(self.worked) if whole and not self.about else 0.0

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
            both = pairs(value, evaluator.value(self.other))
            return all(reaches(scalars.subtract(a, b)) for a, b in both)
        printed = prints(self.printed, evaluator, self.about)
        tight = self._tight()
        held = list(print_pairs(value, printed, self.open))
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
            truth = Truth.FALSE if how == EXACT else Truth.TRUE
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
        "swapped": "",
        "counted": "",
        "degrees": "in degrees",
        "of_itself": "percent of the number before it",
        "dot": "products of the vectors number by number",
        "sample": "divided by n − 1",
        "base": f"log to base {reading.base:g}",
    }
    said = (words[name] for name in words if getattr(reading, name) != getattr(Reading(), name))
    return ", ".join(filter(None, said))


def _found(value: Value, factor: float) -> Found:
    if isinstance(value, tuple):
        return tuple(_found(part, factor) for part in value)
    number = scalars.center(value)
    return number if factor == 1 else float(number / factor)


def _nearer(other: Found | None, best: Found | None, target: float) -> bool:
    if not isinstance(other, (int, float)) or not isinstance(best, (int, float)):
        return False
    return abs(other - target) < abs(best - target)
