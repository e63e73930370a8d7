"""Graded answers: a mark for each cell, with its words."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from riverhead.checking.answers.mistakes import mistakes
from riverhead.checking.answers.reading import Answer
from riverhead.display import Displayable
from riverhead.numbers import plain
from riverhead.scene import Part, Scene, Table, Text

__all__ = ["SCHEMA", "Kind", "Mark", "Report"]

SCHEMA = "riverhead.graded/1"


class Kind(StrEnum):
    """What an answer is, in the order in which it is tried."""

    RIGHT = "right"
    FOLLOWS = "follows"
    MISTAKE = "mistake"
    NEIGHBOUR = "neighbour"
    TRANSPOSED = "transposed"
    SIGN = "sign"
    PERCENT = "percent"
    OFF = "off"
    UNREADABLE = "unreadable"
    BLANK = "blank"


@dataclass(frozen=True, slots=True)
class Mark:
    """What one answer earns: ``credit`` 1 or 0, None where it could not be read and does not count.

    ``words`` tell the learner what was done; ``mistakes`` are the ids it fits; ``expected`` is the exact
    value, ``shown`` prints it, ``accepted`` says what is accepted.
    """

    cell: str
    name: str
    kind: Kind
    credit: float | None
    words: str
    expected: float
    shown: str
    accepted: str
    answer: Answer
    mistakes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Report(Displayable):
    """A graded sheet.

    >>> from riverhead.checking.answers import grade, softmax_sheet
    >>> print(grade(softmax_sheet([[0.0, 0.0, 2.0]], exponentials=False), {"weights.0.0": "0.11"}).summary)
    1 of 3 right; 2 blank.
    """

    title: str
    marks: tuple[Mark, ...]

    def __getitem__(self, cell: str) -> Mark:
        for mark in self.marks:
            if mark.cell == cell:
                return mark
        raise KeyError(cell)

    @property
    def earned(self) -> float:
        """The credit of all cells."""
        return math.fsum(mark.credit or 0.0 for mark in self.marks)

    @property
    def possible(self) -> int:
        """How many cells count: all but those that could not be read."""
        return sum(mark.credit is not None for mark in self.marks)

    @property
    def score(self) -> float | None:
        """What is earned of what is possible, 0 to 1; None where nothing counts."""
        return self.earned / self.possible if self.possible else None

    @property
    def mistakes(self) -> dict[str, int]:
        """How many cells fit each mistake, the commonest first."""
        return dict(Counter(id for mark in self.marks for id in mark.mistakes).most_common())

    @property
    def summary(self) -> str:
        """The outcome in a line."""
        kinds = Counter(mark.kind for mark in self.marks)
        said = [f"{plain(self.earned)} of {len(self.marks)} right"]
        said += [f"{kinds[kind]} {words}" for kind, words in COUNTED.items() if kinds[kind]]
        return "; ".join(said) + "."

    def scene(self, reveal: bool = True) -> Scene:
        """Lay out what is not simply right, by what it is; ``reveal`` shows the numbers that are."""
        parts: list[Part] = [Text((self.summary,))]
        groups: dict[tuple[str, str], list[Mark]] = {}
        for mark in self.marks:
            if mark.kind is not Kind.RIGHT:
                groups.setdefault(
                    (_heading(mark), "" if mark.kind in ITS_OWN_WORDS else mark.words), []
                ).append(mark)
        for (heading, words), marks in groups.items():
            parts.append(Text((heading,), "heading"))
            parts += [Text((words,))] * bool(words)
            parts.append(_table(marks, reveal, remarks=not words and marks[0].kind is not Kind.BLANK))
        return Scene(self.title, tuple(parts))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data under the schema ``riverhead.graded/1``; what is no JSON number is None."""
        marks = [
            {
                **asdict(mark),
                "expected": _finite(mark.expected),
                "answer": {**asdict(mark.answer), "value": _finite(mark.answer.value)},
            }
            for mark in self.marks
        ]
        return {
            "schema": SCHEMA,
            "title": self.title,
            "earned": self.earned,
            "possible": self.possible,
            "score": self.score,
            "mistakes": self.mistakes,
            "marks": marks,
        }


COUNTED = {
    Kind.FOLLOWS: "of them from the learner's own numbers",
    Kind.UNREADABLE: "not readable, not counted",
    Kind.BLANK: "blank",
}

HEADINGS = {
    Kind.FOLLOWS: "From your own numbers",
    Kind.NEIGHBOUR: "The number of another cell",
    Kind.TRANSPOSED: "Row and column swapped",
    Kind.SIGN: "The sign",
    Kind.PERCENT: "A hundred times off",
    Kind.OFF: "Wrong, by no mistake that is known",
    Kind.UNREADABLE: "Not readable",
    Kind.BLANK: "Blank",
}

ITS_OWN_WORDS = (Kind.NEIGHBOUR, Kind.TRANSPOSED, Kind.OFF, Kind.BLANK)  # each cell has others


def _heading(mark: Mark) -> str:
    if mark.kind is not Kind.MISTAKE:
        return HEADINGS[mark.kind]
    if len(mark.mistakes) > 1:
        return "One of several mistakes"
    name = mistakes()[mark.mistakes[0]].name
    return name[:1].upper() + name[1:]


def _table(marks: Sequence[Mark], reveal: bool, remarks: bool) -> Table:
    true = "exact" if marks[0].kind is Kind.FOLLOWS else "right"
    columns = ("", "written", *[true] * reveal, *[""] * remarks)
    rows = tuple(
        (mark.name, mark.answer.text, *[mark.shown] * reveal, *[mark.words] * remarks) for mark in marks
    )
    return Table(columns, rows)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
