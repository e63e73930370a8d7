"""GPT-2: a learned vector for each place, LayerNorm before each part, shifts everywhere, GELU.

Source: Radford et al. 2019, §2.3, and the code published with it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from riverhead.cost import Config
from riverhead.transformer.layout import BlockWeights, Weights
from riverhead.transformer.steps import ACTIVATIONS, add, cut, layer_norm, linear, placed

__all__ = [
    "TRAITS",
    "add_attention",
    "add_feed_forward",
    "embed",
    "feed_forward_part",
    "final_norm",
    "project",
]

Array = npt.NDArray[np.float32]

TRAITS = {
    "norm": "layer",
    "norm_after": False,
    "gated": False,
    "rope_base": None,
    "qk_norm": False,
    "n_segments": 0,
    "embedding_norm": False,
    "final_norm": True,
}
add_attention = add_feed_forward = add


def embed(ids: npt.NDArray[np.int64], weights: Weights, config: Config, offset: int) -> Array:
    """Add the vectors of each token and of its place, the first at ``offset``: (B, T, d_model)."""
    return placed(ids, weights, offset)


def project(
    x: Array, block: BlockWeights, config: Config, offset: int, divisors: Array | None = None
) -> tuple[Array, Array, Array]:
    """Return q (B, H, T, d_k), k (B, G, T, d_k) and v (B, G, T, d_v) of ``x`` (B, T, d_model).

    Places are in it already.
    """
    return cut(layer_norm(x, block.attention_gain, block.attention_shift, config.norm_epsilon), block, config)


def feed_forward_part(x: Array, block: BlockWeights, config: Config) -> Array:
    """Return what the feed-forward adds to the residual stream ``x`` (B, T, d_model): W_down(gelu(W_up))."""
    normed = layer_norm(x, block.feed_forward_gain, block.feed_forward_shift, config.norm_epsilon)
    hidden = ACTIVATIONS[config.activation](linear(normed, block.W_up, block.b_up))  # (B, T, d_ff)
    return linear(hidden, block.W_down, block.b_down)


def final_norm(x: Array, weights: Weights, config: Config) -> Array:
    """Norm the residual stream once more, as W_vocab reads it (B, T, d_model)."""
    return layer_norm(x, weights.final_gain, weights.final_shift, config.norm_epsilon)
