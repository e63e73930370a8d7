"""The tokens of an exercise: plain short sentences, from a data file."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

from riverhead.learning.exercises.draw import Draw

__all__ = ["padding", "sentence"]


@cache
def _words() -> dict[str, Any]:
    return tomllib.loads((files("riverhead.learning.exercises") / "words.toml").read_text("utf-8"))


@cache
def _sentences(n: int) -> list[tuple[str, ...]]:
    return [words for line in _words()["sentences"] if len(words := tuple(line.split())) == n]


def sentence(draw: Draw, n: int) -> tuple[str, ...]:
    """Return a sentence of ``n`` words, 2 to 5, no word twice.

    >>> len(sentence(Draw("values-1-k3m9q2"), 4))
    4
    """
    return draw.choice(_sentences(n))


def padding(n: int) -> tuple[str, ...]:
    """Return what fills up a sentence that is ``n`` tokens too short."""
    return (str(_words()["padding"]),) * n
