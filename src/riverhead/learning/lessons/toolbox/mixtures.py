"""Weights spent on values: what comes of a row, where it can land, and the same for all rows at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from riverhead.derivation import Derivation, before_and_after, board, derive
from riverhead.derivation import destinations as two_ends
from riverhead.derivation import sections as blocks
from riverhead.derivation.notation import Digits, maths, vector
from riverhead.derivation.sections import Sheet
from riverhead.derivation.tokens import position
from riverhead.learning.lessons.toolbox.figures import sheet_of
from riverhead.learning.lessons.toolbox.sums import place
from riverhead.numbers import Rounding, fixed
from riverhead.scene import Cell, Fold, Matrix, Part, Plane, Table, Vector, Word

__all__ = ["NAMES"]


def arithmetic(worked: Derivation, step: str, query: str, key: str | int = 0, head: int = 0) -> str:
    """How one number is made, on a line: row by token, column by token, or by component from 0."""
    return str(worked.arithmetic(step, *place(worked, step, query, key), head))


def shares(worked: Derivation, focus: str) -> Table:
    """What each token hands over, how much of it is taken, and what that adds up to."""
    given, sheet = worked.given, sheet_of(worked, focus)
    rows: list[tuple[Cell, ...]] = []
    for n, (token, weight) in enumerate(zip(given.answering, sheet.row("weights", 0), strict=True)):
        value, shown = sheet.row("v", 0, n), sheet.digits.show("weights", weight)
        taken = _vector([weight * component for component in value], "out")
        rows.append((token, shown, _vector(value), *given.meanings[n : n + 1], taken))
    columns = ("", "weight", "v hands over", *[""] * bool(given.meanings), "weight · v")
    blank = [None] * (len(columns) - 2)
    rows.append((maths(Word(given.asking[sheet.focus], 1)), *blank, _vector(sheet.row("out", 0), "out")))
    return Table(columns, tuple(rows), focus=len(rows) - 1)


def rounded(row: Sequence[float], decimals: int) -> list[float]:
    """A row, each number rounded."""
    return [Rounding(decimals).nearest(value) for value in row]


def total(row: Sequence[float], decimals: int = 3) -> str:
    """A row added up as it is printed.

    >>> total([0.0646, 0.5388])
    '0.065 + 0.539 = 0.604'
    """
    shown = [fixed(value, decimals) for value in row]
    summed = fixed(sum(rounded(row, decimals)), decimals)
    return f"{' + '.join(map(str, shown))} = {summed}"


def blends(values: Sequence[Sequence[float]], rows: Mapping[str, Sequence[float]]) -> Table:
    """The same values blended by several rows of weights, each by its name."""
    lines: list[tuple[Cell, ...]] = []
    for name, row in rows.items():
        blend: list[float] = (np.array(row) @ np.array(values, float)).tolist()
        lines.append((name, _vector(row, "scores"), _vector(blend, "scores")))
    return Table(("row", "weights", "what comes out"), tuple(lines))


def printed(worked: Derivation, step: str) -> tuple[str, ...]:
    """What the source's own board prints of a step."""
    rows = worked.given.printed.rows if worked.given.printed else ()
    return next(row.texts for row in rows if row.step == step)


def slips(worked: Derivation, focus: str) -> list[Part]:
    """What the source's own board prints otherwise than it is, and why."""
    return blocks.slips(sheet_of(worked, focus))


def became(worked: Derivation, focus: str) -> Table:
    """Each token's value and what the token becomes."""
    rows: list[tuple[Cell, ...]] = []
    for n, token in enumerate(worked.given.asking):
        was, now = (Sheet(worked, n, Digits.of(None)).row(step, 0) for step in ("v", "out"))
        rows.append((token, _vector(was), "→", _vector(now, "out")))
    at = position(worked.given.tokens, focus, "focus")
    return Table(("", "hands over", "", "becomes"), tuple(rows), focus=at)


def _vector(row: Sequence[float], step: str = "") -> Vector:
    return vector([Digits().show(step, value) for value in row])


def weight_grid(worked: Derivation, focus: str, head: int = 0) -> Matrix:
    """Every row of weights, shaded."""
    given, sheet = worked.given, sheet_of(worked, focus)
    cells = tuple(sheet.numbers("weights", row) for row in worked["weights"].values[head])
    name = Word(sheet.caption(head) or "weights")
    return Matrix(name, given.asking, given.answering, cells, sheet.focus, shade=True)


def received(worked: Derivation, key: str) -> float:
    """What all queries together give a key: a column of weights, added up."""
    return float(worked["weights"].array[0].sum(axis=0)[position(worked.given.keys, key, "key")])


def moved(worked: Derivation, focus: str) -> list[Part]:
    """Cosines of all pairs before and after, each new vector against the old ones, and the plane."""
    return list(before_and_after(worked, focus=focus).parts)


def moves(worked: Derivation, focus: str) -> list[Part]:
    """The plane alone: each vector moves inside the hull of what it attends to."""
    return [part for part in moved(worked, focus) if isinstance(part, Plane)]


def destinations(a: Derivation, b: Derivation, word: str) -> list[Part]:
    """One word in two sentences: where it goes."""
    return list(two_ends(a, b, word).parts)


def alone(worked: Derivation, token: str) -> Derivation:
    """The same with one query only."""
    return _again(worked, [position(worked.given.tokens, token, "token")], range(worked.given.T_k))


def reordered(worked: Derivation, keys: Sequence[str]) -> Derivation:
    """The same with the keys, each with its value, in another order."""
    order = [position(worked.given.keys, key, "key") for key in keys]
    return _again(worked, range(worked.given.T_q), order)


def _again(worked: Derivation, queries: Sequence[int], keys: Sequence[int]) -> Derivation:
    given, (at, of) = worked.given, (list(queries), list(keys))
    return derive(
        worked["q"].array[:, at],
        worked["k"].array[:, of],
        worked["v"].array[:, of],
        tokens=[given.tokens[n] for n in at],
        tokens_k=[given.keys[n] for n in of],
    )


def shapes(worked: Derivation) -> Table:
    """What each piece of the formula measures, in letters and here."""
    given = worked.given
    sizes = {"T": given.T_k, "d_k": given.d_k, "d_v": given.d_v}
    rows = tuple(
        (piece, f"{a} × {b}", f"{sizes[a]} × {sizes[b]}", what)
        for piece, (a, b), what in (
            ("Q", ("T", "d_k"), "a row for each token that asks"),
            ("Kᵀ", ("d_k", "T"), "a column for each token that answers"),
            ("QKᵀ", ("T", "T"), "a score for every pair"),
            ("softmax(QKᵀ/√d_k)", ("T", "T"), "a recipe in each row"),
            ("V", ("T", "d_v"), "a row for each token that hands over"),
            ("out", ("T", "d_v"), "a blend for each token that asks"),
        )
    )
    return Table(("piece", "shape", "here", ""), rows)


def annotated(worked: Derivation) -> list[Part]:
    """The formula with every symbol annotated."""
    return [part for fold in board(worked).parts if isinstance(fold, Fold) for part in fold.parts]


NAMES = {
    "alone": alone,
    "annotated": annotated,
    "arithmetic": arithmetic,
    "became": became,
    "blends": blends,
    "destinations": destinations,
    "moved": moved,
    "moves": moves,
    "printed": printed,
    "received": received,
    "reordered": reordered,
    "rounded": rounded,
    "shares": shares,
    "shapes": shapes,
    "slips": slips,
    "total": total,
    "weight_grid": weight_grid,
}
