"""Attention recomputed from a text: what is right is left alone, what is false is found and named."""

import math

import pytest
from attention_texts import LAYOUTS, STAGES, checked, false, problems, shift, written
from hypothesis import given, settings
from hypothesis import strategies as st

from riverhead.checking.claims import claims
from riverhead.checking.claims.claim import Truth

layouts = st.sampled_from(sorted(LAYOUTS))
SAID = "Scaled dot-product attention.\n"


@settings(max_examples=60, deadline=None)
@given(problems(), layouts)
def test_right_numbers_are_never_accused(worked, layout):
    text = written(worked, layout)
    assert false(text) == [], text


@settings(max_examples=60, deadline=None)
@given(problems(), layouts)
def test_numbers_worked_out_from_rounded_ones_are_never_accused(worked, layout):
    prints = rounded_at_every_step(worked)
    text = written(worked, layout, prints=prints)
    assert false(text) == [], text


def rounded_at_every_step(worked):
    """What a careful person prints who rounds every step and goes on from what is on the page."""
    keep = worked.decimals
    scaled = [[round(s, keep) for s in row] for row in worked.stages["scaled scores"]]
    weights = []
    for i, row in enumerate(scaled):
        exps = [0.0 if worked.causal and j > i else math.exp(s) for j, s in enumerate(row)]
        weights.append([round(e / sum(exps), keep) for e in exps])
    output = [
        [
            round(sum(w * v[c] for w, v in zip(row, worked.v, strict=True)), keep)
            for c in range(len(worked.v[0]))
        ]
        for row in weights
    ]
    found = zip(STAGES, (worked.stages["scores"], scaled, weights, output), strict=True)
    return {stage: [[f"{x + 0.0:.{keep}f}" for x in row] for row in rows] for stage, rows in found}


@settings(max_examples=60, deadline=None)
@given(
    problems(st.just(4)),
    layouts,
    st.sampled_from(STAGES[1:]),
    st.sampled_from((-9, -3, -2, 2, 4, 9)),
    st.data(),
)
def test_one_number_changed_by_two_units_is_the_one_found(worked, layout, stage, units, data):
    rows = worked.printed(stage)
    row, column = (data.draw(st.integers(0, len(axis) - 1)) for axis in (rows, rows[0]))
    rows[row][column] = planted = shift(rows[row][column], units)
    text = written(worked, layout, stages=(), prints={stage: rows})
    assert [words for words, _ in false(text)] == [planted], text


@settings(max_examples=60, deadline=None)
@given(problems(st.just(3)), layouts, st.sampled_from(STAGES), st.data())
def test_among_all_stages_only_the_changed_number_is_found(worked, layout, stage, data):
    prints = {name: worked.printed(name) for name in STAGES}
    row, column = (data.draw(st.integers(0, len(axis) - 1)) for axis in (prints[stage], prints[stage][0]))
    prints[stage][row][column] = planted = shift(
        prints[stage][row][column], data.draw(st.sampled_from((-71, 83)))
    )
    text = written(worked, layout, prints=prints)
    assert [words for words, _ in false(text)] == [planted], text


def test_a_slip_of_two_keys_names_the_weight_it_implies():
    # softmax(1/√2, 0) is 0.66976, 0.33024: with 0.6711 the outputs are 5.0 − 3·0.6711 and 7 + 6·0.6711
    text = SAID + "Q = [[1, 0]]\nK = [[1, 0], [0, 1]]\nV = [[2, 13], [5, 7]]\noutput = [[2.9867, 11.0266]]\n"
    assert false(text) == [
        ("2.9867", "implies weight 0.6711 instead of 0.6698"),
        ("11.0266", "implies weight 0.6711 instead of 0.6698"),
    ]


Q3 = "Q = [[1, 2, 0], [0, 1, 1]]\nK = [[2, 0, 1], [1, 1, 1]]\nV = [[1, 7], [3, 2]]\n"
CAUSES = {  # what is printed below Q3, each worked out with one slip; d_k is 3
    "weights = [[0.2689, 0.7311], [0.2689, 0.7311]]": "no scale: the scores are not divided by √d_k",
    "weights = [[0.4174, 0.5826], [0.4174, 0.5826]]": "the scores are divided by d_k, not by √d_k",
    "weights = [[0.6405, 0.6405], [0.3595, 0.3595]]": "softmax down the columns",
    "output = [[1.3595, 0.6405, 1.0000], [1.3595, 0.6405, 1.0000]]": "",
    "output = [[4.0000, 9.0000], [4.0000, 9.0000]]": "the plain sum of the values",
}


@pytest.mark.parametrize(("printed", "cause"), CAUSES.items())
def test_a_mistake_that_gives_every_number_is_named(printed, cause):
    found = false(SAID + Q3 + printed + "\n")
    if cause:
        assert found
        assert all(cause in words for _, words in found), found
    else:  # three outputs of two values each are of something else
        assert found == []


def test_keys_mixed_instead_of_values():
    text = SAID + "Q = [[1, 2]]\nK = [[2, 0], [1, 1]]\nV = [[5, 7], [3, 2]]\noutput = [[1.3302, 0.6698]]\n"
    assert {words for _, words in false(text)} == {"keys mixed instead of values"}


def test_no_scale_is_right_where_the_text_leaves_it_out():
    printed = Q3 + "weights = [[0.2689, 0.7311], [0.2689, 0.7311]]\n"
    assert false("For simplicity we skip the division by √d_k.\n" + printed) == []
    assert false(printed) == []
    assert len(false(SAID + printed)) == 4


def test_queries_of_another_x_are_found_and_what_follows_is_judged_by_the_right_ones():
    given = "X = [[1, 2], [3, 1]]\nW_Q = [[2, 0, 1], [1, 1, 0]]\nW_K = [[1, 0, 1], [0, 1, 1]]\n"
    assert false(SAID + given + "Q = [[4, 2, 1], [7, 1, 3]]\nK = [[1, 2, 3], [3, 1, 4]]\n") == []
    found = false(SAID + given + "Q = [[4, 2, 5], [7, 1, 3]]\n")
    assert [words for words, _ in found] == ["5"]


def test_a_carried_number_is_told_with_the_exact_one():
    text = (
        SAID + "q = (3, 1)\nk_a = (1, 2)\nk_b = (0, 1)\nscaled scores = (3.54, 0.71)\nexp = (34.47, 2.03)\n"
    )
    found = {text[one.start : one.end]: one for one in checked(text)}
    assert found["34.47"].verdict is Truth.TRUE
    assert found["34.47"].how == "carried"
    assert found["34.47"].exact == pytest.approx(math.exp(5 / math.sqrt(2)))
    assert found["2.03"].how == "rounded"


def test_results_that_may_be_of_something_else_are_left_alone():
    inputs = SAID + Q3
    assert (
        false(inputs + "## Multi-head\nAfter concatenation and W_O:\noutput = [[0.11, 0.22], [0.3, 0.4]]\n")
        == []
    )
    assert false(inputs + "W = [[0.5, -0.2], [0.1, 0.4]]\n") == []
    assert false(inputs + "output = [[0.11, 0.22, 0.1, 0.4]]\n") == []


def test_each_example_is_judged_by_its_own_inputs():
    first = "Q = [[1, 0]]\nK = [[1, 0], [0, 1]]\nV = [[2, 13], [5, 7]]\noutput = [[2.991, 11.019]]\n"
    again = "Q = [[0, 3]]\nK = [[1, 0], [0, 1]]\nV = [[2, 13], [5, 7]]\noutput = [[4.679, 7.642]]\n"
    assert false(SAID + first + again) == []
    assert [words for words, _ in false(SAID + first + again.replace("7.642", "7.654"))] == ["7.654"]


def test_a_result_told_again_is_of_the_example_it_was_of():
    first = "Q = [[1, 0]]\nK = [[1, 0], [0, 1]]\nV = [[2, 13], [5, 7]]\noutput = [[2.991, 11.019]]\n"
    again = "Q = [[0, 3]]\nK = [[1, 0], [0, 1]]\nV = [[2, 13], [5, 7]]\n"
    assert false(SAID + first + again + "output = [[2.991, 11.019]]\n") == []


def test_hidden_scores_carry_no_weight_forward():
    # 0.16 is e⁰ / (2e⁰ + 2e^0.71) = 0.1649; without rounding it is 0.1651
    given = "Q = [[0, 0], [0, 0], [0, 0], [0, 1], [0, 0]]\nK = [[0, 0], [0, 0], [0, 1], [0, 1], [0, 0]]\n"
    zeros = "[0.00, 0.00, 0.00, 0.00, 0.00]"
    scaled = f"scaled scores = [{zeros}, {zeros}, {zeros}, [0.00, 0.00, 0.71, 0.71, 0.00], {zeros}]\n"
    weights = "weights = [[1.00, 0.00, 0.00, 0.00, 0.00], [0.50, 0.50, 0.00, 0.00, 0.00], "
    weights += (
        "[0.33, 0.33, 0.33, 0.00, 0.00], [0.16, 0.16, 0.34, 0.34, 0.00], [0.20, 0.20, 0.20, 0.20, 0.20]]\n"
    )
    assert false(SAID + "The mask is causal.\n" + given + scaled + weights) == []


def test_a_zero_among_decimals_is_rounded_like_them():
    text = SAID + "q = (4, 1)\nk_a = (1, 1)\nk_b = (0, 0)\nk_c = (-1, -1)\nweights = (0.97, 0.03, 0)\n"
    [found] = checked(text)
    assert found.how == "rounded"


def test_tokens_as_columns_are_read_as_such():
    text = SAID + "Q = [[1, 0, 2], [0, 1, 1]]\nK = [[2, 1, 0], [0, 1, 3]]\nV = [[1, 5, 2], [7, 3, 0]]\n"
    q, k = ([(1, 0), (0, 1), (2, 1)], [(2, 0), (1, 1), (0, 3)])
    rows = [[math.exp(sum(a * b for a, b in zip(x, y, strict=True)) / math.sqrt(2)) for y in k] for x in q]
    weights = [[e / sum(row) for e in row] for row in rows]
    out = [
        [sum(w * x for w, x in zip(row, values, strict=True)) for row in weights]
        for values in ((1, 5, 2), (7, 3, 0))
    ]
    printed = ", ".join("[" + ", ".join(f"{x:.4f}" for x in row) + "]" for row in out)
    assert false(f"{text}output = [{printed}]\n") == []


def test_one_matrix_may_be_both_queries_and_keys() -> None:
    inputs = "Q = K = [[2, 0], [0, 1]]\nV = [[1, 5], [3, 7]]\nscaled by √2\n"
    text = inputs + "Output = [[1.11, 5.11], [2.34, 6.43]]\n"
    assert [claim.text for claim in claims(text) if claim.verdict == "false"] == ["6.43"]
