"""The last token's row is the last row of whole attention, and its way back is that of finite differences."""

from __future__ import annotations

import numpy as np
import pytest

from riverhead.core import MultiHead
from riverhead.experiments.one_query import last_token_asks

N, T, D_MODEL, D_K, D_V, H, D_OUT = 2, 5, 7, 3, 11, 3, 13
STEP = 1e-5
TOLERANCE = (
    1e-7  # a central difference: step²·f‴/6 = 1e-9 and u·f/step = 1e-10 for numbers of the order of 10
)


@pytest.fixture
def x() -> np.ndarray:
    return np.random.default_rng(1).normal(size=(N, T, D_MODEL))


@pytest.fixture
def matrices() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(2)
    shapes = {
        "W_q": (D_MODEL, H * D_K),
        "W_k": (D_MODEL, H * D_K),
        "W_v": (D_MODEL, H * D_V),
        "W_o": (H * D_V, D_OUT),
    }
    return {name: rng.normal(size=shape) / 2 for name, shape in shapes.items()}


def test_it_is_the_last_row_of_whole_attention(x, matrices):
    asked, _ = last_token_asks(x, matrices, H)
    whole = MultiHead(**matrices, n_heads=H, n_kv_heads=H).forward(x)
    # sums of T·d products of the order of 1, in another order: some hundred roundings of 2⁻⁵³
    np.testing.assert_allclose(asked.y, whole.y[:, -1], atol=1e-13)
    np.testing.assert_allclose(asked.weights, whole.attention.weights[:, :, -1], atol=1e-13)


@pytest.mark.parametrize("name", ["W_q", "W_k", "W_v", "W_o"])
def test_it_goes_back_as_finite_differences_do(x, matrices, name):
    d_y = np.random.default_rng(3).normal(size=(N, D_OUT))
    found = last_token_asks(x, matrices, H)[1](d_y)[name]
    expected = np.empty_like(found)
    for at in np.ndindex(found.shape):
        kept, sides = matrices[name][at], []
        for moved in (kept + STEP, kept - STEP):
            matrices[name][at] = moved
            sides.append(float(np.sum(last_token_asks(x, matrices, H)[0].y * d_y)))
        matrices[name][at] = kept
        expected[at] = (sides[0] - sides[1]) / (2 * STEP)
    np.testing.assert_allclose(found, expected, atol=TOLERANCE)
