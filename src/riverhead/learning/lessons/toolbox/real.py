"""The same thing in a real head, with its habit and its swap."""

from __future__ import annotations

from typing import TYPE_CHECKING

from riverhead.derivation import board
from riverhead.inspection import head_derivation, telling
from riverhead.scene import Part, Text

if TYPE_CHECKING:
    from riverhead.transformer import Model

__all__ = ["IN_A_MODEL"]


def heads(model: Model, text: str, focus: str, n: int = 5) -> list[Part]:
    """The most telling heads for one word, each weight beside its habit, its swap and what it does if off."""
    found = telling(model, text, focus=focus, n=n)
    return [Text((f"{found.model}",), "note"), *found.scene().parts]


def head(model: Model, text: str, head: str, focus: str) -> list[Part]:
    """One head: the three questions put to it, then its row worked out."""
    found = telling(model, text, focus=focus, head=head, n=1)
    worked = head_derivation(model.read(text), head, focus)
    return [*found.scene().parts, *board(worked, focus=focus).parts]


IN_A_MODEL = {"real_head": head, "real_heads": heads}
