"""BERT: every token sees every other, and LayerNorm comes after each part is added.

Source: Devlin et al. 2018, §3; the block is that of Vaswani et al. 2017, §3.1.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from riverhead.cost import Config
from riverhead.transformer.layout import BlockWeights, Weights
from riverhead.transformer.steps import ACTIVATIONS, cut, layer_norm, linear, placed

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
    "causal": False,
    "norm": "layer",
    "norm_after": True,
    "gated": False,
    "rope_base": None,
    "qk_norm": False,
    "embedding_norm": True,
    "final_norm": False,
    "predicts": False,
}


def embed(ids: npt.NDArray[np.int64], weights: Weights, config: Config, offset: int) -> Array:
    """Add the vectors of each token, of its place and of the first segment, and norm: (B, T, d_model)."""
    x = placed(ids, weights, offset)
    if weights.segments is not None:
        x += weights.segments[0]
    return layer_norm(x, weights.embedding_gain, weights.embedding_shift, config.norm_epsilon)


def project(
    x: Array, block: BlockWeights, config: Config, offset: int, divisors: Array | None = None
) -> tuple[Array, Array, Array]:
    """Return q (B, H, T, d_k), k (B, G, T, d_k) and v (B, G, T, d_v) of ``x`` (B, T, d_model).

    It is normed already, and places are in it.
    """
    return cut(x, block, config)


def add_attention(x: Array, part: Array, block: BlockWeights, config: Config) -> Array:
    """Return the residual stream with attention added, and normed: (B, T, d_model)."""
    return layer_norm(x + part, block.attention_gain, block.attention_shift, config.norm_epsilon)


def feed_forward_part(x: Array, block: BlockWeights, config: Config) -> Array:
    """Return what the feed-forward adds to the residual stream ``x`` (B, T, d_model): W_down(gelu(W_up))."""
    hidden = ACTIVATIONS[config.activation](linear(x, block.W_up, block.b_up))  # (B, T, d_ff)
    return linear(hidden, block.W_down, block.b_down)


def add_feed_forward(x: Array, part: Array, block: BlockWeights, config: Config) -> Array:
    """Return the residual stream with the feed-forward added, and normed: (B, T, d_model)."""
    return layer_norm(x + part, block.feed_forward_gain, block.feed_forward_shift, config.norm_epsilon)


def final_norm(x: Array, weights: Weights, config: Config) -> Array:
    """Return the residual stream as it is: the last block has normed it."""
    return x
