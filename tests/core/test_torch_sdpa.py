"""The equation against torch's scaled_dot_product_attention, the second oracle."""

import numpy as np
import pytest
from bounds import close, out_bound
from problems import primes

from riverhead.core import attention, masks

pytestmark = pytest.mark.oracle

MASK = masks.combine(np.random.default_rng(0).random((7, 11)) < 0.5, masks.causal(7, 11))
BIAS = np.random.default_rng(1).standard_normal((15, 7, 11))
CASES = {  # ours, theirs
    "plain": ({}, {}),
    "is_causal is align start": ({"causal": True, "align": "start"}, {"is_causal": True}),
    "causal at the end": ({"causal": True}, {"attn_mask": np.tri(7, 11, 4, dtype=bool)}),
    "mask": ({"mask": MASK}, {"attn_mask": MASK}),
    "no key at all": (
        {"mask": MASK & (np.arange(7) != 2)[:, None]},
        {"attn_mask": MASK & (np.arange(7) != 2)[:, None]},
    ),
    "bias": ({"bias": BIAS}, {"attn_mask": BIAS}),
    "scale": ({"scale": 0.1}, {"scale": 0.1}),
}


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="comparing with torch needs the [oracle] extra")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("case", CASES)
def test_equals_sdpa(torch, case, dtype):
    ours, theirs = CASES[case]
    q, k, v = primes(dtype)
    found = attention(q, k, v, **ours)
    theirs = {name: torch.from_numpy(x) if isinstance(x, np.ndarray) else x for name, x in theirs.items()}
    if theirs.get("attn_mask") is not None and theirs["attn_mask"].dtype != torch.bool:
        theirs["attn_mask"] = theirs["attn_mask"].to(torch.from_numpy(q).dtype)
    expected = torch.nn.functional.scaled_dot_product_attention(
        *map(torch.from_numpy, (q, k, v)), enable_gqa=True, **theirs
    )
    bound = out_bound(
        found.weights.astype(float), q, k, v, dtype=dtype, scale=ours.get("scale"), bias=ours.get("bias")
    )
    close(found.out, expected.numpy().astype(float), 2 * bound)
