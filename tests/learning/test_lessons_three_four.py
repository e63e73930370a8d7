"""Lessons 3 and 4 print the numbers of their sources and claim nothing false; what they compute is right."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

import numpy as np
import pytest
from printed_lessons import BENCH, RIVER, printed, whole, worked

from riverhead.check import claims
from riverhead.derivation import derive, example
from riverhead.inspection import telling
from riverhead.learning.exercises import kinds
from riverhead.learning.lessons import Pause, Section, Try, lesson
from riverhead.learning.lessons.toolbox import heads, masks, mixtures, real_layer, real_values
from riverhead.scene import Table

if TYPE_CHECKING:
    from riverhead.transformer import Model


@pytest.mark.parametrize(
    ("number", "id", "numbers"),
    [
        (3, "spend-the-weights", "0.065 0.539 0.266 0.131 (0.604, 0.266)"),
        (3, "round-late", "0.61 0.604269 0.605 8.342"),
        (3, "money-bank-grows", "0.452 0.274 0.212 0.576 6.016"),
        (3, "money-bank-grows", "(0.726, 0.548, 0.726, 0.274)"),
        (3, "money-bank-grows", "(0.726, 0.726, 0.548, 0.274) (0.424, 0.788, 0.788, 0.576)"),
        (3, "pulled-together", "0.5 0.978 0.408 0.928 0.753 0.748 0.2741 0.2119"),
        (3, "two-destinations", "0.753 0.591 0.448 0.845 0.914"),
        (3, "all-rows-at-once", "0.109 0.449 0.221 0.165 0.335 0.065 0.539 0.266 0.131"),
        (3, "read-the-formula", "(0.604, 0.266)"),
        (4, "no-looking-ahead", "0.330 0.670 0.074 0.620 0.306 0.335 0.165 (0.670, 0) (0.620, 0.306)"),
        (4, "no-looking-ahead", "(0.248, 0.335) −∞"),
        (4, "padding-mask", "0.452 0.274 0.212 0.576 0.25"),
        (4, "one-pattern", "0.050 0.849 0.539"),
        (4, "split-and-merge", "(0.604, 0.266, 0.100, 0.849) 1.454"),
        (4, "price-of-heads", "64 8 22.627 1,048,576"),
    ],
)  # of golden.json's values to six digits, each rounded once
def test_the_numbers_of_the_sources_are_printed(number: int, id: str, numbers: str) -> None:
    text = printed(number, id)
    for one in re.findall(r"\([^)]*\)|\S+", numbers):
        assert re.search(rf"(?<![\d.]){re.escape(one)}(?![\d])", text), one


@pytest.mark.parametrize("number", [3, 4])
def test_no_claim_of_a_lesson_is_false(number: int) -> None:
    found = claims(whole(number))
    assert len(found) >= 4
    assert [claim.text for claim in found if claim.verdict != "true"] == []


def sections(number: int) -> tuple[Section, ...]:
    return lesson(number).sections


@pytest.mark.parametrize("number", [3, 4])
def test_no_digit_is_typed(number: int) -> None:
    for section in sections(number):
        left = re.sub(r"```.*?```|\{\{.*?\}\}|SmolLM2", "", section.source, flags=re.S)
        assert re.findall(r".*\d.*", left) == []


@pytest.mark.parametrize("number", [3, 4])
def test_the_outcomes_are_tested_before_the_real_head(number: int) -> None:
    *_, tested, real = sections(number)
    asked = [item.kind for item in BENCH.items(tested) if isinstance(item, Try)]
    assert asked == list(lesson(number).tested_by)
    assert real.title == "In a real head"
    items = [item for section in sections(number) for item in BENCH.items(section)]
    assert sum(isinstance(item, Pause) for item in items) >= 6


@pytest.mark.parametrize("number", [3, 4])
def test_every_exercise_is_of_a_kind_there_is(number: int) -> None:
    items = [item for section in sections(number) for item in BENCH.items(section)]
    assert {item.kind for item in items if isinstance(item, Try)} <= set(kinds())


def test_one_query_alone_and_keys_in_any_order_give_the_same() -> None:
    before = worked()
    alone = mixtures.alone(before, "bank")["out"].array[0]
    assert alone.tolist() == [before["out"].array[0, 2].tolist()]  # the same sums in the same order
    other = mixtures.reordered(before, ["flooded", "The", "bank", "river"])["out"].array[0]
    np.testing.assert_allclose(other, before["out"].array[0], rtol=0, atol=4 * 2**-52)  # four terms below 1


def test_what_a_key_receives_is_its_column() -> None:
    weights = worked()["weights"].values[0]
    assert mixtures.received(worked(), "river") == pytest.approx(sum(row[1] for row in weights), abs=1e-15)


def test_a_row_is_added_up_as_it_is_printed() -> None:
    assert mixtures.total([1 / 3, 1 / 3, 1 / 3], 2) == "0.33 + 0.33 + 0.33 = 0.99"


def cells(table: Table, row: int) -> list[str]:
    return [str(cell) for cell in table.rows[row]]


def test_a_hidden_score_is_none_of_the_sum() -> None:
    table = masks.ways_to_hide(worked(), "bank", "flooded")
    e = [math.exp(score / math.sqrt(2)) for score in (1, 4, 3, 2)]
    ways = [e, [*e[:3], 1.0], e, [*e[:3], 0.0]]
    for n, way in enumerate(ways):
        weights = [each / sum(way) for each in way]
        if n == 2:
            weights[3] = 0.0
        first = weights[1] + weights[3] / 2  # the values' first numbers are 0, 1, 0, 1/2
        said = [f"{weight:.3f}" if weight else "0" for weight in weights]
        assert cells(table, n)[1:6] == [*said, f"{sum(weights):.3f}"]
        assert cells(table, n)[6] == f"({first:.3f}, {weights[2]:.3f})"


def test_what_was_read_does_not_change_when_more_is_written() -> None:
    causal = worked(causal=True)
    for n in (1, 2, 3):
        begun = masks.beginning(causal, n)["out"].array[0]
        np.testing.assert_array_equal(begun, causal["out"].array[0, :n])
        assert not np.allclose(masks.beginning(worked(), n)["out"].array[0], worked()["out"].array[0, :n])


def test_each_row_guesses_the_token_after_it() -> None:
    table = masks.guesses(["a", "b", "c"])
    assert [row[1:] for row in table.rows] == [("a", "b"), ("a b", "c"), ("a b c", "whatever comes next")]


def test_heads_are_cut_by_columns_and_scrambled_unless_turned_back() -> None:
    wide = [[10 * token + place for place in range(1, 7)] for token in (1, 2)]  # T 2, 3 heads of 2
    assert cells(heads.cut(wide, ["a", "b"], 3), 1)[2:] == ["(21, 22)", "(23, 24)", "(25, 26)"]
    together = heads.put_together(wide, ["a", "b"], 3)
    assert cells(together, 0)[1:] == ["(11, 12, 13, 14, 15, 16)", "(11, 12, 21, 22, 13, 14)"]


def test_any_number_of_heads_has_the_parameters_and_products_of_one() -> None:
    d, T = 12, 7
    for n, h in enumerate((1, 2, 3)):
        row = cells(heads.cost_of_heads(d, T, [1, 2, 3]), n)
        assert row[1] == str(d // h)
        assert row[2] == f"{math.sqrt(d / h):.3f}".removesuffix(".000")
        products = 2 * T * 4 * d * d + 2 * 2 * T * T * d  # a multiply-add is two
        assert row[3:6] == [str(4 * d * d), f"{products:,}", f"{h * T * T}"]
        assert row[6] == f"{6 * h * T * T}"


def test_without_a_head_its_columns_hand_over_nothing() -> None:
    two = example("two_heads").derive()
    first = two["out"].array[0, 2]
    assert heads.without(two, "bank", 1) == [*first.tolist(), 0.0, 0.0]  # W_o leaves head 0 as it is


def test_a_head_by_place_does_not_notice_a_swap() -> None:
    by_place = derive([[0] * 3, [3, 0, 0], [0, 3, 0]], np.eye(3), np.eye(3), tokens=["a", "b", "c"])
    by_word = derive([[0, 0], [0, 0], [2, 0]], [[0, 1], [2, 0], [1, 1]], np.eye(3), tokens=["a", "b", "c"])
    table = heads.three_questions({"place": by_place, "word": by_word}, "c", "b", {"x": [0, 2], "y": [1, 0]})
    place, word = (np.array([float(str(cell)) for cell in row[1:]]) for row in table.rows)
    at = math.exp(3 / math.sqrt(3)) / (math.exp(3 / math.sqrt(3)) + 2)
    np.testing.assert_allclose(place, at, atol=5e-4)  # weight, habit, swaps: each printed to three decimals
    e = [math.exp(2 * dot / math.sqrt(2)) for dot in (2, 0, 1)]  # b's own key, then x, y; a and c stay
    weights = [each / (each + 1 + math.exp(math.sqrt(2))) for each in e]
    np.testing.assert_allclose(word, [weights[0], 1 / 3, *weights[1:], np.mean(weights[1:])], atol=5e-4)


@pytest.mark.model
def test_what_the_last_sections_say_holds_of_the_real_model(smollm2: Model) -> None:
    found = {row.head: row for row in telling(smollm2, RIVER, focus="bank", n=5).rows}
    looks, noun, previous = (found[head] for head in ("L9.H7", "L4.H2", "L16.H0"))
    assert looks.weight < noun.weight < previous.weight == max(row.weight for row in found.values())
    assert noun.if_off_nats > looks.if_off_nats > 10 * previous.if_off_nats
    rows = real_layer.layer(smollm2, RIVER, 9, "bank")[0].rows  # name, 4 weights, habit, swap, if off, words
    assert [row[0] for row in rows] == [f"L9.H{head}" for head in range(9)]
    numbers = [looks.weight, looks.habit, looks.swap_mean, looks.if_off_nats]
    assert [str(rows[7][n]) for n in (2, 5, 6, 7)] == [f"{number:.3f}" for number in numbers]
    assert rows[7][8] == looks.says
    assert {str(row[4]) for row in rows} == {"0"}  # flooded is hidden
    heavy = [(row[2].value, row[6].value) for row in rows if row[2].value > 0.5]
    assert sorted(swap > weight / 2 for weight, swap in heavy) == [False, True, True]
    values = {row[0]: row[2].value for row in real_values.shares(smollm2, RIVER, "L9.H7", "bank").rows}
    assert values["The"] < min(values["river"], values["bank"]) / 5
    table = real_layer.texts(smollm2, [RIVER, "The violin bank flooded"], ["L9.H7"], "bank")
    assert [cells(table, n)[2:] for n in (0, 1)] == [
        ["0.299", "0.634", "0.067", "0"],
        ["0.762", "0.177", "0.060", "0"],
    ]
