"""Rows of scores, and what softmax makes of them."""

from __future__ import annotations

from riverhead.checking.answers import softmax_sheet
from riverhead.learning.exercises.draw import Draw
from riverhead.learning.exercises.exercise import Made
from riverhead.scene import Text

__all__ = ["MAKERS"]


def softmax(draw: Draw) -> Made:
    """A row of two to five scores, in halves."""
    scores = [draw.integer(-4, 6) / 2 for _ in range(draw.integer(2, 5))]
    said = ", ".join(f"{score:g}" for score in scores)
    return Made(
        (Text((f"The scores of one query are {said}. Make them weights.",)),), softmax_sheet([scores])
    )


MAKERS = {"softmax": softmax}
