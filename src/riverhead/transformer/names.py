"""Heads by name: L16.H0 is layer 16, head 0, both counted from 0."""

from __future__ import annotations

import operator
import re

from riverhead.cost import Config
from riverhead.errors import InputError

__all__ = ["HeadName", "head_name", "parse_head", "read_head"]

HeadName = str | tuple[int, int]

_NAME = re.compile(r"L(\d{1,6})\.H(\d{1,6})", re.ASCII | re.IGNORECASE)


def head_name(layer: int, head: int) -> str:
    """Return the name of a head.

    >>> head_name(16, 0)
    'L16.H0'
    """
    return f"L{layer}.H{head}"


def read_head(head: HeadName) -> tuple[int, int]:
    """Return (layer, head) of ``"L16.H0"`` or ``(16, 0)``, of whatever model; else raise `InputError`."""
    if isinstance(head, str):
        match = _NAME.fullmatch(head.strip())
        if match is None:
            raise InputError(f"{head!r} names no head; a head is written L16.H0: layer 16, head 0")
        return int(match[1]), int(match[2])
    try:
        layer, index = map(operator.index, head)
    except (TypeError, ValueError) as error:
        raise InputError(f"{head!r} names no head; a head is L16.H0 or (16, 0)") from error
    return layer, index


def parse_head(head: HeadName, config: Config) -> tuple[int, int]:
    """Return (layer, head) of ``"L16.H0"`` or ``(16, 0)``; `InputError` when the model has no such head."""
    layer, index = read_head(head)
    name = head_name(layer, index)
    for what, value, letter, count in (
        ("layer", layer, "L", config.n_layers),
        ("head", index, "H", config.n_heads),
    ):
        if not 0 <= value < count:
            where = "the model" if what == "layer" else "each layer"
            raise InputError(f"{name}: {what} {value}, {where} has {count}: {letter}0 to {letter}{count - 1}")
    return layer, index
