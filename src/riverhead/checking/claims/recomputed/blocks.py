"""Printed numbers of attention as arrays: a text's vectors and matrices, and how far each digit reaches."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from riverhead.checking.claims.reading.expression import Items, Number
from riverhead.checking.claims.recomputed.grids import literal
from riverhead.checking.claims.recomputed.roles import INPUTS, Meaning, Role, meaning
from riverhead.checking.claims.recomputed.tables import Labelled
from riverhead.core.border import Bools, Floats

__all__ = ["Block", "Bools", "Floats", "block", "blocks", "half", "printed_value"]

FACTORS = {"": 1.0, "%": 0.01, "％": 0.01}  # a number with another unit is no number of attention
LARGEST = 4096  # numbers in a block: a matrix of 64 tokens; larger ones are not typed into a text


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """A printed number (``depth`` 0), vector (1) or matrix (2), as rows; ``tokens``: whose the rows are.

    ``scattered``: a column of a table, with other numbers between its own.
    """

    meaning: Meaning
    label: str
    rows: tuple[tuple[Number, ...], ...]
    depth: int
    start: int
    end: int
    values: Floats  # (R, C)
    halves: Floats  # (R, C): half a unit of the last digit, of an integer too
    tokens: tuple[str, ...] = ()
    scattered: bool = False

    @property
    def whole(self) -> bool:
        """Every number is an integer: it may be exact, or rounded to its last digit."""
        return all(number.half == 0 and not number.unit for row in self.rows for number in row)

    @property
    def typed(self) -> bool:
        """Most numbers are short enough to have been typed; else they were rounded by a program."""
        cents = [round(value * 20, 9) for value in self.values.flat if math.isfinite(value)]
        return 2 * sum(float(value).is_integer() for value in cents) >= len(cents)


def printed_value(number: Number) -> float | None:
    """Return the number, 0.54 of ``54%``; None where its unit is none of a weight or a score."""
    factor = FACTORS.get(number.unit)
    return None if factor is None else float(number.value) * factor


def half(number: Number) -> float:
    """Return half a unit of the last digit as of a rounded result: 0.5 of ``4``, 50 of ``6500``."""
    factor = FACTORS.get(number.unit, 1.0)
    if number.half:
        return number.half * factor
    digits = "".join(sign for sign in number.text if sign.isdigit())
    zeros = len(digits) - len(digits.rstrip("0")) if digits.strip("0") else 0
    return 0.5 * 10.0**zeros * factor


def block(given: Labelled) -> Block | None:
    """Return a binding whose name means something in attention, or None."""
    binding, tokens = given.binding, given.tokens
    found = meaning(binding.name, binding.label)
    value = None if found is None else literal(binding.value)
    rows = None if value is None else _rows(value)
    if found is None or value is None or rows is None:
        return None
    values = [[printed_value(number) for number in row] for row in rows]
    if any(value is None for row in values for value in row):
        return None
    return Block(
        found,
        binding.label,
        rows,
        _depth(value),
        value.start,
        value.end,
        np.array(values, dtype=np.float64),
        _halves(rows),
        tokens if len(tokens) == len(rows) else (),
        given.scattered,
    )


def blocks(bindings: Iterable[Labelled]) -> list[Block]:
    """Return those of the bindings that mean something, in their order in the text.

    Each place once, unless it is two things: Q = K = [[1, 0], [0, 1]].
    """
    found: dict[tuple[int, int, Role], Block] = {}
    for given in bindings:
        one = block(given)
        if one is None:
            continue
        place = (one.start, one.end, one.meaning.role if one.meaning.role in INPUTS else Role.SCORES)
        if one.tokens or place not in found:
            found[place] = one
    return sorted(found.values(), key=lambda one: (one.start, one.end))


def _halves(rows: tuple[tuple[Number, ...], ...]) -> Floats:
    """Half a last digit of each: an integer among decimals (0.71, 0, 0.71) was rounded like them."""
    halves = np.array([[half(number) for number in row] for row in rows])
    decimal = np.array([[number.half > 0 for number in row] for row in rows])
    plain = np.array([[not number.unit for number in row] for row in rows])
    if decimal.any():
        halves[~decimal & plain] = halves[decimal].max()
    return halves


def _depth(value: Number | Items) -> int:
    if isinstance(value, Number):
        return 0
    return 1 if isinstance(value.items[0], Number) else 2


def _rows(value: Number | Items) -> tuple[tuple[Number, ...], ...] | None:
    """The rows of a number, a vector or a matrix; None for what is ragged, deeper, empty or very large."""
    if isinstance(value, Number):
        return ((value,),)
    if not 0 < len(value.items) <= LARGEST:
        return None
    if all(isinstance(item, Number) for item in value.items):
        return (_numbers(value),)
    rows = []
    for item in value.items:
        if not isinstance(item, Items) or not all(isinstance(one, Number) for one in item.items):
            return None
        rows.append(_numbers(item))
    width = len(rows[0])
    if width == 0 or any(len(row) != width for row in rows) or width * len(rows) > LARGEST:
        return None
    return tuple(rows)


def _numbers(value: Items) -> tuple[Number, ...]:
    return tuple(item for item in value.items if isinstance(item, Number))
