"""What a learner has done so far, as plain data, and the sheet that shows it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from riverhead.display import Displayable
from riverhead.learning.progress.skills import in_words
from riverhead.numbers import fixed, plain
from riverhead.scene import Bar, Cell, Part, Scene, Table, Text

__all__ = ["LessonState", "MistakeCount", "Overview", "SkillState"]

BEGINNINGS = (("riverhead learn 1", "the first lesson"), ("riverhead learn exercise", "a fresh exercise"))


@dataclass(frozen=True, slots=True)
class LessonState:
    """A lesson that was begun: the section reached last, and when; ``done`` once it was finished."""

    number: int
    section: str
    done: bool
    at: datetime


@dataclass(frozen=True, slots=True)
class SkillState:
    """A skill that was graded: when it is ``due``, when last ``seen``, its last ``score`` (0 to 1).

    ``attempts`` counts the exercises that train it, those that could not be graded too.
    """

    skill: str
    due: datetime
    seen: datetime
    attempts: int
    score: float


@dataclass(frozen=True, slots=True)
class MistakeCount:
    """How many ``cells`` fitted a mistake, in how many ``attempts``."""

    mistake: str
    cells: int
    attempts: int


@dataclass(frozen=True, slots=True)
class Overview(Displayable):
    """Everything that was learned, as of ``now``.

    ``lessons`` are those begun, by number; ``skills`` the soonest due first; ``mistakes`` the commonest
    first. ``titles`` are of the whole course: each lesson's, and its sections' by id. ``where`` is the file
    it is kept in, None where it is not.
    """

    now: datetime
    lessons: tuple[LessonState, ...]
    skills: tuple[SkillState, ...]
    mistakes: tuple[MistakeCount, ...]
    attempts: int
    titles: tuple[tuple[int, str, tuple[tuple[str, str], ...]], ...]
    where: str | None

    @property
    def empty(self) -> bool:
        """Whether nothing was begun."""
        return not self.lessons and not self.attempts

    @property
    def summary(self) -> str:
        """What was done and what is due, in a line."""
        if self.empty:
            return "Nothing yet."
        done = sum(lesson.done for lesson in self.lessons)
        due = [skill.skill for skill in self.skills if skill.due <= self.now]
        said = [
            f"{done} of {len(self.titles)} lessons finished",
            f"{self.attempts} exercise{'s' * (self.attempts != 1)} tried",
            f"due now: {', '.join(due)}" if due else "nothing due now",
        ]
        return "; ".join(said) + "."

    def scene(self) -> Scene:
        """Lay out lessons, skills and mistakes, and say how to go on."""
        return Scene("Progress", tuple(self._parts()))

    def _parts(self) -> Iterator[Part]:
        yield Text((self.summary,))
        if self.empty:
            yield Text(("Begin with a lesson, or with an exercise; what you reach and solve is kept.",))
            yield Table(("", ""), BEGINNINGS)
        else:
            yield Text(("Lessons",), "heading")
            yield Table(("", "", ""), tuple(self._lessons()))
        if self.skills:
            yield Text(("Skills",), "heading")
            yield Table(("skill", "due", "exercises", "last score", ""), tuple(map(self._skill, self.skills)))
        if self.mistakes:
            yield Text(("Mistakes made most",), "heading")
            yield Table(("mistake", "cells", "exercises"), tuple(map(_mistake, self.mistakes)))
        if not self.empty:
            yield Text(("riverhead learn exercise gives what is due first, else what comes next.",), "note")
        where = f"Progress is kept in {self.where}" if self.where else "Nothing of this is kept."
        yield Text((where,), "note")

    def _lessons(self) -> Iterator[tuple[Cell, ...]]:
        begun = {lesson.number: lesson for lesson in self.lessons}
        for number, title, sections in self.titles:
            lesson = begun.get(number)
            if lesson is None:
                yield plain(number), title, "not begun"
            elif lesson.done:
                yield plain(number), title, "finished"
            else:
                yield plain(number), title, f"at “{dict(sections).get(lesson.section, lesson.section)}”"

    def _skill(self, skill: SkillState) -> tuple[Cell, ...]:
        score = fixed(100 * skill.score, 0)
        percent = type(score)(skill.score, f"{score} %")
        return skill.skill, in_words(skill.due, self.now), plain(skill.attempts), percent, Bar(skill.score)


def _mistake(found: MistakeCount) -> tuple[Cell, ...]:
    from riverhead.checking.answers import mistakes

    known = mistakes().get(found.mistake)
    return known.name if known else found.mistake, plain(found.cells), plain(found.attempts)
