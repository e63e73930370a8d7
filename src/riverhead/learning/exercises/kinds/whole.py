"""Attention from queries, keys and values to what a token takes away."""

from __future__ import annotations

from riverhead.checking.answers import attention_sheet
from riverhead.derivation import derive
from riverhead.learning.exercises import clean
from riverhead.learning.exercises.draw import Draw
from riverhead.learning.exercises.exercise import Made
from riverhead.learning.exercises.showing import quoted, say, vectors
from riverhead.learning.exercises.words import sentence

__all__ = ["MAKERS"]


def attention(draw: Draw) -> Made | None:
    """One query of three or four tokens, of two components, from dot products to the output."""
    tokens = sentence(draw, draw.integer(3, 4))
    asking = draw.integer(0, len(tokens) - 1)
    q, k, v = (clean.vectors(draw, len(tokens), 2) for _ in range(3))
    if not clean.spreads(q[asking], k):
        return None
    worked = derive(q, k, v, tokens=tokens, title="Attention")
    sheet = attention_sheet(worked, queries=[asking])
    task = (
        say(f"{quoted(tokens)}, each token with its three vectors:"),
        vectors(tokens, q=q, k=k, v=v),
        say(f"Work out what {tokens[asking]} takes away, one step after the other."),
    )
    return Made(task, sheet) if clean.sees_apart(sheet) else None


MAKERS = {"attention": attention}
