"""Two worked lessons, a board of tables and a module of grids: right as they are, and each slip found."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from riverhead.checking.claims import claims

TEXTS = Path(__file__).parent / "texts"
PLANTED = re.compile("⟦(.*?)⇄(.*?)⟧")  # ⟦wrong⇄right⟧
LESSONS = ("board.md", "module.txt")


def read(name: str, *slips: int) -> tuple[str, list[int]]:
    """A lesson with some of its slips, the others put right; and the lines of those."""
    text = (TEXTS / name).read_text("utf-8")
    found = list(PLANTED.finditer(text))
    lines = [text[: found[n].start()].count("\n") + 1 for n in slips]
    numbers = iter(range(len(found)))
    return PLANTED.sub(lambda match: match[1 if next(numbers) in slips else 2], text), lines


def n_slips(name: str) -> int:
    return len(PLANTED.findall((TEXTS / name).read_text("utf-8")))


@pytest.mark.parametrize("name", LESSONS)
def test_a_right_lesson_has_nothing_false_and_much_that_is_checked(name: str) -> None:
    found = claims(read(name)[0])
    assert [claim for claim in found if claim.verdict == "false"] == []
    assert sum(claim.verdict == "true" for claim in found) >= 12


@pytest.mark.parametrize(("name", "slip"), [(name, n) for name in LESSONS for n in range(n_slips(name))])
def test_a_slip_is_found_where_it_is_and_nowhere_else(name: str, slip: int) -> None:
    """What follows from the right number stays right: only the slip is false."""
    text, lines = read(name, slip)
    false = [claim for claim in claims(text) if claim.verdict == "false"]
    assert false
    assert all(claim.line <= lines[0] <= claim.line + claim.text.count("\n") for claim in false)


def test_what_was_rounded_on_the_way_is_said_and_not_accused() -> None:
    """e^2.89 is 17.99: 18.0 follows from the rounded score, and not from the exact one."""
    text, _ = read("board.md")
    assert [claim.text for claim in claims(text) if claim.how == "carried"] == ["18.0"]


def test_a_result_that_attention_gives_is_right_though_its_printed_terms_miss_it() -> None:
    """0.24·2 + 0.09·2 is 0.66; the weights themselves, 0.24473 and 0.09003, give 0.66952."""
    mixture = "0.24 · [2, 2] + 0.67 · [0, 1] + 0.09 · [2, 1] = [0.67, 1.24]"
    assert [claim.how for claim in claims(mixture)] == ["carried"]
    text = (
        "Q = [[1, 0]], K = [[2, 0], [3, 1], [1, 5]], V = [[2, 2], [0, 1], [2, 1]]\nNo scale.\n"
        f"scores = [[2, 3, 1]]\nweights = [[0.24, 0.67, 0.09]]\noutput = {mixture}\n"
    )
    assert [claim.how for claim in claims(text) if claim.text == mixture] == ["rounded"]
