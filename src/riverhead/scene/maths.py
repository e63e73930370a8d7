"""A formula as a small tree: every renderer walks the same dozen nodes and escapes for itself."""

from __future__ import annotations

from dataclasses import dataclass

from riverhead.numbers import Number

__all__ = ["Call", "Fraction", "Math", "Operator", "Power", "Root", "Row", "Sub", "Symbol", "Vector", "Word"]


@dataclass(frozen=True, slots=True)
class Symbol:
    """A variable: ``q``, ``K``, ``λ``; ``primes`` counts the strokes after it (bank′)."""

    name: str
    primes: int = 0


@dataclass(frozen=True, slots=True)
class Word:
    """Upright text inside a formula: a token, a word of prose; may hold anything a token may hold."""

    text: str
    primes: int = 0


@dataclass(frozen=True, slots=True)
class Operator:
    """An infix sign: ``=`` ``≈`` ``·`` ``+`` ``−`` ``÷`` ``×`` ``→`` ``…``."""

    sign: str


@dataclass(frozen=True, slots=True)
class Row:
    """Nodes one after the other."""

    items: tuple[Math, ...]


@dataclass(frozen=True, slots=True)
class Sub:
    """``base`` with ``index`` below: q_bank, d_k."""

    base: Math
    index: Math


@dataclass(frozen=True, slots=True)
class Power:
    """``base`` with ``exponent`` above: e^2.12, Kᵀ."""

    base: Math
    exponent: Math


@dataclass(frozen=True, slots=True)
class Fraction:
    """``top`` over ``bottom``."""

    top: Math
    bottom: Math


@dataclass(frozen=True, slots=True)
class Root:
    """The square root of ``of``."""

    of: Math


@dataclass(frozen=True, slots=True)
class Vector:
    """Components in parentheses, separated by commas: (2, 1)."""

    items: tuple[Math, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """A named function of one argument: softmax(…)."""

    name: str
    argument: Math


Math = Symbol | Word | Number | Operator | Row | Sub | Power | Fraction | Root | Vector | Call
