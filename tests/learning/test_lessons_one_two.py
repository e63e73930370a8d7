"""Lessons 1 and 2 print the numbers of their sources, claim nothing false, and say what is so."""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from jinja2 import UndefinedError
from printed_lessons import BENCH, RIVER, items, printed, whole, worked

from riverhead.check import claims
from riverhead.derivation import derive
from riverhead.learning.exercises import kinds
from riverhead.learning.lessons import Bench, Pause, Try, lesson
from riverhead.learning.lessons.page import shown
from riverhead.learning.lessons.toolbox import projections, spread
from riverhead.scene import Matrix, Scene, Table

if TYPE_CHECKING:
    from riverhead.transformer import Model


@pytest.mark.parametrize(
    ("number", "id", "numbers"),
    [
        (1, "static-embeddings", "0.2·money 0.7·bank 0.1·grows (1, 1, 0, 0) (0.9, 0.8, 0.3, 0.1)"),
        (1, "dot-product", "26 14 5 0 −5 2 6 1"),
        (1, "attention-without-learning", "0.274 0.452 1.649 2.718 6.016 (0.726, 0.726, 0.548, 0.274)"),
        (1, "every-pair-rises", "0.5 0.978 0.408 0.928 0.753 0.748 0.2741 0.2119"),
        (1, "every-pair-rises", "0.591 0.448 0.845 0.914"),
        (1, "soft-dictionary", "1 0.576 0.212 1.8478 1.0002 1.0000 2.333"),
        (1, "projections", "(2, 1) (2, 0) (0.5, 0) 24"),
        (1, "one-matrix", "4 3 5"),
        (2, "two-tokens", "4 3 1.414 2.828 2.121 16.92 8.342 0.670 0.330"),
        (2, "score-grid", "(1, 4, 3, 2) 4·4·2 32"),
        (2, "softmax-recipe", "0.71 2.83 2.12 1.41 16.9 31.4"),
        (2, "softmax-recipe", "2.028 16.92 8.342 4.113 31.40 0.065 0.539 0.266 0.131 1.000 0.644 0.032"),
        (2, "carried-digits", "0.065 0.539 0.266 0.131 1.001 8.33 8.34"),
        (2, "why-scores-spread", "1.41 8 11.3 64 22.6"),
        (2, "saturation", "(0.320, 0.391, 0.289) (0.114, 0.844, 0.042) 0.9997 0.0003"),
        (2, "dying-gradient", "0.218 0.238 0.101 0.132 0.040 0.25"),
        (2, "why-the-root", "0.032 0.644 0.237 0.087 0.539 0.125"),
    ],
)  # of golden.json's values, or sums of an arithmetic of one's own, each rounded once
def test_the_numbers_of_the_sources_are_printed(number: int, id: str, numbers: str) -> None:
    text = printed(number, id)
    for one in re.findall(r"\([^)]*\)|\S+", numbers):
        assert re.search(rf"(?<![\d.,−]){re.escape(one)}(?![\d]|\.\d)", text), one


@pytest.mark.parametrize("number", [1, 2])
def test_no_claim_of_a_lesson_is_false(number: int) -> None:
    found = claims(whole(number))
    assert len(found) >= 10
    assert [claim.text for claim in found if claim.verdict != "true"] == []


@pytest.mark.parametrize("number", [1, 2])
def test_numbers_are_computed_and_not_typed(number: int) -> None:
    for section in lesson(number).sections:
        left = re.sub(r"```.*?```|\{\{.*?\}\}|SmolLM2", "", section.source, flags=re.S)
        assert re.findall(r".*\d.*", left) == []


@pytest.mark.parametrize("number", [1, 2])
def test_the_outcomes_are_tested_before_the_real_head(number: int) -> None:
    found = lesson(number)
    *_, tested, real = found.sections
    assert {item.kind for item in items(number, tested.id) if isinstance(item, Try)} == set(found.tested_by)
    assert real.title == "In a real head"
    every = [item for section in found.sections for item in items(number, section.id)]
    named = {item.kind for item in every if isinstance(item, Try)}
    assert {kinds()[kind].lesson for kind in named} == {number}
    assert sum(isinstance(item, Pause) for item in every) >= 10


def test_what_float64_misses_by_a_rounding_is_short() -> None:
    assert shown(0.2 + 0.7) == "0.9"  # it is 0.8999999999999999
    assert shown(0.9 - 1e-9) == "0.900"
    assert shown(0.1 + 0.2 - 0.3) == "0"


def test_one_matrix_for_both_makes_a_grid_its_own_mirror_image() -> None:
    one = projections.with_one_matrix(worked("projections"))
    W = np.array([[1, 0], [1, 1], [2, 1], [0, 1]])  # x is one-hot
    assert one["dots"].array[0].tolist() == (W @ W.T).tolist()
    parts = projections.two_grids(worked("projections"), "bank")
    grids = [part for part in parts if isinstance(part, Matrix)]
    cells = [np.array([[number.value for number in row] for row in grid.cells]) for grid in grids]
    assert [bool((grid == grid.T).all()) for grid in cells] == [False, True]
    assert (cells[0][2, 1], cells[0][1, 2], cells[1][2, 1]) == (4, 2, 3)


def test_numbers_in_the_three_matrices_are_counted_by_their_sizes() -> None:
    rng = np.random.default_rng(0)
    x, W_q, W_k, W_v = (rng.normal(size=size) for size in ((2, 5), (5, 3), (5, 3), (5, 7)))
    assert projections.numbers_in(derive(x=x, W_q=W_q, W_k=W_k, W_v=W_v)) == 5 * (3 + 3 + 7)


def test_two_tokens_alone_share_by_the_difference_of_their_scores() -> None:
    two = spread.only(worked(RIVER), ["river", "bank"])
    weights = two["weights"].values[0]
    assert two.given.meanings == ("water", "bank-ness")
    assert weights[0] == (0.5, 0.5)
    assert weights[1][0] == pytest.approx(1 / (1 + math.exp(-1 / math.sqrt(2))), abs=1e-15)


def test_coin_tosses_are_those_of_all_vectors_of_plus_and_minus_one() -> None:
    table = spread.coin_tosses([1, 3])
    assert [str(cell) for cell in table.columns] == ["d_k", "−3", "−2", "−1", "0", "1", "2", "3"]
    for d_k, row in zip((1, 3), table.rows, strict=True):
        vectors = list(product((-1, 1), repeat=d_k))
        found = Counter(sum(a * b for a, b in zip(q, k, strict=True)) for q, k in product(vectors, vectors))
        ways = [found.get(each) for each in range(-3, 4)]
        # each sum comes 2^d_k times as often as it does with k alone tossed
        assert [cell and cell.value * 2**d_k for cell in row[1:]] == ways
        squares = sum(each**2 * n for each, n in found.items())
        assert spread.coin_variance(d_k).endswith(f" = {squares // sum(found.values())}")


def test_drawn_pairs_spread_as_the_law_says() -> None:
    table = spread.drawn_pairs([2, 64], 2000)
    for d_k, row in zip((2, 64), table.rows, strict=True):
        predicted, dots, scores = (cell.value for cell in row[1:])
        assert predicted == d_k
        room = 5 * math.sqrt((2 + 6 / d_k) / 2000)  # five standard errors of a variance of n pairs
        assert abs(dots / d_k - 1) < room
        assert scores == pytest.approx(dots / d_k, rel=1e-12)


@pytest.mark.parametrize("scores", [[1.0, 1.2, 0.9], [10, 12, 9], [8, 0]])
def test_the_jacobian_is_how_weights_move(scores: list[float]) -> None:
    def weight(i: int, moved: int, by: float) -> float:
        e = [math.exp(score + by * (n == moved)) for n, score in enumerate(scores)]
        return e[i] / sum(e)

    matrix = spread.how_weights_move(scores)
    for i, row in enumerate(matrix.cells):
        for j, cell in enumerate(row):
            slope = (weight(i, j, 1e-4) - weight(i, j, -1e-4)) / 2e-4
            assert cell.value == pytest.approx(slope, abs=1e-8)  # h² times a third derivative below 1/6


def test_a_row_is_divided_by_nothing_by_the_root_and_by_d_k() -> None:
    table = spread.by_divisor(worked(RIVER), "bank")
    for row, divisor in zip(table.rows, (1, math.sqrt(2), 2), strict=True):
        e = [math.exp(dot / divisor) for dot in (1, 4, 3, 2)]
        assert [str(cell) for cell in row[1:]] == [f"{each / sum(e):.3f}" for each in e]
    assert table.focus == 1


@pytest.mark.model
def test_what_the_last_sections_say_holds_of_the_real_model(smollm2: Model) -> None:
    head = smollm2.read(RIVER).head("L9.H7")
    table, *_ = projections.projected_by(smollm2, RIVER, "L9.H7", "bank")
    assert isinstance(table, Table)
    lengths = [np.linalg.norm(each[2].astype(float)) for each in (head.q, head.k, head.v)]
    assert [row[2].value for row in table.rows] == pytest.approx(lengths, rel=1e-9)
    (dots,) = projections.dots_of(smollm2, RIVER, "L9.H7", "bank")
    assert isinstance(dots, Table)
    found = [cell.value for cell in dots.rows[0][1:]]
    np.testing.assert_allclose(found, head.k[:3].astype(float) @ head.q[2].astype(float), rtol=1e-12)
    assert found[1] > found[2]  # it does not ask for more of the same
    _, row = spread.row_of(smollm2, RIVER, "L9.H7", "bank")
    assert isinstance(row, Table)
    for line, divisor in ((3, 8), (5, 1)):
        e = [math.exp((dot - max(found)) / divisor) for dot in found]
        assert [str(cell) for cell in row.rows[line][1:4]] == [f"{each / sum(e):.3f}" for each in e]
    bench = Bench(lambda: smollm2)
    asked = r"(L\d+\.H\d+) +([\d.]+) +([\d.]+) +([\d.]+) +[\d.]+ +(.+)"  # weight, habit, swap, if off
    texts = [Scene("", tuple(bench.parts(lesson(n).sections[-1]))) for n in (1, 2)]
    one, five = (re.findall(asked, str(text)) for text in texts)
    assert one == five[:1]
    weight, heaviest = (float(row[1]) for row in (five[0], max(five, key=lambda row: float(row[1]))))
    assert (five[0][0], five[0][4]) == ("L9.H7", "looks for river")
    assert weight < heaviest
    (chance,) = (max(float(row[2]), float(row[3])) for row in five if float(row[1]) == heaviest)
    assert chance > 0.9 * heaviest


def test_a_name_that_a_lesson_does_not_have_is_an_error_not_a_gap() -> None:
    with pytest.raises(UndefinedError, match="nowhere"):
        BENCH.words("It is {{ nowhere }}.", {})
