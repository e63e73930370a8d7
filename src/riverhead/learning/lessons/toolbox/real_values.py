"""What a real head hands over: its weights spent on values of real width."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from riverhead.inspection import head_derivation
from riverhead.numbers import fixed
from riverhead.scene import Cell, Table

if TYPE_CHECKING:
    from riverhead.transformer import Model

__all__ = ["IN_A_MODEL"]


def shares(model: Model, text: str, head: str, focus: str) -> Table:
    """How long each value is, and how long what is taken of it."""
    worked = head_derivation(model.read(text), head, focus)
    rows: list[tuple[Cell, ...]] = []
    for token, weight, value in zip(
        worked.given.answering, worked["weights"].values[0][0], worked["v"].values[0], strict=True
    ):
        length = math.hypot(*value)
        rows.append((token, fixed(weight), fixed(length), fixed(weight * length)))
    return Table(("", "weight", "length of v", "length of weight · v"), tuple(rows), head)


IN_A_MODEL = {"real_shares": shares}
