"""Printed results, and how they stand to values: equal, rounded to what is printed, or neither."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from riverhead.checking.claims.reading.expression import Expression, Items, Name, Number, Operation, walk
from riverhead.checking.claims.reading.numerals import trailing_zeros
from riverhead.checking.claims.values import scalars
from riverhead.checking.claims.values.evaluate import Evaluator, Value
from riverhead.checking.claims.values.scalars import Scalar, Unreadable
from riverhead.numbers.interval import slack

__all__ = [
    "CARRIED",
    "EXACT",
    "ROUNDED",
    "Print",
    "Prints",
    "equal",
    "how_printed",
    "nearly",
    "numbers_of",
    "pairs",
    "print_pairs",
    "prints",
    "sum_half",
    "whole_tens",
]

EXACT, ROUNDED, CARRIED = "exact", "rounded", "carried"
HALF = 0.5
ABOUT = 0.005  # of itself: half a unit of a second digit


@dataclass(frozen=True, slots=True)
class Print:
    """A printed result: its value, half a unit of its last digit that counts, and its unit's factor."""

    value: int | float
    half: float
    factor: int | float
    number: Number


Prints: TypeAlias = Print | tuple["Prints", ...]


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
    number = evaluator.meant(number)
    factor = evaluator.factor(number.unit, result=True) if number.unit else 1
    return Print(sign * number.value, _half(number, about, coarsest), factor, number)


def _coarsest(literal: Items) -> float:
    numbers = (item.args[0] if isinstance(item, Operation) else item for item in literal.items)
    return max((item.half for item in numbers if isinstance(item, Number)), default=0.0)


def numbers_of(printed: Prints) -> Iterator[Print]:
    """Yield the printed numbers of a list, or the one."""
    if isinstance(printed, Print):
        yield printed
    else:
        for part in printed:
            yield from numbers_of(part)


def print_pairs(value: Value, printed: Prints, open_end: bool = False) -> Iterator[tuple[Scalar, Print]]:
    """Pair each value with its print; a list that ends in … is held against the first of the values."""
    if isinstance(value, tuple) and isinstance(printed, tuple):
        if len(value) == 1 and len(printed) > 1 and isinstance(value[0], tuple):
            value = value[0]
        elif len(printed) == 1 and len(value) > 1 and isinstance(printed[0], tuple):
            printed = printed[0]
        if not printed or len(value) < len(printed) or (len(value) > len(printed) and not open_end):
            raise Unreadable("lists of unequal length")
        for a, b in zip(value, printed, strict=False):
            yield from print_pairs(a, b, open_end)
    elif isinstance(value, tuple):
        if len(value) != 1:
            raise Unreadable("a list and a number")
        yield from print_pairs(value[0], printed, open_end)
    elif isinstance(printed, tuple):
        if len(printed) != 1:
            raise Unreadable("a number and a list")
        yield from print_pairs(value, printed[0], open_end)
    else:
        yield value, printed


def pairs(left: Value, right: Value) -> Iterator[tuple[Scalar, Scalar]]:
    """Pair the numbers of two values of one shape."""
    if isinstance(left, tuple) and isinstance(right, tuple):
        if len(left) != len(right):
            raise Unreadable("lists of unequal length")
        for a, b in zip(left, right, strict=True):
            yield from pairs(a, b)
    elif isinstance(left, tuple) or isinstance(right, tuple):
        part, whole = (left, right) if isinstance(left, tuple) else (right, left)
        if len(part) != 1:  # type: ignore[arg-type]  # part is the tuple of the two
            raise Unreadable("a list and a number")
        yield from pairs(part[0], whole)  # type: ignore[index]  # as above
    else:
        yield left, right


def equal(a: Scalar, b: Scalar) -> bool:
    """Say whether two numbers are equal, up to what float64 does; integers exactly."""
    left, right = scalars.center(a), scalars.center(b)
    return left == right or abs(left - right) <= _noise(left, right)


def nearly(a: Scalar, b: Scalar) -> bool:
    """Say whether two numbers, both worked out, are the same to the two digits that ≈ is held to."""
    left, right = scalars.center(a), scalars.center(b)
    return abs(left - right) <= ABOUT * max(abs(left), abs(right))


def how_printed(value: Scalar, printed: Print, tight: float = 0.0) -> str:
    """Say how a value stands to its print: exact, rounded, or neither, which is empty.

    ``tight`` is how far a whole number may be from a sum of decimals that it is said to equal.
    """
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


def sum_half(expression: Expression) -> float:
    """Of a sum of decimals, half a unit of the coarsest: a sum has no fewer places than its terms. Else 0."""
    parts = list(walk(expression))
    if any(isinstance(part, Operation) and part.what not in ("+", "-", "neg", "sum") for part in parts):
        return 0.0
    if any(isinstance(part, Name) for part in parts):
        return 0.0
    return max((part.half for part in parts if isinstance(part, Number) and not part.unit), default=0.0)


def whole_tens(expression: Expression) -> Number | None:
    """Return the number that 10^9 or 2 × 10^9 prints, None for any other expression."""
    times = isinstance(expression, Operation) and expression.what == "*" and expression.args
    first, power = times if times else (None, expression)
    if not isinstance(power, Operation) or power.what != "^":
        return None
    ten, exponent = power.args
    whole = first is None or (isinstance(first, Number) and isinstance(first.value, int) and not first.unit)
    if not (whole and isinstance(ten, Number) and ten.text == "10" and isinstance(exponent, Number)):
        return None
    if not isinstance(exponent.value, int) or not 0 < exponent.value < 300:
        return None
    value = (first.value if isinstance(first, Number) else 1) * 10**exponent.value
    return Number(value, 0.0, str(value), expression.start, expression.end)
