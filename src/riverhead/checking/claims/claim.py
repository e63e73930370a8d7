"""One claim that a text makes about a number, and what is true of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

__all__ = ["Claim", "Finding", "Found", "Truth"]

Found: TypeAlias = float | tuple["Found", ...]  # the right value: a number, a vector, a matrix


class Truth(StrEnum):
    """``true``, ``false`` or ``not checkable`` (something in it is bound to no number in the text)."""

    TRUE = "true"
    FALSE = "false"
    UNCHECKED = "not checkable"


@dataclass(frozen=True, slots=True)
class Finding:
    """What is found between two offsets of a page's text; a `Claim` is this with its place and words.

    ``how``: exact, rounded or carried where it is true, else empty; ``exact``: the right value in
    the printed unit, None where it is not known; ``cause`` the likely cause of a false one, or what a reader
    must know of a true one ("in binary units"), or empty.
    """

    start: int
    end: int
    verdict: Truth
    how: str = ""
    exact: Found | None = None
    cause: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim as a reader sees it, ``text``, and where it stands in the source, lines and columns from 1.

    It reaches from ``line`` and ``column`` to just before ``end_line`` and ``end_column``. ``place`` names
    the part of a file that lines count in ("cell 3" of a notebook), else it is empty.
    """

    line: int
    column: int
    text: str
    verdict: Truth
    how: str
    exact: Found | None
    cause: str
    place: str = ""
    end_line: int = 0
    end_column: int = 0
