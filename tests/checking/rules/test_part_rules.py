"""Positions of padded rows, and two partial results made one: wrong ones are named, public faults told."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riverhead.checking.rules import implementation
from riverhead.checking.rules.adapting.parts import merge, positions
from riverhead.checking.rules.draw import Draw, Sizes
from riverhead.checking.rules.running.subject import Direct
from riverhead.checking.rules.studies.parts import MERGE_STUDIES, MERGE_WAYS, PLACE_WAYS, POSITION_STUDIES
from riverhead.checking.rules.trial import Trial

sizes = st.permutations([3, 4, 5, 7]).map(lambda n: Sizes(T_k=n[0], d_v=n[1]))
seeds = st.integers(0, 10_000)


def asked(adapter, studies, sizes=None, seed=0):
    trial = Trial(Direct(adapter), Draw(sizes, seed))
    trial.run(studies)
    return trial.report()


def of_mask(f, **how):
    return asked(positions(f), POSITION_STUDIES, **how)


def of_parts(f, **how):
    return asked(merge(f), MERGE_STUDIES, **how)


def counted(attention_mask):
    """Token by token, as one would by hand."""
    found = np.zeros_like(attention_mask)
    for row, places in zip(attention_mask, found, strict=True):
        n = 0
        for t, real in enumerate(row):
            places[t] = n if real else 1  # of padding anything: Hugging Face writes 1
            n += int(real)
    return found


WRONG_PLACES = {
    "positions-arange": lambda attention_mask: np.arange(attention_mask.shape[1]) + 0 * attention_mask,
    "positions-over-batch": lambda attention_mask: attention_mask.cumsum(0) - 1,
    "positions-backwards": lambda attention_mask: attention_mask[:, ::-1].cumsum(1)[:, ::-1] - 1,
    "positions-shifted-all": lambda attention_mask: np.arange(attention_mask.shape[1]) + 0 * attention_mask
    - attention_mask.argmax(1).max(),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG_PLACES)
@given(sizes=sizes)
@settings(max_examples=2, deadline=None)
def test_each_wrong_row_of_positions_is_named(name, sizes):
    assert {way.id for way in PLACE_WAYS if not way.agreed} == set(WRONG_PLACES)
    assert of_mask(WRONG_PLACES[name], sizes=sizes).mistakes == (name,)


def test_padded_rows_count_their_real_tokens():  # POS-1, CACHE-6
    mask = np.array([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]])
    assert counted(mask).tolist() == [[1, 1, 0, 1, 2], [0, 1, 2, 3, 4]]
    assert WRONG_PLACES["positions-arange"](mask).tolist() == [[0, 1, 2, 3, 4]] * 2
    assert not of_mask(counted).failed
    assert not of_mask(
        lambda attention_mask: attention_mask.sum(1)
    ).failed  # where the next token of a row goes
    width = of_mask(lambda attention_mask: np.full(len(attention_mask), attention_mask.shape[1]))
    assert width.mistakes == ("positions-arange",)


def test_positions_that_begin_at_one_are_reported():
    report = of_mask(lambda attention_mask: attention_mask.cumsum(1))
    assert not report.failed
    assert [(each.aspect, each.name) for each in report.conventions] == [("positions-start", "1")]


# Two parts


def weighed(out_a, lse_a, out_b, lse_b, log=np.log, exp=np.exp):
    """Right in float64 wherever both are finite: the larger sum is taken off."""
    top = np.maximum(lse_a, lse_b)
    a, b = exp(lse_a - top)[:, None], exp(lse_b - top)[:, None]
    return (a * out_a + b * out_b) / (a + b), top + log((a + b)[:, 0])


def safe(out_a, lse_a, out_b, lse_b):
    """Row by row, an empty part left out."""
    out, lse = np.zeros_like(out_a), np.full(lse_a.shape, -np.inf)
    for t in range(len(out)):
        parts = [(x[t], s[t]) for x, s in ((out_a, lse_a), (out_b, lse_b)) if s[t] > -np.inf]
        if parts:
            top = max(s for _, s in parts)
            total = sum(np.exp(s - top) for _, s in parts)
            out[t] = sum(np.exp(s - top) / total * x for x, s in parts)
            lse[t] = top + np.log(total)
    return out, lse


def with_out(f):
    """A wrong output beside the right sum."""
    return lambda out_a, lse_a, out_b, lse_b: (
        f(out_a, lse_a[:, None], out_b, lse_b[:, None]), np.logaddexp(lse_a, lse_b))  # fmt: skip


def with_lse(f):
    """A wrong sum beside the right output."""
    return lambda out_a, lse_a, out_b, lse_b: (
        safe(out_a, lse_a, out_b, lse_b)[0], f(lse_a, lse_b))  # fmt: skip


WRONG_MERGES = {
    "merge-average": with_out(lambda A, a, B, b: (A + B) / 2),
    "merge-sum": with_out(lambda A, a, B, b: A + B),
    "merge-not-divided": with_out(lambda A, a, B, b: np.exp(a) * A + np.exp(b) * B),
    "merge-not-divided-by-total": with_out(
        lambda A, a, B, b: np.exp(a - np.maximum(a, b)) * A + np.exp(b - np.maximum(a, b)) * B),
    "merge-by-lse": with_out(lambda A, a, B, b: (a * A + b * B) / (a + b)),
    "merge-swapped": with_out(lambda A, a, B, b: (np.exp(b) * A + np.exp(a) * B) / (np.exp(a) + np.exp(b))),
    "merge-takes-larger": with_out(lambda A, a, B, b: np.where(a >= b, A, B)),
    "merge-lse-largest": with_lse(np.maximum),
    "merge-lse-added": with_lse(lambda a, b: a + b),
    "merge-lse-shifted": with_lse(lambda a, b: np.logaddexp(a, b) - np.maximum(a, b)),
    "merge-lse-averaged": with_lse(lambda a, b: (a + b) / 2),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG_MERGES)
@given(sizes=sizes, seed=seeds)
@settings(max_examples=2, deadline=None)
def test_each_wrong_merge_is_named(name, sizes, seed):
    assert {way.id for way in MERGE_WAYS if not way.agreed} == set(WRONG_MERGES)
    assert of_parts(WRONG_MERGES[name], sizes=sizes, seed=seed).mistakes == (name,)


def test_outputs_are_weighed_two_to_one():  # LSE-2
    a, b = (np.array([[1.0]]), np.array([0.693147181])), (np.array([[4.0]]), np.array([0.0]))
    out, lse = safe(*a, *b)
    assert (out.item(), lse.item()) == (pytest.approx(2), pytest.approx(1.09861229))
    assert WRONG_MERGES["merge-average"](*a, *b)[0].item() == 2.5


def test_two_empty_parts_stay_empty():  # LSE-1
    assert not of_parts(safe).failed
    (failure,) = of_parts(weighed).failed
    assert (failure.rule, failure.mistake) == ("merge-empty", "merge-nan")
    empty = np.full(1, -np.inf)
    with np.errstate(invalid="ignore"):
        assert np.isnan(weighed(np.zeros((1, 1)), empty, np.zeros((1, 1)), empty)[1])


def test_sums_beyond_exp_are_merged_all_the_same():
    def naive(out_a, lse_a, out_b, lse_b):
        a, b = np.exp(lse_a)[:, None], np.exp(lse_b)[:, None]
        return (a * out_a + b * out_b) / (a + b), np.log(a + b)[:, 0]

    assert [each.mistake for each in of_parts(naive).failed] == ["merge-without-maximum", "merge-nan-out"]


def test_sums_to_base_2_are_reported():
    def base_2(out_a, lse_a, out_b, lse_b):
        out, lse = safe(out_a, lse_a * np.log(2), out_b, lse_b * np.log(2))
        return out, lse / np.log(2)

    report = of_parts(base_2)
    assert not report.failed
    assert [(each.aspect, each.name) for each in report.conventions] == [("merge-base", "2")]


def test_both_are_asked_from_outside():
    assert implementation(counted, kind="positions", isolated=False).ok
    assert implementation(safe, kind="merge", isolated=False).ok
