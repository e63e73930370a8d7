"""Sheets are data: every truth is the equation's, follows by its step, and survives a file."""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pytest

from riverhead.checking.answers import (
    Cell,
    Draft,
    Sheet,
    attention_sheet,
    dot_sheet,
    grade,
    layer_norm_sheet,
    scale_sheet,
    softmax_sheet,
    solved,
    values_sheet,
)
from riverhead.core import MultiHead, attention
from riverhead.derivation import derive
from riverhead.errors import InputError, ShapeError

rng = np.random.default_rng(11)
X, CONTEXT = rng.normal(size=(3, 5)), rng.normal(size=(7, 5))
W = {
    "W_q": rng.normal(size=(5, 8)),
    "W_k": rng.normal(size=(5, 4)),
    "W_v": rng.normal(size=(5, 6)),
    "W_o": rng.normal(size=(12, 5)),
}


def grids(sheet):
    """The truths of a sheet as arrays by grid and head."""
    found: dict = {}
    for cell in sheet.cells:
        found.setdefault((cell.grid, cell.head), {})[cell.at] = cell.truth
    return {
        key: np.array([numbers[at] for at in sorted(numbers)]).reshape(
            [max(n) + 1 for n in zip(*numbers, strict=True)]
        )
        for key, numbers in found.items()
    }


@pytest.mark.parametrize("causal", [False, True])
def test_every_truth_of_grouped_heads_is_the_equations(causal):
    # 4 query heads over 2 kv heads, 3 queries from x, 7 keys from another sequence
    made = MultiHead(**W, n_heads=4, n_kv_heads=2).forward(X, CONTEXT, causal=causal)
    sheet = attention_sheet(derive(x=X, x_k=CONTEXT, **W, n_heads=4, n_kv_heads=2, causal=causal))
    found = grids(sheet)
    for h in range(4):
        np.testing.assert_array_equal(found["weights", h], made.attention.weights[h])
        np.testing.assert_array_equal(found["out", h], made.attention.out[h])
        np.testing.assert_allclose(found["q", h], made.q[h], rtol=1e-14)
    for g in range(2):
        np.testing.assert_allclose(found["v", g], made.v[g], rtol=1e-14)
    np.testing.assert_allclose(found["y", None], made.y, rtol=1e-12, atol=1e-14)  # sums of 12 terms
    assert grade(sheet, solved(sheet)).score == 1.0


def test_a_query_that_sees_nothing_gives_zeros():
    mask = np.array([[True, False], [False, False]])
    sheet = attention_sheet(derive([[1.0], [2.0]], [[1.0], [3.0]], [[4.0], [5.0]], mask=mask))
    assert [sheet[id].truth for id in ("sum.1", "weights.1.0", "out.1.0")] == [0, 0, 0]
    assert grade(sheet, solved(sheet)).score == 1.0


def test_only_what_is_asked_for_is_asked():
    worked = derive(
        rng.normal(size=(3, 2)), rng.normal(size=(3, 2)), rng.normal(size=(3, 2)), tokens=["a", "b", "c"]
    )
    sheet = attention_sheet(worked, ("weights", "out"), queries=["b", 2], decimals=3)
    assert {cell.grid for cell in sheet.asked} == {"weights", "out"}
    assert {cell.at[0] for cell in sheet.asked} == {1, 2}
    assert {cell.decimals for cell in sheet.asked} == {3}
    assert sheet["weights.1.0"].name == "weight of b on a"
    with pytest.raises(InputError, match="'lse' cannot be asked for; a sheet has q, k, v, dots"):
        attention_sheet(worked, ("lse",))
    with pytest.raises(InputError, match="query 'd' is not there"):
        attention_sheet(worked, queries=["d"])


def test_scores_that_no_paper_holds_are_refused():
    with pytest.raises(InputError, match=r"a score is 1e\+04; by hand they go up to 600"):
        attention_sheet(derive([[100.0]], [[100.0]], [[1.0]]))
    with pytest.raises(InputError, match="up to 20,000"):
        attention_sheet(derive(*np.ones((3, 100, 2))))


def test_small_sheets_agree_with_the_equation():
    q, k, v = rng.normal(size=(3, 5, 4))
    found = attention(q, k, v)
    dots = dot_sheet(q.tolist(), k.tolist())
    np.testing.assert_allclose(grids(dots)["dots", None], q @ k.T, rtol=1e-13, atol=1e-14)
    scores = scale_sheet((q @ k.T).tolist(), d_k=4)
    np.testing.assert_allclose(grids(scores)["scores", None], found.scores, rtol=1e-13)
    weights = softmax_sheet(found.scores.tolist())
    np.testing.assert_array_equal(grids(weights)["weights", None], found.weights)
    out = values_sheet(found.weights.tolist(), v.tolist())
    np.testing.assert_allclose(grids(out)["out", None], found.out, rtol=1e-12, atol=1e-14)
    x = rng.normal(size=7)
    normed = layer_norm_sheet(x.tolist(), epsilon=1e-5)
    expected = (x - x.mean()) / np.sqrt(x.var() + 1e-5)
    np.testing.assert_allclose(grids(normed)["normed", None], expected, rtol=1e-12)


def test_exact_numbers_are_asked_for_exactly_and_rounded_ones_are_not():
    sheet = attention_sheet(derive([[2, 1]], [[1, 3], [0.5, 1]], [[1], [0]]))
    assert {cell.grid: cell.exact for cell in sheet.asked if cell.at in ((0,), (0, 0))} == {
        "dots": True, "scores": False, "exp": False, "sum": False, "weights": False, "out": False,
    }  # fmt: skip
    assert grade(sheet, {"dots.0.0": "5.01"})["dots.0.0"].credit == 0.0
    assert grade(sheet, {"dots.0.0": "5.00"})["dots.0.0"].credit == 1.0


def test_a_sheet_comes_back_from_its_document_as_it_was():
    for sheet in (
        attention_sheet(derive(x=X, x_k=CONTEXT, **W, n_heads=4, n_kv_heads=2, causal=True)),
        layer_norm_sheet([1.0, 2.5], gain=[2.0, 1.0]),
    ):
        again = Sheet.from_json(sheet.to_json())
        assert again == sheet
        assert hash(again) == hash(sheet)
        assert grade(again, solved(again)) == grade(sheet, solved(sheet))


def spoiled(**changes):
    document = json.loads(softmax_sheet([[1.0, 2.0]]).to_json())
    document["cells"][-1] |= changes
    return json.dumps(document)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (spoiled(truth=0.9), "is 0.9; its parents make it 0.731"),
        (spoiled(step="eval"), "follows by 'eval'; the steps are given"),
        (spoiled(parents=["exp.0.1", "nowhere"]), "follows from 'nowhere', which does not stand before it"),
        (spoiled(parents=["weights.0.1"]), "does not stand before it"),
        (spoiled(at=[0, 0]), "weights.0.0 stands there twice"),
        (spoiled(decimals=10**9), "can ask for 0 to 9"),
        (spoiled(truth=10**400), "leaves float64"),
        (spoiled(exact=1), "exact of a cell is '1'"),
        (spoiled(head=True), "head of a cell is 'True'"),
        (spoiled(at=["x"]), "a list of whole numbers"),
        (spoiled(extra=1), "a cell has the fields grid, at, truth"),
        ('{"schema": "riverhead.sheet/1", "title": 3, "cells": []}', "a title"),
        ('{"schema": "riverhead.sheet/9", "title": "", "cells": []}', "needs the schema 'riverhead.sheet/1'"),
        ("[" * 10**5, "not JSON"),
        ("[]", "this is no sheet"),
    ],
)
def test_a_spoiled_document_is_refused(text, says):
    with pytest.raises(InputError, match=says.replace("(", r"\(")):
        Sheet.from_json(text)


def test_a_draft_makes_any_sheet_of_the_steps():
    # RoPE: position 3, pair 0, turned by 3 radians
    draft = Draft("RoPE", decimals=3)
    draft.given("x", [1.0, 2.0])
    draft.given("position", 3.0)
    draft.given("frequency", 1.0)
    draft.cell("angle", "product", ["position", "frequency"])
    draft.cell("cos", "cos", ["angle"])
    draft.cell("sin", "sin", ["angle"])
    draft.cell("turned", "turned", ["x.0", "x.1", "cos", "sin"], (0,))
    draft.cell("turned", "dot", ["x.0", "x.1", "sin", "cos"], (1,))
    sheet = draft.sheet()
    assert sheet["angle"].exact
    assert math.isclose(sheet["turned.0"].truth, math.cos(3) - 2 * math.sin(3))
    assert math.isclose(sheet["turned.1"].truth, math.sin(3) + 2 * math.cos(3))
    answers = {"angle": "3", "cos": "-0.990", "sin": "0.141", "turned.0": "-1.272", "turned.1": "-1.839"}
    assert grade(sheet, answers).score == 1.0


def test_counts_are_whole_numbers_asked_for_exactly():
    draft = Draft("Parameters", decimals=0)
    draft.given("d_model", 512.0)
    draft.cell("W_q", "product", ["d_model", "d_model"], label="parameters of W_q")
    draft.cell("attention", "product", ["W_q", draft.given("four", 4.0)[0]], label="of W_q, W_k, W_v and W_o")
    sheet = draft.sheet()
    assert grade(sheet, {"W_q": "262,144", "attention": "1 048 576"}).score == 1.0
    assert grade(sheet, {"W_q": "262,145"})["W_q"].credit == 0.0
    assert grade(sheet, {"W_q": "512", "attention": "2,048"})["attention"].credit == 1.0  # follows


def test_what_does_not_fit_is_refused():
    with pytest.raises(ShapeError, match="d_k differs: q has 2, k has 1"):
        dot_sheet([[1.0, 2.0]], [[1.0]])
    with pytest.raises(ShapeError, match="T_k differs"):
        values_sheet([[0.5, 0.5]], [[1.0]])
    with pytest.raises(InputError, match=r"scores has rows of \[1, 2\] numbers"):
        softmax_sheet([[1.0], [1.0, 2.0]])
    with pytest.raises(InputError, match="d_k is 0"):
        scale_sheet([[1.0]], d_k=0)
    with pytest.raises(InputError, match="make no number"):
        Draft("").cell("a", "mean", [])
    with pytest.raises(InputError, match="one of them is unknown"):
        Draft("").cell("a", "total", ["b"])
    with pytest.raises(InputError, match="it is not asked for, and follows from nothing"):
        Sheet("", (Cell("a", (), 1.0),))
    with pytest.raises(InputError, match="is nan"):
        Sheet("", (dataclasses.replace(Cell("a", (), 1.0, asked=False), truth=math.nan),))
