"""A formula as a small tree: every renderer walks the same dozen nodes and escapes for itself.

>>> print(Row((Symbol("q"), Operator("="), Vector((Word("bank"), Symbol("x"))))))
q = (bank, x)
"""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent

from riverhead.display import Displayable
from riverhead.numbers import Number

__all__ = ["Call", "Fraction", "Math", "Operator", "Power", "Root", "Row", "Sub", "Symbol", "Vector", "Word"]


class Node(Displayable):
    """A formula prints as plain text, on one line while it fits in 80 columns."""

    __slots__ = ()

    def __str__(self) -> str:
        return dedent(super().__str__()).rstrip("\n")


@dataclass(frozen=True, slots=True)
class Symbol(Node):
    """A variable: ``q``, ``K``, ``λ``; ``primes`` counts the strokes after it (bank′)."""

    name: str
    primes: int = 0


@dataclass(frozen=True, slots=True)
class Word(Node):
    """Upright text inside a formula: a token, a word of prose; may hold anything a token may hold."""

    text: str
    primes: int = 0


@dataclass(frozen=True, slots=True)
class Operator(Node):
    """An infix sign: ``=`` ``≈`` ``·`` ``+`` ``−`` ``÷`` ``×`` ``→`` ``…``."""

    sign: str


@dataclass(frozen=True, slots=True)
class Row(Node):
    """Nodes one after the other."""

    items: tuple[Math, ...]


@dataclass(frozen=True, slots=True)
class Sub(Node):
    """``base`` with ``index`` below: q_bank, d_k."""

    base: Math
    index: Math


@dataclass(frozen=True, slots=True)
class Power(Node):
    """``base`` with ``exponent`` above: e^2.12, Kᵀ."""

    base: Math
    exponent: Math


@dataclass(frozen=True, slots=True)
class Fraction(Node):
    """``top`` over ``bottom``."""

    top: Math
    bottom: Math


@dataclass(frozen=True, slots=True)
class Root(Node):
    """The square root of ``of``."""

    of: Math


@dataclass(frozen=True, slots=True)
class Vector(Node):
    """Components in parentheses, separated by commas: (2, 1)."""

    items: tuple[Math, ...]


@dataclass(frozen=True, slots=True)
class Call(Node):
    """A named function of one argument: softmax(…)."""

    name: str
    argument: Math


Math = Symbol | Word | Number | Operator | Row | Sub | Power | Fraction | Root | Vector | Call
