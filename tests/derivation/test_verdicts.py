"""Numbers printed elsewhere, judged by the derivation's own steps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spoken import page

from riverhead.derivation import board, derive, example
from riverhead.derivation.derivation import derived
from riverhead.derivation.given import Printed, PrintedRow
from riverhead.derivation.given import given as checked
from riverhead.errors import InputError
from riverhead.numbers import Rounding, Verdict, fixed

BOARD = {"scores": ".2f", "exp": ".3g", "sum": ".3g", "weights": ".2f"}


@pytest.mark.parametrize("digits", [BOARD, None], ids=["the board's digits", "from the text"])
@pytest.mark.parametrize(
    ("step", "j", "printed", "verdict"),
    [
        ("out", 0, "0.604", "rounded"),
        ("out", 0, "0.60", "rounded"),
        ("out", 0, "0.61", "carried"),  # 0.54·1 + 0.13·0.5 = 0.605
        ("out", 0, "0.62", "false"),
        ("out", 0, "0.59", "false"),
        ("exp", 2, "8.34", "rounded"),
        ("exp", 2, "8.33", "carried"),  # e^2.12
        ("exp", 2, "8.32", "false"),
        ("exp", 2, "8.35", "false"),
        ("exp", 1, "16.9", "rounded"),
        ("exp", 1, "16.5", "false"),  # from a score of 2.8, which nobody writes beside 16.9
        ("sum", 0, "31.4", "rounded"),
        ("weights", 1, "54%", "rounded"),
        ("weights", 1, "0.64", "false"),  # without the scale
        ("weights", None, "1.000", "exact"),  # of 0.065 + 0.539 + 0.266 + 0.131
        ("dots", 1, "4", "exact"),
        ("dots", 1, "5", "false"),
    ],
)
def test_the_boards_slips_are_carried_and_nothing_is_accused_that_rounding_explains(
    step: str, j: int | None, printed: str, verdict: str, digits: dict[str, str] | None
) -> None:
    derivation = example("The river bank flooded").derive()
    assert derivation.judge(step, 2, j, printed, digits=digits) == Verdict(verdict)


def test_what_the_sources_print_is_never_false() -> None:
    for name in ("river_bank_flooded", "money_bank_grows"):
        derivation = example(name).derive()
        printed = derivation.given.printed
        found = [
            (row.step, text, derivation.judge(row.step, row.row, n, text, digits=dict(printed.digits)).value)
            for row in printed.rows
            for n, text in enumerate(row.texts)
        ]
        slips = [(step, text) for step, text, verdict in found if verdict == "carried"]
        assert slips == ([("exp", "8.33"), ("out", "0.61")] if name == "river_bank_flooded" else [])
        assert "false" not in {verdict for *_, verdict in found}


vectors = st.lists(st.lists(st.floats(-3, 3), min_size=2, max_size=2), min_size=3, max_size=3)


@settings(max_examples=60)
@given(vectors, vectors, vectors, st.integers(1, 3), st.booleans(), st.data())
def test_a_reader_who_rounds_on_the_way_is_never_accused(q, k, v, digits: int, causal: bool, data) -> None:
    """Somebody works a row by hand and rounds some of the numbers: that may be carried, it is not false."""
    derivation = derive(q, k, v, causal=causal, W_o=[[1.0, 0.5], [-0.5, 2.0]])
    rounding = Rounding(digits)

    def some(values: np.ndarray) -> np.ndarray:
        keep = data.draw(st.lists(st.booleans(), min_size=values.size, max_size=values.size))
        return np.array(
            [rounding.nearest(float(x)) if k else float(x) for x, k in zip(values, keep, strict=True)]
        )

    seen = 3 if not causal else 2
    scores = some(some(derivation["dots"].array[0][1][:seen]) / np.sqrt(2))
    exps = some(np.exp(scores))
    weights = some(exps / some(np.array([exps.sum()]))[0]) if exps.sum() >= 0.5 else None
    if weights is None or rounding.nearest(exps.sum()) == 0:
        return
    out = some(weights @ np.array(v)[:seen])
    y = out @ np.array([[1.0, 0.5], [-0.5, 2.0]])
    rounds = dict.fromkeys(("dots", "scores", "masked", "exp", "sum", "weights", "out"), rounding)
    for step, found in (("exp", exps), ("weights", weights), ("out", out), ("y", y)):
        printed = fixed(float(found[1]), 9).text  # far more digits than were carried
        assert derivation.judge(step, 1, 1, printed, digits=rounds) != Verdict.FALSE, step


def test_a_head_is_judged_by_its_own_keys() -> None:
    derivation = example("two_heads").derive()
    assert derivation.judge("weights", 2, 3, "0.849", head=1) == Verdict.ROUNDED
    assert derivation.judge("weights", 2, 3, "0.849", head=0) == Verdict.FALSE
    assert derivation.judge("merged", 2, 3, "0.849") == Verdict.ROUNDED


def test_query_heads_are_judged_by_the_kv_head_they_share() -> None:
    q, k = [[[1.0]]] * 4, [[[3.0]], [[5.0]]]
    derivation = derive(q, k, k)
    assert [derivation.judge("dots", 0, 0, "5.004", head, {"k": ".2f"}).value for head in range(4)] == [
        "false"
    ] * 4
    assert [derivation.judge("dots", 0, 0, str(n), h).value for h, n in enumerate((3, 3, 5, 5))] == [
        "exact"
    ] * 4
    near = derive(q, [[[3.0]], [[5.004]]], k)
    assert near.judge("dots", 0, 0, "5.000", 3, {"dots": ".2f"}) == Verdict.CARRIED
    assert near.judge("out", 0, 0, "5.000", 3, {"weights": ".2f"}) == Verdict.EXACT


def test_a_row_that_was_moved_is_judged_as_it_was_moved() -> None:
    derivation = derive([[1.0]], [[1000.004], [1001.0]], [[0.0], [1.0]], tokens=["q"], tokens_k=["a", "b"])
    assert derivation.judge("exp", 0, 0, "0.369") == Verdict.ROUNDED  # e^(1000.004 − 1001)
    assert derivation.judge("exp", 0, 0, "0.3679", digits={"scores": ".2f"}) == Verdict.CARRIED  # e^−1


def test_projections_are_carried_through_too() -> None:
    W = [[1 / 3, 2 / 3]]
    derivation = derive(x=[[1.0]], W_q=W, W_k=W, W_v=W)
    exact = 5 / 9  # 0.555…; with q = (0.33, 0.67) and k = (0.33, 0.67) it is 0.5578
    assert derivation["dots"].values[0][0][0] == pytest.approx(exact)
    assert derivation.judge("dots", 0, 0, "0.5578", digits={"q": ".2f", "k": ".2f"}) == Verdict.CARRIED
    assert derivation.judge("dots", 0, 0, "0.5578", digits={"q": ".3f", "k": ".3f"}) == Verdict.FALSE


def test_the_board_says_what_is_false_too() -> None:
    known = example("The river bank flooded")
    digits = known.given.printed.digits
    printed = Printed("A text", digits, (PrintedRow("weights", 2, ("0.065", "0.639", "0.266", "0.131")),))
    text = page(board(derived(checked(known.given.raw | {"printed": printed}))))
    assert "A text: 0.639 is 0.539 (no rounding explains it)" in text


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (("out", 2, 0, "water"), "not a printed number"),
        (("out", 9, 0, "1"), "i is 9"),
        (("outs", 2, 0, "1"), "no step 'outs'"),
        (("tokens", 0, 0, "1"), "no numbers"),
    ],
)
def test_what_cannot_be_judged_is_refused(given: tuple, says: str) -> None:
    derivation = example("The river bank flooded").derive()
    with pytest.raises(InputError, match=says):
        derivation.judge(*given)
    with pytest.raises(InputError, match="digits names 'softmax'"):
        derivation.judge("out", 0, 0, "1", digits={"softmax": ".2f"})
