"""Fills, empty rows, hidden keys: each wrong way is named as itself, whatever it leaves."""

import sys
from pathlib import Path

import numpy as np
import pytest

from riverhead.checking.rules.studies.empty import EMPTY
from riverhead.checking.rules.studies.hidden import HIDDEN
from riverhead.checking.rules.studies.low import FILLS, LOW
from riverhead.checking.rules.studies.masks import MASKS
from riverhead.checking.rules.studies.plain import PLAIN
from riverhead.checking.rules.studies.precision import LARGE

sys.path.insert(0, str(Path(__file__).parent))
from by_name import asked, hidden, masked, mix, of_keys, padding, scaled, soft

STUDIES = (PLAIN, *MASKS, LOW, *FILLS, *EMPTY, *HIDDEN)


# How low what is hidden lies


@pytest.mark.parametrize("make", [masked, padding])
@pytest.mark.parametrize("fill", [-1e2, -1e3, -1e4, -65504.0, -1e5])
@pytest.mark.parametrize("kept", [0, 1])
def test_a_fill_that_scores_of_a_model_beat_is_too_weak(make, fill, kept):
    report = asked(make(lambda s, m: hidden(np.where(m, s, kept * s + fill), m | True)), STUDIES)
    failures = [each for each in report.failed if each.level == "must"]
    assert [(each.rule, each.mistake) for each in failures] == [("fill", "fill-too-weak")]
    assert "fill-underflow" in {each.rule for each in report.not_judged}


@pytest.mark.parametrize("fill", [-1e9, -1e10, float(-(2**32)), -1e12])
def test_a_fill_that_only_absurd_scores_beat_is_a_weakness(fill):
    report = asked(masked(lambda s, m: soft(np.where(m, s, fill))), STUDIES)
    assert report.ok
    assert ("fill-far", "fill-too-weak") in {(each.rule, each.mistake) for each in report.failed}


@pytest.mark.parametrize("kept", [0, 1])
def test_the_smallest_number_is_low_enough(kept):
    lowest = np.finfo(np.float64).min
    report = asked(masked(lambda s, m: soft(np.where(m, s, kept * s + lowest))), STUDIES)
    assert {"fill", "fill-far", "fill-underflow"} <= set(report.passed)
    assert report.ok


@pytest.mark.parametrize("start", [-1e4, -5e4, -1e5])
def test_a_running_maximum_that_starts_too_high_loses_low_rows(start):
    def f(q, k, v):
        scores = scaled(q, k)
        e = np.exp(scores - np.maximum(scores.max(-1, keepdims=True), start))
        total = e.sum(-1, keepdims=True)
        return e / np.where(total == 0, 1, total) @ v

    (failure,) = asked(f, STUDIES).failed
    assert (failure.rule, failure.mistake, failure.found) == ("low-scores", "max-starts-finite", 0.0)


@pytest.mark.parametrize("guard", [0, 1e-300, 1e-30])
def test_renormalising_after_the_mask_is_right_but_weak(guard):
    def weights(scores, mask):
        w = soft(scores) * mask
        return w / (w.sum(-1, keepdims=True) + guard)

    report = asked(masked(weights), STUDIES)
    must = [each.mistake for each in report.failed if each.level == "must"]
    assert must == ([] if guard else ["empty-row-nan"])
    assert ("fill-underflow", "mask-renormalised") in {(each.rule, each.mistake) for each in report.failed}
    assert "fill" in report.passed


# A query that sees no key


def rows_of(empty):
    """A function whose rows that see nothing are given by empty(scores, seen)."""
    return masked(lambda s, m: np.where((m & (s == s)).any(-1, keepdims=True), hidden(s, m), empty(s, m)))


def test_an_empty_row_that_is_nan_is_a_mistake():
    (failure,) = asked(rows_of(lambda s, m: np.nan), STUDIES).failed
    assert (failure.rule, failure.mistake, failure.right) == ("empty-row", "empty-row-nan", 0.0)
    assert np.isnan(failure.found)


def test_an_empty_row_is_nan_too_where_no_maximum_is_taken_off():
    def f(q, k, v, mask=None):
        scores = scaled(q, k)
        with np.errstate(all="ignore"):
            e = np.exp(scores if mask is None else np.where(mask, scores, -np.inf))
            return mix(e / e.sum(-1, keepdims=True), v)

    report = asked(f, (PLAIN, LARGE, *STUDIES[1:]))
    assert [each.mistake for each in report.failed] == ["empty-row-nan", "no-max-subtraction"]
    assert {"low-scores", "fill"} <= {each.rule for each in report.not_judged}


def test_an_empty_row_that_spoils_the_others_is_a_mistake():
    def weights(s, m):
        return hidden(s, m) if (m & (s == s)).any(-1).all() else np.full(s.shape, np.nan)

    (failure,) = asked(masked(weights), STUDIES).failed
    assert (failure.rule, failure.mistake) == ("empty-row", "empty-row-spoils")


@pytest.mark.parametrize(
    ("name", "empty"),
    [("zeros", lambda s, m: 0.0), ("mean", lambda s, m: 1 / s.shape[-1]), ("all", lambda s, m: soft(s))],
)
def test_what_else_an_empty_row_gives_is_agreed(name, empty):
    report = asked(rows_of(empty), STUDIES)
    assert [each.rule for each in report.failed if each.level == "must"] == []
    assert [each.name for each in report.conventions if each.aspect == "empty-row"] == [name]
    other = {"zeros": "mean"}.get(name, "zeros")
    assert not asked(rows_of(empty), STUDIES, expect={"empty-row": other}).ok


def test_a_finite_fill_that_is_added_attends_to_everything_in_an_empty_row():
    """−1e9 added to every score of a row changes nothing but the last digits."""
    report = asked(masked(lambda s, m: soft(s + (1 - m) * -1e9)), STUDIES)
    assert [each.name for each in report.conventions if each.aspect == "empty-row"] == ["all"]


def test_a_padded_sample_that_is_nan_is_a_mistake():
    (failure,) = (
        each
        for each in asked(padding(lambda s, m: soft(np.where(m, s, -np.inf))), STUDIES).failed
        if each.level == "must"
    )
    assert (failure.rule, failure.mistake) == ("empty-sample", "empty-row-nan")


@pytest.mark.parametrize("found", ["NaN", "an error"])
def test_a_fill_beyond_float16_is_found_in_float16(found):
    def weights(s, m):
        if found == "an error" and s.dtype == np.float16:
            raise RuntimeError("value cannot be converted without overflow")
        with np.errstate(all="ignore"):
            return soft(s + (1 - m.astype(s.dtype)) * s.dtype.type(-1e9))

    failures = asked(masked(weights), STUDIES, "float16").failed
    (failure,) = (each for each in failures if each.level == "must")
    assert (failure.rule, failure.mistake) == ("fill-float16", "fill-overflows-float16")
    assert (failure.detail != "") == (found == "an error")


# What hidden keys hold


def by_a_plain_product(q, k, v, mask=None):
    scores = scaled(q, k)
    return (soft(scores) if mask is None else hidden(scores, mask)) @ v


def by_a_padded_product(q, k, v, key_mask=None):
    return by_a_plain_product(q, k, v, None if key_mask is None else of_keys(key_mask, scaled(q, k)))


@pytest.mark.parametrize("f", [by_a_plain_product, by_a_padded_product])
def test_nan_in_a_hidden_value_leaks_through_a_plain_product(f):
    (failure,) = asked(f, STUDIES).failed
    assert (failure.rule, failure.level, failure.mistake) == ("hidden-nan", "should", "hidden-nan")
    assert failure.did == "the output moves with NaN or ∞ in the value of a hidden key"


def test_nan_in_a_hidden_key_leaks_through_a_mask_that_is_added():
    failures = asked(masked(lambda s, m: soft(s + np.where(m, 0, -np.inf))), STUDIES).failed
    (failure,) = (each for each in failures if each.rule == "hidden-nan")
    assert failure.did == "the output moves with NaN or ∞ in a hidden key"


def test_a_hidden_value_with_a_last_bit_of_weight_leaks():
    (failure,) = asked(masked(lambda s, m: hidden(s, m) + ~m * 1e-40), STUDIES).failed
    assert (failure.rule, failure.mistake, failure.level) == ("hidden-values", "hidden-leaks", "must")


def test_a_hidden_key_that_a_sum_runs_over_leaks():
    def f(q, k, v, mask=None):
        w = soft(scaled(q, k)) if mask is None else hidden(scaled(q, k), mask)
        return mix(w, v) + 5e-15 * np.nan_to_num(k[..., -1:, :1], posinf=0)

    failures = [each for each in asked(f, STUDIES).failed if each.level == "must"]
    assert [(each.rule, each.mistake) for each in failures] == [("hidden-keys", "hidden-leaks")]
