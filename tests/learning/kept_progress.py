"""What the tests of progress share: attempts to record, and what must hold of a file whatever happened."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zlib import crc32

from fsrs import Card, Scheduler

from riverhead.learning.progress import Progress
from riverhead.learning.progress.skills import rating

NOW = datetime(2026, 3, 2, 9, 30, 15, 7, tzinfo=UTC)


def attempt(n: int = 0, **changed: Any) -> dict[str, Any]:
    """What `Progress.record` takes; each ``n`` another id, score, number of hints and moment."""
    return {
        "exercise_id": f"softmax-1-{n:06d}",
        "kind": "softmax",
        "lesson": 2,
        "skills": ("softmax", "rounding"),
        "score": (1.0, 0.9, 0.5, 0.2)[n % 4],
        "mistakes": {"no-exponential": 2},
        "hints": n % 3,
        "at": NOW + n * timedelta(minutes=7),
    } | changed


def consistent(path: Path) -> list[dict[str, Any]]:
    """Hold the file to what it must be after anything: whole, no half attempt, every card as its attempts.

    Returns the attempts.
    """
    with Progress(path) as progress:
        kept = progress.export()
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert all(len(each["skills"]) == 2 and each["mistakes"] for each in kept["attempts"])
    cards = {each["skill"]: each["card"] for each in kept["skills"]}
    assert cards == replayed(kept["attempts"])
    attempts: list[dict[str, Any]] = kept["attempts"]
    return attempts


def replayed(attempts: list[dict[str, Any]]) -> dict[str, Any]:
    """The card of every skill, made again from the attempts in their order, by fsrs alone."""
    scheduler = Scheduler(
        learning_steps=(timedelta(minutes=10), timedelta(days=1)),
        relearning_steps=(timedelta(minutes=10),),
        maximum_interval=365,
        enable_fuzzing=False,
    )
    cards: dict[str, Card] = {}
    for each in attempts:
        at = datetime.fromisoformat(each["at"])
        for skill in each["skills"] if each["score"] is not None else ():
            card = cards.get(skill, Card(card_id=crc32(skill.encode()), due=at))
            cards[skill], _ = scheduler.review_card(card, rating(each["score"], each["hints"]), at)
    return {skill: json.loads(card.to_json()) for skill, card in cards.items()}
