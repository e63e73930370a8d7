"""Which heads are shown."""

from __future__ import annotations

import numpy as np
import pytest

from riverhead.inspection.judge import Judged, facts, select
from riverhead.inspection.labels import Label

WEIGHT = np.array([[0.9, 0.8, 0.1], [0.7, 0.95, 0.6]], np.float32)
SCORE = np.array([[0.1, 0.5, 0.0], [0.6, 0.05, 0.4]], np.float32)
FINDING = np.array([[False, True, False], [True, False, True]])


@pytest.mark.parametrize(
    ("n", "heads"),
    [
        (1, [(1, 0)]),
        (2, [(1, 0), (1, 1)]),
        (3, [(1, 0), (0, 1), (1, 1)]),
        (5, [(1, 0), (0, 1), (1, 2), (0, 0), (1, 1)]),
        (6, [(1, 0), (0, 1), (1, 2), (0, 0), (1, 1), (0, 2)]),
        (99, [(1, 0), (0, 1), (1, 2), (0, 0), (1, 1), (0, 2)]),
    ],
)
def test_the_best_by_score_stand_beside_the_heaviest_that_are_no_finding(n: int, heads: list) -> None:
    assert select(WEIGHT, SCORE, FINDING, n) == heads


def test_a_heavy_head_that_is_a_finding_is_not_shown_as_one_that_is_none() -> None:
    weight = np.array([[0.9, 0.99, 0.3, 0.2]], np.float32)
    score = np.array([[0.8, 0.7, 0.1, 0.2]], np.float32)
    assert select(weight, score, np.array([[True, True, False, False]]), 2) == [(0, 0), (0, 2)]


def test_shares_are_parts_of_the_weight() -> None:
    found = facts(0.5, 0.1, np.array([0.1, 0.3, 0.5, 0.1], np.float32), 3, "local")
    assert found == {
        "weight": 0.5,
        "habit_share": pytest.approx(0.2),
        "swap_share": pytest.approx(0.5),
        "chance_share": pytest.approx(0.5),
        "nouns": 4,
        "beats": 0.75,  # a noun that gets as much is not beaten
        "distance": 3,
        "label": "local",
    }


def test_a_row_tells_the_noun_that_got_most() -> None:
    swap = np.array(
        [[[0.1, 0.2]], [[0.3, 0.1]], [[0.2, 0.6]]], np.float32
    )  # three nouns, one layer, two heads
    judged = Judged(
        word="{word}",
        distance=2,
        weight=np.array([[0.9, 0.8]], np.float32),
        habit=np.array([[0.2, 0.1]], np.float32),
        swap=swap,
        nouns=("chair", "lamp", "robot"),
        labels={(0, 0): Label("previous-token", ""), (0, 1): Label("none", "")},
    )
    row = judged.finding((0, 1), if_off_nats=0.25)
    assert (row.head, row.swap_noun, row.swap_max) == ("L0.H1", "robot", np.float32(0.6))
    assert (row.if_off_nats, row.if_off_vector_change) == (0.25, None)
    assert row.swap_mean == pytest.approx(0.3)
    assert row.score == pytest.approx(0.5)
    assert (row.label, row.says, row.finding) == ("none", "leans to {word}", True)
    other = judged.finding((0, 0), if_off_vector_change=0.5)
    assert (other.label, other.if_off_nats, other.if_off_vector_change) == ("previous-token", None, 0.5)
