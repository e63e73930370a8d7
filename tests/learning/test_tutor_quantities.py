"""Numbers of a reply that nobody vouches for, and those that claim nothing."""

from __future__ import annotations

import pytest

from riverhead.learning.tutor.quantities import Known, unchecked, vouched
from riverhead.learning.tutor.sums import Sums


def marked(reply: str, known: Known | None = None) -> list[str]:
    sums = Sums()
    list(sums.feed(reply))
    list(sums.close())
    found = list(sums.found.values())
    return [one.text for one in unchecked(reply, found, known or Known())]


QUANTITIES = {  # a reply; the numbers in it that are no one's
    "It is 0.7 of (0.1,0.2), 3 times.": ["0.7", "0.1", "0.2", "3"],
    "54% or 54 %, 1,024 tokens, 1.5e-3 and .5": ["54%", "54 %", "1,024", "1.5e-3", ".5"],
    "40 GB, 40GB, 7B, 2x": ["40", "40GB", "7B", "2x"],
    "**12** and -3 and −0.4": ["12", "3", "0.4"],
    "Step 2, lesson 4, Layer 9, part **3**, Fig. 7": [],
    "1. First\n2) Second\n- 3. Third\n## 4. Fourth": [],
    "L9.H7, GPT-2, q_1, k1, x_2, W2, 2D, the 4th": [],
    "In 2017 it was, in version 3.1.2.": [],
    "2017 tokens": [],
    "3000 tokens": ["3000"],
    "q is (2, 1), so 2·2 + 1·0 = 4 and 4 it is; 5 is not.": ["2", "1", "5"][2:],
    "2·2 + 1·0 = 5, which is 5.": ["5"],
    "x + 1 = 3": ["1", "3"],
}


@pytest.mark.parametrize("reply", QUANTITIES)
def test_numbers_are_unchecked_unless_they_only_name_or_count(reply: str) -> None:
    assert marked(reply) == QUANTITIES[reply]


@pytest.mark.parametrize(
    ("written", "is_known"),
    [("0.54", True), ("0.539", True), ("53.9%", True), ("54%", True), ("0.5388", True), ("0.53", False),
     ("0.5387", False), ("1", False), ("0.54000", False), ("5.4e-1", True), ("-0.54", True)],
)  # fmt: skip
def test_a_number_is_known_where_a_given_one_rounds_to_it(written: str, is_known: bool) -> None:
    assert marked(f"about {written} here", Known([0.538776])) == ([] if is_known else [written.lstrip("-")])


def test_a_whole_number_is_known_only_exactly() -> None:
    assert marked("about 3 here", Known([2.828])) == ["3"]
    assert marked("about 3 here", Known.of(["it was 3.0"])) == []


def test_the_place_of_a_number_is_its_line_and_the_words_around_it() -> None:
    reply = "one\n\n" + "word " * 20 + "about 0.77 of it " + "word " * 20
    (one,) = unchecked(reply, (), Known())
    assert (one.line, reply[one.start : one.start + 4]) == (3, "0.77")
    assert one.around.startswith("…")
    assert "about 0.77 of it" in one.around
    assert one.around.endswith("…")


def test_sums_vouch_for_what_is_right_in_them() -> None:
    sums = Sums()
    list(sums.feed("3·7 = 21, 2 + 2 = 5, softmax([2, 1]) = [0.73, 0.27]."))
    list(sums.close())
    known = vouched(list(sums.found.values()))
    assert marked("3, 7, 21, 4, 0.73, 0.731", known) == []
    assert marked("5", known) == ["5"]


@pytest.mark.parametrize(
    "reply", ["9" * 5_000, "1e999", "1.5e999", "2.5e400%", "1" + "0" * 400 + "%", "1," * 1_000]
)
def test_absurd_numbers_are_marked_and_harm_nobody(reply: str) -> None:
    assert marked(f"about {reply} here")
