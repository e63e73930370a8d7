"""Llama, and its children Mistral and Qwen: RMSNorm before each part, RoPE, SwiGLU, grouped heads.

Source: Touvron et al. 2023 (LLaMA), §2.2; grouped heads: Ainslie et al. 2023, §2.2; windows: Jiang et al.
2023 (Mistral 7B), §2; norms of q and k: Qwen3 Technical Report 2025, §2.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from riverhead.core.positions import rope
from riverhead.cost import Config
from riverhead.transformer.layout import BlockWeights, Weights
from riverhead.transformer.steps import ACTIVATIONS, add, cut, linear, rms_norm

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
    "norm": "rms",
    "norm_after": False,
    "gated": True,
    "n_positions": 0,
    "n_segments": 0,
    "embedding_norm": False,
    "final_norm": True,
}
add_attention = add_feed_forward = add


def embed(ids: npt.NDArray[np.int64], weights: Weights, config: Config, offset: int) -> Array:
    """Look up the vector of each token (B, T, d_model); its place is told to q and k instead."""
    x: Array = weights.embedding[ids]
    return x


def project(
    x: Array, block: BlockWeights, config: Config, offset: int, divisors: Array | None = None
) -> tuple[Array, Array, Array]:
    """Return q (B, H, T, d_k), k (B, G, T, d_k), both turned by RoPE, and v (B, G, T, d_v).

    ``x`` (B, T, d_model) is the residual stream into the block, its first token at position ``offset``;
    ``divisors`` (d_k / 2,) slow the turning down, for contexts longer than the one first trained on.
    """
    q, k, v = cut(rms_norm(x, block.attention_gain, config.norm_epsilon), block, config)
    if config.qk_norm:
        q, k = (
            rms_norm(q, block.q_gain, config.norm_epsilon),
            rms_norm(k, block.k_gain, config.norm_epsilon),
        )
    if config.rope_base is not None:
        q, k = (rope(part, base=config.rope_base, divisors=divisors, offset=offset) for part in (q, k))
    return q, k, v


def feed_forward_part(x: Array, block: BlockWeights, config: Config) -> Array:
    """Return what SwiGLU adds to the residual stream ``x`` (B, T, d_model): W_down(silu(gate) · up)."""
    normed = rms_norm(x, block.feed_forward_gain, config.norm_epsilon)
    gate_up = linear(normed, block.W_up, block.b_up)  # (B, T, 2·d_ff)
    hidden = ACTIVATIONS[config.activation](gate_up[..., : config.d_ff])
    hidden *= gate_up[..., config.d_ff :]
    return linear(hidden, block.W_down, block.b_down)


def final_norm(x: Array, weights: Weights, config: Config) -> Array:
    """Norm the residual stream once more, as W_vocab reads it (B, T, d_model)."""
    return rms_norm(x, weights.final_gain, config.norm_epsilon)
