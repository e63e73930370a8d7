"""Small sheets: one step of attention at a time, and layer norm."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from riverhead.checking.answers.draft import Draft
from riverhead.checking.answers.sheet import Sheet
from riverhead.core import softmax
from riverhead.errors import InputError
from riverhead.shapes import check_axis

__all__ = ["dot_sheet", "layer_norm_sheet", "masked_sheet", "scale_sheet", "softmax_sheet", "values_sheet"]

Row = Sequence[float]
Rows = Sequence[Row]
Names = Sequence[str]  # of the tokens that ask, or that answer; their places where there are none


def dot_sheet(
    q: Rows,
    k: Rows,
    *,
    asking: Names = (),
    answering: Names = (),
    decimals: int = 2,
    title: str = "Dot products",
) -> Sheet:
    """Return the sheet that asks for every dot product of ``q`` (T_q, d_k) with ``k`` (T_k, d_k).

    >>> [(cell.id, cell.truth) for cell in dot_sheet([[2.0, 1.0]], [[2.0, 0.0], [1.0, -1.0]]).asked]
    [('dots.0.0', 4.0), ('dots.0.1', 1.0)]
    """
    d = _width("q", q)
    check_axis("d_k", "a query meets a key component by component", q=d, k=_width("k", k))
    draft = Draft(title, decimals)
    draft.given("q", q)
    draft.given("k", k)
    asks, answers = _names(asking, len(q)), _names(answering, len(k))
    for i in range(len(q)):
        for j in range(len(k)):
            parents = [*(f"q.{i}.{c}" for c in range(d)), *(f"k.{j}.{c}" for c in range(d))]
            draft.cell("dots", "dot", parents, (i, j), label=f"dot product of {asks[i]} on {answers[j]}")
    return draft.sheet()


def scale_sheet(
    dots: Rows,
    d_k: int,
    *,
    asking: Names = (),
    answering: Names = (),
    decimals: int = 2,
    title: str = "Scaling",
) -> Sheet:
    """Return the sheet that asks for the scores: ``dots`` (T_q, T_k) divided by √d_k.

    >>> [cell.truth for cell in scale_sheet([[8.0, -4.0]], d_k=64).asked]
    [1.0, -0.5]
    """
    if d_k < 1:
        raise InputError(f"d_k is {d_k}; a query has at least one component")
    asks, answers = _names(asking, len(dots)), _names(answering, _width("dots", dots))
    draft = Draft(title, decimals)
    draft.given("d_k", float(d_k))
    draft.given("divisor", math.sqrt(d_k))
    draft.given("dots", dots)
    for i, row in enumerate(dots):
        for j in range(len(row)):
            words = f"score of {asks[i]} on {answers[j]}"
            draft.cell("scores", "divide", [f"dots.{i}.{j}", "divisor"], (i, j), label=words)
    return draft.sheet()


def softmax_sheet(
    scores: Rows,
    *,
    exponentials: bool = True,
    asking: Names = (),
    answering: Names = (),
    decimals: int = 2,
    title: str = "Softmax",
) -> Sheet:
    """Return the sheet that asks for the softmax of each row of ``scores`` (T_q, T_k), which are finite.

    ``exponentials`` asks for e^score and the sum of each row too.

    >>> import math
    >>> [round(cell.truth, 3) for cell in softmax_sheet([[0.0, math.log(3)]], exponentials=False).asked]
    [0.25, 0.75]
    """
    keys = range(_width("scores", scores))
    asks, answers = _names(asking, len(scores)), _names(answering, len(keys))
    weights = softmax(np.array(scores, float)).tolist()
    draft = Draft(title, decimals)
    draft.given("scores", scores)
    for i in range(len(scores)):
        for j in keys:
            words = f"e^score of {asks[i]} on {answers[j]}"
            draft.cell("exp", "exp", [f"scores.{i}.{j}"], (i, j), asked=exponentials, label=words)
        exps = [f"exp.{i}.{j}" for j in keys]
        draft.cell("sum", "total", exps, (i,), asked=exponentials, label=f"sum of {asks[i]}'s row")
        for j in keys:
            parents, words = [f"exp.{i}.{j}", f"sum.{i}"], f"weight of {asks[i]} on {answers[j]}"
            draft.cell("weights", "divide", parents, (i, j), truth=weights[i][j], label=words)
    return draft.sheet()


def masked_sheet(
    scores: Rows,
    seen: Sequence[Sequence[bool]],
    *,
    query: int,
    asking: Names = (),
    answering: Names = (),
    decimals: int = 2,
    title: str = "Masked softmax",
) -> Sheet:
    """Return the sheet that asks for one ``query``'s weights; ``seen`` (T_q, T_k) says which keys each sees.

    ``scores`` (T_q, T_k) are given; asked for are the masked ones, e^score, their sum, and the weights.

    >>> causal = [[True, False], [True, True]]
    >>> [cell.truth for cell in masked_sheet([[1.0, 2.0], [0.5, 0.5]], causal, query=0).asked]
    [1.0, -inf, 2.718281828459045, 0.0, 2.718281828459045, 1.0, 0.0]
    """
    keys = range(_width("scores", scores))
    check_axis("T_k", "each score is seen or hidden", scores=len(keys), seen=_width("seen", seen))
    check_axis("T_q", "each score is seen or hidden", scores=len(scores), seen=len(seen))
    asks, answers = _names(asking, len(scores)), _names(answering, len(keys))
    draft = Draft(title, decimals)
    draft.given("scores", scores)

    def cell(grid: str, step: str, parents: Sequence[str], i: int, j: int, words: str) -> str:
        exact, label = not seen[i][j], f"{words} of {asks[i]} on {answers[j]}"
        return draft.cell(grid, step, parents, (i, j), exact=exact, asked=i == query, label=label)

    for i, row in enumerate(seen):
        wired = [("same", [f"scores.{i}.{j}"]) if row[j] else ("hidden", []) for j in keys]
        masked = [cell("masked", *wired[j], i, j, "masked score") for j in keys]
        exps = [cell("exp", "exp", [masked[j]], i, j, "e^score") for j in keys]
        total = draft.cell("sum", "total", exps, (i,), asked=i == query, label=f"sum of {asks[i]}'s row")
        for j in keys:
            cell("weights", "divide", [exps[j], total], i, j, "weight")
    return draft.sheet()


def values_sheet(
    weights: Rows, v: Rows, *, asking: Names = (), decimals: int = 2, title: str = "Weighted values"
) -> Sheet:
    """Return the sheet that asks for ``weights`` (T_q, T_k) times ``v`` (T_k, d_v).

    >>> [(cell.truth, cell.exact) for cell in values_sheet([[0.5, 0.25, 0.25]], [[2.0], [4.0], [0.0]]).asked]
    [(2.0, True)]
    """
    keys = range(_width("weights", weights))
    check_axis("T_k", "each weight has one value", weights=len(keys), v=len(v))
    asks = [f"{name}′" for name in asking] or [f"output {n}" for n in range(len(weights))]
    check_axis("tokens", "each token has a name", asking=len(asks), weights=len(weights))
    draft = Draft(title, decimals)
    draft.given("weights", weights)
    draft.given("v", v)
    for i in range(len(weights)):
        for j in range(_width("v", v)):
            parents = [*(f"weights.{i}.{n}" for n in keys), *(f"v.{n}.{j}" for n in keys)]
            draft.cell("out", "dot", parents, (i, j), label=f"{asks[i]}, component {j + 1}")
    return draft.sheet()


def layer_norm_sheet(
    x: Row,
    *,
    gain: Row | None = None,
    shift: Row | None = None,
    epsilon: float = 0.0,
    decimals: int = 2,
    title: str = "Layer norm",
) -> Sheet:
    """Return the sheet that asks for the layer norm of ``x`` (d,), step by step; γ is ``gain``, β ``shift``.

    Ba et al. 2016, §3.

    >>> [round(cell.truth, 2) for cell in layer_norm_sheet([1.0, 3.0]).asked]
    [2.0, -1.0, 1.0, 1.0, 1.0, -1.0, 1.0]
    """
    d = _width("x", [x])
    draft = Draft(title, decimals)
    xs = draft.given("x", x)
    draft.given("epsilon", epsilon)
    draft.cell("mean", "mean", xs, label="mean")
    centred = [
        draft.cell("centred", "difference", [x_n, "mean"], (n,), label=f"x_{n + 1} − mean")
        for n, x_n in enumerate(xs)
    ]
    draft.cell("variance", "mean of squares", centred, label="variance")
    draft.cell("deviation", "root", ["variance", "epsilon"], label="standard deviation")
    for n, x_n in enumerate(centred):
        draft.cell("normed", "divide", [x_n, "deviation"], (n,), label=f"component {n + 1}, normed")
    if gain is not None or shift is not None:
        gain, shift = gain or [1.0] * d, shift or [0.0] * d
        check_axis("d", "each component has its γ and its β", x=d, gain=len(gain), shift=len(shift))
        draft.given("gain", gain)
        draft.given("shift", shift)
        for n in range(d):
            draft.cell(
                "out", "times and plus", [f"normed.{n}", f"gain.{n}", f"shift.{n}"], (n,), label=f"y_{n + 1}"
            )
    return draft.sheet()


def _names(names: Names, count: int) -> Names:
    """What ``count`` tokens are called: their places where nothing is said."""
    found = names or [str(n) for n in range(count)]
    check_axis("tokens", "each token has a name", names=len(found), numbers=count)
    return found


def _width(name: str, rows: Rows) -> int:
    """How wide every one of ``rows`` is."""
    widths = {len(row) for row in rows}
    if len(widths) != 1 or widths == {0}:
        raise InputError(
            f"{name} has rows of {sorted(widths) or 'no'} numbers; it needs rows of one width, from 1 up"
        )
    return widths.pop()
