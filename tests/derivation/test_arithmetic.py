"""The arithmetic of any cell: what it says, and that it is true of every cell."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spoken import words

from riverhead.derivation import Derivation, derive, example
from riverhead.errors import InputError
from riverhead.scene import Row


@pytest.mark.parametrize(
    ("name", "cell", "says"),
    [
        ("river_bank_flooded", ("q", 2, 0), "q_bank = (2, 1)"),
        ("river_bank_flooded", ("dots", 2, 1), "q_bank·k_river = 2·2 + 1·0 = 4"),
        ("river_bank_flooded", ("scores", 2, 1), "4 ÷ √2 = 2.828"),
        ("river_bank_flooded", ("exp", 2, 1), "e^2.828 = 16.92"),
        ("river_bank_flooded", ("sum", 2, 0), "2.028 + 16.92 + 8.342 + 4.113 = 31.40"),
        ("river_bank_flooded", ("weights", 2, 1), "16.92 ÷ 31.40 = 0.539"),
        ("river_bank_flooded", ("out", 2, 0), "0.065·0 + 0.539·1 + 0.266·0 + 0.131·0.5 = 0.604"),
        ("projections", ("x", 2, 0), "x_bank = (0, 0, 1, 0)"),
        ("projections", ("q", 2, 0), "q_(bank, 1) = 0·1 + 0·1 + 1·2 + 0·0 = 2"),
        ("projections", ("v", 3, 0), "v_(flooded, 1) = 0·0 + 0·1 + 0·0 + 1·0.5 = 0.5"),
        ("key_pointing_away", ("dots", 0, 1), "q_query·k_right angle = 2·(−1) + 1·2 = 0"),
        ("two_heads", ("merged", 2, 3), "head 1: out_(bank, 2) = 0.849"),
        ("two_heads", ("y", 2, 0), "y_(bank, 1) = 0.604·1 + 0.266·0 + 0.100·0 + 0.849·1 = 1.454"),
    ],
)
def test_a_cell_says_how_its_number_is_made(name: str, cell: tuple[str, int, int], says: str) -> None:
    assert words(example(name).derive().arithmetic(*cell)) == says


def test_a_hidden_score_goes_to_minus_infinity_and_its_weight_to_exactly_0() -> None:
    derivation = example("The river bank flooded").derive(causal=True)
    assert words(derivation.arithmetic("masked", 2, 3)) == "1.414 → −∞"
    assert words(derivation.arithmetic("masked", 2, 1)) == "2.828"
    assert words(derivation.arithmetic("exp", 2, 3)) == "e^−∞ = 0"
    assert words(derivation.arithmetic("weights", 2, 3)) == "0 ÷ 27.29 = 0"
    nothing = derive([[1.0]], [[1.0]], [[1.0]], mask=[[False]])
    assert words(nothing.arithmetic("weights", 0, 0)) == "0"


def test_a_scale_and_a_temperature_of_ones_own_are_said() -> None:
    river = example("The river bank flooded")
    assert words(river.derive(scale=1).arithmetic("scores", 2, 1)) == "4 × 1 = 4"
    assert words(river.derive(scale=0.25).arithmetic("scores", 2, 1)) == "4 × 0.25 = 1"
    assert words(river.derive(temperature=0.5).arithmetic("scores", 2, 1)) == "4 ÷ √2 ÷ 0.5 = 5.657"


def test_a_row_that_would_overflow_is_moved_and_says_so() -> None:
    derivation = derive([[1.0]], [[1000.0], [1001.0]], [[0.0], [1.0]], tokens=["q"], tokens_k=["a", "b"])
    assert words(derivation.arithmetic("exp", 0, 0)) == "e^(1000 − 1001) = 0.3679"
    assert "overflow" in derivation["exp"].says


def test_long_sums_show_first_terms_their_count_and_the_total_and_every_term_on_request() -> None:
    k = np.arange(1.0, 65.0)[None]
    derivation = derive(np.ones((1, 64)), k, k, tokens=["a"], tokens_k=["b"])
    assert words(derivation.arithmetic("dots", 0, 0, terms=2)) == "q_a·k_b = 1·1 + 1·2 + … 64 terms = 2080"
    assert words(derivation.arithmetic("dots", 0, 0)).count("·") == 9
    every = words(derivation.arithmetic("dots", 0, 0, terms=None))
    assert every == f"q_a·k_b = {' + '.join(f'1·{n}' for n in range(1, 65))} = 2080"
    assert words(derivation.arithmetic("k", 0, 0, terms=3)) == "k_b = (1, 2, 3, … 64 numbers)"
    assert words(derive(k.T, k.T, k.T).arithmetic("sum", 0, 0, terms=2)).count("+") == 2


@pytest.mark.parametrize("digits", [0, 1, 6, 15])
def test_digits_are_kept_by_every_number(digits: int) -> None:
    shown = words(example("The river bank flooded").derive().arithmetic("weights", 2, 1, digits=digits))
    assert len(shown.rpartition("= ")[2].partition(".")[2]) == digits


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        (("dots", 4, 0), "i is 4; step 'dots' has i from 0 to 3"),
        (("dots", 0, -1), "j is -1; step 'dots' has j from 0 to 3"),
        (("dots", 0, 0, 1), "head is 1"),
        (("formula", 0, 0), "has no numbers"),
        (("softmax", 0, 0), "no step 'softmax' here; the steps are tokens, q"),
    ],
)
def test_a_cell_that_is_not_there_is_refused(cell: tuple, says: str) -> None:
    with pytest.raises(InputError, match=re.escape(says)):
        example("The river bank flooded").derive().arithmetic(*cell)
    with pytest.raises(InputError, match="terms is 0"):
        example("The river bank flooded").derive().arithmetic("dots", 0, 0, terms=0)


small = st.integers(-9, 9).map(float)
TRUE = {"−": "-", "·": "*", "÷": "/", "×": "*", "√": "sqrt", "∞": "inf"}


def value(text: str) -> float:
    """Work a line of arithmetic out, as a reader would."""
    text = re.sub(r"√(\d+)", r"sqrt(\1)", re.sub("[−·÷×∞]", lambda m: TRUE[m[0]], text))
    text = re.sub(r"^e(\^|(?=[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]))(.*)$", lambda m: f"exp({m[2].translate(RAISED)})", text)
    return float(eval(text, {"sqrt": math.sqrt, "exp": math.exp, "inf": math.inf}))  # noqa: S307


RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")


@settings(max_examples=30)
@given(st.data(), st.integers(1, 3), st.integers(1, 2), st.booleans())
def test_every_cell_of_every_step_is_true_of_its_own_numbers(data, T: int, heads: int, causal: bool) -> None:
    def draw(*shape: int):
        flat = data.draw(st.lists(small, min_size=math.prod(shape), max_size=math.prod(shape)))
        return np.array(flat).reshape(shape)

    derivation = derive(
        x=draw(T, 2), W_q=draw(2, heads * 2) / 8, W_k=draw(2, heads * 2) / 8, W_v=draw(2, heads * 3),
        W_o=draw(heads * 3, 2), n_heads=heads, causal=causal,
    )  # fmt: skip
    for step in derivation.steps:
        for head, i, j in np.ndindex(step.array.shape) if step.values else ():
            _check(derivation, step.name, int(i), int(j), int(head))


def _check(derivation: Derivation, step: str, i: int, j: int, head: int) -> None:
    how = derivation.arithmetic(step, i, j, head, terms=None, digits=12)
    assert isinstance(how, Row)
    parts = re.split(" = |→", words(how).replace(f"head {j // 3}: ", ""))
    exact = derivation[step].values[head][i][j]
    if step in ("x", "merged", "masked"):
        return
    assert value(parts[-1]) == pytest.approx(exact, rel=1e-9, abs=1e-9)
    assert value(parts[-2]) == pytest.approx(exact, rel=1e-8, abs=1e-8)
