"""The known examples give the numbers of their sources, each derived anew."""

from __future__ import annotations

import golden
import numpy as np
import pytest
from golden import HALF

from riverhead.derivation import derive, example, examples, sweep


@pytest.mark.parametrize(
    ("name", "changes", "expected"),
    [
        ("river_bank_flooded", {}, golden.RIVER_BANK_FLOODED),
        ("river_bank_flooded", {"causal": True}, golden.CAUSAL),
        ("projections", {}, golden.RIVER_BANK_FLOODED),
        ("money_bank_grows", {}, golden.MONEY_BANK_GROWS),
        ("river_bank_flows", {}, golden.RIVER_BANK_FLOWS),
    ],
)
def test_every_cell_to_six_digits(name: str, changes: dict[str, bool], expected: dict[str, list]) -> None:
    derivation = example(name).derive(**changes)
    for step, rows in expected.items():
        np.testing.assert_allclose(derivation[step].array[0], rows, rtol=0, atol=HALF)


def test_the_bank_row_from_score_to_weight() -> None:
    derivation = example("The river bank flooded").derive()
    for step, row in golden.BANK.items():
        np.testing.assert_allclose(derivation[step].array[0][2], row, rtol=0, atol=HALF)
    unscaled = example("The river bank flooded").derive(scale=1)
    np.testing.assert_allclose(unscaled["weights"].array[0][2], golden.BANK_UNSCALED, rtol=0, atol=HALF)


def test_a_second_head_needs_flooded_for_grammar() -> None:
    derivation = example("two_heads").derive()
    np.testing.assert_allclose(derivation["weights"].array[0][2], golden.BANK["weights"], rtol=0, atol=HALF)
    np.testing.assert_allclose(derivation["weights"].array[1][2], golden.BANK_SECOND_HEAD, rtol=0, atol=HALF)
    merged = derivation["merged"].array[0][2]  # head 1 hands over (noun, verb): two nouns, and the verb
    np.testing.assert_allclose(merged, [0.604269, 0.265654, 0.100408, 0.849389], rtol=0, atol=2e-6)
    np.testing.assert_allclose(derivation["y"].array[0][2][0], 0.604269 + 0.849389, rtol=0, atol=2e-6)


@pytest.mark.parametrize(("temperature", "answer"), [(1, 1.8478), (0.1, 1.0002), (0.01, 1.0)])
def test_the_soft_dictionary_turns_hard(temperature: float, answer: float) -> None:
    out = example("soft_dictionary").derive(temperature=temperature)["out"].values[0][0][0]
    assert out == pytest.approx(answer, abs=0.5e-4)


def test_a_sweep_shows_each_temperature_once() -> None:
    table = sweep(example("soft_dictionary").derive(), [1, 0.1], digits=4).parts[0]
    assert [[str(cell) for cell in row] for row in table.rows] == [
        ["1", "0.5761", "0.2119", "0.2119", "1.8478"],
        ["0.1", "0.9999", "0.0000", "0.0000", "1.0002"],
    ]


@pytest.mark.parametrize(
    ("temperatures", "last"),
    [([1, 0.5], "1.426"), ([1, 0.1, 0.01], "1.0000"), ([0.07, 0.01], "1.000000"), ([0.01, 0.001], "1.000")],
)
def test_a_sweep_has_the_decimals_its_rows_need(temperatures: list[float], last: str) -> None:
    rows = sweep(example("soft_dictionary").derive(), temperatures).parts[0].rows
    assert str(rows[-1][-1]) == last


def test_dots_measure_likeness_and_a_key_that_points_away_scores_below_0() -> None:
    assert example("dot_similarity").derive()["dots"].values == (((26.0, 14.0),),)
    assert example("key_pointing_away").derive()["dots"].values == (((5.0, 0.0, -5.0),),)


@pytest.mark.parametrize(
    ("scores", "softmax"),
    [
        ([1.0, 1.2, 0.9], [0.32, 0.391, 0.289]),
        ([10, 12, 9], [0.114, 0.844, 0.042]),
        ([8, 0], [0.999665, 0.000335]),
    ],
)
def test_large_scores_saturate(scores: list[float], softmax: list[float]) -> None:
    keys = [[score] for score in scores]
    weights = derive([[1]], keys, keys, tokens=["q"], tokens_k=list("abc"[: len(keys)]))["weights"].array[0][
        0
    ]
    np.testing.assert_allclose(weights, softmax, rtol=0, atol=0.0005 + 1e-9)


def test_every_example_is_found_by_its_name_and_says_where_it_is_from() -> None:
    assert len(examples()) >= 6
    for known in examples():
        assert example(known.name) is known
        assert known.source
        assert known.derive()


@pytest.mark.parametrize(
    "sentence", ["the river bank flooded.", "  The  River bank FLOODED ", "The river bank flooded"]
)
def test_a_sentence_is_found_whatever_its_case_spaces_and_period(sentence: str) -> None:
    assert example(sentence) is example("river_bank_flooded")


@pytest.mark.parametrize("sentence", ["", " ", ".", "The river bank", "bank"])
def test_another_sentence_is_not(sentence: str) -> None:
    assert example(sentence) is None
