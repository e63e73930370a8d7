"""Counts that know where they come from: a formula in symbols, the same with its numbers, and the number."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction as Ratio
from functools import reduce
from operator import add
from typing import Literal

from riverhead.numbers import grouped
from riverhead.scene import Fraction, Math, Operator, Power, Row, Sub, Symbol, Vector, Word

__all__ = ["Count", "count", "sum_of", "symbol"]

Shape = Literal["atom", "product", "sum"]


@dataclass(frozen=True, slots=True)
class Count:
    """An exact ``value``, its formula in ``symbols``, and the formula with the ``numbers`` put in.

    Adding, subtracting, multiplying and dividing counts does the same to all three.

    >>> T = count("T", 1024)
    >>> pairs = T * (T + 1) / 2
    >>> print(pairs.symbols, "=", pairs.numbers, "=", pairs.value)
    T·(T + 1)/2 = 1,024·(1,024 + 1)/2 = 524800
    """

    value: int | Ratio
    symbols: Math
    numbers: Math
    shape: Shape = "atom"

    def __add__(self, other: Count | int) -> Count:
        return _joined(self, "+", _counted(other), "sum")

    def __sub__(self, other: Count | int) -> Count:
        return _joined(self, "−", _counted(other), "sum")

    def __mul__(self, other: Count | int) -> Count:
        return _joined(self, "·", _counted(other), "product")

    def __rmul__(self, other: int) -> Count:
        return _counted(other) * self

    def __pow__(self, exponent: int) -> Count:
        symbols, numbers = (
            Power(_fenced(self, math), grouped(exponent)) for math in (self.symbols, self.numbers)
        )
        return Count(self.value**exponent, symbols, numbers)

    def __truediv__(self, other: Count | int) -> Count:
        below = _counted(other)
        symbols, numbers = Fraction(self.symbols, below.symbols), Fraction(self.numbers, below.numbers)
        return Count(_exact(Ratio(self.value) / below.value), symbols, numbers)


def count(name: str, value: int, index: str = "") -> Count:
    """Name a value: ``count("d", 64, "k")`` is d_k = 64."""
    return Count(value, symbol(name, index), grouped(value))


def symbol(name: str, index: str = "") -> Math:
    """Return the symbol ``name`` with ``index`` below: d_k, n_layers."""
    if not index:
        return Symbol(name)
    return Sub(Symbol(name), Symbol(index) if len(index) == 1 else Word(index))


def sum_of(counts: Iterable[Count]) -> Count:
    """Add one or more counts."""
    return reduce(add, counts)


def _counted(value: Count | int) -> Count:
    return value if isinstance(value, Count) else Count(value, grouped(value), grouped(value))


def _joined(a: Count, sign: str, b: Count, shape: Shape) -> Count:
    values = {"+": lambda: a.value + b.value, "−": lambda: a.value - b.value, "·": lambda: a.value * b.value}
    symbols, numbers = (
        Row((_inside(a, left, shape), Operator(sign), _inside(b, right, shape, last=sign == "−")))
        for left, right in ((a.symbols, b.symbols), (a.numbers, b.numbers))
    )
    return Count(_exact(Ratio(values[sign]())), symbols, numbers, shape)


def _inside(count: Count, math: Math, shape: Shape, *, last: bool = False) -> Math:
    """Keep a sum in parentheses within a product, and after a minus."""
    return _fenced(count, math) if count.shape == "sum" and (shape == "product" or last) else math


def _fenced(count: Count, math: Math) -> Math:
    return math if count.shape == "atom" else Vector((math,))


def _exact(value: Ratio) -> int | Ratio:
    return value.numerator if value.denominator == 1 else value
