"""One wide head stays above its bound whatever it is set to; narrow ones set by hand or trained do not."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest

from riverhead.experiments import heads
from riverhead.experiments.heads import CARRIED, HELD, LOST, PLACE, TENTH, WANTED, WIDTH, Setup, predict, run
from riverhead.experiments.one_query import last_token_asks
from riverhead.experiments.training import squared_error
from riverhead.render import render

SMALL = Setup(n_heads=(1, 2), n_seeds=2, n_steps=250, n_tested=512)
SHARP = 1000.0  # times a gap of at least 0.49 / √32 between the best key and the next: e^−80 is 0 beside 1


def silent(fraction: float, doing: str) -> None:
    pass


def untrained(n_heads: tuple[int, ...], seed: int = 0):
    setup = Setup(n_heads, n_seeds=1, n_steps=1, n_tested=64)
    return run(predict(setup), setup, seed, silent)


def by_hand(n_heads: int, n_back: int) -> dict[str, np.ndarray]:
    """The first ``n_back`` heads copy from the token before, the others from the marked one, a slice each."""
    d = WIDTH // n_heads
    W = {name: np.zeros((WIDTH, WIDTH)) for name in ("W_q", "W_k", "W_v", "W_o")}
    places = heads.sinusoidal(heads.LENGTH, PLACE, base=heads.BASE)
    copied = [0, 0]
    for h in range(n_heads):
        kind, first = int(h >= n_back), h * d
        place, mark = slice(CARRIED, CARRIED + PLACE), CARRIED + PLACE
        asks_for = places[-2] if kind == 0 else np.array([1.0])
        W["W_q"][place, first : first + len(asks_for)] = np.outer(places[-1], SHARP * asks_for)
        keys = np.arange(CARRIED, CARRIED + PLACE) if kind == 0 else np.array([mark])
        W["W_k"][keys, first + np.arange(len(keys))] = 1
        n = min(d, CARRIED - copied[kind])
        numbers = copied[kind] + np.arange(n)
        W["W_v"][numbers, first + np.arange(n)] = 1
        W["W_o"][first + np.arange(n), kind * CARRIED + numbers] = 1
        copied[kind] += n
    return W


@pytest.mark.parametrize("seed", [0, 101, 202, 303])
def test_what_is_predicted_is_measured(seed):
    result = run(predict(SMALL), SMALL, seed, silent)
    assert result.agrees, result.verdict
    for claim, n in zip(result.claims[1:], SMALL.n_heads, strict=True):  # of the best seed
        assert claim.measured == min(each["loss"] for each in result.data["runs"] if each["n_heads"] == n)
    for each in result.data["runs"]:
        looks_back = [row[-2] > row[each["marked"]] for row in each["weights"]]
        assert sum(looks_back) == each["looking_back"]
        if each["loss"] < TENTH:  # then every head has found one of the two
            assert min(max(row[-2], row[each["marked"]]) for row in each["weights"]) > 0.5


@pytest.mark.parametrize("sharpness", [0.0, 1.0, 30.0])
def test_no_row_of_weights_and_no_matrix_gets_one_head_below_its_bound(sharpness):
    n = 4096
    x, wanted, _ = heads._sequences(np.random.default_rng(7), 2 * n)
    # weights that depend on everything a token has
    scores = sharpness * np.tanh(x @ np.random.default_rng(8).normal(size=WIDTH))
    weights = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    mixed = np.einsum("nt,ntd->nd", weights, x)
    assert np.linalg.matrix_rank(mixed) <= HELD
    best = np.linalg.lstsq(mixed[:n], wanted[:n], rcond=None)[
        0
    ]  # in place of W_v W_o; the bound holds on others
    low = LOST / WANTED * (1 - 5 * math.sqrt(2 / (n * LOST)))
    assert squared_error(mixed[n:] @ best, wanted[n:])[0] >= low


@pytest.mark.parametrize(
    ("n_heads", "n_back"), [(1, 0), (1, 1), (2, 0), (2, 1), (4, 1), (4, 2), (8, 3), (8, 4), (8, 8)]
)
def test_heads_set_by_hand_lose_what_no_head_copies(n_heads, n_back):
    n = 2048
    x, wanted, _ = heads._sequences(np.random.default_rng(9), n)
    loss, _ = squared_error(last_token_asks(x, by_hand(n_heads, n_back), n_heads)[0].y, wanted)
    lost = abs(n_heads - 2 * n_back) / (2 * n_heads)
    # a mean of n·lost·WANTED squares of normal numbers; where nothing is lost, what weights of e^−80 leave
    error = math.sqrt(2 / (n * lost * WANTED)) if lost else 0
    assert loss == pytest.approx(lost, rel=5 * error, abs=1e-20)


def test_the_two_tokens_to_copy_are_always_two_and_independent_of_the_rest():
    x, wanted, marked = heads._sequences(np.random.default_rng(10), 257)
    assert marked.max() < heads.LENGTH - 2
    for one, want, mark in zip(x, wanted, marked, strict=True):
        np.testing.assert_array_equal(want[:CARRIED], one[-2, :CARRIED])
        np.testing.assert_array_equal(want[CARRIED:], one[mark, :CARRIED])
        assert np.flatnonzero(one[:, CARRIED + PLACE]).tolist() == [mark]
    assert not x[..., HELD:].any()


def test_all_numbers_of_heads_start_alike_and_have_as_many_parameters():
    result = untrained((1, 2, 4, 8, 16))
    runs = result.data["runs"]
    assert {each["n_parameters"] for each in runs} == {4 * WIDTH**2}
    assert len({each["marked"] for each in runs}) == 1  # the sequences are the same


def test_a_model_that_was_not_trained_does_not_agree_and_that_is_said():
    result = untrained((1, 2))
    assert [claim.holds for claim in result.claims] == [True, True, False]
    assert not result.agrees
    assert "loss, 2 heads" in result.verdict


def test_the_page_names_the_two_tokens_and_what_no_head_copies():
    result = untrained((1, 2, 4, 8))
    table, _, _, *matrices = result.parts
    for heads_, divided, *_, lost in table.rows:
        back, marked = map(int, divided.split(" + "))
        assert back + marked == int(heads_)
        assert Fraction(lost) == Fraction(abs(back - marked), 2 * int(heads_))
    for matrix, each in zip(matrices, result.data["runs"][:2], strict=True):
        assert matrix.columns[each["marked"]].endswith(" marked")
        assert matrix.columns[-2].endswith(" before")


def test_the_same_seed_gives_the_same_numbers_and_another_one_others():
    assert untrained((1, 2)).to_dict() == untrained((1, 2)).to_dict()
    assert untrained((1, 2)).data != untrained((1, 2), seed=1).data


def test_it_prints_and_is_plain_data():
    told: list[float] = []
    setup = Setup((1, 2), n_seeds=2, n_steps=3, n_tested=64)
    result = run(predict(setup), setup, 0, lambda fraction, doing: told.append(fraction))
    assert told == sorted(told)
    assert told[-1] == 1
    assert json.loads(json.dumps(result.to_dict()))["name"] == "heads"
    for format in ("text", "html", "markdown", "latex"):
        assert "head 1 of 2" in render(result.scene(), format)
