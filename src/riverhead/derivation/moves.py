"""Before and after: how attention moves each vector, and how one word ends in two places."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from riverhead.derivation.derivation import Derivation
from riverhead.derivation.geometry import Projection, after, before, cosine, hull, pairs
from riverhead.derivation.notation import Digits
from riverhead.derivation.tokens import bare, position
from riverhead.errors import InputError
from riverhead.numbers import Number, fixed
from riverhead.scene import Arrow, Cell, Matrix, Part, Plane, Scene, Table, Text, Word
from riverhead.shapes import check_axis

__all__ = ["before_and_after", "destinations", "moves"]

Array = NDArray[np.float64]
MOST_PAIRS = 15  # of 6 tokens: more are counted, and stand in the matrix of cosines


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
    names = [bare(token) for token in derivation.given.tokens]
    rises = [(cosine(old[i], old[j]), cosine(new[i], new[j])) for i, j in pairs(len(old))]
    known = [(a, b) for a, b in rises if a is not None and b is not None]
    risen = sum(b > a for a, b in known)
    parts: list[Part] = []
    if len(rises) <= MOST_PAIRS:
        cells = [
            (f"{names[i]} · {names[j]}", _cosine(a, digits), "→", _cosine(b, digits))
            for (i, j), (a, b) in zip(pairs(len(old)), rises, strict=True)
        ]
        parts.append(Table(("cosine of", "before", "", "after"), tuple(cells)))
    parts += _said(risen, len(known), len(rises))
    grid = tuple(tuple(_cosine(cosine(b, a), digits) for a in old) for b in new)
    rows = tuple(f"{name}′" for name in names)
    parts.append(Matrix(Word("new · old"), rows, tuple(names), grid, focus))
    return [*parts, _plane(derivation, old, new, focus)]


def _said(risen: int, known: int, every: int) -> list[Part]:
    """What the pairs show; an average of the same vectors pulls all of them together."""
    undirected = every - known
    note = f"; {undirected} pairs have no cosine: a vector of zeros has no direction" if undirected else ""
    if known and risen == known:
        text = (
            "Every pair rises: averages of the same vectors lie closer together. Below, what each turned to"
        )
    else:
        text = f"{risen} of {known} pairs rise"
    return [Text((f"{text}{note}.",), "note")]


def _plane(derivation: Derivation, old: Array, new: Array, focus: int) -> Plane:
    """Each vector moves inside the hull of what it attends to; after W_o there is no hull."""
    plane = Projection(old)
    weights = derivation["weights"].array.max(axis=0)  # (T_q, T_k): what any head looks at
    mixed = "y" in derivation.names or derivation.given.n_heads > 1
    arrows = []
    for n, token in enumerate(derivation.given.tokens):
        seen = [] if mixed else [plane.point(old[j]) for j in np.flatnonzero(weights[n])]
        arrows.append(Arrow(bare(token), plane.point(old[n]), plane.point(new[n]), hull(seen), n == focus))
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
            (bare(t), row)
            for i, (t, row) in enumerate(zip(derivation.given.tokens, rows, strict=True))
            if i != n
        ]
    table: list[tuple[Cell, ...]] = [
        (other, *(_cosine(cosine(vector, row), shown) for vector in new)) for other, row in _distinct(others)
    ]
    columns = ("cosine with", *(f"{name}′ in “{derivation.title}”" for derivation in (a, b)))
    apart = [_cosine(cosine(*vectors), shown) for vectors in (old, new)]
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


def _cosine(value: float | None, digits: Digits) -> Number | None:
    return None if value is None else fixed(value, digits.decimals)
