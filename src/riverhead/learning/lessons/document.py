"""A whole lesson as one document: its exercises are tasks, the same each time, with what works them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from riverhead.learning.exercises import Exercise, fresh
from riverhead.learning.lessons.page import Bench, Pause, Try
from riverhead.learning.lessons.source import Lesson, Section
from riverhead.scene import Part, Scene, Text

__all__ = ["SCHEMA", "document", "printed", "to_dict"]

SCHEMA = "riverhead.lesson/1"
SEED_CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789"


def document(lesson: Lesson, bench: Bench) -> Scene:
    """Lay out a lesson from its question to its last section."""
    parts: list[Part] = [Text((lesson.question,), "heading")]
    parts.append(Text((bench.words(lesson.answer, lesson.sections[0].given),)))
    parts.append(Text(("Afterwards you can",), "heading"))
    parts += [Text((f"– {outcome}",)) for outcome in lesson.outcomes]
    sitting = ""
    for section in lesson.sections:
        if section.sitting != sitting:
            sitting = section.sitting
            parts.append(Text((sitting,), "heading"))
        parts.append(Text((section.title,), "heading"))
        parts += _read(section, bench)
    return Scene(f"{lesson.number}  {lesson.title}", tuple(parts))


def to_dict(lesson: Lesson, bench: Bench) -> dict[str, Any]:
    """Return a lesson as plain data under the schema ``riverhead.lesson/1``: each section as text."""
    return {
        "schema": SCHEMA,
        "number": lesson.number,
        "title": lesson.title,
        "question": lesson.question,
        "answer": bench.words(lesson.answer, lesson.sections[0].given),
        "outcomes": list(lesson.outcomes),
        "tested_by": list(lesson.tested_by),
        "sections": [_section(section, bench) for section in lesson.sections],
    }


def printed(section: Section, place: int, kind: str, seed: str) -> Exercise:
    """Return the exercise at a ``place`` of a section as a document shows it: the same in every copy."""
    return fresh(kind, seed or _seed(f"{section.id} {place}"))


def _section(section: Section, bench: Bench) -> dict[str, Any]:
    items = bench.items(section)
    exercises = [
        printed(section, n, item.kind, item.seed) for n, item in enumerate(items) if isinstance(item, Try)
    ]
    return {
        "id": section.id,
        "title": section.title,
        "sitting": section.sitting,
        "asked": list(section.asked),
        "text": str(Scene("", tuple(_read(section, bench)))).strip("\n"),
        "exercises": [exercise.to_dict() for exercise in exercises],
    }


def _read(section: Section, bench: Bench) -> Iterator[Part]:
    """The parts of a section; what is to be thought about, or worked, in its place."""
    for n, item in enumerate(bench.items(section)):
        if isinstance(item, Pause):
            yield Text((item.question,))
        elif isinstance(item, Try):
            yield from _task(printed(section, n, item.kind, item.seed))
        else:
            yield item


def _task(exercise: Exercise) -> Iterator[Part]:
    yield Text((f"Exercise: {exercise.title}",), "heading")
    yield from exercise.task
    yield Text((f"riverhead learn exercise {exercise.id} grades it and has hints.",), "note")


def _seed(place: str) -> str:
    """Six characters that a place of the course always has."""
    digest = hashlib.sha256(place.encode()).digest()
    return "".join(SEED_CHARACTERS[byte % len(SEED_CHARACTERS)] for byte in digest[:6])
