"""When a skill is due again: a card of `fsrs` for each, rated by the grade and the hints used.

The scheduler is FSRS-6 with its published weights (https://github.com/open-spaced-repetition/py-fsrs).
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from functools import cache
from zlib import crc32

from fsrs import Card, Rating, Scheduler

from riverhead.errors import ProgressError

__all__ = ["RATINGS", "due_of", "in_words", "rating", "reviewed"]

# The first row that fits: a score of at least this, with at most this many hints. Hints 1 and 2 say which
# step and which formula, 3 and 4 show numbers, 5 is the solution.
RATINGS = (
    (1.0, 0, Rating.Easy),
    (0.8, 2, Rating.Good),
    (0.5, 4, Rating.Hard),
    (0.0, 5, Rating.Again),
)

# An exercise takes minutes, not seconds as a flashcard does: what went wrong comes back in the same sitting,
# what went well the next day.
STEPS = (timedelta(minutes=10), timedelta(days=1))
LONGEST_DAYS = 365

UNITS = ((1, 60, "minute"), (60, 24, "hour"), (24 * 60, 61, "day"), (30.44 * 24 * 60, 10**9, "month"))


def rating(score: float, hints: int) -> Rating:
    """Return what a score (0 to 1), with ``hints`` looked at (0 to 5), says of a skill.

    >>> rating(1.0, 0).name, rating(1.0, 3).name, rating(0.9, 0).name, rating(0.9, 5).name
    ('Easy', 'Hard', 'Good', 'Again')
    """
    return next(rating for least, most, rating in RATINGS if score >= least and hints <= most)


def reviewed(skill: str, card: str | None, rating: Rating, at: datetime) -> str:
    """Return the card of ``skill`` (JSON, None for a new one) after a review; ``at`` is in UTC.

    >>> from datetime import UTC
    >>> due_of("masks", reviewed("masks", None, Rating.Again, datetime(2026, 1, 1, tzinfo=UTC))).minute
    10
    """
    before = Card(card_id=crc32(skill.encode()), due=at) if card is None else _card(skill, card)
    after, _ = _scheduler().review_card(before, rating, at)
    return after.to_json()


def due_of(skill: str, card: str) -> datetime:
    """Return when a card is due, in UTC."""
    return _card(skill, card).due


def in_words(due: datetime, now: datetime) -> str:
    """Say how far off ``due`` is, to the nearest unit.

    >>> from datetime import UTC
    >>> now = datetime(2026, 1, 1, tzinfo=UTC)
    >>> [in_words(now + timedelta(hours=hours), now) for hours in (-1, 0.3, 23.7, 71)]
    ['now', 'in 18 minutes', 'in 1 day', 'in 3 days']
    """
    minutes = (due - now) / timedelta(minutes=1)
    if minutes <= 0:
        return "now"
    for unit, limit, name in UNITS:
        n = max(round(minutes / unit), 1)
        if n < limit:
            return f"in {n} {name}{'s' * (n > 1)}"
    raise AssertionError("the last unit has no limit")  # pragma: no cover


@cache
def _scheduler() -> Scheduler:
    return Scheduler(
        learning_steps=STEPS,
        relearning_steps=STEPS[:1],
        maximum_interval=LONGEST_DAYS,
        enable_fuzzing=False,  # the same attempts give the same days
    )


def _card(skill: str, text: str) -> Card:
    try:
        return Card.from_dict(json.loads(text))
    except (ValueError, KeyError, TypeError) as error:
        raise ProgressError(
            f"the card of the skill {skill!r} cannot be read ({error!r}): the file of progress was changed "
            "by something else; move it away to begin anew"
        ) from error
