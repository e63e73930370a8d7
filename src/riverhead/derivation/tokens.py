"""Tokens by name: checked where they come in, found again by the word, ``word#2`` or an index from 0."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from riverhead.errors import InputError
from riverhead.shapes import check_axis

__all__ = ["bare", "labels", "position", "texts", "tokens"]

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
    """Return the token without its outer spaces (a model's tokens carry them); quoted, if it is nothing else.

    >>> bare(" river"), bare(" ")
    ('river', "' '")
    """
    return token.strip() or repr(token)


SAME: tuple[Callable[[str], str], ...] = (str, bare, lambda token: bare(token).casefold())  # less and less


def labels(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return what each token is called: bare, and counted where it repeats; `position` finds it so.

    >>> labels(("a", " bank", "by", "bank"))
    ('a', 'bank#1', 'by', 'bank#2')
    """
    found, seen = tuple(map(bare, names)), Counter[str]()
    times = Counter(found)
    called = []
    for name in found:
        seen[name] += 1
        called.append(f"{name}#{seen[name]}" if times[name] > 1 else name)
    return tuple(called)


def position(names: tuple[str, ...], name: str | int, what: str = "token") -> int:
    """Return where ``name`` stands: a token, the second of its kind as ``river#2``, or an index from 0.

    Outer spaces and the case count only where a token has them as given. Raises `InputError` where there is
    none, or more than one.

    >>> position(("a", "river", "by", "a", "bank"), "a#2"), position(("The", "river"), 1)
    (3, 1)
    """
    if isinstance(name, int):
        if 0 <= name < len(names):
            return name
        raise InputError(f"{what} {name} is not there; there are {len(names)}, counted from 0")
    places = _places(names, name, SAME)
    if len(places) == 1:
        return places[0]
    if len(places) > 1:
        called = labels(names)
        which = " or ".join(called[n] for n in places)
        raise InputError(f"{what} {name!r} stands {len(places)} times; say {which}")
    word, _, nth = name.rpartition("#")
    places = _places(names, word, SAME[1:]) if word else []  # counted as `labels` counts
    if _index(nth) is not None and 1 <= int(nth) <= len(places):
        return places[int(nth) - 1]
    index = _index(name)
    if index is not None and index < len(names):
        return index
    listed = ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
    raise InputError(f"{what} {name[:60]!r} is not there; the tokens are {listed}, or an index from 0")


def _places(names: tuple[str, ...], name: str, same: Sequence[Callable[[str], str]]) -> list[int]:
    """Where ``name`` stands, by the strictest likeness that finds it."""
    found = ([n for n, token in enumerate(names) if key(token) == key(name)] for key in same)
    return next(filter(None, found), [])


def _index(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None
