"""Questions about numbers: the cell that is meant, its arithmetic, and what else would make of it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riverhead.derivation import derive, example
from riverhead.learning.tutor.asking import asked
from riverhead.learning.tutor.at_hand import AtHand, of_sentence
from riverhead.learning.tutor.cells import which
from riverhead.learning.tutor.numbers import answer
from riverhead.scene import Scene, Table

RIVER = of_sentence()
TOKENS = ["cat", "dog", "hen"]


def said(question: str, at_hand: AtHand = RIVER) -> str:
    return str(Scene("", answer(question, at_hand)))


@pytest.mark.parametrize(
    ("question", "begins"),
    [
        ("Why is the weight on river 0.54?", "0.54 is the weight of bank on river: 0.538776, rounded."),
        ("why 54 % for river?", "54 % is the weight of bank on river: 0.538776, rounded."),
        ("how do I get 0.61", "0.61 is component 1 of bank′, worked from rounded numbers; exactly it is 0.6"),
        ("where does 2.83 come from", "2.83 is the score of bank on river: 2.828427, rounded."),
        ("is the weight on river 0.7?", "It is not 0.7: the weight of bank on river is 0.538776."),
        ("what is the dot product of bank and river", "The dot product of bank with river is 4."),
        ("weight of flooded on The", "The weight of flooded on The is 0.334881."),
        ("the weight that 'the' gets", "The weight of bank on The is 0.064585."),
        ("how much does flooded listen to river", "The weight of flooded on river is 0.165119."),
        ("weight of bank on money", "'money' is no word of the sentence at hand: The river bank flooded."),
        ("what is the sum of bank's row", "The sum of the exponentials in bank’s row is 31.402339."),
        ("weight on river without scaling", "The weight of bank on river is 0.538776; then it is 0.643914."),
        ("the weight on flooded if causal", "The weight of bank on flooded is 0.130985; then it is 0."),
        ("softmax of 2 and 1?", "e to the power of each score, each over their sum: the softmax of 2, 1."),
        ("what is (4, 2)·(6, 1)", "q_a·k_b = 4·6 + 2·1 = 26"),
        ("for d_k = 64, what do we divide by?", "√64 = 8: by it the dot products of a head this wide"),
        ("why 0,54 for river?", "0,54 is the weight of bank on river: 0.538776, rounded."),
        ("what's e^2.12", "e^2.12 = 8.331137"),
    ],
)  # fmt: skip
def test_a_question_about_a_number_is_answered_by_it(question: str, begins: str) -> None:
    assert " ".join(said(question).split()).startswith(begins)


def test_a_number_is_followed_back_to_the_vectors() -> None:
    lines = [line.strip() for line in said("why is the weight on river 0.54?").splitlines()]
    for step in (
        "16.92 ÷ 31.40 = 0.539",
        "e^2.828 = 16.92",
        "4 ÷ √2 = 2.828",
        "q_bank·k_river = 2·2 + 1·0 = 4",
    ):
        assert step in lines


@pytest.mark.parametrize(
    "question",
    ["why 12 layers?", "what is a head", "why do we divide", "", "?", "0.9999", "river", "what if?"],
)
def test_what_asks_for_no_number_is_left_to_the_lessons(question: str) -> None:
    assert answer(question, RIVER) == ()


vectors = st.lists(st.lists(st.integers(-3, 3), min_size=2, max_size=2), min_size=3, max_size=3)


@settings(max_examples=30, deadline=None)
@given(vectors, vectors, st.integers(0, 2), st.integers(0, 2))
def test_any_weight_is_found_by_its_words_and_its_print(q: list, k: list, i: int, j: int) -> None:
    worked = derive(q, k, [[1, 0], [0, 1], [1, 1]], tokens=TOKENS)
    at_hand = AtHand("cat dog hen", worked)
    weights = np.exp(np.array(q) @ np.array(k).T / math.sqrt(2))
    weights /= weights.sum(axis=1, keepdims=True)
    question = f"why is {TOKENS[i]}'s weight on {TOKENS[j]} {weights[i, j]:.3f}?"
    (found,) = which(asked(question, at_hand), at_hand)
    assert (found.step, found.i, found.j) == (
        "weights",
        i,
        j,
    ) or i == j  # "cat's weight on cat" names one word


def test_what_would_change_a_weight_is_what_numpy_makes_of_it() -> None:
    (table,) = (part for part in answer("weight of bank on river", RIVER) if isinstance(part, Table))
    scores = np.array([1, 4, 3, 2]) / math.sqrt(2)

    def weight(change: np.ndarray) -> float:
        row = np.exp(scores + change)
        return row[1] / row.sum()

    expected = [weight(np.eye(4)[1]), weight(-np.eye(4)[1]), weight(np.eye(4)[2]), None, weight(0 * scores)]
    without = np.exp(np.delete(scores, 2))
    expected[3] = without[1] / without.sum()
    raw = np.exp([1, 4, 3, 2])
    expected.append(raw[1] / raw.sum())
    assert [row[1].value for row in table.rows] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    "question",
    [
        "9" * 3000, "((((" * 500, "e^" * 900 + "2", "√" * 2000, "1,2," * 900, "0.54 " * 700, "weight " * 500,
        "softmax of 1e999 and 2", "softmax of " + "1, " * 40 + "2", "10^10^10^10", "(1,2)·(1,2,3)",
        "\x1b[31m 0.54 \x00",
        "weight on \u202eriver\u202c 0.54", "(9999999999,1)·(9999999999,1)", "what is 1/0", "d_k = 0 divide",
    ],
)  # fmt: skip
def test_hostile_questions_get_an_answer_or_none(question: str) -> None:
    answer(question, RIVER)


def test_a_sentence_of_ones_own() -> None:
    money = example("money bank grows")
    assert "0.4519 is the weight of bank on bank" in said(
        "why is bank's weight on bank 0.4519", AtHand("", money.derive(), money.focus)
    )
