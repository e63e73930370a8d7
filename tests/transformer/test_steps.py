"""The steps of a block, against plain Python: norms, activations, products."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from riverhead.transformer.huggingface import ACTIVATIONS as NAMES
from riverhead.transformer.steps import ACTIVATIONS, erf, layer_norm, linear, rms_norm

NUMBERS = st.floats(-100, 100, width=32)
PLAIN = {
    "silu": lambda x: x / (1 + math.exp(-x)),
    "gelu": lambda x: x / 2 * (1 + math.erf(x / math.sqrt(2))),
    "gelu_tanh": lambda x: x / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "relu": lambda x: max(x, 0.0),
}


@given(hnp.arrays(np.float32, 13, elements=NUMBERS))
@settings(deadline=None)
def test_erf_is_that_of_the_library(x: np.ndarray) -> None:
    # 8e-9 between its lines, and two roundings of at most 2⁻²⁴ = 6e-8 below 1
    np.testing.assert_allclose(erf(x), [math.erf(value) for value in x], rtol=0, atol=1.3e-7)


def test_erf_at_every_line_and_at_the_ends() -> None:
    x = np.linspace(-4.5, 4.5, 100_003, dtype=np.float32)
    np.testing.assert_allclose(erf(x), np.vectorize(math.erf)(x), rtol=0, atol=1.3e-7)
    assert erf(np.array([np.inf, -np.inf, 3e38], np.float32)).tolist() == [1, -1, 1]


@pytest.mark.parametrize("name", ACTIVATIONS)
@given(x=hnp.arrays(np.float32, 7, elements=NUMBERS))
@settings(deadline=None)
def test_activations_are_their_formulas(name: str, x: np.ndarray) -> None:
    before = x.copy()
    # 1 + erf is off by 2e-7 in all, silu's and tanh's exponent by |x|·2⁻²⁴ of itself where it still counts
    expected = [PLAIN[name](float(value)) for value in x]
    np.testing.assert_allclose(ACTIVATIONS[name](x), expected, rtol=4e-7, atol=3e-6)
    np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_far_out_are_0_or_the_number_itself_and_nan_stays(name: str) -> None:
    found = ACTIVATIONS[name](np.array([-3e4, 3e4, 0, np.nan], np.float32))
    np.testing.assert_array_equal(found, [0, 3e4, 0, np.nan])


@pytest.mark.oracle
@pytest.mark.parametrize("name", NAMES)
def test_an_activation_by_a_config_s_name_is_transformers(name: str) -> None:
    torch = pytest.importorskip("torch", reason="activations: needs the [oracle] extra")
    activations = pytest.importorskip("transformers.activations", reason="needs the [oracle] extra")
    x = np.linspace(-5, 5, 101, dtype=np.float32)
    expected = activations.ACT2FN[name](torch.tensor(x))
    # the two GELUs are 5e-4 apart; each side within 1e-6 of its formula, as above
    np.testing.assert_allclose(ACTIVATIONS[NAMES[name]](x), expected, rtol=4e-7, atol=3e-6)


def test_norms_are_their_formulas() -> None:
    rng = np.random.default_rng(0)
    x, gain, shift = rng.normal(3, 2, (2, 5, 11)), rng.normal(size=11), rng.normal(size=11)
    for vector, rms, layer in zip(
        x.reshape(-1, 11),
        rms_norm(x, gain, 0.125).reshape(-1, 11),
        layer_norm(x, gain, shift, 0.125).reshape(-1, 11),
        strict=True,
    ):
        mean = math.fsum(vector) / 11
        square = math.fsum(value**2 for value in vector) / 11
        variance = math.fsum((value - mean) ** 2 for value in vector) / 11
        np.testing.assert_allclose(rms, vector / math.sqrt(square + 0.125) * gain, rtol=1e-13)
        expected = (vector - mean) / math.sqrt(variance + 0.125) * gain + shift
        np.testing.assert_allclose(layer, expected, rtol=1e-12, atol=1e-13)


def test_a_product_with_its_shift_keeps_the_axes_before() -> None:
    x, W = np.arange(30.0).reshape(2, 3, 5), np.arange(35.0).reshape(5, 7)
    b = np.arange(7.0)
    np.testing.assert_array_equal(linear(x, W, b), np.einsum("...i,ij->...j", x, W) + b)
    np.testing.assert_array_equal(linear(x, W), np.einsum("...i,ij->...j", x, W))
