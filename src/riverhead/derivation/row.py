"""A real head: vectors too wide to write out, tokens too many for a grid; one query's row, exactly."""

from __future__ import annotations

import numpy as np

from riverhead.derivation import sections
from riverhead.derivation.notation import maths, vector
from riverhead.derivation.sections import Sheet
from riverhead.scene import Cell, Fold, Part, Table, Text, Word

__all__ = ["row"]

MOST_KEYS = 6  # columns a line has room for
FIRST_TERMS = 2  # of a product of 64
FIRST_NUMBERS = 4  # of a vector of 64


def row(sheet: Sheet) -> list[Part]:
    """Follow the focus row of each head: the first terms of its best score, its recipe, its new vector."""
    parts, given = list[Part](), sheet.derivation.given
    for head in sheet.heads:
        seen = _seen(sheet, head)
        best = max(seen, key=lambda n: sheet.row("weights", head)[n], default=0)
        shown = _largest(sheet, head, seen)
        hides = f", which sees {len(seen)} of {given.T_k}" if len(seen) < given.T_k else ""
        label = f"{sheet.caption(head)}: " if sheet.caption(head) else ""
        first = sheet.derivation.arithmetic("dots", sheet.focus, best, head, terms=FIRST_TERMS)
        parts.append(Text((f"{label}The row of {sheet.token}{hides}    ", first), "heading"))
        parts.append(sections.recipe(sheet, head, shown))
        parts += _rest(sheet, head, [n for n in seen if n not in shown])
        new = vector(sheet.numbers("out", sheet.row("out", head)), FIRST_NUMBERS)
        parts.append(Text((maths(Word(sheet.token, 1), "=", new),)))
        if sheet.full:
            parts += [_terms(sheet, head, shown), _keys(sheet, head, seen)]
    return [*parts, *sections.merge(sheet)]


def _seen(sheet: Sheet, head: int) -> list[int]:
    scores = sheet.row(sheet.derivation.exponents, head)
    return [n for n, score in enumerate(scores) if np.isfinite(score)]


def _largest(sheet: Sheet, head: int, seen: list[int]) -> list[int]:
    """The keys with the largest weights, in the order of the text."""
    weights = sheet.row("weights", head)
    return sorted(sorted(seen, key=lambda n: (-weights[n], n))[:MOST_KEYS])


def _rest(sheet: Sheet, head: int, rest: list[int]) -> list[Part]:
    if not rest:
        return []
    weights = sheet.row("weights", head)
    total = sheet.digits.show("weights", sum(weights[n] for n in rest))
    most = sheet.digits.show("weights", max(weights[n] for n in rest))
    return [Text((f"{len(rest)} more tokens share {total}, none has more than {most}.",), "note")]


def _terms(sheet: Sheet, head: int, shown: list[int]) -> Fold:
    """Every term of the scores shown."""
    lines = [Text((sheet.derivation.arithmetic("dots", sheet.focus, n, head, terms=None),)) for n in shown]
    return Fold("every term", tuple(lines), open=True)


def _keys(sheet: Sheet, head: int, seen: list[int]) -> Fold:
    """Every key the query sees, with its numbers."""
    steps = ("dots", "scores", "exp", "weights")
    rows, names = list[tuple[Cell, ...]](), sheet.derivation.given.answering
    for n in seen:
        numbers = (sheet.digits.show(step, sheet.row(step, head)[n]) for step in steps)
        rows.append((str(n), names[n], *numbers))
    columns = ("", "key", "q·k", sections.divided_label(sheet), "exp", "weight")
    return Fold("every token it sees", (Table(columns, tuple(rows)),), open=True)
