"""How the right number of a cell is made is held to plain loops."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riverhead.checking.rules.arithmetic import apart, arithmetic, shown, working
from riverhead.checking.rules.call import Call
from riverhead.checking.rules.draw import Draw, Sizes
from riverhead.checking.rules.pipeline import follow
from riverhead.numbers import significant

sizes = st.integers(1, 5)


def call_of(T_q: int, T_k: int, d_k: int, d_v: int, seed: int, H: int = 0, **more: Any) -> Call:
    heads = (H,) if H else ()
    arrays = Draw(Sizes(T_q=T_q, T_k=T_k, d_k=d_k, d_v=d_v), seed).qkv(*heads)
    options = {name: more.pop(name) for name in ("scale", "softcap") if name in more}
    return Call({**arrays, **more}, options)


def by_hand(call: Call, head: tuple[int, ...], i: int) -> dict[str, list[float]]:
    """A row of attention in plain Python."""
    q, k = call.arrays["q"][head][i], call.arrays["k"][head]
    dots = [sum(float(a) * float(b) for a, b in zip(q, key, strict=True)) for key in k]
    factor = call.options.get("scale", 1 / math.sqrt(len(q)))
    scores = [factor * dot for dot in dots]
    exps = [math.exp(score) for score in scores]
    return {"dots": dots, "scores": scores, "exps": exps, "weights": [x / sum(exps) for x in exps]}


def close(found: Any, right: Any) -> bool:
    """A dozen roundings of numbers below e^40, relative to the largest of them."""
    return bool(np.allclose(found, right, rtol=1e-12, atol=1e-13))


@settings(max_examples=60, deadline=None)
@given(sizes, sizes, sizes, sizes, st.integers(0, 99), st.sampled_from([None, 0.3]))
def test_the_row_behind_a_cell_is_that_of_plain_loops(
    T_q: int, T_k: int, d_k: int, d_v: int, seed: int, scale: float | None
) -> None:
    call = call_of(T_q, T_k, d_k, d_v, seed, **({} if scale is None else {"scale": scale}))
    i, c = T_q - 1, d_v - 1
    row, worked = by_hand(call, (), i), working(follow(call), (i, c))
    assert worked is not None
    dots, scores, exps, weights, values = worked.columns.values()
    heading = "÷ √1" if d_k == 1 and scale is None else f"÷ √{d_k}" if scale is None else "× 0.3"
    names = list(worked.columns)
    assert names[:2] == ["q·k", heading]
    assert names[2].startswith("e^")
    assert names[3:] == ["weight", f"v[:, {c}]"]
    assert close(dots, row["dots"])
    assert close(scores, row["scores"])
    assert close(np.array(exps) / exps[0], np.array(row["exps"]) / row["exps"][0])
    assert close(weights, row["weights"])
    assert list(values) == list(call.arrays["v"][:, c])
    for sum_, dot in zip(worked.sums, row["dots"], strict=True):
        assert close(worked_out(sum_), dot)  # numbers of a trial are short: nothing is rounded


def worked_out(sum_: str) -> float:
    """A sum of products, as it is printed."""
    return math.fsum(
        math.prod(float(x.strip("()").replace("−", "-")) for x in term.split("·"))
        for term in sum_.split(" + ")
    )


@settings(max_examples=60, deadline=None)
@given(sizes, sizes, sizes, sizes, st.integers(0, 99))
def test_the_sum_of_a_cell_comes_to_it_as_it_is_printed(
    T_q: int, T_k: int, d_k: int, d_v: int, seed: int
) -> None:
    call = call_of(T_q, T_k, d_k, d_v, seed)
    steps = follow(call)
    for cell in ((0, 0), (T_q - 1, d_v - 1)):
        weights, values = by_hand(call, (), cell[0])["weights"], call.arrays["v"][:, cell[1]]
        right = math.fsum(w * float(x) for w, x in zip(weights, values, strict=True))
        sum_ = worked_out(arithmetic(steps, cell))
        assert significant(sum_, 4).text == significant(right, 4).text
        assert sum_ == pytest.approx(
            right, abs=T_k * 2 * 5e-5 + 1e-12
        )  # T_k weights of 4 digits, values to 2


def test_a_head_has_its_own_row_and_a_shared_kv_head_is_found() -> None:
    draw = Draw(Sizes(), 3)
    call = Call(draw.qkv(2, 6, kv=(2, 3)))
    cell = (1, 5, 2, 4)
    worked = working(follow(call), cell)
    assert worked is not None
    row = by_hand(Call({"q": call.arrays["q"][1, 5], "k": call.arrays["k"][1, 2]}), (), 2)  # 5 // (6 / 3)
    assert close(worked.columns["weight"], row["weights"])
    assert list(worked.columns["v[:, 4]"]) == list(call.arrays["v"][1, 2][:, 4])


def test_what_is_done_to_a_score_has_its_column_and_only_then() -> None:
    plain = call_of(2, 3, 4, 2, 1)
    mask = np.array([[True, True, False], [True, True, True]])
    bias = np.array([[0.5, 0.0, 0.0], [0.0, 0.0, 0.0]])
    capped = replace(plain, arrays={**plain.arrays, "mask": mask, "bias": bias}, options={"softcap": 1.5})
    worked = working(follow(capped), (0, 0))
    assert worked is not None
    assert list(worked.columns) == [
        "q·k", "÷ √4", "capped", "with bias", "masked", "e^score", "weight", "v[:, 0]",
    ]  # fmt: skip
    assert worked.columns["masked"][2] == -math.inf
    assert worked.columns["weight"][2] == 0
    simple = working(follow(plain), (0, 0))
    assert simple is not None
    assert list(simple.columns) == ["q·k", "÷ √4", "e^score", "weight", "v[:, 0]"]


def test_large_scores_are_moved_before_the_exponential() -> None:
    call = Call({"q": np.array([[40.0]]), "k": np.array([[1.0], [0.5]]), "v": np.array([[1.0], [0.0]])})
    worked = working(follow(call), (0, 0))
    assert worked is not None
    assert worked.columns["e^(score − 40)"] == (1.0, math.exp(-20))
    assert arithmetic(follow(call), (0, 1), "weights") == "e^(20 − 40) / 1.000"


def test_a_cell_that_attention_does_not_make_so_has_no_arithmetic() -> None:
    """A sink takes part in the sum; an empty row has no weights; a made-up array is none of attention's."""
    sinks = call_of(2, 3, 4, 2, 1, sinks=np.array([0.5]))
    nobody = call_of(2, 3, 4, 2, 1, mask=np.zeros((2, 3), bool))
    assert (arithmetic(follow(sinks), (0, 0)), working(follow(sinks), (0, 0))) == ("", None)
    assert arithmetic(follow(nobody), (0, 0)) == ""
    assert arithmetic(follow(call_of(2, 3, 4, 2, 1)), (0, 0), "dq") == ""


reals = st.floats(-1e9, 1e9, allow_nan=False)


@settings(deadline=None)
@given(reals, reals)
def test_two_numbers_are_shown_with_digits_that_tell_them_apart_each_rounded_once(a: float, b: float) -> None:
    one, other = apart(a, b)
    assert (float(one.text.replace("−", "-")) == float(other.text.replace("−", "-"))) == (a == b)
    for value, number in ((a, one), (b, other)):
        digits = number.text.replace("−", "-")
        unit = Decimal(1).scaleb(Decimal(digits).as_tuple().exponent)
        assert abs(Decimal(digits) - Decimal(value)) <= unit / 2 or float(digits) == value


def test_a_tie_is_not_rounded_where_the_number_is_short() -> None:
    assert [shown(x).text for x in (2.3125, -1.15625, 0.00917)] == ["2.3125", "−1.15625", "0.00917"]
    exact = Decimal(2 / 3).quantize(Decimal("0.0001"), ROUND_HALF_EVEN)
    assert shown(2 / 3).text == str(exact)
