"""What one student handed in, graded, and what goes back."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from riverhead.checking.answers import Report
from riverhead.learning.exercises import Exercise
from riverhead.learning.worksheets.nodes import runs
from riverhead.learning.worksheets.pages import letters
from riverhead.learning.worksheets.worksheet import Worksheet
from riverhead.numbers import plain
from riverhead.scene import Part, Scene, Text

__all__ = ["Graded", "Work"]


@dataclass(frozen=True, slots=True)
class Work:
    """An exercise of a student, graded; ``line`` is where its answers stand."""

    number: int
    line: int
    exercise: Exercise
    report: Report

    def to_dict(self) -> dict[str, Any]:
        """Return what the report has, under the number of the exercise, with the letter of each mark."""
        letter, found = letters(self.exercise), self.report.to_dict()
        return {
            "number": self.number,
            "line": self.line,
            "id": self.exercise.id,
            "title": self.exercise.title,
            **{name: found[name] for name in ("score", "earned", "possible", "mistakes")},
            "marks": [{"letter": letter[mark["cell"]], **mark} for mark in found["marks"]],
        }


@dataclass(frozen=True, slots=True)
class Graded:
    """What a student handed in."""

    student: int
    name: str
    works: tuple[Work, ...]

    def __getitem__(self, number: int) -> Work | None:
        return next((work for work in self.works if work.number == number), None)

    @property
    def earned(self) -> float:
        """The credit of all cells."""
        return math.fsum(work.report.earned for work in self.works)

    @property
    def possible(self) -> int:
        """How many cells count."""
        return sum(work.report.possible for work in self.works)

    @property
    def score(self) -> float | None:
        """What is earned of what is possible, 0 to 1; None where nothing counts."""
        return self.earned / self.possible if self.possible else None

    @property
    def mistakes(self) -> Mapping[str, int]:
        """How many cells fit each mistake, the commonest first."""
        found: Counter[str] = Counter()
        for work in self.works:
            found.update(work.report.mistakes)
        return dict(found.most_common())

    def scene(self, worksheet: Worksheet) -> Scene:
        """Lay out what goes back to the student: of each exercise what is not right."""
        whose = f"Student {self.student}" + (f", {self.name}" if self.name else "")
        right = f"{plain(self.earned)} of {self.possible} right"
        parts: list[Part] = [Text((f"{worksheet.title}: {right}.",))]
        for work in self.works:
            parts.append(Text((f"{work.number}  ", *runs(work.exercise.title)), "heading"))
            parts += map(_below_heading, work.report.scene().parts)
        return Scene(whose, tuple(parts))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "student": self.student,
            "name": self.name,
            "score": self.score,
            "earned": self.earned,
            "possible": self.possible,
            "mistakes": dict(self.mistakes),
            "exercises": [work.to_dict() for work in self.works],
        }


def _below_heading(part: Part) -> Part:
    """A heading inside an exercise as a line of words: the exercise has the heading."""
    if isinstance(part, Text) and part.role == "heading":
        return Text((*part.runs, ":"))
    return part
