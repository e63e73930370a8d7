"""A lesson as data: its outcomes, what it is given, and its sections, each with learners' own questions."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from riverhead.errors import InputError

__all__ = ["Lesson", "Section", "lesson", "lessons"]

FENCE = "+++\n"
# "# Sitting", or "## Title" and below it "<!-- id", learners' questions a line each, "-->"
HEADING = re.compile(
    r"^# (?P<sitting>.+)\n|^## (?P<title>.+)\n<!-- (?P<id>[a-z-]+)\n(?P<asked>(?:.+\n)*?)-->\n", re.M
)


@dataclass(frozen=True, slots=True)
class Section:
    """A few paragraphs under a title; ``asked`` are questions that it answers, in learners' words.

    ``source`` is Markdown with computed numbers, ``given`` what its lesson calls by name.
    """

    lesson: int
    id: str
    title: str
    sitting: str
    asked: tuple[str, ...]
    source: str
    given: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Lesson:
    """What a learner can do afterwards, the kinds of exercise that test it, and the way there."""

    number: int
    title: str
    question: str  # what a learner might come with
    answer: str  # a taste of how the lesson answers it; Markdown with computed numbers
    outcomes: tuple[str, ...]
    tested_by: tuple[str, ...]
    sections: tuple[Section, ...]

    def __getitem__(self, id: str) -> Section:
        for section in self.sections:
            if section.id == id:
                return section
        ids = ", ".join(section.id for section in self.sections)
        raise InputError(f"lesson {self.number} has no section {id[:40]!r}; it has {ids}")


@cache
def lessons() -> tuple[Lesson, ...]:
    """Return the course.

    >>> [each.number for each in lessons()]
    [1, 2, 3, 4, 5, 6]
    """
    folder = files("riverhead.learning.lessons")
    found = sorted(item.name for item in folder.iterdir() if re.fullmatch(r"\d\.md", item.name))
    return tuple(_lesson(int(name[0]), (folder / name).read_text("utf-8")) for name in found)


def lesson(number: int) -> Lesson:
    """Return one lesson. Raises `InputError`."""
    found = lessons()
    if not 1 <= number <= len(found):
        raise InputError(f"there is no lesson {number}; they go from 1 to {len(found)}")
    return found[number - 1]


def _lesson(number: int, text: str) -> Lesson:
    _, head, body = text.split(FENCE, 2)
    about = tomllib.loads(head)
    given = about.pop("given", {})
    sections = tuple(_sections(number, body, given))
    outcomes, tested_by = (tuple(about.pop(name)) for name in ("outcomes", "tested_by"))
    return Lesson(number, **about, outcomes=outcomes, tested_by=tested_by, sections=sections)


def _sections(number: int, body: str, given: Mapping[str, Any]) -> Iterator[Section]:
    found = list(HEADING.finditer(body))
    sitting = ""
    for heading, after in zip(found, [*found[1:], None], strict=True):
        if heading["sitting"]:
            sitting = heading["sitting"]
            continue
        source = body[heading.end() : after.start() if after else len(body)].strip()
        asked = tuple(heading["asked"].splitlines())
        yield Section(number, heading["id"], heading["title"], sitting, asked, source, given)
