"""ALiBi: slopes for every count of heads, a bias up to a constant in each row; wrong ones are named."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riverhead.checking.rules import implementation
from riverhead.checking.rules.adapting.positions import alibi as adapt
from riverhead.checking.rules.draw import Draw, Sizes
from riverhead.checking.rules.running.subject import Direct
from riverhead.checking.rules.studies.alibi import (
    ALIBI_STUDIES,
    BIAS_WAYS,
    FROM_START,
    OF_QUERIES,
    SLOPE_WAYS,
)
from riverhead.checking.rules.trial import Trial
from riverhead.core import alibi_bias, alibi_slopes


def asked(f, sizes=None, expect=None):
    trial = Trial(Direct(adapt(f)), Draw(sizes), expect or {})
    trial.run(ALIBI_STUDIES)
    return trial.report()


def agreed(report):
    return {each.aspect: each.name for each in report.conventions}


def power_below(n):
    return 2 ** int(np.log2(n))


def row(n, first=1):
    """2^(−8/n), 2^(−16/n), … for n heads, one by one."""
    return [2 ** (-8 * h / n) for h in range(first, first + n)]


def right(n_heads, first=1):
    """The code published with the paper, in its own recursive way."""
    below = power_below(n_heads)
    if below == n_heads:
        return row(n_heads, first)
    return row(below, first) + right(2 * below, first)[0::2][: n_heads - below]


WRONG_SLOPES = {
    "alibi-plain-geometric": lambda n_heads: row(n_heads),
    "alibi-next-power": lambda n_heads: row(power_below(2 * n_heads - 1))[:n_heads],
    "alibi-other-half": lambda n: (row(power_below(n)) + row(2 * power_below(n))[1::2])[:n],
    "alibi-sorted": lambda n_heads: sorted(right(n_heads), reverse=True),
    "alibi-between-first": lambda n: right(n)[power_below(n):] + right(n)[:power_below(n)],
    "alibi-first-slope-one": lambda n_heads: right(n_heads, 0),
    "alibi-plain-from-one": lambda n_heads: row(n_heads, 0),
    "alibi-halves": lambda n_heads: [0.5 ** (h + 1) for h in range(n_heads)],
    "alibi-base-e": lambda n_heads: [np.exp(np.log(s) / np.log(2)) for s in right(n_heads)],
    "alibi-linear-slopes": lambda n_heads: [(h + 1) / n_heads for h in range(n_heads)],
    "alibi-inverse-slopes": lambda n_heads: [1 / s for s in right(n_heads)],
    "alibi-reversed": lambda n_heads: right(n_heads)[::-1],
    "alibi-heads-alike": lambda n_heads: [1.0] * n_heads,
}  # fmt: skip


def bias(cell):
    """A bias of which each cell is slope times a function of the places i and j (and T)."""

    def f(n_heads, T):
        return np.array([[[s * cell(i, j, T) for j in range(T)] for i in range(T)] for s in right(n_heads)])

    return f


WRONG_BIAS = {
    "alibi-sign": bias(lambda i, j, T: abs(i - j)),
    "alibi-distance-from-start": bias(lambda i, j, T: -j),
    "alibi-distance-from-last-upwards": bias(lambda i, j, T: T - 1 - j),
    "alibi-future-only": bias(lambda i, j, T: -max(j - i, 0)),
    "alibi-squared": bias(lambda i, j, T: -((i - j) ** 2)),
    "alibi-constant": bias(lambda i, j, T: -float(i > j)),
    "alibi-logarithm": bias(lambda i, j, T: -np.log2(1 + abs(i - j))),
}
NOT_WRONG = {
    ("alibi-future", "symmetric"): bias(lambda i, j, T: -abs(i - j)),
    ("alibi-future", "zero"): bias(lambda i, j, T: -max(i - j, 0)),
    ("alibi-future", "rising"): bias(lambda i, j, T: j - i),
    ("alibi-future", "hidden"): bias(lambda i, j, T: j - i if j <= i else -np.inf),
    ("alibi-form", "key-position"): bias(lambda i, j, T: j),
    ("alibi-form", "from-last-key"): bias(lambda i, j, T: j - (T - 1)),
    ("alibi-form", "row-constant"): bias(lambda i, j, T: 3 + i**2 - abs(i - j)),
    ("alibi-steepest", "4"): lambda n_heads: np.sqrt(right(n_heads)),
}
lengths = st.permutations([3, 4, 5, 7]).map(lambda n: Sizes(T_q=min(n[:2]), T_k=max(n[:2]) + 1, H=n[2]))


def test_every_way_has_a_function_here():
    assert {way.id for way in SLOPE_WAYS} == set(WRONG_SLOPES)
    assert {way.id for way in BIAS_WAYS if not way.agreed} == set(WRONG_BIAS)
    assert {OF_QUERIES.id, *(way.id for way in FROM_START)} == {"alibi-of-one-length", "alibi-from-start"}


@pytest.mark.parametrize("name", WRONG_SLOPES)
@given(sizes=lengths)
@settings(max_examples=2, deadline=None)
def test_each_wrong_row_of_slopes_is_named(name, sizes):
    report = asked(WRONG_SLOPES[name], sizes)
    assert report.mistakes == (name,)
    assert len(report.failed) == 1


@pytest.mark.parametrize("name", WRONG_BIAS)
@given(sizes=lengths)
@settings(max_examples=2, deadline=None)
def test_each_wrong_bias_is_named(name, sizes):
    report = asked(WRONG_BIAS[name], sizes)
    assert report.mistakes == (name,)
    assert [failure.rule for failure in report.failed] == ["alibi-distance"]


@pytest.mark.parametrize("convention", NOT_WRONG, ids=" ".join)
@given(sizes=lengths)
@settings(max_examples=2, deadline=None)
def test_what_a_softmax_or_a_causal_mask_cannot_tell_is_never_called_wrong(convention, sizes):
    report = asked(NOT_WRONG[convention], sizes)
    assert not report.failed
    assert convention in agreed(report).items()


def test_six_heads_have_the_published_slopes_and_the_geometric_row_has_not():  # ALIBI-2
    published = [0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125]
    geometric = [0.396850263, 0.157490131, 0.0625, 0.0248031414, 0.0098431332, 0.00390625]
    assert right(6) == published
    assert row(6) == pytest.approx(geometric)
    (failure,) = asked(lambda n_heads: row(n_heads)).failed
    assert (failure.rule, failure.mistake) == ("alibi-slopes-between", "alibi-plain-geometric")
    assert (failure.found, failure.right) == (pytest.approx(geometric[0]), 0.25)
    assert failure.detail == "6 heads, whose slopes are 1/4, 1/16, 1/64, 1/256, 1/2, 1/8"


def test_a_wrong_cell_of_a_bias_comes_with_its_arithmetic():
    (failure,) = asked(WRONG_BIAS["alibi-squared"]).failed
    assert (failure.cell, failure.found, failure.right) == ((0, 2, 0), -2.0, -1.0)
    assert failure.arithmetic == "−1/2·(2 − 0) = −1"


def cross(place):
    """A bias for T_q queries whose places are given."""

    def f(n_heads, T_q, T_k):
        i = np.array([place(t, T_q, T_k) for t in range(T_q)])[:, None]
        return -np.array(right(n_heads))[:, None, None] * np.abs(i - np.arange(T_k))

    return f


def test_with_a_cache_distance_is_counted_from_each_querys_own_place():
    at_end, at_start = cross(lambda t, T_q, T_k: T_k - T_q + t), cross(lambda t, T_q, T_k: t)
    assert "alibi-cross" in asked(at_end).passed
    assert agreed(asked(at_start))["alibi-align"] == "start"
    (failure,) = asked(at_start, expect={"alibi-align": "end"}).failed
    assert (failure.rule, failure.mistake) == ("alibi-cross", "alibi-from-start")


def test_an_unknown_row_or_bias_is_told_without_a_name():
    (failure,) = asked(lambda n_heads: [0.3 + 0.1 * h for h in range(n_heads)]).failed
    assert (failure.rule, failure.mistake, failure.right) == ("alibi-slopes", "", 0.5)
    (failure,) = asked(bias(lambda i, j, T: -((i - j) ** 4))).failed
    assert (failure.rule, failure.mistake) == ("alibi-distance", "")
    (failure,) = asked(lambda n_heads: right(n_heads)[:-1]).failed
    assert "8 heads gave (7,)" in failure.detail


def test_riverheads_own_pass_from_outside():
    for f in (alibi_slopes, alibi_bias):
        report = implementation(f, isolated=False)
        assert (report.kind, report.failed) == ("alibi", ())
