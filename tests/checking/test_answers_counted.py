"""Each mistake with heads, counts, bytes and positions makes what arithmetic makes of it, and is named."""

from __future__ import annotations

from functools import cache

import pytest
from counted import MADE, apart, worked, written

from riverhead.checking.answers import Kind, grade, mistaken, read
from riverhead.checking.answers.wiring import Pattern
from riverhead.errors import InputError
from riverhead.learning.exercises import fresh

CASES = [(kind, mistake) for kind, found in MADE.items() for mistake in found]
DRAWN = 18  # of each kind: some have no gate, ask of other places, or turn one pair


@cache
def drawn(kind):
    """Sheets of a kind, each with its right numbers."""
    sheets = [fresh(kind, f"{n:06d}").sheet for n in range(DRAWN)]
    return [(sheet, worked(kind, sheet)) for sheet in sheets]


@pytest.mark.parametrize(("kind", "mistake"), CASES)
def test_a_mistake_makes_what_plain_arithmetic_makes_and_earns_its_own_words(kind, mistake):
    made = [(sheet, worked(kind, sheet, mistake), right) for sheet, right in drawn(kind)]
    told = [(sheet, by_hand) for sheet, by_hand, right in made if apart(by_hand, right)]
    assert len(told) >= 3
    for sheet, by_hand in told[:3]:
        for id, text in mistaken(sheet, mistake).items():
            # half a unit of the last decimal printed: two more where an exact cell gets no short number
            room = 0.51 * 10.0 ** -(sheet[id].decimals + 2 * sheet[id].exact)
            value = read(text, whole=sheet[id].decimals == 0).value
            assert value == pytest.approx(by_hand[id], rel=1e-12, abs=room), id
        report = grade(sheet, written(sheet, by_hand))
        assert set(report.mistakes) == {mistake}
        left = {mark.kind for mark in report.marks}
        assert left <= {Kind.RIGHT, Kind.FOLLOWS, Kind.MISTAKE}


def test_an_order_that_is_none_names_no_cells():
    with pytest.raises(InputError, match="'whole~upwards' names no cells"):
        Pattern.parse("whole~upwards")


@pytest.mark.parametrize("kind", MADE)
def test_worked_rightly_everything_is_right(kind):
    for sheet, right in drawn(kind):
        assert {mark.kind for mark in grade(sheet, written(sheet, right)).marks} == {Kind.RIGHT}
