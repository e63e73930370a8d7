"""Lessons 5 and 6 count rightly, claim nothing false, and work a whole transformer as plain loops do."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest
from plain_block import by_loops, rms, softmax, times
from printed_lessons import items, printed, whole, worked

from riverhead.check import claims
from riverhead.core import rope
from riverhead.learning.exercises import kinds
from riverhead.learning.lessons import Bench, Pause, Try, lesson
from riverhead.learning.lessons.toolbox import block, cost, positions, tiny
from riverhead.scene import Scene, Table

if TYPE_CHECKING:
    from riverhead.transformer import Model

BOTH = pytest.mark.parametrize("number", [5, 6])


def cells(table: Table) -> list[list[str]]:
    return [["" if cell is None else str(cell) for cell in row] for row in table.rows]


@pytest.mark.parametrize(
    ("number", "id", "numbers"),
    [
        (5, "every-pair", "16 64 256 1,024 10 36 136 528 270"),
        (5, "forty-gigabytes", "40,000,000,000 40.0 400 4.00 360 10.8 538"),
        (5, "where-operations-go", "64 3,538,944 3,072 3,892 7,782"),
        (5, "never-stored", "18.947 12.455 31.402 0.604 0.266 0.603 0.397"),
        (5, "token-by-token", "500,500 167,167,000"),
        (5, "kv-cache", "0.670 0.620 0.306 0.248 0.335"),
        (5, "cache-size", "46,080 377,487,360 11,520 131,072 1.07 10.7 16.1"),
        (5, "grouped-queries", "0.065 0.539 0.266 0.131 0.335 0.165"),
        (5, "what-sharing-saves", "138,240 46,080 15,360 524,288 131,072 16,384"),
        (5, "order-is-invisible", "0.604 0.266 0.620 0.306"),
        (5, "sinusoids", "0.841 0.540 0.909 −0.416 1.540 1.958 32.000 30.917 1,024"),
        (5, "rotations", "0.239 2.223 0.478 −3.483 100,000 438,459 (−0.416, 0.909, 0.980, 0.199)"),
        (5, "distance-penalty", "0.5 0.25 0.125 0.0039 0.368 0.403"),
        (6, "tokens-and-ids", "49,152 128,256 (3, −1)"),
        (6, "norms", "(−5, 3, 1, 1) 9 3 25 5 −1.667 0.333 −0.2 1.4 −0.667"),
        (6, "feed-forward", "3,072 768 0.731 2.193 1,536 576 (2, −0.5)"),
        (6, "whole-block-by-hand", "(0.304, 0.696) (1.414, 0) 2.828 (2.877, 0.042) (0.042, 2.877)"),
        (6, "parameters-of-a-block", "192 144 72 1,728 7,077,888 28,311,552 26,542,080 134,515,008"),
        (6, "next-token-odds", "4.221 0.752 0.187 0.2 0.938 0.518"),
        (6, "one-breath", "0.065 0.539 0.266 0.131 (0.604, 0.266)"),
    ],
)  # of golden.json, of docs/cost.md, or worked by loops below, each rounded once
def test_the_numbers_are_printed(number: int, id: str, numbers: str) -> None:
    text = printed(number, id)
    for one in re.findall(r"\([^)]*\)|\S+", numbers):
        assert re.search(rf"(?<![\d.,−]){re.escape(one)}(?![\d]|[.,]\d)", text), one


@BOTH
def test_no_claim_of_a_lesson_is_false_or_carried(number: int) -> None:
    found = claims(whole(number))
    assert len(found) >= 15
    assert [claim.text for claim in found if claim.verdict != "true" or claim.how == "carried"] == []


@BOTH
def test_no_digit_is_typed(number: int) -> None:
    for section in lesson(number).sections:
        left = re.sub(r"```.*?```|\{\{.*?\}\}|SmolLM2|GPT-2|L\d+\.H\d+", "", section.source, flags=re.S)
        assert re.findall(r".*\d.*", left) == []


@BOTH
def test_the_outcomes_are_tested_before_the_real_head(number: int) -> None:
    *_, tested, real = lesson(number).sections
    asked = [item.kind for item in items(number, tested.id) if isinstance(item, Try)]
    assert asked == list(lesson(number).tested_by)
    assert real.title == "In a real head"
    shown = [item for section in lesson(number).sections for item in items(number, section.id)]
    assert sum(isinstance(item, Pause) for item in shown) >= 10
    assert {item.kind for item in shown if isinstance(item, Try)} <= set(kinds())


@BOTH
def test_each_section_is_asked_for_in_four_to_eight_ways(number: int) -> None:
    for section in lesson(number).sections:
        assert 4 <= len(set(section.asked)) == len(section.asked) <= 8, section.id


def test_lesson_five_has_three_sittings() -> None:
    sittings = [section.sitting for section in lesson(5).sections]
    assert len(set(sittings)) == 3
    assert sum(a != b for a, b in pairwise(sittings)) == 2


# --- what a text costs


def test_a_row_in_two_parts_is_the_row() -> None:
    scores, values = [1, 4, 3, 2], [(0, 0), (1, 0), (0, 1), (0.5, 0)]
    e = [math.exp(score / math.sqrt(2)) for score in scores]
    found = cost.stretches(worked(), "bank", 2)
    for part, keys in zip(found, (range(2), range(2, 4), range(4)), strict=True):
        total = sum(e[j] for j in keys)
        out = [sum(e[j] * values[j][c] for j in keys) / total for c in range(2)]
        # a handful of float64 operations on numbers below 40
        assert part.lse == pytest.approx(math.log(total), rel=1e-14)
        assert part.share == pytest.approx(total / sum(e), rel=1e-14)
        assert part.out == pytest.approx(out, rel=1e-14, abs=1e-15)
    assert found[-1].out == pytest.approx([0.604269, 0.265654], abs=5e-7)  # golden.json


def test_a_step_with_a_cache_is_a_row_of_the_grid() -> None:
    golden = [(0, 0), (0.669762, 0), (0.619985, 0.305695), (0.247679, 0.334881)]
    for n, (row, out) in enumerate(zip(cells(cost.one_by_one(worked())), golden, strict=True), 1):
        assert row[1] == str(n)
        assert row[2:4] == row[4:6] == [f"{x:.3f}" if x else "0" for x in out]


def test_query_heads_that_share_keys_have_weights_of_their_own() -> None:
    shared = cells(cost.asked_alike(worked(), [[2, 1], [0, 1]]))
    own = worked()["weights"].values[0]
    assert [row[1:] for row in shared] == [[f"{w:.3f}" for w in own[token]] for token in (2, 3)]


@pytest.mark.parametrize(("H", "G"), [(9, 3), (32, 8), (6, 1), (5, 5)])
def test_neighbours_share_a_kv_head(H: int, G: int) -> None:
    groups = [[h for h in range(H) if g * (H // G) <= h < (g + 1) * (H // G)] for g in range(G)]
    table = cells(cost.kv_heads(H, G))
    assert [row[1] for row in table] == [", ".join(map(str, group)) for group in groups]


def test_bytes_with_and_without_sharing() -> None:
    for name, layers, heads, d_k, b in (
        ("smollm2", 30, (9, 3, 1), 64, 4),
        ("llama-3-8b", 32, (32, 8, 1), 128, 2),
    ):
        table = cost.sharing(name, 8192, "float32" if b == 4 else "float16")
        a_token = [layers * n * (d_k + d_k) * b for n in heads]
        assert [row[2] for row in cells(table)] == [f"{n:,}" for n in a_token]
        for row, n in zip(cells(table), a_token, strict=True):
            assert row[3].startswith(
                f"{8192 * n / 10**9:.2f} GB" if 8192 * n > 10**9 else f"{8192 * n / 10**6:.0f} MB"
            )


def test_what_is_done_again_without_a_cache() -> None:
    tokens = sum(t for t in range(1, 1001))
    grids = sum(sum(range(1, t + 1)) for t in range(1, 1001))
    text = printed(5, "token-by-token")
    assert f"q, k and v {tokens:,} times" in " ".join(text.split())
    assert f"works out {grids:,} cells" in " ".join(text.split())


def test_attention_overtakes_where_the_lesson_says() -> None:
    matrices, a_token = 576 * (576 + 192 + 192 + 576) + 3 * 576 * 1536, 9 * (64 + 64)
    assert cost.block_numbers("smollm2") == matrices
    assert 2 * matrices == 2 * a_token * 3072  # FLOPs of a token: in the matrices, and with T = 3,072 keys
    vocabulary = 576 * 49152
    first = next(T for T in range(3000, 5000) if 30 * a_token * T > 30 * matrices + vocabulary)
    assert first == 3892
    assert cost.parameter_count("smollm2") == 134_515_008  # as published


def test_the_chart_has_lines_and_no_lonely_points() -> None:
    chart = cost.flops_chart("smollm2")
    assert [line.label for line in chart.lines][:2] == ["matrix products", "attention, every pair"]
    assert all(len(line.points) > 1 for line in chart.lines)


# --- where a token stands


def test_order_is_lost_without_a_mask_and_only_then() -> None:
    for causal in (False, True):
        first, second = (
            row[1:] for row in cells(positions.in_both_orders(worked(), [0, 3, 2, 1], "bank", causal))
        )
        assert (first == second) is not causal
    seen = [math.exp(score / math.sqrt(2)) for score in (1, 2, 3)]  # The, flooded, bank
    out = [seen[1] * 0.5 / sum(seen), seen[2] / sum(seen)]
    assert second == [f"{x:.3f}" for x in out]


def test_sinusoids_are_sines_and_cosines() -> None:
    for at, row in enumerate(cells(positions.sinusoids(7, 4))):
        waves = [wave(at / slow) for slow in (1, 100) for wave in (math.sin, math.cos)]
        dot = math.cos(at) + math.cos(at / 100)
        assert [float(x.replace("−", "-")) for x in row[1:]] == pytest.approx([*waves, dot], abs=5e-4)


def test_places_as_far_apart_are_as_alike() -> None:
    """A dot product of two positions is a sum of cosines of their distance; nearer ones are more alike."""
    alike = {at: sum(math.cos(at / 10_000 ** (2 * i / 64)) for i in range(32)) for at in (0, 1, 2, 3, 4, 6)}
    shown = {int(row[0]): row[1] for row in cells(positions.alike(list(alike), 64))}
    assert shown == {at: f"{dot:.3f}" for at, dot in alike.items()}
    assert sorted(alike.values(), reverse=True) == list(alike.values())
    for start in (5, 50):
        a, b = (np.array(positions.sinusoid(start + back, 64)) for back in (0, 3))
        assert a @ b == pytest.approx(alike[3], abs=1e-12)  # 64 products of float64, each below 1


def test_turning_keeps_length_and_sees_distance_alone() -> None:
    q, k = [2.0, 1.0], [2.0, 0.0]
    for m, n in ((1, 0), (2, 1), (7, 6), (2, 0), (0, 2)):
        a, b = positions.turned(q, m), positions.turned(k, n)
        turn = complex(*q) * np.exp(1j * m), complex(*k) * np.exp(1j * n)
        assert [*a, *b] == pytest.approx([turn[0].real, turn[0].imag, turn[1].real, turn[1].imag], abs=1e-14)
        assert math.hypot(*a) == pytest.approx(math.hypot(*q), abs=1e-14)
        expected = (complex(*q) * np.exp(1j * (m - n)) * complex(*k).conjugate()).real
        row = cells(positions.turned_dots(q, k, [[m, n]]))[0]
        assert float(row[-1].replace("−", "-")) == pytest.approx(expected, abs=5e-4)


def test_the_lesson_shows_one_score_for_each_distance() -> None:
    (table,) = (item for item in items(5, "rotations") if isinstance(item, Table))
    shown = [(row[2], row[-1]) for row in cells(table)]
    assert shown == [("1", "0.478")] * 3 + [("2", "−3.483")] * 2 + [("−2", "0.154")]


def test_four_components_are_two_pairs_of_neighbours() -> None:
    angles, x = (2.0, 2.0 / 100**0.5), [1.0, 0.0, 3.0, -2.0]
    pairs = [complex(*x[2 * i : 2 * i + 2]) * np.exp(1j * angle) for i, angle in enumerate(angles)]
    expected = [part for pair in pairs for part in (pair.real, pair.imag)]
    assert positions.turned(x, 2, 100) == pytest.approx(expected, abs=1e-14)


def test_the_slowest_pair_of_smollm2_comes_round_when_the_lesson_says() -> None:
    x = np.zeros(64)
    x[62] = 1
    angle = rope(x[None], offset=1, base=100_000, pairs="interleaved")[0, 62:]
    assert round(2 * math.pi / math.atan2(angle[1], angle[0])) == pytest.approx(438_459, abs=1)


def test_alibi_takes_its_slope_for_each_step_back() -> None:
    assert positions.slopes(8) == [2.0**-n for n in range(1, 9)]
    scores = [score / math.sqrt(2) for score in (1, 0, 1, 0)]
    together = [score - 0.5 * back for score, back in zip(scores, (3, 2, 1, 0), strict=True)]
    for row, score in zip(cells(positions.with_alibi(worked(), "flooded", 8, 0)), together, strict=True):
        weight = math.exp(score) / sum(map(math.exp, together))
        assert float(row[4].replace("−", "-")) == pytest.approx(score, abs=5e-4)
        assert row[5] == f"{weight:.3f}"


# --- a whole block


@pytest.mark.parametrize("text", ["river bank", "money bank", "bank", "bank grows money river flooded"])
@pytest.mark.parametrize("n_blocks", [1, 3])
def test_the_tiny_transformer_is_the_same_in_plain_loops(text: str, n_blocks: int) -> None:
    model = dict(lesson(6).sections[0].given["tiny"])
    steps, expected = tiny.steps(model, text, n_blocks), by_loops(model, text, n_blocks)
    for name, value in expected.items():
        found = getattr(steps, name)
        if name == "logits":
            found, value = list(found.values()), list(value.values())
        # some tens of float64 operations on numbers below 100
        np.testing.assert_allclose(found, value, rtol=1e-12, atol=1e-13, err_msg=name)
    odds = softmax(list(expected["logits"].values()))
    assert list(tiny.odds(steps.logits).values()) == pytest.approx(odds, rel=1e-12)


def test_one_word_has_two_ends_and_none_alone() -> None:
    model = lesson(6).sections[0].given["tiny"]
    after = {text: tiny.odds(tiny.steps(model, text).logits) for text in ("river bank", "money bank", "bank")}
    assert max(after["river bank"], key=after["river bank"].__getitem__) == "flooded"
    assert max(after["money bank"], key=after["money bank"].__getitem__) == "grows"
    assert list(after["bank"].values()) == pytest.approx([0.2] * 5, abs=1e-15)


def test_temperature_divides_the_logits() -> None:
    logits = {"a": 2.0, "b": 1.0, "c": -0.5}
    for T in (0.5, 1.0, 2.0):
        assert list(tiny.odds(logits, T).values()) == pytest.approx(softmax([x / T for x in logits.values()]))


def test_norms_by_hand() -> None:
    x, gain, shift = [-1, 7, 5, 5], [1, 2, 3, 3], [1, 0, 0, -1]
    mean = sum(x) / 4
    deviation = math.sqrt(sum((a - mean) ** 2 for a in x) / 4)
    normed = [(a - mean) / deviation for a in x]
    learned = [g * a + s for g, a, s in zip(gain, normed, shift, strict=True)]
    rows = [
        [float(cell.replace("−", "-")) for cell in row[1:]]
        for row in cells(block.normed_by_hand(x, gain, shift))
    ]
    expected = [x, [a - mean for a in x], normed, learned, rms(x)]
    for row, right in zip(rows, expected, strict=True):
        assert row == pytest.approx(right, abs=5e-4)
    assert (sum(block.centred(x)), block.mean_square(block.centred(x)), block.mean_square(x)) == (0, 9, 25)


def test_a_unit_answers_by_its_column_and_adds_its_row() -> None:
    model = lesson(6).sections[0].given["tiny"]
    *units, together = cells(tiny.neurons(model, [2, 1]))
    sums = times([[2, 1]], model["W_up"])[0]
    assert [unit[2] for unit in units] == [f"{a:g}".replace("-", "−") for a in sums]
    assert [unit[3] for unit in units] == [f"{max(a, 0):g}" for a in sums]
    assert together[-1] == "(2, −0.5)"


def test_shapes_are_those_of_their_letters() -> None:
    sizes = {"T": 5, "d_model": 14, "H": 6, "G": 2, "d_k": 3, "d_ff": 11, "n_vocab": 17}
    letters = sizes | {"d_v": 3, "H·d_k": 18, "G·d_k": 6, "H·d_v": 18}
    for name, shape, here, _ in cells(block.block_shapes(**sizes)):
        assert here == " × ".join(str(letters[letter]) for letter in shape.split(" × ")), name


def test_shares_of_parameters_add_up() -> None:
    *parts, together = cells(block.parameter_shares("smollm2"))
    assert sum(int(row[1].replace(",", "")) for row in parts) == 134_515_008
    assert together[1] == "134,515,008"
    for row in parts:
        assert row[2] == f"{int(row[1].replace(',', '')) / 134_515_008:.3f}"


def test_the_gate_of_swiglu() -> None:
    assert block.silu(1) == pytest.approx(1 / (1 + math.exp(-1)), rel=1e-15)


# --- in a real head


@pytest.mark.parametrize(
    ("id", "found"),
    [
        ("cost-in-a-real-head", "46,080 138,240 0.969 0.634 previous-token head, no finding"),
        ("block-in-a-real-model", "504 4626 5461 23642 4 × 576 0.634 looks for river 0.201 0.154 0.105"),
    ],
)  # golden.json's real_head
def test_the_real_model_shows_the_same(smollm2: Model, id: str, found: str) -> None:
    number = 5 if id.startswith("cost") else 6
    bench = Bench(lambda: smollm2)
    text = " ".join(str(Scene("", tuple(bench.parts(lesson(number)[id])))).split())
    for one in re.findall(r"[\d.,]*\d|[a-z][a-z, -]*[a-z]", found):
        assert one in text, one
    assert "habit" in text
    assert "swap" in text


def test_a_previous_token_head_has_its_habit_one_back(smollm2: Model) -> None:
    (table,) = positions.real_habit(smollm2, "L16.H0", 4)
    assert isinstance(table, Table)
    habit = [float(row[1]) for row in cells(table)]
    assert habit[0] > 0.5 > sum(habit[1:])  # labels.toml's threshold for the name
