"""The sentence a question is asked about, and questions to try on it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from riverhead.derivation import Derivation, Example, example
from riverhead.derivation.tokens import position
from riverhead.errors import InputError
from riverhead.inspection import head_derivation, telling
from riverhead.scene import Part

if TYPE_CHECKING:
    from riverhead.transformer import Model

__all__ = ["AtHand", "of_example", "of_head", "of_sentence", "to_try"]


@dataclass(frozen=True, slots=True)
class AtHand:
    """A sentence, its calculation where there is one, and the word whose row is meant where none is named.

    ``beside`` is what has to stand beside the weights of a real head: its habit, its swap.
    """

    text: str = ""
    derivation: Derivation | None = None
    focus: str | None = None
    beside: tuple[Part, ...] = ()


def of_example(found: Example, focus: str | None = None) -> AtHand:
    """Return vectors with a name as the sentence at hand; ``focus`` is the word whose row is meant."""
    worked = found.derive()
    if focus is not None:
        position(worked.given.tokens, focus, "focus")
    return AtHand(found.sentence or worked.title, worked, focus or found.focus)


def of_sentence(text: str | None = None, focus: str | None = None) -> AtHand:
    """Return a sentence that has toy vectors; without ``text`` that of the lessons. Raises `InputError`.

    >>> of_sentence().focus
    'bank'
    """
    text = _data()["sentence"] if text is None else text
    found = example(text)
    if found is None:
        raise InputError(
            f"{text[:60]!r} has no toy vectors: give some (--vectors), or ask of a real head (--head L9.H7)"
        )
    return of_example(found, focus)


def of_head(model: Model, text: str | None, head: str, focus: str | None = None) -> AtHand:
    """Return what one head of ``model`` does for one word of ``text``, by default the most telling one."""
    text = _data()["sentence"] if text is None else text
    found = telling(model, text, focus=focus, head=head, n=1)
    worked = head_derivation(model.read(text), head, found.query)
    return AtHand(text, worked, beside=found.scene().parts)


def to_try() -> tuple[str, ...]:
    """Return questions that a newcomer may try, about numbers and about ideas."""
    return tuple(_data()["questions"])


@cache
def _data() -> Mapping[str, Any]:
    return tomllib.loads((files("riverhead.learning.tutor") / "to_try.toml").read_text("utf-8"))
