"""The gradient by hand against finite differences of the definition, torch, and paper."""

import numpy as np
import pytest
from hypothesis import given, settings
from problems import primes, problems

from riverhead.core import attention, attention_gradient


def differences(d_out, arrays, options, step=2.0**-14):
    """Central differences of the loss Σ d_out · out, and how far they may be off.

    Two steps, h and 2h: the error of the first is a third of their difference, up to h⁴; and what is left
    of the loss's own rounding is u · |loss terms| / h.
    """

    def slope(x, at, h):
        kept = x[at]
        x[at] = kept + h
        up = (attention(*arrays, **options).out * d_out).sum()
        x[at] = kept - h
        down = (attention(*arrays, **options).out * d_out).sum()
        x[at] = kept
        return (up - down) / (2 * h)

    for x in arrays:
        found = np.zeros_like(x)
        for at in np.ndindex(x.shape):
            fine, coarse = slope(x, at, step), slope(x, at, 2 * step)
            found[at] = fine + (fine - coarse) / 3  # Richardson
        yield found


@settings(max_examples=40, deadline=None)
@given(problems(dtypes=(np.float64,)))
def test_equals_finite_differences_whatever_the_options(problem):
    q, k, v, options = problem
    arrays = [q / max(1, np.abs(q).max() / 3), k, v]  # flat enough for differences
    d_out = np.random.default_rng(0).standard_normal(attention(*arrays, **options).out.shape)
    found = attention_gradient(d_out, *arrays, **options)
    size = (
        1 + np.abs(d_out).sum() * np.abs(v).max()
    )  # u·size/h = 2^-53 · 2^14 · size = 2e-12 · size; h⁴ = 1e-17
    for d, exact in zip(found, differences(d_out, arrays, options), strict=True):
        np.testing.assert_allclose(d, exact, rtol=1e-7, atol=1e-10 * size)


def test_two_keys_on_paper():
    """Weights ½ and ½, values 0 and 4: out 2. A score up by ε moves out by s(1 − s)·4·ε = ε."""
    found = attention_gradient([[3.0]], q=[[5.0]], k=[[0.0], [0.0]], v=[[0.0], [4.0]])
    assert found.d_q.tolist() == [[0]]  # both keys are 0
    assert found.d_k.tolist() == [[-15], [15]]  # 3 · 1 · q
    assert found.d_v.tolist() == [[1.5], [1.5]]  # 3 · ½


def test_a_saturated_softmax_passes_nothing_on():
    found = attention_gradient([[1.0]], [[1.0]], [[100.0], [-100.0]], [[1.0], [2.0]])
    assert np.abs(found.d_k).max() < 1e-80
    assert found.d_v.tolist() == [[1], [np.exp(-200)]]


def test_shapes_and_dtype_follow_what_was_given():
    q, k, v = primes(np.float32)
    d_out = np.ones((2, 15, 7, 17), np.float32)
    found = attention_gradient(d_out, q, k[:1], v[0], causal=True)
    assert [d.shape for d in found] == [q.shape, k[:1].shape, v[0].shape]
    assert {d.dtype for d in found} == {np.dtype(np.float32)}
    twice = attention_gradient(d_out, q, np.concatenate([k[:1]] * 2), np.stack([v[0]] * 2), causal=True)
    np.testing.assert_allclose(found.d_k[0], twice.d_k.sum(axis=0), atol=1e-4)
    np.testing.assert_allclose(found.d_v, twice.d_v.sum(axis=0), atol=1e-4)


@pytest.mark.parametrize("poison", [np.nan, np.inf])
def test_a_query_that_sees_nothing_and_a_key_that_nobody_sees_get_zeros(poison):
    q, k, v = primes()
    d_out = np.random.default_rng(1).standard_normal((2, 15, 7, 17))
    mask = np.random.default_rng(2).random((7, 11)) < 0.6
    mask[3], mask[:, 4] = False, False
    clean = attention_gradient(d_out, q, k, v, mask=mask, softcap=5.0, sinks=np.zeros(15))
    q[..., 3, :] = k[..., 4, :] = v[..., 4, :] = d_out[..., 3, :] = poison
    found = attention_gradient(d_out, q, k, v, mask=mask, softcap=5.0, sinks=np.zeros(15))
    for d, untouched in zip(found, clean, strict=True):
        np.testing.assert_array_equal(d, untouched)
    assert not found.d_q[..., 3, :].any()
    assert not found.d_k[..., 4, :].any()
    assert not found.d_v[..., 4, :].any()


def test_nothing_to_see_and_nobody_to_look():
    nothing = attention_gradient(np.ones((5, 2)), np.ones((5, 3)), np.ones((0, 3)), np.ones((0, 2)))
    assert nothing.d_q.tolist() == [[0] * 3] * 5
    assert nothing.d_k.shape == (0, 3)
    nobody = attention_gradient(np.ones((0, 2)), np.ones((0, 3)), np.ones((7, 3)), np.ones((7, 2)))
    assert not nobody.d_v.any()


@pytest.mark.oracle
@pytest.mark.parametrize(
    "options",
    [{}, {"causal": True, "scale": 0.7}, {"softcap": 1.5, "sinks": np.linspace(-1, 1, 15), "causal": True}],
    ids=["plain", "causal", "cap and sinks"],
)
def test_equals_torch_autograd(options):
    torch = pytest.importorskip("torch", reason="comparing with torch needs the [oracle] extra")
    q, k, v = (torch.from_numpy(x).requires_grad_() for x in primes())
    scores = q @ k.repeat_interleave(5, dim=1).mT * options.get("scale", 13**-0.5)
    if cap := options.get("softcap"):
        scores = cap * torch.tanh(scores / cap)
    if options.get("causal"):
        scores = scores.masked_fill(~torch.ones(7, 11).tril(4).bool(), -torch.inf)
    if "sinks" in options:
        sinks = torch.from_numpy(options["sinks"])[:, None, None].expand(2, 15, 7, 1)
        scores = torch.cat([scores, sinks], dim=-1)
    out = scores.softmax(dim=-1)[..., :11] @ v.repeat_interleave(5, dim=1)
    d_out = torch.from_numpy(np.random.default_rng(3).standard_normal((2, 15, 7, 17)))
    (out * d_out).sum().backward()
    found = attention_gradient(d_out.numpy(), *primes(), **options)
    for d, x in zip(
        found, (q, k, v), strict=True
    ):  # sums of 5·7·17 products, some hundred roundings of 1e-16
        np.testing.assert_allclose(d, x.grad, atol=1e-13)
