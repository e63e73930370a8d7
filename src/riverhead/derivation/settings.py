"""Settings by hand: ``k.river=0,2`` gives one token's vector other numbers."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from riverhead.derivation.tokens import position
from riverhead.derivation.vectors import Example
from riverhead.errors import InputError

__all__ = ["apply_setting"]

FIELDS = ("q", "k", "v", "x", "x_k", "e")


def apply_setting(example: Example, setting: str) -> Example:
    """Return ``example`` with one vector changed, as in ``k.river=0,2`` or ``q[1].bank#2=1,-0.5``.

    The field is what the example has (q, k, v; x; e), with ``[head]`` where it has several heads; the token
    is a word, ``word#2`` for its second standing, or an index from 0. Raises `InputError`, naming what is
    allowed.

    >>> from riverhead.derivation import example
    >>> found = example("river_bank_flooded")
    >>> apply_setting(found, "k.river=0,2").derive()["k"].values[0][1]
    (0.0, 2.0)
    """
    left, equals, right = setting.rpartition("=")
    name, dot, token = left.partition(".")
    if not (equals and dot and name and token):
        raise InputError(f"{setting[:60]!r} sets nothing; write FIELD.TOKEN=NUMBERS, as in k.river=0,2")
    given = example.given
    name, head = _field(example, name.strip())
    value = getattr(given, name)
    grid = value if name in ("q", "k", "v") else (value,)
    tokens = given.keys if name in ("k", "v", "x_k") else given.tokens
    at = position(tokens, token, f"{name}.")
    vector = _vector(name, token, right, len(grid[head][at]))
    rows = tuple(vector if n == at else row for n, row in enumerate(grid[head]))
    new: Any = tuple(rows if h == head else other for h, other in enumerate(grid))
    return replace(example, given=given.but(**{name: new if name in ("q", "k", "v") else new[0]}))


def _field(example: Example, text: str) -> tuple[str, int]:
    """Return the field and the head that ``k`` or ``k[1]`` names."""
    name, bracket, index = text.partition("[")
    has = [field for field in FIELDS if getattr(example.given, field) is not None]
    if name not in has:
        raise InputError(f"{name[:40]!r} cannot be set here; this example has {', '.join(has)}")
    heads = len(getattr(example.given, name)) if name in ("q", "k", "v") else 1
    if not bracket and heads == 1:
        return name, 0
    index = index.removesuffix("]")
    if bracket and index.isascii() and index.isdecimal() and len(index) < 6 and int(index) < heads:
        return name, int(index)
    raise InputError(f"{text[:40]!r} has to name one of the heads, {name}[0] to {name}[{heads - 1}]")


def _vector(name: str, token: str, text: str, width: int) -> tuple[float, ...]:
    items = text.strip().removeprefix("(").removesuffix(")").replace("−", "-").split(",")
    try:
        vector = tuple(float(item) for item in items)
    except ValueError:
        vector = ()
    if not vector or not all(map(math.isfinite, vector)):
        raise InputError(f"{name}.{token}={text[:40]} is not a list of finite numbers, as in 0,2")
    if len(vector) != width:
        raise InputError(f"{name}.{token} has {width} numbers, not {len(vector)}")
    return vector
