"""An attempt without a terminal: what is open, what is kept, how hints climb, how the cells are laid out."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riverhead.checking.answers import Kind as Marked
from riverhead.checking.answers import mistaken, solved
from riverhead.learning.exercises import exercise, fresh, kinds
from riverhead.learning.exercises.attempt import LONGEST, SOLUTION, Attempt
from riverhead.learning.exercises.hints import hints
from riverhead.learning.exercises.layout import blocks, moved
from riverhead.learning.exercises.solution import solution
from riverhead.scene import Scene

SEED = "k3m9q2"
ID = f"softmax-1-{SEED}"


@pytest.fixture
def attempt() -> Attempt:
    return Attempt(exercise(ID))


def right(attempt: Attempt) -> dict[str, str]:
    return solved(attempt.exercise.sheet)


def write(attempt: Attempt, answers: dict[str, str]) -> None:
    for cell, text in answers.items():
        attempt.write(cell, text)


def test_what_is_right_is_kept_and_what_is_wrong_stays_open(attempt: Attempt) -> None:
    *others, last = right(attempt)
    write(attempt, right(attempt) | {last: "7"})
    assert attempt.check().score == len(others) / (len(others) + 1)
    assert attempt.open == (last,)
    assert not attempt.solved
    attempt.write(others[0], "9")  # it is no longer open
    assert attempt.answers[others[0]] == right(attempt)[others[0]]
    attempt.write(last, right(attempt)[last])
    assert attempt.check().score == 1
    assert attempt.solved
    assert attempt.open == ()
    assert attempt.tries == 2


def test_what_follows_from_a_wrong_number_stays_open_until_that_is_right(attempt: Attempt) -> None:
    first = next(iter(right(attempt)))
    sheet = attempt.exercise.sheet
    slipped = {**right(attempt), first: "5.00"}
    total = 5.0 + sum(cell.truth for cell in sheet.asked if cell.grid == "exp" and cell.id != first)
    for cell in sheet.asked:
        if cell.grid == "sum":
            slipped[cell.id] = f"{total:.2f}"
        if cell.grid == "weights":
            over = 5.0 if cell.at == (0, 0) else sheet[f"exp.0.{cell.at[1]}"].truth
            slipped[cell.id] = f"{over / total:.2f}"
    write(attempt, slipped)
    report = attempt.check()
    assert {mark.kind for mark in report.marks if mark.cell.startswith("weights")} == {Marked.FOLLOWS}
    assert not attempt.solved
    assert set(attempt.open) == {id for id in slipped if id.startswith(("sum", "weights"))} | {first}
    write(attempt, right(attempt))
    attempt.check()
    assert attempt.solved


def test_the_first_check_is_the_score_and_each_mistake_counts_once(attempt: Attempt) -> None:
    wrong = mistaken(attempt.exercise.sheet, "no-exponential")
    write(attempt, wrong)
    first = attempt.check()
    attempt.check()
    write(attempt, right(attempt))
    attempt.check()
    assert attempt.score == first.score < 1
    assert attempt.mistakes == first.mistakes
    assert "no-exponential" in attempt.mistakes


def test_a_mistake_half_mended_counts_as_it_was_at_its_worst(attempt: Attempt) -> None:
    sheet = attempt.exercise.sheet
    write(attempt, mistaken(sheet, "no-exponential"))
    worst = attempt.check().mistakes["no-exponential"]
    true = right(attempt)
    exps = [cell.id for cell in sheet.asked if cell.grid == "exp"]
    write(attempt, {cell: true[cell] for cell in exps[1:]})
    assert 0 < attempt.check().mistakes["no-exponential"] < worst
    assert attempt.mistakes["no-exponential"] == worst


def test_a_check_in_which_nothing_could_be_read_is_no_score(attempt: Attempt) -> None:
    write(attempt, dict.fromkeys(right(attempt), "two"))
    assert attempt.check().score is None
    assert attempt.score is None
    write(attempt, right(attempt))
    attempt.check()
    assert attempt.score == 1


def test_hints_climb_for_the_first_cell_that_is_blank_or_wrong_and_begin_anew_at_the_next(
    attempt: Attempt,
) -> None:
    first, second, *_ = right(attempt)
    assert [attempt.hint().level for _ in range(7)] == [1, 2, 3, 4, 5, 5, 5]
    assert attempt.hints == SOLUTION == len(hints(attempt.exercise))
    attempt.write(first, right(attempt)[first])
    assert attempt.hint() == hints(attempt.exercise, attempt.answers, second)[0]
    assert attempt.hints == SOLUTION  # the highest counts


def test_a_hint_has_the_learners_own_numbers(attempt: Attempt) -> None:
    write(attempt, {"exp.0.0": "2.75", "sum.0": "3.25"})
    for _ in range(2):
        attempt.hint("weights.0.0")
    assert "2.75 ÷ 3.25" in str(Scene("", attempt.hint("weights.0.0").parts))


def test_nothing_is_kept_of_an_attempt_that_was_not_begun_and_a_solution_looked_at_is_nothing_right(
    attempt: Attempt,
) -> None:
    attempt.write("exp.0.0", "3")
    attempt.hint()
    assert not attempt.begun
    attempt.give_up()
    assert attempt.begun
    assert (attempt.score, attempt.hints) == (0, SOLUTION)
    after = Attempt(attempt.exercise)
    write(after, right(after))
    after.check()
    after.give_up()
    assert after.score == 1


@given(st.text(max_size=200), st.sampled_from(["exp.0.0", "weights.0.1", "scores.0.0", "no.such"]))
@settings(max_examples=30, deadline=None)
def test_whatever_is_typed_is_printable_short_and_graded(text: str, cell: str) -> None:
    attempt = Attempt(exercise(ID))
    attempt.write(cell, text)
    assert set(attempt.answers) <= {each.id for each in attempt.exercise.sheet.asked}
    written = attempt.answers.get(cell, "")
    assert len(written) <= LONGEST
    assert not written or written.isprintable()
    attempt.check()


@pytest.mark.parametrize("kind", kinds())
def test_every_cell_of_every_kind_stands_once_on_the_page_in_the_order_of_the_work(kind: str) -> None:
    sheet = fresh(kind, SEED).sheet
    page = blocks(sheet)
    on_page = [cell.id for block in page for line in block.lines for cell in line.cells]
    assert on_page == [cell.id for cell in sheet.asked]
    for block in page:
        for line in block.lines:
            assert len(line.cells) <= max(len(block.columns), 1)
            for cell, column in zip(line.cells, block.columns, strict=False):
                if len(line.cells) > 1:  # a name is its line and its column, whatever parts them
                    assert sorted(
                        f"{line.label} {column}".replace("…", " ").replace(",", "").split()
                    ) == sorted(cell.name.replace(",", "").split())


def test_arrows_move_over_the_page() -> None:
    page = blocks(fresh("attention", SEED).sheet)
    first, *_, last = [cell.id for block in page for line in block.lines for cell in line.cells]
    assert moved(page, first, 0, -1) == first
    assert moved(page, first, -1, 0) == first
    assert moved(page, last, 0, 1) == last
    assert moved(page, last, 1, 0) == last
    lines = [[cell.id for cell in line.cells] for block in page for line in block.lines]
    assert moved(page, lines[0][-1], 0, 1) == lines[1][0]
    assert moved(page, lines[1][0], 0, -1) == lines[0][-1]
    assert moved(page, lines[0][1], 1, 0) == lines[1][1]
    short = next(n for n, line in enumerate(lines) if len(line) == 1)
    assert moved(page, lines[short - 1][2], 1, 0) == lines[short][0]


@pytest.mark.parametrize("kind", kinds())
def test_a_solution_has_every_number_of_every_kind(kind: str) -> None:
    found = fresh(kind, SEED)
    said = str(Scene("", solution(found))).replace(",", "")
    for cell, text in solved(found.sheet).items():
        assert found.sheet[cell].name.replace(",", "").split()[0] in said
        assert text.replace(",", "") in said, cell
