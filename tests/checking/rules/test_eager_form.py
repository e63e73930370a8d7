"""The form that models are trained with: the softmax in float32, hidden scores at the lowest number."""

import math

import pytest

torch = pytest.importorskip("torch", reason="the form is torch's")

from riverhead.checking.rules import implementation  # noqa: E402


def eager(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    return torch.softmax(scores, dim=-1, dtype=torch.float32).to(q.dtype) @ v


def test_it_is_asked_in_the_digits_it_was_made_for():
    """float64's lowest number is −∞ to float32: only there would an empty row be NaN."""
    report = implementation(eager, isolated=False)
    assert [failure.rule for failure in report.failed] == ["hidden-nan"]
    kept = {(each.aspect, each.name) for each in report.conventions}
    assert kept >= {("precision", "float32"), ("empty-row", "mean"), ("mask", "keep")}
    assert "dtype" in report.passed
