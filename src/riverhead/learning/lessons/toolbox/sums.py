"""Sums for the sentences of a lesson: vectors as lists, each result a plain number or list."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from riverhead import core
from riverhead.derivation import Derivation, derive, example
from riverhead.derivation.tokens import position
from riverhead.errors import InputError

__all__ = ["NAMES"]


def worked(name: str, **changes: Any) -> Derivation:
    """Return a known example, derived; ``changes`` as `derive` takes them."""
    found = example(name)
    if found is None:
        raise InputError(f"there is no example {name!r}")
    return found.derive(**changes)


def cell(worked: Derivation, step: str, query: str, key: str | int = 0, head: int = 0) -> float:
    """Return one number of a derivation: row by token, column by token, or by component from 0."""
    given = worked.given
    rows = given.keys if step in ("k", "v") else given.tokens
    column = position(given.keys, key, "key") if isinstance(key, str) else key
    return worked[step].values[head][position(rows, query, "query")][column]


def row(worked: Derivation, step: str, token: str, head: int = 0) -> list[float]:
    """Return one token's numbers of a step."""
    given = worked.given
    rows = given.keys if step in ("k", "v") else given.tokens
    return list(worked[step].values[head][position(rows, token, "token")])


def dot(a: list[float], b: list[float]) -> float:
    """Return a·b."""
    return float(np.dot(a, b))


def dot_worked(a: list[float], b: list[float]) -> str:
    """Return a·b with its arithmetic.

    >>> dot_worked([2, 1], [2, 0])
    '2·2 + 1·0 = 4'
    """
    from riverhead.numbers import plain

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
