"""What a model sends to a tool, checked: numbers, words, vectors, none of them larger than it may be."""

from __future__ import annotations

from reprlib import Repr
from typing import Any

from riverhead.errors import InputError

__all__ = ["MOST_TOKENS", "MOST_WIDE", "count", "number", "numbers", "vectors", "words"]

MOST_TOKENS, MOST_WIDE = 12, 16  # of vectors
LARGEST = 1e9
SHORT = Repr()
SHORT.maxlevel = 1  # as deep as JSON may nest, Python's own repr gives up


def _short(value: Any) -> str:
    text = SHORT.repr(value)
    return text if len(text) <= 40 else text[:39] + "…"


def number(name: str, value: Any) -> float:
    """Return a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LARGEST:
        raise InputError(f"{name} is {_short(value)}; it takes a number of at most {LARGEST:g}")
    return float(value)


def count(name: str, value: Any, most: int, least: int = 1) -> int:
    """Return a whole number from ``least`` to ``most``."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InputError(f"{name} is {_short(value)}; it takes a whole number from {least} to {most:,}")
    return value


def words(name: str, value: Any, most: int) -> str:
    """Return a text of 1 to ``most`` characters."""
    if not isinstance(value, str) or not 0 < len(value) <= most:
        raise InputError(f"{name} is {_short(value)}; it takes a text of 1 to {most:,} characters")
    return value


def numbers(name: str, value: Any, most: int) -> list[float]:
    """Return a list of 1 to ``most`` numbers."""
    if not isinstance(value, list) or not 0 < len(value) <= most:
        raise InputError(f"{name} is {_short(value)}; it takes a list of 1 to {most} numbers")
    return [number(f"{name}[{n}]", item) for n, item in enumerate(value)]


def vectors(name: str, value: Any) -> list[list[float]]:
    """Return a list of vectors."""
    if not isinstance(value, list) or not 0 < len(value) <= MOST_TOKENS:
        raise InputError(f"{name} is {_short(value)}; it takes a list of 1 to {MOST_TOKENS} vectors")
    return [numbers(f"{name}[{n}]", row, MOST_WIDE) for n, row in enumerate(value)]
