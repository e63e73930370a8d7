"""A scale, a soft cap, a bias, sinks that are given: each wrong way is named as itself, at any sizes."""

import math
import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riverhead.checking.rules.call import Call
from riverhead.checking.rules.pipeline import follow
from riverhead.checking.rules.studies.given import GIVEN
from riverhead.checking.rules.studies.plain import PLAIN
from riverhead.core import attention

sys.path.insert(0, str(Path(__file__).parent))
from adapted import asked, everything, named, sizes_of
from by_name import apart, hidden, scaled, soft, told

STUDIES = (PLAIN, *GIVEN)
WAYS = {way.id: way for study in GIVEN for way in study.ways}

sizes = st.permutations([2, 3, 5, 6, 7]).map(sizes_of).filter(lambda s: s.T_k > 3)
seeds = st.integers(0, 10_000)


def with_scale(scores_of):
    """Attention of scores that are made of the dots, the usual scale and the given one."""

    def f(q, k, v, scale=None):
        usual = q.shape[-1] ** -0.5
        return soft(scores_of(q @ k.swapaxes(-1, -2), usual, usual if scale is None else scale)) @ v

    return f


def capping(cap):
    """Attention whose scores are capped by ``cap(scaled scores, dots, scale, c)``, and masked then."""

    def f(q, k, v, mask=None, softcap=None):
        scores, seen = scaled(q, k), True if mask is None else mask
        if softcap is not None:
            scores = cap(scores, q @ k.swapaxes(-1, -2), q.shape[-1] ** -0.5, softcap)
        return hidden(scores, seen) @ v

    return f


def capped_after_mask(q, k, v, mask=None, softcap=None):
    scores = np.where(True if mask is None else mask, scaled(q, k), -np.inf)
    return soft(scores if softcap is None else softcap * np.tanh(scores / softcap)) @ v


def biased(add, after=lambda weights, bias: weights):
    """Attention to whose scores a bias is added by ``add(scores, bias, scale)``."""

    def f(q, k, v, bias=None):
        scores = scaled(q, k)
        if bias is None:
            return soft(scores) @ v
        return after(soft(add(scores, bias, q.shape[-1] ** -0.5)), bias) @ v

    return f


def sinking(weights_of):
    """Attention whose weights are made of scores, sinks (H, 1, 1) and the scale."""

    def f(q, k, v, sinks=None):
        scores = scaled(q, k)
        if sinks is None:
            return soft(scores) @ v
        return weights_of(scores, np.reshape(sinks, (-1, 1, 1)), q.shape[-1] ** -0.5) @ v

    return f


def joined(scores, *sinks):
    """A softmax over the keys and the sinks behind them."""
    columns = [np.broadcast_to(sink, (*scores.shape[:-1], 1)) for sink in sinks]
    return soft(np.concatenate([scores, *columns], axis=-1))


def unshifted(scores, sinks, scale):
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return e / (e.sum(-1, keepdims=True) + np.exp(sinks))


def handed_over(scores, sinks, scale):
    weights = joined(scores, sinks)
    return np.concatenate([weights[..., :1] + weights[..., -1:], weights[..., 1:-1]], axis=-1)


WRONG = {  # written from what the words say
    "scale-ignored": with_scale(lambda dots, usual, given: dots * usual),
    "scale-twice": with_scale(lambda dots, usual, given: dots * usual * (1 if given == usual else given)),
    "scale-divides": with_scale(lambda dots, usual, given: dots * (usual if given == usual else 1 / given)),
    "scale-under-root": with_scale(
        lambda dots, usual, given: dots * (usual if given == usual else 1 / math.sqrt(given))
    ),
    "softcap-ignored": capping(lambda scores, dots, scale, c: scores),
    "softcap-clips": capping(lambda scores, dots, scale, c: np.clip(scores, -c, c)),
    "softcap-without-multiplying-back": capping(lambda scores, dots, scale, c: np.tanh(scores / c)),
    "softcap-without-dividing": capping(lambda scores, dots, scale, c: c * np.tanh(scores)),
    "softcap-before-scale": capping(lambda scores, dots, scale, c: scale * (c * np.tanh(dots / c))),
    "softcap-after-mask": capped_after_mask,
    "bias-ignored": biased(lambda scores, bias, scale: scores),
    "bias-times": biased(lambda scores, bias, scale: scores * bias),
    "bias-subtracted": biased(lambda scores, bias, scale: scores - bias),
    "bias-transposed": biased(lambda scores, bias, scale: scores + bias.swapaxes(-1, -2)),
    "bias-after-softmax": biased(lambda scores, bias, scale: scores, lambda weights, bias: weights + bias),
    "bias-first-head": biased(
        lambda scores, bias, scale: scores + (bias[..., :1, :, :] if bias.ndim > 2 else bias)
    ),
    "sinks-ignored": sinking(lambda scores, sinks, scale: soft(scores)),
    "sinks-twice": sinking(lambda scores, sinks, scale: joined(scores, sinks, sinks)[..., :-2]),
    "sinks-scaled": sinking(lambda scores, sinks, scale: joined(scores, sinks * scale)[..., :-1]),
    "sinks-first-head": sinking(lambda scores, sinks, scale: joined(scores, sinks[:1])[..., :-1]),
    "sinks-unshifted": sinking(unshifted),
    "sinks-in-numerator": sinking(handed_over),
    "sinks-column-kept": sinking(lambda scores, sinks, scale: joined(scores, sinks)[..., 1:]),
}


@given(sizes, seeds)
@settings(max_examples=5, deadline=None)
def test_attention_holds_every_rule(sizes, seed):
    def own(q, k, v, mask=None, scale=None, softcap=None, bias=None, sinks=None):
        if softcap == 0:
            softcap = None
        return attention(q, k, v, mask=mask, scale=scale, softcap=softcap, bias=bias, sinks=sinks).out

    report = asked(own, STUDIES, sizes=sizes, seed=seed)
    assert report.failed == report.not_judged == report.not_offered == ()
    assert {"scale-given", "softcap", "softcap-zero", "bias", "sinks"} <= set(report.passed)
    assert [(each.aspect, each.name) for each in report.conventions] == [("bias", "after-scale")]


@pytest.mark.parametrize("id", WRONG)
@given(sizes, seeds)
@settings(max_examples=2, deadline=None)
def test_each_wrong_way_is_named_as_itself(id, sizes, seed):
    report = asked(WRONG[id], STUDIES, sizes=sizes, seed=seed)
    (failure,) = (failure for failure in report.failed if failure.rule != "softcap-zero")
    assert (failure.rule, failure.mistake, failure.did) == (WAYS[id].rule, id, WAYS[id].says)


def test_every_way_has_a_wrong_function():
    assert WAYS.keys() - WRONG.keys() == {"bias-before-scale"}


@given(sizes, seeds)
@settings(max_examples=4, deadline=None)
def test_all_ways_are_apart(sizes, seed):
    trial = everything(sizes, seed)
    for study in GIVEN:
        calls = study.calls(trial)
        given = [("right", told(calls, [])), *((way.id, told(calls, [way])) for way in study.ways)]
        if len(given) > 1:
            for (one, a), (other, b) in combinations(given, 2):
                assert apart(a, b), (study.name, one, other)


def before_scale(scores, bias, scale):
    return scores + scale * bias


def test_where_a_bias_is_added_is_a_convention():
    report = asked(biased(before_scale), STUDIES)
    assert report.failed == ()
    assert [(each.aspect, each.name) for each in report.conventions] == [("bias", "before-scale")]
    assert named(asked(biased(before_scale), STUDIES, expect={"bias": "after-scale"})) == [
        ("bias", "bias-before-scale")
    ]


def test_a_scale_that_is_usual_elsewhere_is_used_as_it_is_given():
    """A function that forgets the scale where none is given, and uses the one that is, makes one mistake."""

    def f(q, k, v, scale=1.0):
        return soft(q @ k.swapaxes(-1, -2) * scale) @ v

    assert named(asked(f, STUDIES)) == [("scale", "no-scale")]


def test_a_cap_of_zero_that_is_applied_is_a_weakness():
    """CAP-3: 0·tanh(x/0) is NaN."""

    def f(q, k, v, softcap=None):
        scores = scaled(q, k)
        return soft(scores if softcap is None else softcap * np.tanh(scores / softcap)) @ v

    (failure,) = asked(f, STUDIES).failed
    assert (failure.rule, failure.level, failure.mistake) == (
        "softcap-zero",
        "should",
        "softcap-zero-applied",
    )


def weights(scores, options, choices, **arrays):
    """The weights of scores, by steps: q is 1, k the scores, and no scale."""
    scores = np.asarray(scores, float)
    arrays = {"q": np.ones((1, 1)), "k": scores[:, None], "v": np.eye(len(scores)), **arrays}
    return follow(Call(arrays, {"scale": 1.0, **options}), [WAYS[id] for id in choices])


@pytest.mark.parametrize(
    ("id", "capped"),
    [
        (None, 48.201379),
        ("softcap-ignored", 100.0),
        ("softcap-clips", 50.0),
        ("softcap-without-multiplying-back", 0.96402758),
    ],
)
def test_a_score_of_a_hundred_capped_at_fifty(id, capped):
    """CAP-1."""
    found = weights([100.0], {"softcap": 50.0}, [id] if id else []).capped
    assert np.allclose(found, capped, rtol=1e-8)


def test_a_hidden_key_does_not_come_back_through_the_cap():
    """CAP-2."""
    mask = np.array([[True, False]])
    assert weights([0, 0], {"softcap": 2.0}, [], mask=mask).out.tolist() == [[1, 0]]
    found = weights([0, 0], {"softcap": 2.0}, ["softcap-after-mask"], mask=mask).out
    assert np.allclose(found, [[0.880797078, 0.119202922]], rtol=1e-8)


@pytest.mark.parametrize(
    ("id", "row"), [(None, [1 / 3, 1 / 3]), ("sinks-ignored", [0.5, 0.5]), ("sinks-twice", [0.25, 0.25])]
)
def test_a_sink_of_zero_beside_two_scores_of_zero(id, row):
    """SINK-1 and SINK-3."""
    found = weights([0, 0], {}, [id] if id else [], sinks=np.zeros(1)).out
    assert np.allclose(found, [row], rtol=1e-12)
