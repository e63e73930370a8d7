"""Sums for the sentences of a lesson: vectors as lists, each result a plain number or list."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from riverhead import core
from riverhead.derivation import Derivation, derive, example
from riverhead.derivation.steps import KINDS
from riverhead.derivation.tokens import position
from riverhead.errors import InputError
from riverhead.numbers import plain

__all__ = ["NAMES", "place"]


def worked(name: str, **changes: Any) -> Derivation:
    """Return a known example, derived; ``changes`` as `derive` takes them."""
    found = example(name)
    if found is None:
        raise InputError(f"there is no example {name!r}")
    return found.derive(**changes)


def cell(worked: Derivation, step: str, query: str, key: str | int = 0, head: int = 0) -> float:
    """Return one number of a derivation: row by token, column by token, or by component from 0."""
    row, column = place(worked, step, query, key)
    return worked[step].values[head][row][column]


def row(worked: Derivation, step: str, token: str, head: int = 0) -> list[float]:
    """Return one token's numbers of a step."""
    return list(worked[step].values[head][place(worked, step, token)[0]])


def place(worked: Derivation, step: str, query: str, key: str | int = 0) -> tuple[int, int]:
    """Return the row and the column of a number, both from 0; a row of k or v is a key's."""
    given = worked.given
    rows = given.keys if KINDS[step].rows == "keys" else given.tokens
    return position(rows, query, "query"), position(given.keys, key, "key") if isinstance(key, str) else key


def dot(a: list[float], b: list[float]) -> float:
    """Return a·b."""
    return float(np.dot(a, b))


def dot_worked(a: list[float], b: list[float]) -> str:
    """Return a·b with its arithmetic.

    >>> dot_worked([2, 1], [2, 0])
    '2·2 + 1·0 = 4'
    """
    terms = [f"{_fenced(plain(x).text)}·{_fenced(plain(y).text)}" for x, y in zip(a, b, strict=True)]
    return f"{' + '.join(terms)} = {plain(dot(a, b)).text}"


def _fenced(text: str) -> str:
    return f"({text})" if text.startswith("−") else text


def cosine(a: list[float], b: list[float]) -> float:
    """Return the cosine of the angle between a and b."""
    return dot(a, b) / (math.hypot(*a) * math.hypot(*b))


def softmax(row: list[float]) -> list[float]:
    """Return the weights of a row of scores."""
    weights: list[float] = core.softmax(np.array(row, float)).tolist()
    return weights


def mix(weights: list[float], vectors: list[list[float]]) -> list[float]:
    """Return the weighted sum of vectors."""
    return (np.array(weights) @ np.array(vectors, float)).tolist()  # type: ignore[no-any-return]


def divided(row: list[float], by: float) -> list[float]:
    """Return a row, each number divided."""
    return [x / by for x in row]


NAMES = {
    "cell": cell,
    "cosine": cosine,
    "derive": derive,
    "divided": divided,
    "dot": dot,
    "dot_worked": dot_worked,
    "exp": math.exp,
    "mix": mix,
    "row": row,
    "softmax": softmax,
    "sqrt": math.sqrt,
    "sum": math.fsum,
    "worked": worked,
}
