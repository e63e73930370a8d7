"""What the steps say is true: the sentences of the sources that are not quite so are said right."""

from __future__ import annotations

import re

from spoken import page

from riverhead.derivation import before_and_after, board, derive, example


def said(name: str, **changes: object) -> dict[str, str]:
    return {step.name: step.says for step in example(name).derive(**changes).steps}


def test_a_dot_product_takes_d_k_multiply_and_adds() -> None:
    assert "2 multiply-and-adds for each pair" in said("river_bank_flooded")["dots"]
    assert "4 multiply-and-adds for each pair" in said("money_bank_grows")["dots"]
    assert derive([[1.0]], [[1.0]], [[1.0]])["dots"].says.startswith(
        "Every query with every key, one multiplication"
    )


def test_the_products_for_the_whole_sentence_are_counted() -> None:
    assert said("money_bank_grows")["formula"].split(". ")[-1].startswith("Two matrix products")
    assert said("projections")["formula"].split(". ")[-1].startswith("Five matrix products")
    W_o = [[1.0], [1.0]]
    assert (
        example("projections")
        .derive(W_o=W_o)["formula"]
        .says.split(". ")[-1]
        .startswith("Six matrix products")
    )


def test_right_angles_score_0_and_keys_that_point_away_below() -> None:
    dots = said("key_pointing_away")["dots"]
    assert "right angle to the query scores 0" in dots
    assert "points away scores below 0" in dots
    assert example("key_pointing_away").derive()["dots"].values[0][0][1:] == (0, -5)


def test_a_vector_need_not_match_itself_best() -> None:
    dots = said("money_bank_grows")["dots"]
    for a, b, product in re.findall(r"\((\d), \d\)·\((\d), \d\) = (\d)", dots):
        assert 2 * int(a) * int(b) == int(product)
    assert "need not match itself best" in dots


def test_the_constant_is_unique_up_to_a_factor_and_per_head() -> None:
    assert "unique up to a constant factor" in said("river_bank_flooded")["scores"]
    assert "not of the model" in said("two_heads")["scores"]
    assert "unique" not in said("river_bank_flooded", scale=1)["scores"]
    assert "temperature 2 divides" in said("river_bank_flooded", temperature=2)["scores"]


def test_scores_are_symmetric_and_weights_are_not() -> None:
    weights = said("money_bank_grows")["weights"]
    assert "the weights are not" in weights
    pair = re.search(r"(\w+) → (\w+) (0\.\d+), \2 → \1 (0\.\d+)\.$", weights)
    assert sorted(pair.groups()[2:]) == ["0.2119", "0.2741"]
    assert "symmetric" not in said("river_bank_flooded")["weights"]  # its scores are not symmetric
    assert "symmetric" not in said("money_bank_grows", causal=True)["weights"]


def test_every_pair_rises_by_averaging() -> None:
    assert "Every pair rises: averages" in page(before_and_after(example("money bank grows").derive()))
    assert "Every pair rises" in page(board(example("money bank grows").derive()))


def test_nothing_says_what_needs_correcting() -> None:
    pages = "\n".join(
        page(board(example(name).derive(), full=True)) for name in ("river_bank_flooded", "money_bank_grows")
    )
    for wrong in (
        "one multiply-and-add",
        "three matrix",
        "maximally similar",
        "the unique constant",
        "symmetrically",
        "decisively",
    ):
        assert wrong not in pages.lower()
