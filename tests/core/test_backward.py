"""The gradient by tiles against the gradient with all weights at hand, and against itself in float64."""

import functools
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import problems

from riverhead.core import attention, attention_gradient, backward, kernel
from riverhead.core.job import job_of

TILE = backward.TILE


@pytest.fixture(autouse=True, scope="module")
def small_tiles():
    """Three queries by three keys, so that a toy has many tiles, whole and cut."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(backward, "TILE", 3)
        yield


def gradient(d_out, q, k, v, **options):
    """d_q, d_k, d_v and d_sinks of one call, in the shapes of the job."""
    job = job_of(q, k, v, **options)
    found = kernel.run(job, statistics=False)
    d_out = np.broadcast_to(d_out, found["out"].shape)
    return backward.gradient(job, found["out"], found["lse"], d_out)


def as_given(d, x):
    """Sum over the axes along which x was repeated."""
    lead = d.ndim - x.ndim
    axes = (*range(lead), *(i + lead for i, n in enumerate(x.shape) if n == 1 != d.shape[i + lead]))
    return d.sum(axis=axes, keepdims=True).reshape(x.shape)


@st.composite
def calls(draw):
    """A problem with places, lengths and slopes besides, and the same said with mask and bias alone."""
    q, k, v, options = draw(problems(dtypes=(np.float64,)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    T_q, T_k, H = q.shape[-2], k.shape[-2], 1 if q.ndim == 2 else q.shape[-3]
    batch = np.broadcast_shapes(q.shape[:-3], k.shape[:-3])
    shape = (T_q, T_k) if q.ndim == k.ndim == 2 else (*batch, H, T_q, T_k)
    offset = draw(st.none() | st.integers(-T_q - 1, T_k + 1))
    lengths = rng.integers(0, T_k + 1, batch) if draw(st.booleans()) else None
    alibi = rng.standard_normal(H) if draw(st.booleans()) else None

    dense = {name: options[name] for name in ("scale", "softcap", "sinks") if name in options}
    visible = np.broadcast_to(options.get("mask", True), shape).copy()
    bias = np.broadcast_to(options.get("bias", 0.0), shape).copy()
    start = 0 if options.get("align") == "start" else T_k - T_q
    behind = np.arange(T_q)[:, None] + (start if offset is None else offset) - np.arange(T_k)
    if options.get("causal"):
        visible &= behind >= 0
    if options.get("window"):
        visible &= abs(behind) < options["window"]
    if lengths is not None:
        visible &= np.arange(T_k) < np.reshape(lengths, (*batch, *[1] * (len(shape) - len(batch))))
    if alibi is not None:
        bias -= np.reshape(alibi, (*[H] * (len(shape) > 2), 1, 1)) * abs(behind)
    extra = {"offset": offset, "lengths": lengths, "alibi": alibi}
    return q, k, v, options | extra, dense | {"mask": visible, "bias": bias}


@settings(max_examples=150, deadline=None)
@given(calls())
def test_equals_the_gradient_with_all_weights_at_hand(call):
    """Both are float64 and differ by rounding: a score by δ = (d_k + 16)·u·reach, its weight by e^(2δ) and
    (T_k + 16)·u, and every number is a sum of products with at most ``terms``."""
    q, k, v, options, dense = call
    d_out = np.random.default_rng(0).standard_normal(attention(q, k, v, **dense).out.shape)
    exact = attention_gradient(d_out, q, k, v, **dense)
    found = gradient(d_out, q, k, v, **options)
    (T_q, d_k), (T_k, d_v), u = q.shape[-2:], v.shape[-2:], 2.0**-53
    scale = abs(options.get("scale") if options.get("scale") is not None else d_k**-0.5)
    bias = dense["bias"][np.isfinite(dense["bias"])]
    reach = scale * d_k * abs(q).max() * abs(k).max() + abs(bias).max(initial=0)
    delta = (d_k + 16) * u * (reach + abs(options.get("sinks", np.zeros(1))).max())
    terms = abs(d_out).sum() * d_v * abs(v).max() * max(1, scale * abs(q).max(), scale * abs(k).max())
    bound = 8 * (np.expm1(2 * delta) + (T_k + T_q + d_v + 16) * u) * (1 + terms)
    for d, x, right in zip(found, (q, k, v), exact, strict=False):
        np.testing.assert_allclose(as_given(d, x), right, rtol=0, atol=bound)


def test_two_keys_on_paper():
    """Weights ½ and ½, values 0 and 4: out 2. A score up by ε moves out by s(1 − s)·4·ε = ε."""
    found = gradient([[3.0]], np.array([[5.0]]), np.zeros((2, 1)), np.array([[0.0], [4.0]]))
    assert found.d_q.tolist() == [[[0]]]  # both keys are 0
    assert found.d_k.tolist() == [[[-15], [15]]]  # 3 · 1 · q
    assert found.d_v.tolist() == [[[1.5], [1.5]]]  # 3 · ½
    assert found.d_sinks is None


def test_a_sink_on_paper():
    """A score and a sink, both 0: out is 4·½. The sink up by ε takes ¼·ε of the weight, so 3·4·¼ = 3."""
    one = np.ones((1, 1))
    assert gradient([[3.0]], 0 * one, one, 4 * one, sinks=[0.0]).d_sinks.tolist() == [-3]


@pytest.mark.parametrize("poison", [np.nan, np.inf])
def test_a_query_that_sees_nothing_and_a_key_that_nobody_sees_get_zeros(poison):
    rng = np.random.default_rng(1)
    q, d_out = rng.standard_normal((2, 15, 7, 13)), rng.standard_normal((2, 15, 7, 17))
    k, v = rng.standard_normal((2, 3, 11, 13)), rng.standard_normal((2, 3, 11, 17))
    options = {"mask": rng.random((7, 11)) < 0.6, "softcap": 5.0, "sinks": np.zeros(15)}
    options["mask"][3], options["mask"][:, 4] = False, False
    clean = gradient(d_out, q, k, v, **options)
    q[..., 3, :] = k[..., 4, :] = v[..., 4, :] = d_out[..., 3, :] = poison
    found = gradient(d_out, q, k, v, **options)
    for d, untouched in zip(found, clean, strict=True):
        np.testing.assert_array_equal(d, untouched)
    assert not found.d_q[..., 3, :].any()
    assert not found.d_k[..., 4, :].any()
    assert not found.d_v[..., 4, :].any()


def test_nothing_to_see_and_nobody_to_look():
    nothing = gradient(np.ones((5, 2)), np.ones((5, 3)), np.ones((0, 3)), np.ones((0, 2)))
    assert nothing.d_q.tolist() == [[[0] * 3] * 5]
    assert nothing.d_k.shape == (1, 0, 3)
    nobody = gradient(np.ones((0, 2)), np.ones((0, 3)), np.ones((7, 3)), np.ones((7, 2)))
    assert not nobody.d_v.any()


@pytest.mark.parametrize(
    ("options", "n_tiles"),
    [
        ({}, 100),
        ({"causal": True}, 55),  # 1 + 2 + … + 10
        ({"causal": True, "window": 2}, 19),  # its own, and but for the first the one before
        ({"lengths": 7}, 30),
        ({"causal": True, "offset": -30}, 0),
    ],
)
def test_keys_that_places_hide_cost_nothing(options, n_tiles):
    x = np.ones((30, 2))
    assert len(list(backward._tiles(job_of(x, x, x, **options), (), 0))) == n_tiles


def test_any_number_of_threads_gives_the_same_bits():
    rng = np.random.default_rng(0)
    q, d_out = rng.standard_normal((2, 2, 15, 37, 13))
    k, v = rng.standard_normal((2, 2, 3, 41, 13))
    job = job_of(q, k, v, causal=True, sinks=np.zeros(15))
    found = kernel.run(job, statistics=False)
    one, three = (
        backward.gradient(job, found["out"], found["lse"], d_out, threads=threads) for threads in (1, 3)
    )
    for d, again in zip(one, three, strict=True):
        np.testing.assert_array_equal(d, again)


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_error_in_one_share_ends_the_others(error):
    turns = []

    def fails():
        yield
        raise error

    def goes_on():
        while len(turns) < 5_000_000:  # seconds
            turns.append(None)
            yield

    with pytest.raises(error):
        backward._run([fails(), goes_on(), goes_on()], threads=2)
    assert len(turns) < 5_000_000


@functools.cache
def narrow_and_exact(T, spread):
    """Inputs in float32, and their gradient in float64, the same for every way."""
    rng = np.random.default_rng(T)
    q, d_out = rng.standard_normal((2, 2, T, 64))
    k, v = rng.standard_normal((2, 1, T, 64))
    narrow = [x.astype(np.float32) for x in (d_out, spread * q, k, v)]
    return narrow, gradient(*(x.astype(np.float64) for x in narrow), causal=True)[:3]


@pytest.mark.parametrize("way", kernel.paths())
@pytest.mark.parametrize(("T", "spread"), [(2, 1), (384, 8), (385, 30), (1153, 1), (1153, 30)])
def test_float32_is_within_1e_4_of_float64(way, T, spread, monkeypatch):
    """Of the largest number of each gradient, in a causal head, for scores up to ±5·spread.

    The pass and the tiles each round such a score to some 2u·|score|: at 150, weights are off by 4e-5.
    """
    monkeypatch.setenv("RIVERHEAD_KERNEL", way)
    monkeypatch.setattr(backward, "TILE", TILE)
    narrow, exact = narrow_and_exact(T, spread)
    for d, right in zip(gradient(*narrow, causal=True)[:3], exact, strict=True):
        assert d.dtype == np.float32
        assert abs(d - right).max() <= 1e-4 * abs(right).max()


def test_memory_grows_with_t_not_with_t_squared(monkeypatch):
    """At T = 4,099 a T×T of float32 is 67 MB, of booleans 17 MB; what is made on the way stays below 8."""
    monkeypatch.setattr(backward, "TILE", TILE)
    q, k, v, d_out = np.random.default_rng(0).standard_normal((4, 1, 4099, 8)).astype(np.float32)
    job = job_of(q, k, v, causal=True, window=3001)
    found = kernel.run(job, statistics=False)
    tracemalloc.start()
    try:
        backward.gradient(job, found["out"], found["lse"], d_out)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8e6
