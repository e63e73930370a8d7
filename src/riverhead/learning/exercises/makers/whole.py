"""Attention from queries and keys: a grid of scores, one row of weights, what a token takes away."""

from __future__ import annotations

import math

from riverhead.checking.answers import Sheet, attention_sheet
from riverhead.derivation import derive
from riverhead.learning.exercises import clean
from riverhead.learning.exercises.catalogue import Made
from riverhead.learning.exercises.draw import Draw
from riverhead.learning.exercises.showing import quoted, say, vectors
from riverhead.learning.exercises.words import sentence
from riverhead.scene import Power, Root, Row, Sub, Symbol

__all__ = ["MAKERS"]

D_K = Sub(Symbol("d"), Symbol("k"))
QKT = Row((Symbol("Q"), Power(Symbol("K"), Symbol("T"))))


def score_grid(draw: Draw) -> Made | None:
    """Every query with every key: two tokens of four components, or three of two."""
    T, d = draw.choice([(2, 4), (3, 2)])
    tokens = sentence(draw, T)
    q, k = clean.vectors(draw, T, d), clean.vectors(draw, T, d)
    worked = derive(q, k, k, tokens=tokens, title="Scores")
    sheet = _until_weights(attention_sheet(worked, ("dots", "scores")))
    task = (
        say(f"{quoted(tokens)}, each token with its query and its key:"),
        vectors(tokens, q=q, k=k),
        say("Fill in the grid ", QKT, ", a row for each query; then divide by ", Root(D_K), "."),
    )
    return Made(task, sheet) if clean.sees_apart(sheet) else None


def two_token(draw: Draw) -> Made | None:
    """One query of two tokens, of four components, from dot products to weights."""
    tokens, asking = sentence(draw, 2), draw.integer(0, 1)
    q, k = clean.vectors(draw, 2, 4), clean.vectors(draw, 2, 4)
    scores = [dot / 2 for dot in clean.dots(q[asking], k)]
    if (
        not clean.tells(scores, asking)
        or all(map(float.is_integer, scores))
        or len(set(map(round, scores))) < 2
    ):
        return None
    worked = derive(q, k, k, tokens=tokens, title="Two tokens")
    asked = ("dots", "scores", "exp", "sum", "weights")
    sheet = _until_weights(attention_sheet(worked, asked, queries=[asking]))
    task = (
        say(f"{quoted(tokens)}, each token with its query and its key:"),
        vectors(tokens, q=q, k=k),
        say(
            f"How does {quoted([tokens[asking]])} share its weight? Dot products, divided by ",
            Root(D_K),
            "; their exponentials and the sum; the weights.",
        ),
    )
    return Made(task, sheet) if clean.sees_apart(sheet) else None


def attention(draw: Draw) -> Made | None:
    """One query of three or four tokens, of two components, from dot products to the output."""
    tokens = sentence(draw, draw.integer(3, 4))
    asking = draw.integer(0, len(tokens) - 1)
    q, k, v = (clean.vectors(draw, len(tokens), 2) for _ in range(3))
    if not clean.tells([dot / math.sqrt(2) for dot in clean.dots(q[asking], k)], asking):
        return None
    sheet = attention_sheet(derive(q, k, v, tokens=tokens, title="Attention"), queries=[asking])
    task = (
        say(f"{quoted(tokens)}, each token with its three vectors:"),
        vectors(tokens, q=q, k=k, v=v),
        say(f"Work out what {quoted([tokens[asking]])} takes away, one step after the other."),
    )
    return Made(task, sheet) if clean.sees_apart(sheet) else None


def _until_weights(sheet: Sheet) -> Sheet:
    """The sheet without values, where none are given."""
    return Sheet(sheet.title, tuple(cell for cell in sheet.cells if cell.grid not in ("v", "out")))


MAKERS = {"score-grid": score_grid, "two-token": two_token, "attention": attention}
