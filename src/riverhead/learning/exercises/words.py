"""The tokens of an exercise: plain short sentences, from a data file."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from riverhead.learning.exercises.draw import Draw

__all__ = ["sentence"]


@cache
def _sentences() -> dict[int, tuple[tuple[str, ...], ...]]:
    """The sentences by their number of words."""
    text = (files("riverhead.learning.exercises") / "sentences.txt").read_text("utf-8")
    found: dict[int, tuple[tuple[str, ...], ...]] = {}
    for words in map(str.split, text.splitlines()):
        found[len(words)] = (*found.get(len(words), ()), tuple(words))
    return found


def sentence(draw: Draw, n: int) -> tuple[str, ...]:
    """Return a sentence of ``n`` words, 2 to 5, no word twice.

    >>> len(sentence(Draw("values-1-k3m9q2"), 4))
    4
    """
    return draw.choice(_sentences()[n])
