"""Rows of which a mask hides a part: a causal one, and one of a padded sentence."""

from __future__ import annotations

from collections.abc import Sequence

from riverhead.checking.answers import masked_sheet
from riverhead.derivation.tokens import labels
from riverhead.learning.exercises import clean
from riverhead.learning.exercises.catalogue import Made
from riverhead.learning.exercises.draw import Draw
from riverhead.learning.exercises.showing import grid, quoted, say
from riverhead.learning.exercises.words import padding, sentence

__all__ = ["MAKERS"]


def causal(draw: Draw) -> Made | None:
    """A row that sees two or three of four or five tokens, and from which two or three are hidden."""
    tokens = sentence(draw, draw.integer(4, 5))
    asking = draw.integer(1, len(tokens) - 3)
    seen = [[j <= i for j in range(len(tokens))] for i in range(len(tokens))]
    before = f"The scores of {quoted(tokens)}, before the mask; a row for each query:"
    ask = f"The mask is causal. Mask the row of {quoted([tokens[asking]])}, then work out its weights."
    return _row(draw, tokens, seen, asking, before, ask)


def padded(draw: Draw) -> Made | None:
    """A row of a sentence of three words, filled up with one or two tokens of padding."""
    words = sentence(draw, 3)
    tokens = (*words, *padding(draw.integer(1, 2)))
    asking = draw.integer(0, 1)
    seen = [[j < len(words) for j in range(len(tokens))] for _ in tokens]
    before = f"{quoted(words)} is filled up to {len(tokens)} tokens. The scores, before the mask:"
    row = quoted([tokens[asking]])
    ask = f"No token may see the padding. Mask the row of {row}, then work out its weights."
    return _row(draw, tokens, seen, asking, before, ask)


def _row(
    draw: Draw, tokens: tuple[str, ...], seen: Sequence[Sequence[bool]], asking: int, before: str, ask: str
) -> Made | None:
    """A grid of scores in halves, of which one row is asked for."""
    scores = [[draw.integer(-4, 5) / 2 for _ in tokens] for _ in tokens]
    row = scores[asking]
    if 0 in row or not clean.tells([row[j] for j in range(len(row)) if seen[asking][j]], asking):
        return None
    sheet = masked_sheet(scores, seen, query=asking, asking=labels(tokens), answering=labels(tokens))
    task = (say(before), grid("scores", labels(tokens), scores), say(ask))
    return Made(task, sheet) if clean.sees_apart(sheet) else None


MAKERS = {"causal": causal, "padded": padded}
