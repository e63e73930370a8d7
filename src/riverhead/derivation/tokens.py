"""Tokens by name: checked where they come in, found again by the word, ``word#2`` or an index from 0."""

from __future__ import annotations

from typing import Any

from riverhead.errors import InputError
from riverhead.shapes import check_axis

__all__ = ["bare", "position", "texts", "tokens"]

LONGEST = 1_000  # characters of one token: a page of text is no token


def tokens(name: str, value: Any, axis: str, count: int) -> tuple[str, ...]:
    """Return ``value`` as ``count`` tokens; without any, their indices from 0."""
    if value is None:
        return tuple(str(n) for n in range(count))
    found = texts(name, value)
    check_axis(axis, "each vector has one token", **{name: len(found), "vectors": count})
    return found


def texts(name: str, value: Any) -> tuple[str, ...]:
    """Return a list of short texts as a tuple."""
    if hasattr(value, "tolist"):  # an array of texts
        value = value.tolist()
    if not isinstance(value, list | tuple):
        raise InputError(f"{name} is {str(value)[:40]!r}; it takes a list of texts, one for each token")
    for n, item in enumerate(value):
        if not isinstance(item, str) or len(item) > LONGEST:
            raise InputError(
                f"{name}[{n}] is {str(item)[:40]!r}; it takes a text of up to {LONGEST:,} characters"
            )
    return tuple(str(item) for item in value)


def bare(token: str) -> str:
    """Return the token without its outer spaces (a model's tokens carry them), unless it is nothing else.

    >>> bare(" river"), bare(" ")
    ('river', ' ')
    """
    return token.strip() or token


def position(names: tuple[str, ...], name: str | int, what: str = "token") -> int:
    """Return where ``name`` stands: a token, the second of its kind as ``river#2``, or an index from 0.

    Raises `InputError` where there is none, or more than one.

    >>> position(("a", "river", "by", "a", "bank"), "a#2"), position(("The", "river"), 1)
    (3, 1)
    """
    if isinstance(name, int):
        if 0 <= name < len(names):
            return name
        raise InputError(f"{what} {name} is not there; there are {len(names)}, counted from 0")
    places = _places(names, name)
    if len(places) == 1:
        return places[0]
    if len(places) > 1:
        which = " or ".join(f"{name}#{n}" for n in range(1, len(places) + 1))
        raise InputError(f"{what} {name!r} stands {len(places)} times; say {which}")
    word, _, nth = name.rpartition("#")
    places = _places(names, word) if word else []
    if _index(nth) is not None and 1 <= int(nth) <= len(places):
        return places[int(nth) - 1]
    index = _index(name)
    if index is not None and index < len(names):
        return index
    listed = ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
    raise InputError(f"{what} {name[:60]!r} is not there; the tokens are {listed}, or an index from 0")


def _places(names: tuple[str, ...], name: str) -> list[int]:
    """Where ``name`` stands: as it is, else without its outer spaces."""
    exact = [n for n, token in enumerate(names) if token == name]
    return exact or [n for n, token in enumerate(names) if token.strip() == name.strip()]


def _index(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None
