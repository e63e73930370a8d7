"""The tutor without a model: the engine answers about numbers, the lessons about ideas, or "I don't know"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

from riverhead.display import Displayable
from riverhead.errors import InputError
from riverhead.learning.lessons import Bench, lesson
from riverhead.learning.tutor.at_hand import AtHand
from riverhead.learning.tutor.numbers import answer as answer_number
from riverhead.learning.tutor.passages import Hit, library
from riverhead.scene import Part, Scene, Text

__all__ = ["MOST_LETTERS", "Answer", "AtHand", "answer"]

MOST_LETTERS = 4_000  # of a question
UNKNOWN = "I don't know: no passage of the six lessons answers that, and it names no number I could work out."


@dataclass(frozen=True, slots=True)
class Answer(Displayable):
    """What is answered: a ``number`` worked out, up to three ``passages``, or that it is ``unknown``."""

    question: str
    kind: Literal["number", "passages", "unknown"]
    parts: tuple[Part, ...]
    passages: tuple[Hit, ...] = ()

    def scene(self) -> Scene:
        """Lay out the answer."""
        return Scene(self.question, self.parts)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        passages = [
            {"lesson": hit.passage.lesson, "section": hit.passage.id, "title": hit.passage.title}
            for hit in self.passages
        ]
        return {
            "question": self.question,
            "kind": self.kind,
            "answer": str(Scene("", self.parts)).strip("\n"),
            "passages": passages,
        }


def answer(question: str, at_hand: AtHand) -> Answer:
    """Answer ``question`` from the sentence at hand, or from the lessons. Raises `InputError`.

    >>> from riverhead.derivation import example
    >>> river = AtHand("The river bank flooded", example("The river bank flooded").derive(), "bank")
    >>> found = answer("why is the weight on river 0.54?", river)
    >>> found.kind, str(found.parts[0].runs[0])
    ('number', '0.54 is the weight of bank on river: 0.538776, rounded.')
    """
    if not question.strip() or len(question) > MOST_LETTERS:
        raise InputError(f"the question has {len(question):,} characters; it takes 1 to {MOST_LETTERS:,}")
    if parts := answer_number(question, at_hand):
        hits = () if re.search(r"\d", question) else library().search(question)
        return Answer(question, "number", (*parts, *_pointers(hits)), hits)
    hits = library().search(question)
    if not hits:
        return Answer(question, "unknown", (Text((UNKNOWN,)),))
    return Answer(question, "passages", tuple(_told(hits)), hits)


def _pointers(hits: tuple[Hit, ...]) -> list[Part]:
    """The titles of passages: why it is so."""
    titles = [Text((f"– lesson {hit.passage.lesson}: {hit.passage.title}",)) for hit in hits]
    return [Text(("In the lessons",), "heading"), *titles] if titles else []


def _told(hits: tuple[Hit, ...]) -> list[Part]:
    """The best passage whole, the titles of the others."""
    best = hits[0].passage
    section = lesson(best.lesson)[best.id]
    parts: list[Part] = [Text((f"Lesson {best.lesson}: {best.title}",), "heading"), *Bench().parts(section)]
    if hits[1:]:
        parts += [Text(("Or did you mean",), "heading"), *_pointers(hits[1:])[1:]]
    return parts
