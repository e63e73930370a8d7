"""What to practise now: what is due, else what comes next in the lesson, else what is weakest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from riverhead.errors import InputError

if TYPE_CHECKING:
    from riverhead.learning.exercises import Kind
    from riverhead.learning.progress.overview import LessonState, SkillState

__all__ = ["next_kind"]


def next_kind(
    now: datetime,
    kinds: Mapping[str, Kind],
    skills: Sequence[SkillState],
    lessons: Sequence[LessonState],
    tried: Mapping[str, int],
) -> str:
    """Return which of ``kinds``, in the order of the course, to practise ``now``.

    ``tried`` holds for each kind its place among the attempts, the higher the later; a due skill is practised
    with the kind that was tried longest ago, of those that train it and are known: tried before, or of a
    lesson that was begun. Raises `InputError` where there is no kind.
    """
    if not kinds:
        raise InputError("there is no kind of exercise to choose from; give at least one")
    begun = {lesson.number for lesson in lessons}
    known = {name: kind for name, kind in kinds.items() if name in tried or kind.lesson in begun}
    due = sorted((skill for skill in skills if skill.due <= now), key=lambda skill: (skill.due, skill.skill))
    weakest = sorted(skills, key=lambda skill: (skill.score, skill.due, skill.skill))
    found = _training(due, known, tried) or _next(kinds, lessons, tried) or _training(weakest, known, tried)
    return found or _longest_ago(kinds, tried)


def _training(
    skills: Iterable[SkillState], kinds: Mapping[str, Kind], tried: Mapping[str, int]
) -> str | None:
    """A kind that trains the first of ``skills`` that any kind trains."""
    for skill in skills:
        if training := [name for name, kind in kinds.items() if skill.skill in kind.skills]:
            return _longest_ago(training, tried)
    return None


def _longest_ago(kinds: Iterable[str], tried: Mapping[str, int]) -> str:
    return min(kinds, key=lambda name: tried.get(name, 0))  # of those never tried the first in the course


def _next(kinds: Mapping[str, Kind], lessons: Sequence[LessonState], tried: Mapping[str, int]) -> str | None:
    """The first kind never tried of the lesson one is at; between lessons, of the next unfinished one."""
    new = [(name, kind) for name, kind in kinds.items() if name not in tried]
    last = max(lessons, key=lambda lesson: lesson.at, default=None)
    if last is not None and not last.done:
        return next((name for name, kind in new if kind.lesson == last.number), None)
    done = {lesson.number for lesson in lessons if lesson.done}
    return next((name for name, kind in new if kind.lesson not in done), None)
