"""Lessons as they are printed without a model, section by section, for the tests of what they say."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from riverhead.derivation import example
from riverhead.learning.lessons import Bench, Item, Pause, Try, lesson
from riverhead.scene import Scene, Text

if TYPE_CHECKING:
    from riverhead.derivation import Derivation

RIVER = "The river bank flooded"
BENCH = Bench()


@cache
def items(number: int, id: str) -> list[Item]:
    return BENCH.items(lesson(number)[id])


def printed(number: int, id: str) -> str:
    parts = [Text((item.question,)) if isinstance(item, Pause) else item for item in items(number, id)]
    return str(Scene("", tuple(part for part in parts if not isinstance(part, Try))))


@cache
def whole(number: int) -> str:
    """A lesson with its taste, without its exercises."""
    found = lesson(number)
    about = [BENCH.words(found.answer, found.sections[0].given)]
    return "\n".join(about + [printed(number, section.id) for section in found.sections])


def worked(name: str = RIVER, **changes: Any) -> Derivation:
    found = example(name)
    assert found is not None
    return found.derive(**changes)
