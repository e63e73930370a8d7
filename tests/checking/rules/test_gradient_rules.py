"""The gradient: by hand, or by difference quotients where something is done otherwise; and of empty rows."""

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riverhead.checking.rules.rule import Choice
from riverhead.checking.rules.studies.empty import EMPTY
from riverhead.checking.rules.studies.gradient import GRADIENT, INPUTS, right_gradient, with_gradient
from riverhead.checking.rules.studies.masks import MASKS
from riverhead.checking.rules.studies.plain import PLAIN

sys.path.insert(0, str(Path(__file__).parent))
from adapted import asked, everything, named, sizes_of

STUDIES = (PLAIN, *GRADIENT)
MASKED = (PLAIN, *MASKS, *EMPTY, *GRADIENT)

sizes = st.permutations([2, 3, 5, 7, 6]).map(sizes_of)
seeds = st.integers(0, 10_000)


@given(sizes, seeds)
@settings(max_examples=3, deadline=None)
def test_the_gradient_by_hand_is_that_of_difference_quotients(sizes, seed):
    """A way that changes nothing is a change all the same, and asks for the quotients."""
    trial = everything(sizes, seed)
    trial.facts["offers"] = frozenset({"mask"})
    call = [*with_gradient(trial)][-1]
    by_hand = right_gradient(trial, call)
    trial.known.append(Choice("", "", "", {"factor": lambda p: p.d_k**-0.5}))
    quotients = right_gradient(trial, call)
    for name in INPUTS:
        assert (
            np.abs(by_hand[name] - quotients[name]).max() < 1e-8
        )  # of numbers up to 10: 2⁻³⁴ and 10·2⁻⁵²·2¹⁷


torch = pytest.importorskip("torch", reason="torch is not installed: the [oracle] extra")


def scores_of(q, k):
    return q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5


def right(q, k, v):
    return torch.softmax(scores_of(q, k), dim=-1) @ v


@pytest.mark.oracle
@given(sizes, seeds)
@settings(max_examples=2, deadline=None)
def test_attention_holds_every_rule(sizes, seed):
    from riverhead.torch import scaled_dot_product_attention as own

    for f in (own, torch.nn.functional.scaled_dot_product_attention):
        report = asked(f, MASKED, sizes=sizes, seed=seed, arrays="torch")
        assert report.failed == report.not_judged == ()
        assert {"gradient", "gradient-empty-row"} <= set(report.passed)


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("f", "cut"),
    [
        (lambda q, k, v: torch.softmax(scores_of(q, k), dim=-1).detach() @ v, "q and k"),
        (lambda q, k, v: right(q, k, v.detach()), "v"),
        (lambda q, k, v: right(q.detach(), k, v), "q"),
        (lambda q, k, v: right(q, k.data, v), "k"),
    ],
)
def test_what_is_detached_is_named(f, cut):
    (failure,) = asked(f, STUDIES, arrays="torch").failed
    assert (failure.rule, failure.mistake, failure.found) == ("gradient", "gradient-detached", 0)
    assert failure.did.startswith(f"no gradient reaches {cut}:")
    assert failure.array == f"d{cut[0]}"


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, d):
        return 2 * d


@pytest.mark.oracle
def test_a_gradient_that_is_not_attention_s_is_found_with_its_cell():
    (failure,) = asked(lambda q, k, v: right(q, Twice.apply(k), v), STUDIES, arrays="torch").failed
    assert (failure.rule, failure.mistake, failure.array) == ("gradient", "", "dk")
    assert failure.found == pytest.approx(2 * failure.right, rel=1e-12)


@pytest.mark.oracle
def test_the_gradient_of_what_is_wrong_already_is_judged_as_such():
    """Without the scale the gradient is another, and right for what was computed."""

    def no_scale(q, k, v):
        return torch.softmax(q @ k.transpose(-2, -1), dim=-1) @ v

    assert named(asked(no_scale, STUDIES, arrays="torch")) == [("scale", "no-scale")]
    detached = asked(lambda q, k, v: no_scale(q, k, v.detach()), STUDIES, arrays="torch")
    assert named(detached) == [("scale", "no-scale"), ("gradient", "gradient-detached")]


# An empty row: five recipes of ROW-2, whose finite gradients tell them apart


def filled(q, k, mask):
    scores = scores_of(q, k)
    return scores if mask is None else scores.masked_fill(~mask, -torch.inf)


def added(q, k, mask):
    scores = scores_of(q, k)
    return scores if mask is None else scores + torch.where(mask, 0.0, -torch.inf).to(q.dtype)


def soft(scores):
    return torch.softmax(scores, dim=-1)


def safe(q, k, mask):
    if mask is None:
        return soft(scores_of(q, k))
    return soft(scores_of(q, k).masked_fill(~mask, torch.finfo(q.dtype).min)).masked_fill(~mask, 0)


RECIPES = {  # weights, what is not finite of dq, dk and dv
    "masked_fill(-inf)": (lambda q, k, mask: soft(filled(q, k, mask)), {"dv"}),
    "additive -inf": (lambda q, k, mask: soft(added(q, k, mask)), {"dq", "dk", "dv"}),
    "masked_fill, nan_to_num after": (lambda q, k, mask: soft(filled(q, k, mask)).nan_to_num(0.0), set()),
    "additive -inf, nan_to_num after": (
        lambda q, k, mask: soft(added(q, k, mask)).nan_to_num(0.0),
        {"dq", "dk"},
    ),
    "finite before, zero after": (safe, set()),
}


@pytest.mark.oracle
@pytest.mark.parametrize("recipe", RECIPES)
def test_a_row_that_no_loss_reads_leaves_the_gradient_finite_or_is_found(recipe):
    """ROW-2."""
    weights, spoilt = RECIPES[recipe]

    def f(q, k, v, mask=None):
        return weights(q, k, mask) @ v

    q, k, v = (torch.randn(n, 4, dtype=torch.float64, requires_grad=True) for n in (2, 4, 4))
    mask = torch.tensor([[True, False, False, False], [False] * 4])
    f(q, k, v, mask)[0].sum().backward()
    assert {
        f"d{name}" for name, x in zip("qkv", (q, k, v), strict=True) if not x.grad.isfinite().all()
    } == spoilt

    report = asked(f, (PLAIN, *GRADIENT), arrays="torch")  # the rule of empty rows is not asked
    if not spoilt:
        assert named(report) == []
        return
    (failure,) = report.failed
    assert (failure.rule, failure.mistake) == ("gradient-empty-row", "gradient-poisoned")
    assert all(name in failure.did.split(" hold")[0] for name in spoilt)
    assert np.isnan(failure.found)
    assert np.isfinite(failure.right)


@pytest.mark.oracle
def test_a_row_of_nan_is_said_once():
    """What follows from a row of NaN is not judged."""

    def f(q, k, v, mask=None):
        return soft(filled(q, k, mask)) @ v

    report = asked(f, MASKED, arrays="torch")
    assert [failure.rule for failure in report.failed] == ["empty-row"]
    assert "gradient-empty-row" in {each.rule for each in report.not_judged}
