"""Grading cell by cell: what is right, what follows, what is off, and what costs a learner nothing."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from by_hand import attend, texts
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from riverhead.checking.answers import (
    Cell,
    Draft,
    Kind,
    Sheet,
    accepted,
    attention_sheet,
    dot_sheet,
    grade,
    softmax_sheet,
    solved,
    values_sheet,
)
from riverhead.derivation import derive
from riverhead.errors import InputError
from riverhead.render import render

Q = [[2.0, -1.0], [0.5, 1.0], [-1.0, 1.5]]
K = [[1.0, 0.5], [-0.5, 2.0], [1.5, 0.5]]
V = [[2.0, 6.0], [-3.0, 1.0], [1.0, -2.0]]
SHEET = attention_sheet(derive(Q, K, V, tokens=["a", "small", "boat"]))
TRUE = solved(SHEET)


def kinds(report):
    return {mark.cell: mark.kind for mark in report.marks if mark.kind is not Kind.RIGHT}


def with_slip(cell, text):
    """The answers of a learner who writes ``text`` into one cell and goes on from it, rightly."""
    step, *at = cell.split(".")
    at = tuple(map(int, at))

    def slipped(g):
        grid = attend(Q, K, V)[step].copy()
        grid[at] = float(text)
        return grid

    return texts(SHEET, attend(Q, K, V, **{step: slipped}))


def test_the_truth_scores_full():
    report = grade(SHEET, TRUE)
    assert (report.score, report.earned, report.possible) == (1.0, len(SHEET.asked), len(SHEET.asked))
    assert {mark.kind for mark in report.marks} == {Kind.RIGHT}
    assert report.mistakes == {}


@pytest.mark.parametrize(
    ("cell", "text"),
    [("dots.0.1", "7"), ("scores.1.2", "2.9"), ("exp.2.0", "3.5"), ("sum.1", "9"), ("weights.0.2", "0.11"),
     ("out.2.1", "5.5")],
)  # fmt: skip
def test_one_slip_costs_exactly_one_cell(cell, text):
    report = grade(SHEET, with_slip(cell, text))
    assert [mark.cell for mark in report.marks if not mark.credit] == [cell]
    assert report.earned == report.possible - 1
    row = [mark for mark in report.marks if mark.kind is Kind.FOLLOWS]
    assert all("your own" in mark.words for mark in row)


@given(st.sampled_from([cell.id for cell in SHEET.asked]), st.decimals(-30, 30, places=2).map(float))
@settings(max_examples=60, deadline=None)
def test_any_one_slip_costs_exactly_one_cell(cell, slip):
    grid = cell.split(".")[0]
    assume(grid not in ("exp", "sum") or slip > 0.5)  # a sum near 0 has no followers
    assume(abs(slip - SHEET[cell].truth) > 0.02)
    report = grade(SHEET, with_slip(cell, f"{slip:.2f}"))
    assert [mark.cell for mark in report.marks if not mark.credit] == [cell]


def test_a_learner_may_go_on_from_the_right_number_too():
    # a slip of the pen in one cell, while the calculator went on with the right one
    report = grade(SHEET, TRUE | {"scores.0.0": "5.55"})
    assert [mark.cell for mark in report.marks if not mark.credit] == ["scores.0.0"]


def test_unreadable_is_not_wrong_and_blocks_nothing():
    answers = with_slip("dots.0.1", "7") | {"scores.0.1": "see above", "exp.0.1": "?"}
    report = grade(SHEET, answers)
    unreadable = [mark for mark in report.marks if mark.kind is Kind.UNREADABLE]
    assert [(mark.cell, mark.credit) for mark in unreadable] == [("scores.0.1", None), ("exp.0.1", None)]
    assert all("Can't read that" in mark.words for mark in unreadable)
    assert [mark.cell for mark in report.marks if mark.credit == 0] == ["dots.0.1"]
    assert report.possible == len(SHEET.asked) - 2
    assert report.score == 1 - 1 / report.possible


def test_nothing_readable_has_no_score():
    report = grade(SHEET, dict.fromkeys(TRUE, "what?"))
    assert report.score is None
    assert report.possible == 0
    assert grade(SHEET, {}).score == 0.0  # blank is blank: nothing was earned


def test_from_a_blank_cell_nothing_wrong_follows():
    answers = with_slip("scores.0.1", "-0.3")
    follows = grade(SHEET, answers)
    assert follows["exp.0.1"].kind is Kind.FOLLOWS
    blank = grade(SHEET, answers | {"sum.0": ""})
    assert blank["sum.0"].kind is Kind.BLANK
    assert blank["weights.0.0"].credit == 0.0  # it would follow, had the sum been written
    assert (
        grade(SHEET, {id: text for id, text in TRUE.items() if "sum" not in id})["weights.0.0"].credit == 1.0
    )


@pytest.mark.parametrize("answer", ["0", "1", "-1", "0.5", "0.33", "2", "7"])
def test_a_stock_answer_earns_only_what_happens_to_be_right(answer):
    report = grade(SHEET, dict.fromkeys(TRUE, answer))
    assert not {Kind.FOLLOWS} & {mark.kind for mark in report.marks}
    lucky = sum(
        abs(cell.truth - float(answer)) <= (0 if cell.exact else 10.0**-cell.decimals * 1.5)
        for cell in SHEET.asked
    )
    assert report.earned <= lucky


def test_a_row_of_zeros_is_a_stock_answer_too():
    answers = TRUE | {f"dots.0.{j}": "0" for j in range(3)} | {f"scores.0.{j}": "0" for j in range(3)}
    report = grade(SHEET, answers)
    assert [report[f"scores.0.{j}"].credit for j in range(3)] == [0.0, 0.0, 0.0]


def test_a_single_stock_number_opens_no_later_step():
    draft = Draft("A chain")
    x = draft.given("x", [3.0, 5.0, 10.0])
    draft.cell("mean", "mean", x)
    draft.cell("twice", "total", ["mean", "mean"])
    sheet = draft.sheet()
    assert grade(sheet, {"mean": "0", "twice": "0"})["twice"].credit == 0.0
    assert grade(sheet, {"mean": "7", "twice": "14"})["twice"].credit == 1.0


def test_one_number_all_over_a_sheet_is_a_stock_answer_even_where_it_would_follow():
    draft = Draft("A chain")
    x = draft.given("x", [1.0, 5.0, 10.0])
    draft.cell("mean", "mean", x)
    draft.cell("centred", "difference", ["x.0", "mean"])
    draft.cell("square", "product", ["centred", "centred"])
    report = grade(draft.sheet(), {"mean": "0.5", "centred": "0.5", "square": "0.5"})  # 1 − 0.5 = 0.5
    assert report.earned == 0.0


def test_nothing_follows_by_a_step_that_makes_no_number():
    report = grade(SHEET, TRUE | {"sum.0": "0", "weights.0.0": "5"})
    assert report["weights.0.0"].credit == 0.0  # over 0
    hidden = grade(SHEET, TRUE | {"sum.0": "-inf", "scores.1.1": "1e300", "exp.1.1": "3"})
    assert hidden["sum.0"].credit == hidden["exp.1.1"].credit == 0.0


def test_a_hidden_weight_is_exactly_0():
    sheet = attention_sheet(derive(Q, K, V, causal=True), ("masked", "weights"))
    answers = solved(sheet)
    assert answers["masked.0.1"] == "−∞"
    assert grade(sheet, answers).score == 1.0
    report = grade(sheet, answers | {"weights.0.1": "0.01", "masked.1.2": "0", "masked.2.0": "-inf"})
    assert [report[id].credit for id in ("weights.0.1", "masked.1.2", "masked.2.0")] == [0.0, 0.0, 0.0]
    assert report["masked.1.2"].mistakes == ("masked-with-0",)
    assert report["masked.2.0"].mistakes == ("wrong-triangle",)


def test_tolerance_is_said_in_words_and_is_what_is_accepted():
    weight = Cell("weights", (0, 1), 0.538776)
    assert accepted(weight) == "two decimals: 0.53 to 0.55 accepted"
    assert accepted(Cell("n", (), 5.3, decimals=0)) == "a whole number: 4 to 6 accepted"
    assert accepted(Cell("x", (), -0.0312, decimals=3)) == "three decimals: −0.032 to −0.030 accepted"
    sheet = softmax_sheet([[0.3, 0.9, -0.4]], exponentials=False)
    exact = sheet["weights.0.1"].truth
    assert round(exact, 2) == 0.55
    for text, credit in (
        ("0.53", 0),
        ("0.54", 1),
        ("0.55", 1),
        ("0.56", 1),
        ("0.57", 0),
        ("55 %", 1),
        (f"{exact}", 1),
    ):
        assert grade(sheet, {"weights.0.1": text})["weights.0.1"].credit == credit, text


def test_slips_of_the_pen_are_named():
    mixed = values_sheet([[0.75, 0.25], [0.1, 0.9]], [[4.0, 8.8], [-16.4, 1.2]])
    assert kinds(grade(mixed, solved(mixed))) == {}
    turned = grade(mixed, solved(mixed) | {"out.0.1": solved(mixed)["out.1.0"]})["out.0.1"]
    assert turned.kind is Kind.TRANSPOSED
    beside = grade(mixed, solved(mixed) | {"out.0.1": solved(mixed)["out.1.1"]})["out.0.1"]
    assert (beside.kind, "beside it: output 1, component 2" in beside.words) == (Kind.NEIGHBOUR, True)
    assert grade(mixed, {"out.0.1": "-6.9"})["out.0.1"].kind is Kind.SIGN
    weights = softmax_sheet([[0.3, 1.1, -0.4]], exponentials=False)
    assert grade(weights, {"weights.0.1": "59"})["weights.0.1"].kind is Kind.PERCENT
    assert grade(weights, {"weights.0.1": "0.59 %"})["weights.0.1"].kind is Kind.PERCENT
    assert grade(weights, {"weights.0.1": "59 %"})["weights.0.1"].kind is Kind.RIGHT


def test_a_percentage_without_its_sign_costs_one_cell():
    answers = TRUE | {f"weights.1.{j}": f"{100 * SHEET[f'weights.1.{j}'].truth:.0f}" for j in range(3)}
    report = grade(SHEET, answers)
    assert set(kinds(report).values()) <= {Kind.PERCENT, Kind.FOLLOWS}
    assert [report[f"out.1.{c}"].credit for c in range(2)] == [1.0, 1.0]


def test_a_sign_is_seen_on_the_learners_own_numbers():
    answers = with_slip("dots.0.1", "7")
    report = grade(SHEET, answers | {"scores.0.1": "-" + answers["scores.0.1"]})
    assert report["scores.0.1"].kind is Kind.SIGN


def test_how_far_off_it_is():
    assert grade(SHEET, {"out.0.0": "0.63"})["out.0.0"].words == "Too small."
    assert grade(SHEET, {"dots.0.0": "6"})["dots.0.0"].words == "Too large."
    coarse = grade(softmax_sheet([[0.37, 0.9]]), {"exp.0.1": "2.5"})["exp.0.1"]
    assert coarse.words == "Right to one decimal; two decimals are asked for."


def test_what_does_not_belong_is_refused_by_name():
    with pytest.raises(InputError, match=r"no cell 'weights\.9\.9'; the cells asked for are dots\.0\.0"):
        grade(SHEET, {"weights.9.9": "1"})
    with pytest.raises(InputError, match=r"q\.0\.0 stands on the sheet; it is not asked for"):
        grade(SHEET, {"q.0.0": "1"})
    with pytest.raises(InputError, match=r"the answer to out\.0\.0 is 0\.5; it takes the text as written"):
        grade(SHEET, {"out.0.0": 0.5})


@given(st.dictionaries(st.sampled_from(list(TRUE)), st.text("0123456789.,-e^√%/ x", max_size=8), max_size=30))
@settings(max_examples=25, deadline=None)
def test_whatever_is_written_is_graded(answers):
    report = grade(SHEET, answers)
    assert [mark.cell for mark in report.marks] == list(TRUE)
    assert all(mark.words and mark.accepted and mark.shown for mark in report.marks)
    assert 0 <= report.earned <= report.possible <= len(TRUE)
    json.dumps(report.to_dict(), allow_nan=False)


def test_a_report_is_plain_data():
    report = grade(SHEET, with_slip("dots.0.1", "7") | {"out.2.1": "x"})
    data = report.to_dict()
    assert data["schema"] == "riverhead.graded/1"
    assert data["earned"] == len(TRUE) - 2
    assert data["marks"][1]["cell"] == "dots.0.1"
    assert data["marks"][-1]["answer"]["value"] is None
    assert hash(report) == hash(grade(SHEET, with_slip("dots.0.1", "7") | {"out.2.1": "x"}))


def test_the_scene_shows_what_is_not_simply_right_and_reveals_only_if_asked():
    report = grade(SHEET, with_slip("dots.0.1", "7") | {"out.2.1": "<script>alert(1)</script>"})
    shown = render(report.scene(), "text")
    assert report.summary in " ".join(shown.split())
    assert "dot product of a on small" in shown
    assert "score of boat on a" not in shown  # right, and so not mentioned
    told = render(report.scene(reveal=False), "text")
    expected = report["out.2.1"].shown
    assert expected in shown
    assert expected not in told
    assert "<script>" not in render(report.scene(), "html")
    assert "<script>" not in str(report._repr_html_())


def test_a_large_sheet_is_graded_while_one_waits():
    # every cell is wrong, so that every mistake is tried for each
    rng = np.random.default_rng(2)
    q, k, v = rng.integers(-2, 3, (3, 2, 6, 3)).astype(float)
    sheet = attention_sheet(derive(q, k, v))
    report = grade(sheet, {cell.id: f"{100 + n}.5" for n, cell in enumerate(sheet.asked)})
    assert len(report.marks) > 300
    assert report.earned < len(report.marks) / 10


def test_minus_infinity_is_no_answer_to_a_dot_product():
    report = grade(dot_sheet([[1.0]], [[2.0]]), {"dots.0.0": "−∞"})
    assert report["dots.0.0"].kind is Kind.OFF
    assert math.isinf(report["dots.0.0"].answer.value)
    assert isinstance(SHEET, Sheet)
