"""What is given in a task, as parts of a scene."""

from __future__ import annotations

from collections.abc import Sequence

from riverhead.numbers import plain
from riverhead.scene import Cell, Math, Matrix, Sub, Symbol, Table, Text, Vector, Word

__all__ = ["grid", "of", "quoted", "row", "say", "vector", "vectors"]

NAMES = {"q": "q asks", "k": "k answers", "v": "v hands over"}

Rows = Sequence[Sequence[float]]


def say(*runs: str | Math) -> Text:
    """Return a paragraph of words and formulas."""
    return Text(runs)


def quoted(tokens: Sequence[str]) -> str:
    """Return the sentence of the tokens, in quotation marks."""
    return f"“{' '.join(tokens)}”"


def vectors(tokens: Sequence[str], **rows: Rows) -> Table:
    """Return a table with a line a token: its vector of each of ``rows``, by name.

    >>> [str(cell) for cell in vectors(["sea", "mud"], k=[[2, 0], [1, 1]], v=[[1], [0]]).rows[1]]
    ['mud', '(1, 1)', '0']
    """
    lines = [(token, *(vector(found[n]) for found in rows.values())) for n, token in enumerate(tokens)]
    return Table(("", *(NAMES.get(name, name) for name in rows)), tuple(lines))


def vector(numbers: Sequence[float]) -> Math:
    """Return a vector; of one number, the number."""
    shown = tuple(map(plain, numbers))
    return shown[0] if len(shown) == 1 else Vector(shown)


def row(name: Cell, tokens: Sequence[str], numbers: Sequence[float]) -> Table:
    """Return a table of one line: a number for each token."""
    return Table(("", *tokens), ((name, *map(plain, numbers)),))


def grid(name: str, tokens: Sequence[str], numbers: Rows) -> Matrix:
    """Return a grid of numbers, a row for each query, a column for each key."""
    cells = tuple(tuple(map(plain, line)) for line in numbers)
    return Matrix(Word(name), tuple(tokens), tuple(tokens), cells)


def of(symbol: str, token: str) -> Sub:
    """Return the symbol of a token: q_bank."""
    return Sub(Symbol(symbol), Word(token))
