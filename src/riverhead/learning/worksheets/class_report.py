"""A graded class: by student, by mistake, by step."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from riverhead.checking.answers import Kind as Marked
from riverhead.checking.answers import Mark, mistakes
from riverhead.checking.answers.report import HEADINGS
from riverhead.display import Displayable
from riverhead.learning.exercises import kinds
from riverhead.learning.worksheets.form import Remark, guarded
from riverhead.learning.worksheets.student import Graded, Work
from riverhead.learning.worksheets.worksheet import Worksheet
from riverhead.numbers import plain
from riverhead.scene import Cell, Part, Scene, Table, Text

__all__ = ["SCHEMA", "ClassReport", "Found", "Step", "listed", "shared"]

SCHEMA = "riverhead.class/1"
SLIPS = (Marked.NEIGHBOUR, Marked.TRANSPOSED, Marked.SIGN, Marked.PERCENT, Marked.OFF)  # no known mistakes


@dataclass(frozen=True, slots=True)
class Found:
    """A mistake that was made: by which students, in how many cells, what to practise, where it is taught."""

    id: str
    name: str
    skill: str
    lesson: int
    students: tuple[int, ...]
    cells: int


@dataclass(frozen=True, slots=True)
class Step:
    """The cells of one step in one exercise, over the class."""

    exercise: int
    title: str
    step: str
    earned: float
    possible: int


@dataclass(frozen=True)
class ClassReport(Displayable):
    """A graded class; ``absent`` filled in nothing, ``remarks`` say what was not graded, and why.

    A cell that is blank earns nothing; one that cannot be read, and an exercise without a line, does not
    count.
    """

    worksheet: Worksheet
    students: tuple[Graded, ...]
    absent: tuple[int, ...]
    remarks: tuple[Remark, ...]

    @cached_property
    def mistakes(self) -> tuple[Found, ...]:
        """Every mistake that was made, the one that most students made first."""
        who: dict[str, list[int]] = defaultdict(list)
        lessons: dict[str, list[int]] = defaultdict(list)
        for student, work, mark in self._marks():
            ids = mark.mistakes or ((mark.kind.value,) if mark.kind in SLIPS else ())
            for id in ids:
                who[id].append(student.student)
                lessons[id].append(work.exercise.kind.lesson)
        found = [_found(id, students, min(lessons[id])) for id, students in who.items()]
        return tuple(sorted(found, key=lambda each: (-len(each.students), -each.cells, each.name)))

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """How much of each step was right, exercise by exercise."""
        titles: dict[int, str] = {}
        marks: dict[tuple[int, str], list[Mark]] = defaultdict(list)
        for _, work, mark in self._marks():
            titles[work.number] = work.exercise.title
            marks[work.number, work.exercise.sheet[mark.cell].grid].append(mark)
        return tuple(
            Step(
                number,
                titles[number],
                shared([mark.name for mark in marks[number, grid]]),
                math.fsum(mark.credit or 0.0 for mark in marks[number, grid]),
                sum(mark.credit is not None for mark in marks[number, grid]),
            )
            for number, grid in sorted(marks, key=lambda key: key[0])
        )

    @property
    def score(self) -> float | None:
        """The mean score of the students, 0 to 1; None where nothing counts."""
        scores = [each.score for each in self.students if each.score is not None]
        return math.fsum(scores) / len(scores) if scores else None

    def scene(self) -> Scene:
        """Lay out the class by student, by mistake and by step, and what was not graded."""
        return Scene(f"{self.worksheet.title}: {self.worksheet.id}", tuple(self._parts()))

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each student, for a spreadsheet."""
        return [
            {
                "student": each.student,
                "name": guarded(each.name),
                "score": each.score,
                "earned": each.earned,
                "possible": each.possible,
                **{f"exercise {n}": _score_of(each, n) for n in range(1, self.worksheet.count + 1)},
                "mistakes": ", ".join(_name(id) for id in each.mistakes),
            }
            for each in self.students
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data under the schema ``riverhead.class/1``."""
        return {
            "schema": SCHEMA,
            "worksheet": self.worksheet.id,
            "score": self.score,
            "students": [each.to_dict() for each in self.students],
            "mistakes": [
                {
                    "id": each.id,
                    "name": each.name,
                    "skill": each.skill,
                    "lesson": each.lesson,
                    "students": list(each.students),
                    "cells": each.cells,
                }
                for each in self.mistakes
            ],
            "steps": [
                {
                    "exercise": each.exercise,
                    "title": each.title,
                    "step": each.step,
                    "earned": each.earned,
                    "possible": each.possible,
                }
                for each in self.steps
            ],
            "absent": list(self.absent),
            "remarks": [{"line": each.line, "said": each.said} for each in self.remarks],
        }

    def _marks(self) -> Iterator[tuple[Graded, Work, Mark]]:
        for student in self.students:
            for work in student.works:
                for mark in work.report.marks:
                    yield student, work, mark

    def _parts(self) -> Iterator[Part]:
        yield Text((self._summary(),))
        if self.absent:
            yield Text((f"Nothing is filled in for {_students(self.absent)}: not counted.",))
        if self.students:
            yield Text(("By student",), "heading")
            yield self._by_student()
        if self.mistakes:
            yield Text(("By mistake",), "heading")
            yield Table(
                ("", "who", "students", "cells", "practise", "lesson"), tuple(map(_row, self.mistakes))
            )
        if self.steps:
            yield Text(("By exercise",), "heading")
            yield self._by_step()
        if self.remarks:
            yield Text(("Not graded, or to look at",), "heading")
            yield Table(("line", ""), tuple((plain(each.line), each.said) for each in self.remarks))

    def _summary(self) -> str:
        mean = "" if self.score is None else f", {_percent(self.score)} right on average"
        left = f"; {_counted(len(self.remarks), 'remark')} below" if self.remarks else ""
        return f"{_counted(len(self.students), 'student')} graded{mean}{left}."

    def _by_student(self) -> Table:
        numbers = range(1, self.worksheet.count + 1)
        named = any(each.name for each in self.students)
        rows = tuple(
            (
                plain(each.student),
                *[each.name] * named,
                None if each.score is None else _percent(each.score),
                *(_earned(each, n) for n in numbers),
            )
            for each in self.students
        )
        return Table(("student", *["name"] * named, "right", *map(str, numbers)), rows)

    def _by_step(self) -> Table:
        rows: list[tuple[Cell, ...]] = []
        for before, step in zip((None, *self.steps), self.steps, strict=False):
            again = before is not None and before.exercise == step.exercise
            of = (None, None) if again else (plain(step.exercise), step.title)
            share = _percent(step.earned / step.possible) if step.possible else None
            rows.append((*of, step.step, plain(step.possible), share))
        return Table(("", "exercise", "step", "cells", "right"), tuple(rows))


def _found(id: str, students: Sequence[int], lesson: int) -> Found:
    """A mistake with the lesson that teaches its skill; where none does, the one it was made in."""
    skill = mistakes()[id].skill if id in mistakes() else ""
    teaching = [kind.lesson for kind in kinds().values() if skill in kind.skills]
    return Found(
        id, _name(id), skill, min(teaching, default=lesson), tuple(sorted(set(students))), len(students)
    )


def _name(id: str) -> str:
    if id in mistakes():
        return mistakes()[id].name
    heading = HEADINGS[Marked(id)]
    return heading[:1].lower() + heading[1:]


def _row(each: Found) -> tuple[Cell, ...]:
    who = ", ".join(map(str, each.students))
    return each.name, who, plain(len(each.students)), plain(each.cells), each.skill, plain(each.lesson)


def _score_of(student: Graded, number: int) -> float | None:
    work = student[number]
    return work.report.score if work else None


def _earned(student: Graded, number: int) -> str | None:
    """What an exercise earned, of what was possible: 4/5."""
    work = student[number]
    return f"{plain(work.report.earned)}/{work.report.possible}" if work else None


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"


def _students(numbers: Sequence[int]) -> str:
    return f"student{'s' * (len(numbers) != 1)} {listed(numbers)}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def listed(numbers: Sequence[int]) -> str:
    """Return numbers in a row of words, neighbours drawn together.

    >>> listed([1, 2, 3, 7])
    '1 to 3, 7'
    """
    runs: list[list[int]] = []
    for n in numbers:
        if runs and n == runs[-1][-1] + 1:
            runs[-1].append(n)
        else:
            runs.append([n])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs)


def shared(names: Sequence[str]) -> str:
    """Return what the names of a step's cells have in common; … stands where they differ.

    >>> shared(["weight of bank on river", "weight of we on cake"]), shared(["sum of bank's row"])
    ('weight of … on …', "sum of bank's row")
    """
    split = [name.split() for name in dict.fromkeys(names)]
    short = min(map(len, split))
    columns = zip(*(name[:short] for name in split), strict=True)
    words = [column[0] if len({*column}) == 1 else "…" for column in columns]
    words += ["…"] * any(len(name) > short for name in split)
    kept = [word for n, word in enumerate(words) if word != "…" or n == 0 or words[n - 1] != "…"]
    return " ".join(kept)
