"""What a sheet's numbers hide is a blur; what no numbers on it would tell is its own way of asking."""

from __future__ import annotations

import numpy as np
import pytest

from riverhead.checking.answers import (
    Blur,
    attention_sheet,
    blurs,
    dot_sheet,
    grade,
    masked_sheet,
    mistaken,
    softmax_sheet,
    solved,
    values_sheet,
)
from riverhead.core import softmax
from riverhead.derivation import derive
from riverhead.errors import ShapeError


def pairs(sheet):
    return {(blur.mistake, blur.apart_from) for blur in blurs(sheet)}


def test_over_one_row_the_sum_of_the_grid_is_no_mistake_and_over_two_it_is():
    one, two = softmax_sheet([[1.5, -0.5, 0.5]]), softmax_sheet([[1.5, -0.5, 0.5], [0.5, 1.0, -1.0]])
    assert blurs(one) == ()
    assert grade(two, mistaken(two, "softmax-over-all")).mistakes == {"softmax-over-all": 8}
    assert ("softmax-over-all", "") not in pairs(two)


def test_the_numbers_at_hand_hide_what_others_would_show():
    assert Blur("averaged") in blurs(softmax_sheet([[1.0, 1.0, 1.0]]))
    # the largest score is the token's own: all weight on the largest is all weight on itself
    own = pairs(softmax_sheet([[0.5, 1.5]]))
    assert {("hardmax", "own-key-only"), ("own-key-only", "hardmax")} <= own
    assert ("hardmax", "own-key-only") not in pairs(softmax_sheet([[1.5, 0.5]]))
    assert ("minus-lost", "") in pairs(dot_sheet([[2.0, 1.0]], [[2.0, 1.0], [1.0, 3.0]]))
    assert ("minus-lost", "") not in pairs(dot_sheet([[2.0, -1.0]], [[2.0, 1.0], [1.0, 3.0]]))


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_what_only_these_numbers_hide_is_a_blur_however_few_they_are(n):
    # a chance that comes once in n with any numbers, for a row and for its values
    row = softmax_sheet([[0.5 * j for j in range(n)]])
    assert ("hardmax", "own-key-only") in pairs(row)
    mixed = values_sheet([[0.5, *[0.5 / (n - 1)] * (n - 1)]], [[j * j - 1.5 * j] for j in range(n)])
    assert ("top-value-only", "own-key-only") in pairs(mixed)


def test_two_mistakes_that_are_one_on_a_sheet_are_no_blur_of_it():
    asked = attention_sheet(
        derive([[1.0, -1.0], [2.0, 0.5]], [[1.0, 0.5], [-1.0, 1.5]], [[2.0], [-3.0]]), ("out",)
    )
    assert grade(asked, mistaken(asked, "not-normalised")).mistakes.keys() == {
        "not-normalised",
        "values-by-exponentials",
    }
    assert ("not-normalised", "values-by-exponentials") not in pairs(asked)


def test_a_vector_meets_only_one_as_long():
    # of K's columns (four keys) and queries of two components no dot product can be made
    q, k = [[1.0, -2.0]], [[2.0, 1.0], [1.0, 3.0], [-1.0, 2.0], [3.0, 2.0]]
    assert "keys-not-transposed" not in {name for pair in pairs(dot_sheet(q, k)) for name in pair}
    with pytest.raises(ValueError, match="changes nothing"):
        mistaken(dot_sheet(q, k), "keys-not-transposed")


def test_what_would_be_written_is_compared_not_what_would_be_carried():
    # e^−0.5 and e^−1 sum to 0.97: not divided by it, the first is written as 0.61, within a hundredth of 0.62
    close = softmax_sheet([[-0.5, -1.0]])
    assert ("not-normalised", "") in pairs(close)
    assert grade(close, mistaken_or_right(close)).score == 1.0


def mistaken_or_right(sheet):
    exps = {cell.at: f"{cell.truth:.2f}" for cell in sheet.asked if cell.grid == "exp"}
    return solved(sheet) | {f"weights.0.{j}": exps[0, j] for j in range(2)}


def test_a_masked_row_is_numpys():
    scores = np.array([[0.5, 1.0, -2.0], [1.5, 0.5, 2.0], [1.0, -1.0, 0.5]])
    seen = np.tril(np.ones((3, 3), bool))
    sheet = masked_sheet(
        scores.tolist(), seen.tolist(), query=1, asking=["a", "b", "c"], answering=["a", "b", "c"]
    )
    weights = softmax(np.where(seen, scores, -np.inf))
    assert [cell.at[0] for cell in sheet.asked] == [1] * 10
    for i in range(3):
        for j in range(3):
            assert sheet[f"weights.{i}.{j}"].truth == pytest.approx(weights[i, j], abs=1e-15)
    assert sheet["masked.1.2"].name == "masked score of b on c"
    with pytest.raises(ShapeError, match="T_k"):
        masked_sheet(scores.tolist(), [[True, False]] * 3, query=0)


def test_names_of_tokens_stand_in_the_cells_and_have_to_be_as_many():
    assert values_sheet([[0.5, 0.5]], [[1.0], [2.0]], asking=["bank"]).asked[0].name == "bank′, component 1"
    assert dot_sheet([[1.0]], [[2.0]]).asked[0].name == "dot product of 0 on 0"
    with pytest.raises(ShapeError, match="tokens"):
        softmax_sheet([[1.0, 2.0]], asking=["bank"], answering=["sea"])
