"""When a skill is due, what is practised next, and the overview: against tables by hand and fsrs alone."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kept_progress import NOW, attempt, replayed

from riverhead.checking.answers import mistakes
from riverhead.errors import InputError
from riverhead.learning.exercises import Kind
from riverhead.learning.progress import Progress, SkillState
from riverhead.learning.progress.skills import in_words, rating
from riverhead.scene import Bar, Table

MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)


@pytest.mark.parametrize(
    ("score", "ratings"),  # by the number of hints, 0 to 5
    [
        (1.0, "Easy Good Good Hard Hard Again"),
        (0.99, "Good Good Good Hard Hard Again"),
        (0.8, "Good Good Good Hard Hard Again"),
        (0.79, "Hard Hard Hard Hard Hard Again"),
        (0.5, "Hard Hard Hard Hard Hard Again"),
        (0.49, "Again Again Again Again Again Again"),
        (0.0, "Again Again Again Again Again Again"),
    ],
)
def test_the_rating_falls_with_the_score_and_with_hints(score: float, ratings: str) -> None:
    assert [rating(score, hints).name for hints in range(6)] == ratings.split()


@settings(max_examples=50, deadline=None)
@given(
    attempts=st.lists(
        st.tuples(
            st.sampled_from(("softmax", "masks", "values")),
            st.none() | st.floats(0, 1),
            st.integers(0, 5),
            st.timedeltas(timedelta(0), 40 * DAY),
        ),
        max_size=12,
    )
)
def test_the_cards_are_those_fsrs_makes_of_the_same_attempts(
    attempts: list[tuple[str, float | None, int, timedelta]],
) -> None:
    """The same twice, too: nothing is drawn."""
    with Progress() as progress:
        at = NOW
        for skill, score, hints, later in attempts:
            at += later
            progress.record(**attempt(skills=(skill,), score=score, hints=hints, at=at))
        kept = progress.export()
        states = progress.skills()
    cards = {each["skill"]: each["card"] for each in kept["skills"]}
    assert cards == replayed(kept["attempts"])
    graded = [(skill, score) for skill, score, _, _ in attempts if score is not None]
    assert {state.skill: state.score for state in states} == dict(graded)
    tried = [skill for skill, *_ in attempts]
    assert all(state.attempts == tried.count(state.skill) for state in states)
    assert [state.due for state in states] == sorted(state.due for state in states)
    for state in states:
        assert state.due == datetime.fromisoformat(cards[state.skill]["due"])
        assert state.seen == datetime.fromisoformat(cards[state.skill]["last_review"])


def dues(*scores: float) -> list[timedelta]:
    """How long after each attempt its skill is due, every attempt made just when it was due."""
    with Progress() as progress:
        at, found = NOW, []
        for score in scores:
            progress.record(**attempt(skills=("masks",), score=score, hints=0, at=at))
            (state,) = progress.skills()
            found.append(state.due - at)
            at = state.due
    return found


def test_what_goes_well_is_due_ever_later_and_what_fails_in_the_same_sitting() -> None:
    well = dues(0.9, 0.9, 0.9, 0.9)
    assert well[0] == DAY
    assert all(2 * before <= after for before, after in pairwise(well))
    assert dues(0.2) == [10 * MINUTE]
    assert dues(0.9, 0.9, 0.9, 0.2)[-1] == 10 * MINUTE
    assert dues(1.0)[0] > dues(0.9)[0] > dues(0.6)[0] > dues(0.2)[0]
    assert dues(*[1.0] * 9)[-1] == 365 * DAY  # and never later


def test_due_is_what_is_due_by_then_the_longest_first() -> None:
    with Progress() as progress:
        for skill, score, ago in (("new", 0.2, 0), ("old", 0.2, 60), ("older", 0.2, 600), ("well", 1.0, 60)):
            progress.record(**attempt(skills=(skill,), score=score, hints=0, at=NOW - ago * MINUTE))
        assert [state.skill for state in progress.due(NOW)] == ["older", "old"]
        assert [state.skill for state in progress.due(NOW + 10 * MINUTE)] == ["older", "old", "new"]
        assert progress.due(NOW - DAY) == ()
        older = progress.due(NOW)[0]
    assert older == SkillState("older", NOW - 590 * MINUTE, NOW - 600 * MINUTE, 1, 0.2)


KINDS = {
    name: Kind(name, name.title(), lesson, skills, "none")
    for name, lesson, skills in (
        ("dots", 1, ("scores",)),
        ("grid", 1, ("scores",)),
        ("scaling", 2, ("scaling",)),
        ("softmax", 2, ("softmax", "rounding")),
        ("whole", 3, ("scores", "softmax", "values")),
        ("causal", 4, ("masks",)),
    )
}

Did = tuple[str, float | None, int]  # kind, score, minutes ago


def chosen(did: Sequence[Did], reached: Sequence[tuple[int, bool]] = ()) -> str:
    with Progress() as progress:
        for kind, score, ago in did:
            skills = KINDS[kind].skills if kind in KINDS else (kind,)
            at = NOW - ago * MINUTE
            progress.record(**attempt(kind=kind, skills=skills, score=score, hints=0, at=at))
        for n, (lesson, done) in enumerate(reached):
            progress.reached(lesson, "a", done, at=NOW + n * MINUTE)
        return progress.next_kind(NOW, KINDS)


@pytest.mark.parametrize(
    ("did", "reached", "kind"),
    [
        pytest.param([], [], "dots", id="nothing yet: the first of the course"),
        pytest.param([("dots", 1.0, 30)], [], "grid", id="nothing due, no lesson: the next of the course"),
        pytest.param([("dots", 0.1, 5)], [], "grid", id="failed a moment ago: not yet due"),
        pytest.param([("dots", 0.1, 30)], [], "dots", id="due, and nothing else of it is known"),
        pytest.param([("dots", 0.1, 30)], [(1, False)], "grid", id="due: the kind of it tried longest ago"),
        pytest.param(
            [("grid", 0.1, 50), ("dots", 0.1, 30)],
            [(3, False)],
            "whole",
            id="due: of a lesson begun, untried",
        ),
        pytest.param(
            [("causal", 0.1, 30), ("scaling", 0.1, 20)], [], "causal", id="two due: the longer due first"
        ),
        pytest.param([], [(2, False)], "scaling", id="in a lesson: its first"),
        pytest.param([("scaling", 1.0, 30)], [(2, False)], "softmax", id="in a lesson: its next"),
        pytest.param([("scaling", None, 30)], [(2, False)], "softmax", id="tried, though not graded"),
        pytest.param([], [(1, True)], "scaling", id="a lesson finished: the next lesson's"),
        pytest.param([], [(4, False), (2, False)], "scaling", id="the lesson reached last"),
        pytest.param(
            [("scaling", 0.9, 30), ("softmax", 1.0, 29)], [(2, False)], "scaling", id="all tried: the weakest"
        ),
        pytest.param([("gone", 0.1, 30)], [], "dots", id="due, and trained by no kind any more"),
        pytest.param(
            [(name, None, n) for n, name in enumerate(reversed(KINDS))], [], "causal", id="the longest ago"
        ),
    ],
)
def test_what_is_practised_next(did: list[Did], reached: list[tuple[int, bool]], kind: str) -> None:
    assert chosen(did, reached) == kind


@settings(max_examples=50, deadline=None)
@given(
    did=st.lists(
        st.tuples(
            st.sampled_from(tuple(KINDS)), st.none() | st.sampled_from((0.1, 0.6, 1.0)), st.integers(0, 50)
        )
    ),
    reached=st.lists(st.tuples(st.integers(1, 6), st.booleans()), max_size=3),
)
def test_there_is_always_a_kind_and_it_trains_what_is_due(
    did: list[Did], reached: list[tuple[int, bool]]
) -> None:
    kind = chosen(did, reached)
    with Progress() as progress:
        for name, score, ago in did:
            skills = KINDS[name].skills
            progress.record(**attempt(skills=skills, score=score, hints=0, at=NOW - ago * MINUTE))
        if due := progress.due(NOW):
            assert due[0].skill in KINDS[kind].skills
    assert kind in KINDS


def test_no_kind_at_all_is_said() -> None:
    with Progress() as progress, pytest.raises(InputError, match="no kind of exercise to choose from"):
        progress.next_kind(NOW, {})


@pytest.mark.parametrize(
    ("minutes", "words"),
    [
        (-5, "now"),
        (0, "now"),
        (0.2, "in 1 minute"),
        (1.6, "in 2 minutes"),
        (59.4, "in 59 minutes"),
        (59.6, "in 1 hour"),
        (23.4 * 60, "in 23 hours"),
        (23.6 * 60, "in 1 day"),
        (3 * 24 * 60, "in 3 days"),
        (60.4 * 24 * 60, "in 60 days"),
        (61 * 24 * 60, "in 2 months"),
        (365 * 24 * 60, "in 12 months"),
    ],
)
def test_when_in_words(minutes: float, words: str) -> None:
    assert in_words(NOW + minutes * MINUTE, NOW) == words


def tables(progress: Progress, now: datetime) -> list[Table]:
    return [part for part in progress.overview(now).scene().parts if isinstance(part, Table)]


def test_the_overview_counts_lessons_exercises_skills_and_mistakes() -> None:
    with Progress() as progress:
        progress.record(**attempt(0, skills=("softmax",), mistakes={"base-2": 3, "no-scale": 1}))
        progress.record(**attempt(3, skills=("masks",), mistakes={"base-2": 2, "one-of-old": 4}))
        progress.record(**attempt(4, skills=("masks",), score=None, mistakes={}))
        progress.reached(1, "a", done=True)
        progress.reached(2, "a")
        now = NOW + 26 * MINUTE
        overview = progress.overview(now)
        _, skills, wrong = tables(progress, now)
    assert overview.summary.endswith("; 3 exercises tried; nothing due now.")
    assert overview.summary.startswith("1 of ")
    assert [tuple(map(str, row[:4])) for row in skills.rows] == [
        ("masks", "in 5 minutes", "2", "20 %"),
        ("softmax", "in 8 days", "1", "100 %"),
    ]
    assert [row[4] for row in skills.rows] == [Bar(0.2), Bar(1.0)]
    named = mistakes()
    assert [tuple(map(str, row)) for row in wrong.rows] == [
        (named["base-2"].name, "5", "2"),
        ("one-of-old", "4", "1"),  # no longer known: its id has to do
        (named["no-scale"].name, "1", "1"),
    ]


def test_the_overview_says_where_one_stopped() -> None:
    from riverhead.learning.lessons import lessons

    first, *others = lessons()
    section = first.sections[-1]
    with Progress() as progress:
        assert progress.overview(NOW).empty
        progress.reached(first.number, section.id)
        assert not progress.overview(NOW).empty
        (table,) = tables(progress, NOW)
        assert [tuple(map(str, row)) for row in table.rows] == [
            (str(first.number), first.title, f"at “{section.title}”"),
            *((str(each.number), each.title, "not begun") for each in others),
        ]
        progress.reached(first.number, "a section that is gone")
        assert str(tables(progress, NOW)[0].rows[0][2]) == "at “a section that is gone”"
        progress.reached(first.number, section.id, done=True)
        assert str(tables(progress, NOW)[0].rows[0][2]) == "finished"


def test_due_now_is_said_first() -> None:
    with Progress() as progress:
        progress.record(**attempt(3, skills=("masks", "softmax")))
        said = progress.overview(NOW + DAY).summary
    assert said.endswith("1 exercise tried; due now: masks, softmax.")


def test_another_zone_sees_the_same_due() -> None:
    with Progress() as progress:
        progress.record(**attempt(3))
        for now in (NOW + 31 * MINUTE, NOW + 30 * MINUTE):
            here = now.astimezone(tz=None)
            assert progress.due(here) == progress.due(now.astimezone(UTC))
        assert len(progress.due(NOW + 31 * MINUTE)) == 2
        assert progress.due(NOW + 30 * MINUTE) == ()
