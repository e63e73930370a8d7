"""The six lessons at a glance: a taste, the outcomes, where a learner stopped and what comes next."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from riverhead.display import Displayable
from riverhead.learning.lessons import Bench, Lesson, lessons
from riverhead.learning.progress import LessonState, Progress
from riverhead.scene import Part, Scene, Table, Text

__all__ = ["SCHEMA", "Course", "course"]

SCHEMA = "riverhead.learn/1"


@dataclass(frozen=True, slots=True)
class Course(Displayable):
    """The lessons, those ``begun`` by number, the skills ``due``, and the answer of each lesson in words."""

    lessons: tuple[Lesson, ...]
    begun: dict[int, LessonState]
    due: tuple[str, ...]
    answers: tuple[str, ...]

    @property
    def next(self) -> Lesson | None:
        """The lesson to go on with: the one worked on last, else the first not finished; None at the end."""
        left = [each for each in self.lessons if not self._done(each)]
        begun = [each for each in left if each.number in self.begun]
        return max(begun, key=lambda each: self.begun[each.number].at, default=next(iter(left), None))

    def place(self, lesson: Lesson) -> str | None:
        """Return the id of the section that was reached last of a lesson that is not finished."""
        state = self.begun.get(lesson.number)
        known = {section.id for section in lesson.sections}
        return state.section if state and not state.done and state.section in known else None

    def scene(self) -> Scene:
        """Lay out a taste, the lessons with their outcomes, and what to type next."""
        return Scene("Attention by hand, in six lessons", tuple(self._parts()))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data under the schema ``riverhead.learn/1``."""
        return {
            "schema": SCHEMA,
            "next": self.next and self.next.number,
            "due": list(self.due),
            "lessons": [
                {
                    "number": each.number,
                    "title": each.title,
                    "question": each.question,
                    "answer": answer,
                    "outcomes": list(each.outcomes),
                    "tested_by": list(each.tested_by),
                    "sections": {section.id: section.title for section in each.sections},
                    "finished": self._done(each),
                    "stopped_at": self.place(each),
                }
                for each, answer in zip(self.lessons, self.answers, strict=True)
            ],
        }

    def _done(self, lesson: Lesson) -> bool:
        state = self.begun.get(lesson.number)
        return state is not None and state.done

    def _parts(self) -> Iterator[Part]:
        tasted = self.next or self.lessons[0]
        yield Text((tasted.question,), "heading")
        yield Text((self.answers[tasted.number - 1],))
        yield Text(("The lessons, and what you can do after each:",), "note")
        for each in self.lessons:
            yield Text((f"{each.number}  {each.title}{self._where(each)}",), "heading")
            yield from (Text((f"– {outcome}",)) for outcome in each.outcomes)
        yield Text(("Next",), "heading")
        yield Table(("", ""), tuple(self._next()))

    def _where(self, lesson: Lesson) -> str:
        place = self.place(lesson)
        if place:
            return f" · you stopped at “{lesson[place].title}”"
        return " · finished" if self._done(lesson) else ""

    def _next(self) -> Iterator[tuple[str, str]]:
        if self.next:
            goes_on = self.place(self.next) is not None
            yield (
                f"riverhead learn {self.next.number}",
                f"{'go on with' if goes_on else 'read and work'} lesson {self.next.number}",
            )
        due = ", ".join(self.due)
        yield "riverhead learn exercise", f"practise what is due: {due}" if due else "graded as you go"
        yield "riverhead learn ask", "questions to try"


def course(progress: Progress, now: datetime) -> Course:
    """Return the course as ``progress`` stands at ``now``.

    >>> from datetime import UTC
    >>> course(Progress(), datetime(2026, 1, 1, tzinfo=UTC)).next.number
    1
    """
    bench, found = Bench(), lessons()
    answers = tuple(bench.words(each.answer, each.sections[0].given) for each in found)
    begun = {state.number: state for state in progress.lessons()}
    return Course(found, begun, tuple(state.skill for state in progress.due(now)), answers)
