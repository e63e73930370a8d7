"""The whiteboard: a derivation as one sheet, a row of it followed to the last number."""

from __future__ import annotations

import numpy as np

from riverhead.derivation import sections
from riverhead.derivation.derivation import Derivation
from riverhead.derivation.moves import moves as moved
from riverhead.derivation.notation import Digits, formula, maths
from riverhead.derivation.remarks import symbols
from riverhead.derivation.row import row as row_of
from riverhead.derivation.sections import Sheet
from riverhead.derivation.tokens import position
from riverhead.numbers import plain
from riverhead.scene import Fold, Formula, Math, Part, Power, Root, Scene, Sub, Symbol, Text, Word

__all__ = ["board"]

WIDEST = 8  # components a vector may have to be written out, tokens a grid may have to be drawn
MANY = 12


def board(
    derivation: Derivation, *, focus: str | int | None = None, digits: int | None = None, full: bool = False
) -> Scene:
    """Return the whiteboard: the vectors, every score, and the row of ``focus`` down to the new vector.

    ``focus`` is a token, ``word#2`` or an index; by default the row that gives another token most.
    ``digits`` are the decimals of weights and outputs (3). ``full`` adds the arithmetic of every cell, what
    is true of each step, and the cosines of all pairs before and after. With vectors of more than 8 numbers,
    or more than 12 tokens, the focus row stands alone.
    The scene prints as text. Raises `InputError` where ``focus`` is not there.

    >>> from riverhead.derivation import example
    >>> print(str(board(example("The river bank flooded").derive(), full=True)).splitlines()[11].strip())
    q_bank = (2, 1)
    """
    row = _telling(derivation) if focus is None else position(derivation.given.tokens, focus, "focus")
    sheet = Sheet(derivation, row, Digits.of(digits), full)
    given = derivation.given
    head: list[Part] = [
        Text((formula(given), ",  ", maths(Sub(Symbol("d"), Symbol("k")), "=", plain(given.d_k))))
    ]
    widths = [given.d_k, given.d_v, *(len(m[0]) for m in (given.x, given.x_k, given.e, given.W_o) if m)]
    narrow = max(widths) <= WIDEST and max(given.T_q, given.T_k) <= MANY
    parts = _worked(sheet) if narrow else row_of(sheet)
    parts += sections.slips(sheet)
    moves = moved(derivation, row, sheet.digits) if full or (narrow and given.e is not None) else []
    parts += [Text(("Before and after",), "heading"), *moves] if moves else []
    return Scene(derivation.title, (*head, *parts, _annotated(sheet)))


def _worked(sheet: Sheet) -> list[Part]:
    """The whole example, every vector written out."""
    parts: list[Part] = []
    for number, (heading, block, steps) in enumerate(_blocks(sheet)):
        parts += [Text((f"{number} {heading[0]}", *heading[1:]), "heading")] if heading and block else []
        parts += block
        parts += [
            sections.every_cell(sheet, name)
            for name in steps
            if sheet.full and name in sheet.derivation.names
        ]
    return parts


def _blocks(sheet: Sheet) -> list[tuple[tuple[str | Math, ...], list[Part], tuple[str, ...]]]:
    """Each block of the board: its heading, its parts, and the steps whose every cell belongs to it."""
    heads, given = sheet.heads, sheet.derivation.given
    spent = [sections.spend(sheet, head) for head in heads]
    results = [part for head in heads for part in sections.result(sheet, head)]
    if len(heads) == 1:
        spending: tuple[str | Math, ...] = ("Spend it: ", spent[0])
    else:
        spending = ("Spend it",)
        results = [*(Text((f"head {head}: ", spent[head])) for head in heads), *results]
    return [
        (
            (),
            [*sections.projections(sheet), *sections.vectors(sheet)],
            ("q",) if given.e else ("x", "x_k", "q", "k", "v"),
        ),
        (
            ("Score: every query · every key    ", sections.best_score(sheet)),
            sections.scores(sheet),
            ("dots",),
        ),
        (
            (f"The {sheet.token} row becomes a recipe",),
            [sections.recipe(sheet, head) for head in heads],
            ("scores", "masked", "exp", "sum", "weights"),
        ),
        (spending, results, ("out",)),
        (("Many heads" if len(heads) > 1 else "One more matrix",), sections.merge(sheet), ("merged", "y")),
    ]


SYMBOLS: dict[str, Math] = {
    "Q": Symbol("Q"),
    "Kᵀ": Power(Symbol("K"), Symbol("T")),
    "QKᵀ": maths(Symbol("Q"), Power(Symbol("K"), Symbol("T"))),
    "√d_k": Root(Sub(Symbol("d"), Symbol("k"))),
    "softmax": Word("softmax"),
    "V": Symbol("V"),
}


def _annotated(sheet: Sheet) -> Fold:
    """The formula with every symbol annotated."""
    given = sheet.derivation.given
    terms = tuple((SYMBOLS[symbol], meaning) for symbol, meaning in symbols(given).items())
    return Fold("The formula, symbol by symbol", (Formula(formula(given), terms),), open=sheet.full)


def _telling(derivation: Derivation) -> int:
    """The row whose recipe gives another token most."""
    weights = derivation["weights"].array.max(axis=0)  # (T_q, T_k)
    if derivation.given.tokens_k is None:
        weights = weights - np.diag(np.diag(weights))
    return int(weights.max(axis=1).argmax())
