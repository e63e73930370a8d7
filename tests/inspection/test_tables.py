"""What ships: the reference text, the nouns, and the thresholds the words follow from."""

from __future__ import annotations

import re

import numpy as np
import pytest

from riverhead.inspection.judge import facts
from riverhead.inspection.tables import first_that_holds, nouns, reference_text, rules

# What the examples of the lessons are about, in every form; function words cannot be avoided.
EXAMPLE_STEMS = ("river", "bank", "flood", "money", "grow", "grew", "flow", "water", "old", "violin", "snow")


def test_the_reference_text_has_no_word_of_the_examples_and_no_noun_that_is_swapped_in() -> None:
    written = set(re.findall(r"\w+", reference_text().lower()))
    assert 700 < len(reference_text().split()) < 1000
    assert not {word for word in written if word.startswith(EXAMPLE_STEMS)}
    assert not written & {form for noun in nouns() for form in (noun, f"{noun}s")}


def test_the_nouns_are_plain_and_each_stands_once() -> None:
    assert len(set(nouns())) == len(nouns()) > 100
    assert all(re.fullmatch("[a-z]{4,}", noun) for noun in nouns())
    assert not [noun for noun in nouns() if noun.startswith(EXAMPLE_STEMS[:8])]


@pytest.mark.parametrize(
    ("previous", "first", "near", "label"),
    [
        (0.5, 0.6, 0.9, "previous-token"),
        (0.49, 0.5, 0.9, "sink"),
        (0.49, 0.49, 0.8, "local"),
        (0.49, 0.49, 0.79, "none"),
    ],
)
def test_a_label_is_the_first_whose_threshold_is_reached(
    previous: float, first: float, near: float, label: str
) -> None:
    facts = {"previous": previous, "first": first, "near": near}
    assert first_that_holds(rules("label"), facts).words == label


@pytest.mark.parametrize(
    ("weight", "habit", "swap", "label", "distance", "says", "finding"),
    [  # the target's rows: L9.H7, L4.H0, L12.H3, L4.H2, L16.H0
        (0.634, 0.139, [0.1, 0.138], "none", 1, "looks for {word}", True),
        (0.683, 0.086, [0.2, 0.306], "none", 1, "leans to {word}", True),
        (0.818, 0.331, [0.5, 0.586], "none", 1, "mostly the place", False),
        (0.944, 0.149, [0.7, 0.788], "none", 1, "any noun in that place", False),
        (0.969, 0.867, [0.9, 0.928], "previous-token", 1, "previous-token head, no finding", False),
        # a positional head may look elsewhere, and its label says nothing about that
        (0.969, 0.1, [0.1, 0.2], "previous-token", 2, "looks for {word}", True),
        (0.9, 0.8, [0.7, 0.9], "next-token", -1, "next-token head, no finding", False),
        (0.9, 0.1, [0.1, 0.2], "next-token", 1, "looks for {word}", True),
        (0.9, 0.1, [0.1, 0.2], "next-token", -2, "looks for {word}", True),
        (0.9, 0.1, [0.1, 0.2], "previous-token", -1, "looks for {word}", True),
        (0.6, 0.1, [0.0, 0.7], "sink", 3, "mostly the place", False),  # 0.35 of 0.6 is more than half
        (0.8, 0.1, [0.0, 0.4, 0.0, 0.81], "none", 3, "leans to {word}", True),  # one noun got more
        (0.09, 0.0, [0.0, 0.01], "none", 1, "hardly looks there", False),
        (0.0, 0.0, [0.0, 0.0], "none", 1, "hardly looks there", False),
        (0.8, 0.79, [0.1, 0.2], "none", 2, "mostly the place", False),  # the habit alone explains it
    ],
)
def test_what_a_weight_is_said_to_show(
    weight: float, habit: float, swap: list[float], label: str, distance: int, says: str, finding: bool
) -> None:
    rule = first_that_holds(rules("says"), facts(weight, habit, np.array(swap, np.float32), distance, label))
    assert (rule.words, rule.finding) == (says, finding)


def test_every_row_of_a_table_can_be_reached_and_the_last_always_holds() -> None:
    for table in ("label", "says"):
        assert len({rule.words for rule in rules(table)}) == len(rules(table))
        assert not rules(table)[-1].when
        assert all(rule.when for rule in rules(table)[:-1])
