"""Each mistake with heads, counts, bytes and positions makes what arithmetic makes of it, and is named."""

from __future__ import annotations

import pytest
from counted import MADE, apart, worked, written

from riverhead.checking.answers import Kind, grade, mistaken, read
from riverhead.learning.exercises import fresh

CASES = [(kind, mistake) for kind, found in MADE.items() for mistake in found]


def sheets(kind, mistake):
    """Six sheets of a kind that have room for the mistake."""
    drawn = (fresh(kind, f"{n:06d}").sheet for n in range(60))
    found = [sheet for sheet in drawn if apart(worked(kind, sheet, mistake), worked(kind, sheet))]
    assert len(found) >= 6
    return found[:6]


@pytest.mark.parametrize(("kind", "mistake"), CASES)
def test_a_mistake_makes_what_plain_arithmetic_makes_and_earns_its_own_words(kind, mistake):
    for sheet in sheets(kind, mistake):
        by_hand = worked(kind, sheet, mistake)
        for id, text in mistaken(sheet, mistake).items():
            # half a unit of the last decimal printed: two more where an exact cell gets no short number
            room = 0.51 * 10.0 ** -(sheet[id].decimals + 2 * sheet[id].exact)
            value = read(text, whole=sheet[id].decimals == 0).value
            assert value == pytest.approx(by_hand[id], rel=1e-12, abs=room), id
        report = grade(sheet, written(sheet, by_hand))
        assert set(report.mistakes) == {mistake}
        left = {mark.kind for mark in report.marks}
        assert left <= {Kind.RIGHT, Kind.FOLLOWS, Kind.MISTAKE}


@pytest.mark.parametrize("kind", MADE)
def test_worked_rightly_everything_is_right(kind):
    for n in range(20):
        sheet = fresh(kind, f"{n:06d}").sheet
        assert {mark.kind for mark in grade(sheet, written(sheet, worked(kind, sheet))).marks} == {Kind.RIGHT}
