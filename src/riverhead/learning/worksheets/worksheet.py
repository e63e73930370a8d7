"""A worksheet as its id, what x count - version - seed, and what that gives each student."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from riverhead.checking.answers import Cell, Sheet
from riverhead.errors import InputError
from riverhead.learning.exercises import VERSION, Exercise, fresh, kinds
from riverhead.learning.exercises.draw import Draw
from riverhead.learning.lessons import lesson

__all__ = ["MOST_COUNT", "MOST_STUDENTS", "SEED", "Paper", "Worksheet", "check_student", "lettered"]

MOST_COUNT = 30  # exercises of a student: some hours of work
MOST_STUDENTS = 300
MOST_NAMED = 3  # kinds in a title
TRIES = 200  # at an exercise that a student does not have yet
SEED = "abcdefghijklmnopqrstuvwxyz0123456789"
ID = re.compile(r"(L\d|[a-z]+(?:[-+][a-z]+)*)x(\d{1,3})-(\d{1,4})-([a-z0-9]{6})")
LOOKS = f"L2x8-{VERSION}-k3m9q2"


@dataclass(frozen=True, slots=True)
class Worksheet:
    """Of ``what``, L2 for lesson 2 or kinds joined by +, ``count`` exercises for each student, from ``seed``.

    The number of students is no part of it: student 7 has the same exercises in any class. Raises
    `InputError`.

    >>> Worksheet("L2", 8, "k3m9q2").id, Worksheet.parse("softmax+valuesx2-1-k3m9q2").kinds
    ('L2x8-1-k3m9q2', ('softmax', 'values'))
    """

    what: str
    count: int
    seed: str

    def __post_init__(self) -> None:
        if not 1 <= self.count <= MOST_COUNT:
            raise InputError(f"count is {self.count}; a student can have 1 to {MOST_COUNT} exercises")
        if ID.fullmatch(self.id) is None:
            raise InputError(f"{self.id[:60]!r} is no worksheet; an id looks like {LOOKS}")
        unknown = [name for name in self.kinds if name not in kinds()]
        if unknown:
            raise InputError(
                f"there is no kind of exercise {unknown[0][:40]!r}; there are {', '.join(kinds())}"
            )
        if len(set(self.kinds)) < len(self.kinds):
            raise InputError(f"{self.what[:60]!r} names a kind twice; once will do: kinds take turns")

    @classmethod
    def parse(cls, id: str) -> Worksheet:
        """Return the worksheet of an id. Raises `InputError`."""
        found = ID.fullmatch(re.sub(r"^l(?=\d)", "L", id.strip().lower()))
        if found is None:
            raise InputError(f"{id[:60]!r} is no worksheet; an id looks like {LOOKS}")
        if int(found[3]) != VERSION:
            raise InputError(
                f"{id[:60]} was made by version {found[3]} of the exercises; "
                f"this riverhead makes version {VERSION}"
            )
        return cls(found[1], int(found[2]), found[4])

    @property
    def id(self) -> str:
        """What makes the same sheets again, on any machine."""
        return f"{self.what}x{self.count}-{VERSION}-{self.seed}"

    @property
    def lesson(self) -> int | None:
        """The lesson whose kinds take turns, None where the kinds are named."""
        return int(self.what[1:]) if self.what.startswith("L") else None

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of exercise, in the order in which they take turns."""
        if self.lesson is None:
            return tuple(self.what.split("+"))
        number = lesson(self.lesson).number
        return tuple(kind.name for kind in kinds().values() if kind.lesson == number)

    @property
    def title(self) -> str:
        """What it is about."""
        if self.lesson is not None:
            return lesson(self.lesson).title
        few = len(self.kinds) <= MOST_NAMED
        return " · ".join(kinds()[name].title for name in self.kinds) if few else "Attention by hand"

    def exercises(self, student: int) -> tuple[Exercise, ...]:
        """Return the exercises of one student, counted from 1; no two are the same. Raises `InputError`.

        >>> [made.kind.name for made in Worksheet.parse("dots+scalingx3-1-k3m9q2").exercises(7)]
        ['dots', 'scaling', 'dots']
        """
        check_student(student)
        draw = Draw(f"{self.id}-{student}")
        found: list[Exercise] = []
        for n in range(self.count):
            found.append(_another(self.kinds[n % len(self.kinds)], draw, found))
        return tuple(found)

    def paper(self, student: int, name: str = "") -> Paper:
        """Return the sheet of one student."""
        return Paper(self, student, self.exercises(student), name)


@dataclass(frozen=True, slots=True)
class Paper:
    """What one student works on: the exercises, numbered from 1 in their order."""

    worksheet: Worksheet
    student: int
    exercises: tuple[Exercise, ...]
    name: str = ""

    @property
    def whose(self) -> str:
        """Whose sheet it is, in words."""
        return f"student {self.student}" + (f", {self.name}" if self.name else "")


def check_student(student: int) -> None:
    """Raise `InputError` where no student has this number."""
    if not 1 <= student <= MOST_STUDENTS:
        raise InputError(f"student is {student}; students count from 1, up to {MOST_STUDENTS}")


def lettered(sheet: Sheet) -> Mapping[str, Cell]:
    """Return the cells to fill in by the letter that stands in their box: a, b, … z, aa, ab, …

    >>> from riverhead.checking.answers import softmax_sheet
    >>> {letter: cell.id for letter, cell in lettered(softmax_sheet([[0.0, 1.0]])).items()}["c"]
    'sum.0'
    """
    return {_letter(n): cell for n, cell in enumerate(sheet.asked)}


def _letter(n: int) -> str:
    return (_letter(n // 26 - 1) if n >= 26 else "") + chr(ord("a") + n % 26)


def _another(kind: str, draw: Draw, before: Sequence[Exercise]) -> Exercise:
    """An exercise of a kind that is none of those before."""
    for _ in range(TRIES):
        made = fresh(kind, "".join(draw.choice(SEED) for _ in range(6)))
        if all(made.task != other.task for other in before):
            return made
    raise InputError(
        f"there are not {len(before) + 1} different exercises of {kind}; ask for fewer, or for more kinds"
    )
