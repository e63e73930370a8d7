"""Formulas in the derivation's own notation, and how many digits a number of each step is shown with."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from riverhead.derivation.arrays import whole
from riverhead.derivation.given import Given
from riverhead.derivation.scaling import is_usual
from riverhead.errors import InputError
from riverhead.numbers import Number, fixed, plain, significant
from riverhead.scene import Call, Fraction, Math, Operator, Power, Root, Row, Sub, Symbol, Vector, Word

__all__ = [
    "MOST_DIGITS",
    "Digits",
    "divided",
    "fenced",
    "formula",
    "maths",
    "of",
    "products",
    "prose",
    "vector",
]

MOST_DIGITS = 15  # a float64 has no more


@dataclass(frozen=True, slots=True)
class Digits:
    """How numbers are shown: weights and outputs with ``decimals``, exponentials with one digit more.

    A number that is short as it stands (2, 0.5) is shown whole where it is an operand or a score.
    """

    decimals: int = 3

    @classmethod
    def of(cls, digits: int | None) -> Digits:
        """Return the digits asked for, or the usual ones."""
        if digits is None:
            return cls()
        if whole("digits", digits, least=0) > MOST_DIGITS:
            raise InputError(f"digits is {digits}; a float64 has up to {MOST_DIGITS}")
        return cls(digits)

    def show(self, step: str, value: float) -> Number:
        """Show a number of ``step``, rounded once."""
        if step in ("weights", "out", "merged", "y"):  # a plain 0 is exactly 0
            return fixed(value, self.decimals) if value else plain(0)
        if step in ("exp", "sum"):
            return significant(value, self.decimals + 1) if value else plain(0)
        if step in ("scores", "masked"):
            return self._short(value) or fixed(value, self.decimals)
        if step == "dots":
            return self._short(value) or significant(value, self.decimals + 1)
        return self.operand(value)

    def operand(self, value: float) -> Number:
        """Show a number that enters a calculation."""
        return self._short(value) or significant(value, max(self.decimals, 1))

    def _short(self, value: float) -> Number | None:
        return plain(value) if abs(value) < 1e6 and round(value, min(self.decimals, 4)) == value else None


def prose(text: str) -> tuple[str | Math, ...]:
    """Return a sentence whose ``d_k``, ``√d_k`` and ``W_o`` are formulas.

    >>> [str(run) for run in prose("√d_k keeps the spread")]
    ['√d_k', ' keeps the spread']
    """
    runs: list[str | Math] = []
    for n, piece in enumerate(re.split(r"(√?\b[dW]_[a-z]\b)", text)):  # every second piece is a symbol
        if n % 2:
            base, index = piece.removeprefix("√").split("_")
            symbol = Sub(Symbol(base), Symbol(index))
            runs.append(Root(symbol) if piece.startswith("√") else symbol)
        elif piece:
            runs.append(piece)
    return tuple(runs)


def maths(*items: Math | str) -> Row:
    """Return a row of nodes; a plain string is an operator."""
    return Row(tuple(Operator(item) if isinstance(item, str) else item for item in items))


def of(symbol: str, token: str) -> Sub:
    """Return the symbol of a token: q_bank."""
    return Sub(Symbol(symbol), Word(token))


def vector(numbers: Sequence[Number], first: int | None = None) -> Vector:
    """Return numbers as a vector, (2, 1), or the ``first`` of them and how many there are."""
    if first is None or len(numbers) <= first:
        return Vector(tuple(numbers))
    return Vector((*numbers[:first], Word(f"… {len(numbers)} numbers")))


def products(pairs: Sequence[tuple[Number, Math]], count: int) -> Row:
    """Return ``2·2 + 1·0 + …``: the pairs given, and how many terms there are if they are not all."""
    items: list[Math | str] = []
    for left, right in pairs:
        items += ["+"] * bool(items) + [fenced(left), "·", fenced(right)]
    if len(pairs) < count:
        items += ["+", "…", Word(f"{count} terms")]
    return maths(*items)


def fenced(node: Math) -> Math:
    """Return a negative number in parentheses, so that no two signs meet."""
    return Vector((node,)) if isinstance(node, Number) and node.text.startswith("−") else node


def divided(given: Given, digits: Digits) -> Row:
    """Return what is done to a dot to make it a score: ``÷ √2``, ``× 0.3 ÷ 2``."""
    items: list[Math | str] = []
    if is_usual(given):
        items += ["÷", Root(plain(given.d_k))]
    elif given.scale is not None and given.scale != 1:
        items += ["×", digits.operand(given.scale)]
    if given.temperature != 1:
        items += ["÷", digits.operand(given.temperature)]
    return maths(*(items or ["×", plain(1)]))


def formula(given: Given) -> Row:
    """Return the formula as this derivation uses it: softmax(QKᵀ/√d_k) V, or with its own scale."""
    digits = Digits()
    scores: Math = maths(Symbol("Q"), Power(Symbol("K"), Symbol("T")))
    below: list[Math | str] = [Root(Sub(Symbol("d"), Symbol("k")))] if is_usual(given) else []
    if given.temperature != 1:
        below += ["·"] * bool(below) + [digits.operand(given.temperature)]
    if not is_usual(given) and given.scale not in (None, 1):
        scores = maths(digits.operand(given.scale or 0), "·", scores)
    if below:
        scores = Fraction(
            scores, below[0] if len(below) == 1 and isinstance(below[0], Root) else maths(*below)
        )
    name = Call("Attention", maths(Symbol("Q"), ",", Symbol("K"), ",", Symbol("V")))
    return maths(name, "=", Call("softmax", scores), Symbol("V"))
