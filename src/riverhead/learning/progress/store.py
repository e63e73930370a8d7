"""What a learner reached and tried, written down as it happens."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from riverhead.errors import InputError
from riverhead.learning.progress import practice
from riverhead.learning.progress.database import opened, reading, removed, told, writing
from riverhead.learning.progress.overview import LessonState, MistakeCount, Overview, SkillState
from riverhead.learning.progress.skills import due_of, rating, reviewed

if TYPE_CHECKING:
    from riverhead.learning.exercises import Kind

__all__ = ["SCHEMA", "Progress"]

SCHEMA = "riverhead.progress/1"
MOST_HINTS = 5
MOST_MISTAKES = 10  # shown in an overview; the export has all

# MAX picks the row that `score` and `at` are read from: the last that was graded.
SKILLS = """
SELECT card.skill, card.fsrs, COUNT(*), a.score, a.at, MAX(CASE WHEN a.score IS NOT NULL THEN a.id END)
FROM card JOIN attempt_skill USING (skill) JOIN attempt a ON a.id = attempt_skill.attempt
GROUP BY card.skill
"""
MISTAKES = """
SELECT mistake, SUM(cells) AS n, COUNT(*) FROM attempt_mistake
GROUP BY mistake ORDER BY n DESC, mistake LIMIT ?
"""


class Progress:
    """The progress in the file ``path``, or in memory alone, kept nowhere, where that is None.

    Every write is a transaction of its own: when the call returns it is on the disk, whatever happens to this
    process or its machine; others may write at the same time. Use it from one thread, and close it. Every
    method raises `ProgressError` where the file cannot be read or written.

    >>> progress = Progress()
    >>> now = datetime(2026, 1, 1, tzinfo=UTC)
    >>> progress.record("softmax-1-k3m9q2", "softmax", 2, ("softmax",), 1.0, {}, 0, now)
    >>> [(state.skill, state.attempts, str(state.due - now)) for state in progress.skills()]
    [('softmax', 1, '8 days, 0:00:00')]
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = None if path is None else path.absolute()
        self._db = opened(self.path)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        with told(self.path):
            self._db.close()

    def reached(self, lesson: int, section: str, done: bool = False, at: datetime | None = None) -> None:
        """Note the section of ``lesson`` (from 1) reached last; ``done``: the lesson is finished for good."""
        with writing(self._db, self.path) as db:
            db.execute(
                "INSERT INTO lesson VALUES (?, ?, ?, ?) ON CONFLICT (number) DO UPDATE SET "
                "section = excluded.section, done = MAX(done, excluded.done), at = excluded.at",
                (lesson, section, done, _text(at or datetime.now(UTC))),
            )

    def place(self, lesson: int) -> str | None:
        """Return the section of ``lesson`` that was reached last; None where it was never begun."""
        return next((state.section for state in self.lessons() if state.number == lesson), None)

    def finished(self) -> tuple[int, ...]:
        """Return the lessons that are done."""
        return tuple(state.number for state in self.lessons() if state.done)

    def lessons(self) -> tuple[LessonState, ...]:
        """Return the lessons that were begun, by number."""
        with reading(self._db, self.path) as db:
            return _lessons(db)

    def record(
        self,
        exercise_id: str,
        kind: str,
        lesson: int,
        skills: Sequence[str],
        score: float | None,
        mistakes: Mapping[str, int],
        hints: int,
        at: datetime,
    ) -> None:
        """Keep an attempt, and move the card of each of its ``skills``.

        ``score`` is 0 to 1, None where nothing could be graded: no card moves. ``mistakes`` are cells by the
        mistake they fit, ``hints`` how many were looked at (0 to 5), ``at`` when, with its time zone.
        Raises `InputError`.
        """
        if score is not None and not 0 <= score <= 1:  # NaN is neither
            raise InputError(f"score is {score}; it is from 0 to 1, or None where nothing counts")
        if not 0 <= hints <= MOST_HINTS:
            raise InputError(f"hints is {hints}; it is from 0 to {MOST_HINTS}")
        when = _text(at)
        with writing(self._db, self.path) as db:
            attempt = db.execute(
                "INSERT INTO attempt (at, exercise, kind, lesson, score, hints) VALUES (?, ?, ?, ?, ?, ?)",
                (when, exercise_id, kind, lesson, score, hints),
            ).lastrowid
            skills = tuple(dict.fromkeys(skills))
            db.executemany("INSERT INTO attempt_skill VALUES (?, ?)", [(attempt, skill) for skill in skills])
            rows = [(attempt, mistake, cells) for mistake, cells in mistakes.items()]
            db.executemany("INSERT INTO attempt_mistake VALUES (?, ?, ?)", rows)
            if score is not None:
                for skill in skills:
                    _review(db, skill, score, hints, at.astimezone(UTC))

    def skills(self) -> tuple[SkillState, ...]:
        """Return the skills that were graded, the soonest due first."""
        with reading(self._db, self.path) as db:
            return _skills(db)

    def due(self, now: datetime) -> tuple[SkillState, ...]:
        """Return the skills to practise again by ``now``, the longest due first."""
        return tuple(state for state in self.skills() if state.due <= now)

    def next_kind(self, now: datetime, kinds: Mapping[str, Kind]) -> str:
        """Return which of ``kinds`` to practise: for what is due, else what is next, else what is weakest."""
        with reading(self._db, self.path) as db:
            tried = dict(db.execute("SELECT kind, MAX(id) FROM attempt GROUP BY kind"))
            return practice.next_kind(now, kinds, _skills(db), _lessons(db), tried)

    def overview(self, now: datetime) -> Overview:
        """Return what was learned up to ``now``."""
        from riverhead.learning.lessons import lessons

        titles = tuple(
            (lesson.number, lesson.title, tuple((each.id, each.title) for each in lesson.sections))
            for lesson in lessons()
        )
        with reading(self._db, self.path) as db:
            (attempts,) = db.execute("SELECT COUNT(*) FROM attempt").fetchone()
            mistakes = tuple(MistakeCount(*row) for row in db.execute(MISTAKES, (MOST_MISTAKES,)))
            where = None if self.path is None else str(self.path)
            return Overview(now, _lessons(db), _skills(db), mistakes, attempts, titles, where)

    def export(self) -> dict[str, Any]:
        """Return everything that is kept, under the schema ``riverhead.progress/1``; times are in UTC."""
        with reading(self._db, self.path) as db:
            lessons = [
                {"lesson": state.number, "section": state.section, "done": state.done, "at": _text(state.at)}
                for state in _lessons(db)
            ]
            cards = db.execute("SELECT skill, fsrs FROM card ORDER BY skill")
            skills = [{"skill": skill, "card": _card(card)} for skill, card in cards]
            return {"schema": SCHEMA, "lessons": lessons, "skills": skills, "attempts": _attempts(db)}

    def delete(self) -> None:
        """Remove the file and what SQLite put beside it; `ProgressError` while another has it open."""
        if self.path is None:
            self.close()
        else:
            removed(self._db, self.path)


def _card(text: str) -> Any:
    """A card as fsrs writes it; one that something else has changed, as the text it is."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _review(db: sqlite3.Connection, skill: str, score: float, hints: int, at: datetime) -> None:
    (card,) = db.execute("SELECT fsrs FROM card WHERE skill = ?", (skill,)).fetchone() or (None,)
    after = reviewed(skill, card, rating(score, hints), at)
    db.execute("INSERT OR REPLACE INTO card VALUES (?, ?)", (skill, after))


def _lessons(db: sqlite3.Connection) -> tuple[LessonState, ...]:
    rows = db.execute("SELECT number, section, done, at FROM lesson ORDER BY number")
    return tuple(LessonState(n, section, bool(done), _time(at)) for n, section, done, at in rows)


def _skills(db: sqlite3.Connection) -> tuple[SkillState, ...]:
    states = [
        SkillState(skill, due_of(skill, card), _time(at), attempts, score)
        for skill, card, attempts, score, at, _ in db.execute(SKILLS)
    ]
    return tuple(sorted(states, key=lambda state: (state.due, state.skill)))


def _attempts(db: sqlite3.Connection) -> list[dict[str, Any]]:
    """Every attempt, in the order in which they were kept."""
    names = ("at", "exercise", "kind", "lesson", "score", "hints")
    found = {
        id: {**dict(zip(names, row, strict=True)), "skills": [], "mistakes": {}}
        for id, *row in db.execute(f"SELECT id, {', '.join(names)} FROM attempt ORDER BY id")
    }
    for id, skill in db.execute("SELECT attempt, skill FROM attempt_skill ORDER BY attempt, skill"):
        found[id]["skills"].append(skill)
    for id, mistake, cells in db.execute("SELECT * FROM attempt_mistake ORDER BY attempt, mistake"):
        found[id]["mistakes"][mistake] = cells
    return list(found.values())


def _text(at: datetime) -> str:
    if at.tzinfo is None:
        raise InputError(f"the time {at} has no time zone; give one, as datetime.now(UTC) has")
    return at.astimezone(UTC).isoformat(timespec="microseconds")


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)
