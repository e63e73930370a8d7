"""Before and after: how attention moves each vector, and how one word ends in two places."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from riverhead.derivation.derivation import Derivation
from riverhead.derivation.geometry import Projection, after, before, cosine, cosines, hull
from riverhead.derivation.notation import Digits
from riverhead.derivation.tokens import bare, position
from riverhead.errors import InputError
from riverhead.numbers import Number, fixed
from riverhead.scene import Arrow, Cell, Matrix, Part, Plane, Scene, Table, Text, Word
from riverhead.shapes import check_axis

__all__ = ["before_and_after", "destinations", "moves"]

Array = NDArray[np.float64]
LISTED = 6  # tokens, whose 15 pairs are listed; the pairs of more stand in two matrices
SLACK = 1e-12  # a cosine that differs by less has not moved: some thousand products, each rounded


def before_and_after(
    derivation: Derivation, *, focus: str | int | None = None, digits: int | None = None
) -> Scene:
    """Return cosines of all pairs before and after, new vectors against the old, and the plane they move in.

    Raises `InputError` where the vectors before and after do not lie in one space (cross-attention, or a W_o
    without x).

    >>> from riverhead.derivation import derive
    >>> [str(cell) for cell in before_and_after(derive(e=[[1, 0], [0, 1]])).parts[0].rows[0]]
    ['0 · 1', '0.000', '→', '0.793']
    """
    if before(derivation) is None:
        raise InputError(
            "before and after cannot be compared: they need one sequence, and x or e if W_o is given"
        )
    row = 0 if focus is None else position(derivation.given.tokens, focus, "focus")
    return Scene(f"{derivation.title}: before and after", tuple(moves(derivation, row, Digits.of(digits))))


def moves(derivation: Derivation, focus: int, digits: Digits) -> list[Part]:
    """Return the parts of before and after, or none where there is nothing to compare."""
    old, new = before(derivation), after(derivation)
    if old is None or len(old) < 2:
        return []
    names = derivation.given.asking
    primed = tuple(f"{name}′" for name in names)
    was, now, across = cosines(old, old), cosines(new, new), cosines(new, old)  # (T, T)
    parts = _listed(names, was, now, digits) if len(names) <= LISTED else []
    if not parts:
        parts = [
            _matrix("old · old", names, names, was, digits, focus),
            _matrix("new · new", primed, primed, now, digits, focus),
        ]
    parts.append(_said((now - was)[np.triu_indices(len(names), 1)]))
    parts.append(_matrix("new · old", primed, names, across, digits, focus))
    return [*parts, _plane(derivation, old, new, focus)]


def _listed(names: tuple[str, ...], was: Array, now: Array, digits: Digits) -> list[Part]:
    """Every pair on a line."""
    rows: list[tuple[Cell, ...]] = [
        (f"{names[i]} · {names[j]}", _shown(was[i, j], digits), "→", _shown(now[i, j], digits))
        for i, j in combinations(range(len(names)), 2)
    ]
    return [Table(("cosine of", "before", "", "after"), tuple(rows))]


def _matrix(
    name: str, rows: tuple[str, ...], columns: tuple[str, ...], grid: Array, digits: Digits, focus: int
) -> Matrix:
    """Cosines of every row with every column."""
    cells = tuple(tuple(_shown(value, digits) for value in row) for row in grid)
    return Matrix(Word(name), rows, columns, cells, focus)


def _said(rises: Array) -> Text:
    """What the pairs show; an average of the same vectors pulls all of them together."""
    known = rises[~np.isnan(rises)]
    blank, risen = len(rises) - len(known), int((known > SLACK).sum())
    why = "a vector of zeros has no direction"
    if not len(known):
        return Text((f"No pair has a cosine: {why}.",), "note")
    said = f"{risen} of {len(known)} pair{'s rise' if len(known) > 1 else ' rises'}"
    if risen == len(known):
        which = "Every pair that has a cosine" if blank else "Every pair"
        said = f"{which} rises: averages of the same vectors lie closer together"
    note = f"; {blank} pair{'s have' if blank > 1 else ' has'} no cosine: {why}" if blank else ""
    return Text((f"{said}{note}. Below, what each turned to.",), "note")


def _plane(derivation: Derivation, old: Array, new: Array, focus: int) -> Plane:
    """Each vector moves inside the hull of what it attends to; after W_o there is no hull."""
    plane = Projection(old)
    weights = derivation["weights"].array.max(axis=0)  # (T_q, T_k): what any head looks at
    mixed = "y" in derivation.names or derivation.given.n_heads > 1
    arrows = []
    for n, token in enumerate(derivation.given.asking):
        seen = [] if mixed else [plane.point(old[j]) for j in np.flatnonzero(weights[n])]
        arrows.append(Arrow(token, plane.point(old[n]), plane.point(new[n]), hull(seen), n == focus))
    inside = "" if mixed else "each vector moves inside the hull of the values it attends to"
    return Plane(tuple(arrows), plane.names, "; ".join(filter(None, (inside, plane.says))))


def destinations(a: Derivation, b: Derivation, word: str, *, digits: int | None = None) -> Scene:
    """Return where one word goes in two sentences: its new vector against every old one of both.

    Raises `InputError` where the word is not in both, or the vectors are not as wide.

    >>> from riverhead.derivation import example
    >>> a, b = (example(name).derive() for name in ("money bank grows", "river bank flows"))
    >>> [str(cell) for cell in destinations(a, b, "bank").parts[0].rows[0]]
    ['money', '0.753', '0.448']
    """
    shown = Digits.of(digits)
    at = [position(derivation.given.tokens, word, "word") for derivation in (a, b)]
    olds = [rows for derivation in (a, b) if (rows := before(derivation)) is not None]
    if len(olds) < 2:
        raise InputError(
            "two destinations need two sentences whose outputs lie in the space of their vectors"
        )
    check_axis("width", "the two sentences lie in one space", first=olds[0].shape[1], second=olds[1].shape[1])
    old = [rows[n] for rows, n in zip(olds, at, strict=True)]
    new = [after(derivation)[n] for derivation, n in zip((a, b), at, strict=True)]
    name = bare(a.given.tokens[at[0]])
    others: list[tuple[str, Array]] = []
    for derivation, rows, n in zip((a, b), olds, at, strict=True):
        others += [
            (t, row) for i, (t, row) in enumerate(zip(derivation.given.asking, rows, strict=True)) if i != n
        ]
    table: list[tuple[Cell, ...]] = [
        (other, *(_cosine(vector, row, shown) for vector in new)) for other, row in _distinct(others)
    ]
    columns = ("cosine with", *(f"{name}′ in “{derivation.title}”" for derivation in (a, b)))
    apart = [_cosine(first, second, shown) for first, second in (old, new)]
    plane = Projection(np.vstack(olds))
    arrows = tuple(
        Arrow(f"{derivation.title}: {name}", plane.point(o), plane.point(n), focus=first)
        for derivation, o, n, first in zip((a, b), old, new, (True, False), strict=True)
    )
    return Scene(
        f"{name}: two sentences, two destinations",
        (
            Table(columns, tuple(table)),
            Text((f"cosine of {name} with {name}: before ", *_run(apart[0]), ", after ", *_run(apart[1]))),
            Plane(arrows, plane.names, plane.says),
        ),
    )


def _distinct(others: list[tuple[str, Array]]) -> list[tuple[str, Array]]:
    """The other words; one that stands in both sentences with the same vector stands here once."""
    found: list[tuple[str, Array]] = []
    for name, row in others:
        if not any(name == known and np.array_equal(row, vector) for known, vector in found):
            found.append((name, row))
    return found


def _run(number: Number | None) -> tuple[Number | str, ...]:
    return ("no direction",) if number is None else (number,)


def _cosine(a: Array, b: Array, digits: Digits) -> Number | None:
    return None if (value := cosine(a, b)) is None else fixed(value, digits.decimals)


def _shown(value: float, digits: Digits) -> Number | None:
    return None if np.isnan(value) else fixed(float(value), digits.decimals)
