"""Cutting, merging and mixing heads."""

import numpy as np
import pytest

from riverhead.core import MultiHead, attention, definition, kv_head_of, merge, split
from riverhead.errors import InputError, ShapeError


def weights(d_model=11, H=6, G=3, d_k=5, d_v=7, seed=0):
    """W_q, W_k, W_v and W_o, every axis another size."""
    rng = np.random.default_rng(seed)
    shapes = (d_model, H * d_k), (d_model, G * d_k), (d_model, G * d_v), (H * d_v, d_model)
    return [rng.standard_normal(shape) for shape in shapes]


def by_hand(x, context, W_q, W_k, W_v, W_o, n_heads, n_kv_heads, **options):
    """Head by head: its own columns of each projection, the definition in loops, its own rows of W_o."""
    d_k, d_v = W_q.shape[1] // n_heads, W_v.shape[1] // n_kv_heads
    y = 0
    for h in range(n_heads):
        g = h // (n_heads // n_kv_heads)
        q = x @ W_q[:, h * d_k : (h + 1) * d_k]
        k = context @ W_k[:, g * d_k : (g + 1) * d_k]
        v = context @ W_v[:, g * d_v : (g + 1) * d_v]
        out = definition.attention(q.tolist(), k.tolist(), v.tolist(), **options).out
        y = y + np.array(out) @ W_o[h * d_v : (h + 1) * d_v]
    return y


@pytest.mark.parametrize("options", [{}, {"causal": True, "window": 2}], ids=["plain", "causal window"])
def test_heads_side_by_side_are_heads_one_by_one(options):
    x = np.random.default_rng(1).standard_normal((2, 5, 11))
    found = MultiHead(*weights(), n_heads=6, n_kv_heads=3).forward(x, **options)
    assert found.q.shape == (2, 6, 5, 5)
    assert found.k.shape == (2, 3, 5, 5)
    assert found.v.shape == (2, 3, 5, 7)
    assert found.attention.weights.shape == (2, 6, 5, 5)
    for b in range(2):  # sums of 42 products of numbers around 10: 1e-11 is some 100 roundings
        np.testing.assert_allclose(found.y[b], by_hand(x[b], x[b], *weights(), 6, 3, **options), atol=1e-11)


def test_cross_attention_reads_keys_and_values_from_the_second_sequence():
    rng = np.random.default_rng(2)
    x, context = rng.standard_normal((3, 11)), rng.standard_normal((13, 11))
    found = MultiHead(*weights(), n_heads=6, n_kv_heads=3).forward(x, context)
    assert found.attention.weights.shape == (6, 3, 13)
    np.testing.assert_allclose(found.y, by_hand(x, context, *weights(), 6, 3), atol=1e-11)


def test_without_projections_one_head_is_the_equation():
    x = np.random.default_rng(3).standard_normal((5, 4))
    found = MultiHead(*[np.eye(4)] * 4, n_heads=1, n_kv_heads=1).forward(x)
    np.testing.assert_allclose(found.y, attention(x, x, x).out, rtol=1e-13)


@pytest.mark.parametrize("n_heads", [1, 2, 3, 6])
def test_however_many_heads_the_parameters_are_those_of_one_wide_head(n_heads):
    W = weights(d_model=6, H=1, G=1, d_k=6, d_v=6)
    assert MultiHead(*W, n_heads=n_heads, n_kv_heads=n_heads).n_parameters == 4 * 6 * 6


def test_split_takes_columns_and_merge_puts_them_back():
    x = np.arange(2 * 3 * 10.0).reshape(2, 3, 10)
    heads = split(x, 5)
    assert heads.shape == (2, 5, 3, 2)
    for h in range(5):
        np.testing.assert_array_equal(heads[:, h], x[..., 2 * h : 2 * h + 2])
    np.testing.assert_array_equal(merge(heads), x)


def test_query_heads_are_grouped_as_neighbours():
    assert [kv_head_of(h, 6, 2) for h in range(6)] == [0, 0, 0, 1, 1, 1]
    assert [kv_head_of(h, 4, 1) for h in range(4)] == [0] * 4
    with pytest.raises(InputError, match=r"^head 6 of 6; heads are counted from 0 to 5$"):
        kv_head_of(6, 6, 2)
    with pytest.raises(ShapeError, match=r"^n_heads 5 is not a multiple of n_kv_heads 2"):
        kv_head_of(0, 5, 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"H": 4}, "n_heads 4 is not a multiple of n_kv_heads 3"),
        ({"W_q": (11, 31)}, "W_q has 31 columns, not a multiple of its 6 heads"),
        ({"W_k": (11, 12)}, "d_k differs: W_q has 5, W_k has 4; each query is compared with each key"),
        ({"W_o": (41, 11)}, "H·d_v differs: W_v has 42, W_o has 41; W_o mixes what the heads found"),
        (
            {"W_v": (10, 21)},
            "d_model differs: W_k has 11, W_v has 10; keys and values are made of the same x",
        ),
        ({"W_q": (11,)}, "W_q is (11,); it has 2 axes, what goes in by what comes out"),
    ],
)
def test_projections_that_do_not_fit(change, message):
    W = dict(zip(("W_q", "W_k", "W_v", "W_o"), weights(), strict=True))
    W |= {name: np.zeros(shape) for name, shape in change.items() if name != "H"}
    with pytest.raises(ShapeError) as caught:
        MultiHead(**W, n_heads=change.get("H", 6), n_kv_heads=3)
    assert message in str(caught.value)


def test_tokens_that_do_not_fit():
    heads = MultiHead(*weights(), n_heads=6, n_kv_heads=3)
    with pytest.raises(ShapeError, match=r"^d_model differs: x has 12, W_q has 11; "):
        heads.forward(np.zeros((3, 12)))
    with pytest.raises(ShapeError, match=r"^d_model differs: context has 12, W_k has 11; "):
        heads.forward(np.zeros((3, 11)), np.zeros((5, 12)))
    with pytest.raises(ShapeError, match=r"^10 columns cannot be cut into n_heads 4 of the same width$"):
        split(np.zeros((3, 10)), 4)


@pytest.mark.oracle
def test_equals_torch_multihead_attention():
    torch = pytest.importorskip("torch", reason="comparing with torch needs the [oracle] extra")
    module = torch.nn.MultiheadAttention(6, 3, bias=False, batch_first=True, dtype=torch.float64)
    W_q, W_k, W_v = (W.T for W in np.split(module.in_proj_weight.detach().numpy(), 3))
    heads = MultiHead(W_q, W_k, W_v, module.out_proj.weight.detach().numpy().T, n_heads=3, n_kv_heads=3)
    x, context = (np.random.default_rng(4).standard_normal((2, T, 6)) for T in (5, 7))
    y, attended = module(*map(torch.from_numpy, (x, context, context)), average_attn_weights=False)
    found = heads.forward(x, context)
    np.testing.assert_allclose(found.y, y.detach(), atol=1e-13)
    np.testing.assert_allclose(found.attention.weights, attended.detach(), atol=1e-14)
