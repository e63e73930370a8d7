"""A learner who rounds every step and makes no slip is never marked down."""

from __future__ import annotations

import numpy as np
import pytest
from by_hand import attend, rounded_all_along, texts
from hypothesis import given, settings
from hypothesis import strategies as st

from riverhead.checking.answers import Kind, attention_sheet, grade, layer_norm_sheet
from riverhead.derivation import derive

FILLED = ("dots", "scores", "exp", "sum", "weights", "out")


def problem(seed: int, whole: bool, causal: bool):
    """Small vectors, and the sheet that asks for every step at two decimals."""
    rng = np.random.default_rng(seed)
    T, d_k, d_v = rng.integers(2, 5), rng.integers(1, 4), rng.integers(1, 4)
    q, k, v = (
        rng.integers(-3, 4, shape).astype(float) if whole else rng.uniform(-2, 2, shape).round(2)
        for shape in ((T, d_k), (T, d_k), (T, d_v))
    )
    return q, k, v, attention_sheet(derive(q, k, v, causal=causal), FILLED), rng


@given(st.integers(0, 2**32 - 1), st.booleans(), st.booleans())
@settings(max_examples=150, deadline=None)
def test_rounding_every_step_costs_nothing(seed, whole, causal):
    q, k, v, sheet, rng = problem(seed, whole, causal)
    seen = np.tril(np.ones((len(q), len(k)), bool)) if causal else np.ones((len(q), len(k)), bool)
    for share in (1.0, 0.5, 0.0):  # always from the rounded, now and then, always from the calculator
        worked = rounded_all_along(q, k, v, seen, 2, lambda share=share: bool(rng.random() < share))
        if worked is None:
            continue
        report = grade(sheet, texts(sheet, worked))
        assert {mark.kind for mark in report.marks} <= {Kind.RIGHT, Kind.FOLLOWS}, (seed, share)
        assert report.score == 1.0


@given(st.integers(0, 2**32 - 1), st.sets(st.sampled_from(FILLED), min_size=1))
@settings(max_examples=60, deadline=None)
def test_nor_does_rounding_on_scratch_paper(seed, left_blank):
    q, k, v, sheet, rng = problem(seed, whole=True, causal=False)
    worked = rounded_all_along(q, k, v, np.ones((len(q), len(k)), bool), 2, lambda: bool(rng.random() < 0.5))
    if (
        worked is None or (worked["exp"] < 0.05).any()
    ):  # on scratch paper nobody keeps 0.00 for a number that matters
        return
    written = {id: text for id, text in texts(sheet, worked).items() if id.split(".")[0] not in left_blank}
    kinds = {mark.kind for mark in grade(sheet, written).marks}
    assert kinds <= {Kind.RIGHT, Kind.FOLLOWS, Kind.BLANK}


def test_a_plain_tolerance_marks_most_of_them_down():
    # why the learner's own numbers are asked: ±0.006 of the exact output, for learners who round every step
    down, count = 0, 300
    for seed in range(count):
        rng = np.random.default_rng(seed)
        q, k, v = (rng.integers(-3, 4, (4, 3)).astype(float) for _ in range(3))
        worked = rounded_all_along(q, k, v, np.ones((4, 4), bool), 2, lambda: True)
        if worked is not None:
            down += bool((abs(worked["out"] - attend(q, k, v)["out"]) > 0.006).any())
    assert down > count / 2


@pytest.mark.parametrize("seed", range(20))
def test_rounding_through_layer_norm_costs_nothing(seed):
    rng = np.random.default_rng(seed)
    x, gain, shift = (rng.integers(-4, 5, 5).astype(float) + np.arange(5) / 4 for _ in range(3))
    sheet = layer_norm_sheet(list(x), gain=list(gain), shift=list(shift))
    mean = round(float(x.mean()), 2)
    centred = [round(float(value) - mean, 2) for value in x]
    variance = round(sum(c * c for c in centred) / 5, 2)
    deviation = round(variance**0.5, 2)
    normed = [round(c / deviation, 2) for c in centred]
    out = [round(n * g + s, 2) for n, g, s in zip(normed, gain, shift, strict=True)]
    grids = {"mean": np.array(mean), "centred": np.array(centred), "variance": np.array(variance)}
    grids |= {"deviation": np.array(deviation), "normed": np.array(normed), "out": np.array(out)}
    assert grade(sheet, texts(sheet, grids)).score == 1.0


def test_what_rounding_cannot_make_is_not_accepted():
    # bank → river of the board: e^2.83 over 31.40; 0.56 is more than any rounding makes
    sheet = attention_sheet(derive([[2, 1]], [[0, 1], [2, 0], [1, 1], [1, 0]], [[0], [1], [2], [3]]), FILLED)
    right = {
        "scores": ["0.71", "2.83", "2.12", "1.41"],
        "exp": ["2.03", "16.95", "8.33", "4.10"],
        "weights": ["0.06", "0.54", "0.27", "0.13"],
    }
    answers = {f"{grid}.0.{j}": text for grid, row in right.items() for j, text in enumerate(row)}
    answers |= {"sum.0": "31.41", "out.0.0": "1.47"}  # 0.54 + 2·0.27 + 3·0.13, where 1.463 is exact
    report = grade(sheet, answers)
    assert report["out.0.0"].kind is Kind.RIGHT
    assert report["exp.0.1"].kind is Kind.FOLLOWS  # e^2.83 = 16.945, where 16.92 is exact
    assert grade(sheet, answers | {"weights.0.1": "0.56"})["weights.0.1"].kind is Kind.OFF
    assert grade(sheet, answers | {"out.0.0": "1.49"})["out.0.0"].kind is Kind.OFF
