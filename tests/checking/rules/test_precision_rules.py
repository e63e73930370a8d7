"""Large scores and few digits: what overflows, what is rounded on the way, what keeps the dtype."""

import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riverhead.checking.rules.call import Call
from riverhead.checking.rules.pipeline import follow
from riverhead.checking.rules.studies.plain import PLAIN
from riverhead.checking.rules.studies.precision import LARGE, OF_LARGE, PRECISION
from riverhead.checking.rules.studies.rounded import BITS, to_bits

sys.path.insert(0, str(Path(__file__).parent))
from adapted import asked, everything, named, sizes_of
from by_name import apart, scaled, soft, told

STUDIES = (PLAIN, LARGE, *PRECISION)
WAYS = {way.id: way for way in OF_LARGE}

sizes = st.permutations([2, 3, 5, 7, 6]).map(sizes_of)
seeds = st.integers(0, 10_000)


def right(q, k, v):
    return soft(scaled(q, k)) @ v


def of_exponentials(shift):
    """Attention whose exponentials are taken of the scores less ``shift(scores)``."""

    def f(q, k, v):
        scores = scaled(q, k)
        e = np.exp(scores - shift(scores))
        return e / e.sum(-1, keepdims=True) @ v

    return f


WRONG = {
    "no-max-subtraction": of_exponentials(lambda scores: 0),
    "max-of-all": of_exponentials(np.max),
}


@given(sizes, seeds)
@settings(max_examples=3, deadline=None)
def test_attention_holds_every_rule(sizes, seed):
    report = asked(right, STUDIES, sizes=sizes, seed=seed)
    assert report.failed == report.not_judged == ()
    held = {"large-scores", "precision", "float16", "dtype", "scale-place", "sums-in-half"}
    assert held <= set(report.passed)
    assert {each.rule for each in report.not_offered} == {"bfloat16"}  # NumPy has none


@pytest.mark.parametrize("id", WRONG)
@given(sizes, seeds)
@settings(max_examples=3, deadline=None)
def test_each_wrong_shift_is_named_as_itself(id, sizes, seed):
    (failure,) = asked(WRONG[id], [PLAIN, LARGE], sizes=sizes, seed=seed).failed
    assert (failure.rule, failure.mistake, failure.did) == ("large-scores", id, WAYS[id].says)
    assert np.isnan(failure.found)
    assert np.isfinite(failure.right)


@given(sizes, seeds)
@settings(max_examples=5, deadline=None)
def test_all_ways_are_apart(sizes, seed):
    calls = LARGE.calls(everything(sizes, seed))
    for (one, a), (other, b) in combinations(
        [("right", told(calls, [])), *((way.id, told(calls, [way])) for way in OF_LARGE)], 2
    ):
        assert apart(a, b), (one, other)


def test_scores_of_a_thousand_are_those_of_one():
    """NUM-1: softmax([1000, 999]) is softmax([1, 0]); without the maximum it is ∞/∞."""
    call = Call({"q": np.array([[1000.0]]), "k": np.array([[1.0], [0.999]]), "v": np.eye(2)})
    assert np.allclose(follow(call).out, [[0.731058579, 0.268941421]], rtol=1e-8)
    assert np.isnan(follow(call, [WAYS["no-max-subtraction"]]).out).all()


@pytest.mark.parametrize(
    "shift",
    [
        lambda scores: scores.max(-1, keepdims=True) + 3,
        lambda scores: scores[..., ::-1].max(-1, keepdims=True),
    ],
    ids=["three above the maximum", "the maximum found from behind"],
)
def test_other_shifts_pass(shift):
    assert asked(of_exponentials(shift), [PLAIN, LARGE]).failed == ()


@given(sizes, seeds)
@settings(max_examples=2, deadline=None)
def test_a_log_sum_exp_passes_though_it_rounds_as_large_scores_do(sizes, seed):
    """Of scores of 4096 to about 10⁻¹³ of a weight, not 10⁻¹⁶."""

    def f(q, k, v):
        scores = scaled(q, k)
        peak = scores.max(-1, keepdims=True)
        return np.exp(scores - (peak + np.log(np.exp(scores - peak).sum(-1, keepdims=True)))) @ v

    assert asked(f, [PLAIN, LARGE], sizes=sizes, seed=seed).failed == ()


def inside(dtype):
    def f(q, k, v):
        return right(*(x.astype(dtype) for x in (q, k, v))).astype(q.dtype)

    return f


def only_weights_in(dtype):
    def f(q, k, v):
        return soft(scaled(q, k)).astype(dtype).astype(q.dtype) @ v

    return f


@pytest.mark.parametrize("f", [inside(np.float16), only_weights_in(np.float16)])
@given(sizes, seeds)
@settings(max_examples=2, deadline=None)
def test_rounding_to_float16_on_the_way_is_named(f, sizes, seed):
    assert named(asked(f, [PLAIN], sizes=sizes, seed=seed)) == [("precision", "kept-in-float16")]


@given(sizes, seeds)
@settings(max_examples=2, deadline=None)
def test_rounding_to_float32_on_the_way_is_a_convention(sizes, seed):
    report = asked(inside(np.float32), STUDIES, sizes=sizes, seed=seed)
    assert report.failed == ()
    assert ("precision", "float32") in [(each.aspect, each.name) for each in report.conventions]
    kept = asked(inside(np.float32), STUDIES, sizes=sizes, seed=seed, expect={"precision": "as-given"})
    assert named(kept) == [("precision", "kept-in-float32")]


def test_rounding_of_float32_arrays_alone_is_found_too():
    def f(q, k, v):
        return (inside(np.float16) if q.dtype == np.float32 else right)(q, k, v)

    assert named(asked(f, STUDIES)) == [("precision", "kept-in-float16")]


@given(seeds, st.sampled_from([0.1, -0.2]))
@settings(max_examples=2, deadline=None)
def test_what_is_off_by_more_than_rounding_is_no_rounding(seed, by):
    """bfloat16 keeps 8 digits: a tenth is far more than it loses."""
    report = asked(lambda q, k, v: right(q, k, v) * (1 + by) + by, [PLAIN], seed=seed)
    assert all(rule == "definition" for rule, _ in named(report))


def test_a_narrower_result_is_a_weakness_and_a_wider_one_a_convention():
    narrow = asked(lambda q, k, v: right(q, k, v).astype(np.float32), STUDIES)
    assert named(narrow) == [("dtype", "dtype-narrowed")]
    assert narrow.ok
    wide = asked(lambda q, k, v: right(q, k, v).astype(np.float64), STUDIES)
    assert wide.failed == ()
    assert ("result", "wider") in [(each.aspect, each.name) for each in wide.conventions]
    expected = asked(lambda q, k, v: right(q, k, v).astype(float), STUDIES, expect={"result": "as-given"})
    assert [rule for rule, _ in named(expected)] == ["dtype"]


def test_where_the_scale_sits_shows_by_overflow_and_is_no_fault():
    """NUM-2: 60·60·64 = 230400 passes float16's 65504; an eighth of it does not."""
    places = {}
    for name, f in {
        "before": lambda q, k, v: soft((q * q.shape[-1] ** -0.5) @ k.swapaxes(-1, -2)) @ v,
        "after": right,
    }.items():
        report = asked(f, STUDIES)
        assert report.failed == ()
        places[name] = {each.aspect: each.name for each in report.conventions}["scale"]
    assert places == {"before": "before", "after": "after"}
    assert named(asked(right, STUDIES, expect={"scale": "before"})) == [("scale-place", "")]


def one_by_one(x):
    """A sum in the dtype of its terms, from the first to the last."""
    return np.add.accumulate(x, axis=-1)[..., -1:]


def row_sums_in_half(q, k, v):
    scores = scaled(q, k)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    wide = np.promote_types(e.dtype, np.float32)
    return (e / one_by_one(e)).astype(wide) @ v.astype(wide)


def mixed_in_half(q, k, v):
    terms = soft(scaled(q, k))[..., None, :] * v.swapaxes(-1, -2)[..., None, :, :]
    return one_by_one(terms)[..., 0]


def all_in_half(q, k, v):
    scores = scaled(q, k)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return one_by_one((e / one_by_one(e))[..., None, :] * v.swapaxes(-1, -2)[..., None, :, :])[..., 0]


@pytest.mark.parametrize("f", [row_sums_in_half, mixed_in_half, all_in_half])
def test_sums_that_stop_growing_are_named(f):
    """In float16 2048 + 1 is 2048; of two such sums the errors could cancel, but not in both columns."""
    (failure,) = asked(f, STUDIES).failed
    assert (failure.rule, failure.level, failure.mistake) == ("sums-in-half", "should", "sums-in-half")


def test_rounding_to_some_binary_digits_is_that_of_the_dtype():
    x = np.random.default_rng(5).normal(size=1000) * 10.0 ** np.arange(-3, 4).repeat(143)[:1000]
    for dtype in (np.float16, np.float32):
        normal = np.abs(x) > np.finfo(dtype).smallest_normal
        assert (to_bits(x, BITS[np.dtype(dtype).name])[normal] == x.astype(dtype)[normal]).all()


@pytest.mark.oracle
def test_torch_holds_every_rule_in_every_dtype():
    torch = pytest.importorskip("torch", reason="torch is not installed: the [oracle] extra")

    def by_matmul(q, k, v):
        return torch.softmax(q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5, dim=-1) @ v

    for f in (by_matmul, torch.nn.functional.scaled_dot_product_attention):
        report = asked(f, STUDIES, arrays="torch")
        assert report.failed == report.not_offered == ()
        assert {"float16", "bfloat16", "sums-in-half", "dtype"} <= set(report.passed)


@pytest.mark.oracle
def test_bfloat16_on_the_way_is_named():
    torch = pytest.importorskip("torch", reason="torch is not installed: the [oracle] extra")

    def f(q, k, v):
        q16, k16, v16 = (x.bfloat16() for x in (q, k, v))
        return (torch.softmax(q16 @ k16.mT / q.shape[-1] ** 0.5, dim=-1) @ v16).to(q.dtype)

    assert named(asked(f, STUDIES, arrays="torch")) == [("precision", "kept-in-bfloat16")]
