"""A Llama-family transformer, block by block: each step of the lessons is one short function.

Source: https://arxiv.org/abs/2302.13971 section 2.2 (RMSNorm before, SwiGLU, RoPE), grouped heads as in
https://arxiv.org/abs/2305.13245.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from riverhead.core.equation import attention
from riverhead.core.fused import forward
from riverhead.core.positions import rope
from riverhead.cost import Config
from riverhead.transformer.layout import BlockWeights

__all__ = ["Off", "attend", "attention_part", "feed_forward_part", "project", "rms_norm"]

Array = npt.NDArray[np.float32]
Off = tuple[int, int, Any]  # item, head, and what it hands over instead: 0, or a vector (d_v,)

FEW = 6  # queries in a tile of the fused pass


def rms_norm(x: Array, gain: Array, epsilon: float) -> Array:
    """Divide each vector by its root mean square, then multiply by ``gain``: (..., d_model)."""
    mean_square = np.einsum("...c,...c->...", x, x)[..., None] / x.shape[-1]
    normed: Array = x / np.sqrt(mean_square + np.float32(epsilon))
    normed *= gain
    return normed


def project(x: Array, block: BlockWeights, config: Config, offset: int) -> tuple[Array, Array, Array]:
    """Return q (B, H, T, d_k), k (B, G, T, d_k), both turned by RoPE, and v (B, G, T, d_v).

    ``x`` (B, T, d_model) is the residual stream into the block, its first token at position ``offset``.
    """
    H, G, d_k, d_v = config.n_heads, config.n_kv_heads, config.d_k, config.d_v
    B, T, d_model = x.shape
    normed = rms_norm(x.reshape(-1, d_model), block.attention_gain, config.norm_epsilon)
    qkv = normed @ block.W_qkv  # (B·T, H·d_k + G·d_k + G·d_v)
    turned = qkv[:, : (H + G) * d_k].reshape(B, T, H + G, d_k).swapaxes(1, 2)
    v = qkv[:, (H + G) * d_k :].reshape(B, T, G, d_v).swapaxes(1, 2)
    turned = rope(turned, base=config.rope_base or 10_000.0, offset=offset)
    return turned[:, :H], turned[:, H:], v


def attend(q: Array, k: Array, v: Array) -> Array:
    """Causal attention (B, H, T_q, d_v); no T × T matrix is ever held."""
    if q.shape[-2] < FEW:  # a token being generated: one row a head is nothing to tile
        return attention(q, k, v, causal=True).out
    return forward(q, k, v, causal=True)


def attention_part(out: Array, block: BlockWeights, off: Iterable[Off] = ()) -> Array:
    """Return what attention adds to the residual stream (B, T, d_model); ``off`` switches heads off."""
    B, H, T, d_v = out.shape
    for item, head, instead in off:
        out[item, head] = instead
    merged = out.swapaxes(1, 2).reshape(B * T, H * d_v)
    added: Array = merged @ block.W_o
    return added.reshape(B, T, -1)


def feed_forward_part(x: Array, block: BlockWeights, config: Config) -> Array:
    """Return what SwiGLU adds to the residual stream ``x`` (B, T, d_model): W_down(silu(gate) · up)."""
    normed = rms_norm(x.reshape(-1, config.d_model), block.feed_forward_gain, config.norm_epsilon)
    gate_up = normed @ block.W_up  # (B·T, 2·d_ff)
    gate, up = gate_up[:, : config.d_ff], gate_up[:, config.d_ff :]
    with np.errstate(over="ignore"):  # exp(−gate) = ∞ is right: silu is then −0
        hidden = np.exp(-gate)
    hidden += 1
    np.divide(gate, hidden, out=hidden)
    hidden *= up
    added: Array = hidden @ block.W_down
    return added.reshape(x.shape)
