"""The steps that families share: norms, products, activations, heads cut, attended and merged."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from riverhead.core.equation import attention
from riverhead.core.fused import forward
from riverhead.core.positions import learned
from riverhead.cost import Config
from riverhead.transformer.layout import BlockWeights, Weights

__all__ = [
    "ACTIVATIONS",
    "Off",
    "add",
    "attend",
    "attention_part",
    "cut",
    "erf",
    "layer_norm",
    "linear",
    "placed",
    "rms_norm",
]

Array = npt.NDArray[np.float32]
Off = tuple[int, int, Any]  # item, head, and what it hands over instead: 0, or a vector (d_v,)

FEW = 6  # queries in a tile of the fused pass


def linear(x: Array, W: Array, b: Array | None = None) -> Array:
    """Return ``x @ W + b``, (..., n) from (..., m), as one product however many axes come before."""
    y: Array = x.reshape(-1, x.shape[-1]) @ W
    if b is not None:
        y += b
    return y.reshape(*x.shape[:-1], -1)


def rms_norm(x: Array, gain: Array | None, epsilon: float) -> Array:
    """Divide each vector by its root mean square, then multiply by ``gain``: (..., d).

    Zhang and Sennrich 2019, §4.

    >>> rms_norm(np.array([3.0, 4.0]), np.array([1.0, 10.0]), 0.0).round(3)  # by √12.5
    array([ 0.849, 11.314])
    """
    mean_square = np.einsum("...c,...c->...", x, x)[..., None] / x.shape[-1]
    normed: Array = x / np.sqrt(mean_square + np.float32(epsilon))
    if gain is not None:
        normed *= gain
    return normed


def layer_norm(x: Array, gain: Array | None, shift: Array | None, epsilon: float) -> Array:
    """Take each vector's mean off it, divide by its deviation, multiply by ``gain``, add ``shift``: (..., d).

    Ba et al. 2016, §3.

    >>> layer_norm(np.array([1.0, 3.0]), np.array([1.0, 10.0]), np.array([0.5, 0.0]), 0.0)
    array([-0.5, 10. ])
    """
    normed = rms_norm(x - x.mean(axis=-1, keepdims=True), gain, epsilon)
    if shift is not None:
        normed += shift
    return normed


def placed(ids: npt.NDArray[np.int64], weights: Weights, offset: int) -> Array:
    """Add the vectors learned for each token and for its place, the first at ``offset``: (B, T, d_model)."""
    x: Array = weights.embedding[ids]
    if weights.positions is not None:
        x += learned(weights.positions, ids.shape[1], offset=offset)
    return x


def cut(x: Array, block: BlockWeights, config: Config) -> tuple[Array, Array, Array]:
    """Project ``x`` (B, T, d_model) to q (B, H, T, d_k), k (B, G, T, d_k) and v (B, G, T, d_v)."""
    H, G, d_k = config.n_heads, config.n_kv_heads, config.d_k
    B, T, _ = x.shape
    qkv = linear(x, block.W_qkv, block.b_qkv)  # (B, T, H·d_k + G·d_k + G·d_v)
    ends = (H * d_k, (H + G) * d_k)
    q, k, v = (
        part.reshape(B, T, n, -1).swapaxes(1, 2)
        for part, n in zip(np.split(qkv, ends, axis=-1), (H, G, G), strict=True)
    )
    return q, k, v


def attend(q: Array, k: Array, v: Array, **options: Any) -> Array:
    """Attention (B, H, T_q, d_v), ``options`` those of `Config.attention`; no T × T matrix is ever held."""
    if q.shape[-2] < FEW:  # a token being generated: one row a head is nothing to tile
        return attention(q, k, v, **options).out
    return forward(q, k, v, **options)


def attention_part(out: Array, block: BlockWeights, off: Iterable[Off] = ()) -> Array:
    """Return what attention adds to the residual stream (B, T, d_model); ``off`` switches heads off."""
    B, H, T, d_v = out.shape
    for item, head, instead in off:
        out[item, head] = instead
    return linear(out.swapaxes(1, 2).reshape(B, T, H * d_v), block.W_o, block.b_o)


def add(x: Array, part: Array, block: BlockWeights, config: Config) -> Array:
    """Return the residual stream with a part of the block added: (B, T, d_model)."""
    return x + part


def silu(x: Array) -> Array:
    """Return x · σ(x). Elfwing et al. 2018, §2.

    >>> silu(np.array([0.0, 1.0])).round(4)
    array([0.    , 0.7311])
    """
    with np.errstate(over="ignore"):  # exp(−x) = ∞ is right: the result is then −0
        y: Array = np.exp(-x)
    y += 1
    return np.divide(x, y, out=y)


def gelu(x: Array) -> Array:
    """Return x · Φ(x), Φ the normal distribution. Hendrycks and Gimpel 2016, §2.

    >>> gelu(np.array([0.0, 1.0], np.float32)).round(4)
    array([0.    , 0.8413], dtype=float32)
    """
    y = erf(x * np.float32(math.sqrt(0.5)))
    y += 1
    y *= x
    y *= np.float32(0.5)
    return y


def gelu_tanh(x: Array) -> Array:
    """Return GELU as GPT-2 computes it, ½x (1 + tanh(√(2/π) (x + 0.044715 x³))), ibid.

    >>> gelu_tanh(np.array([0.0, 1.0])).round(4)
    array([0.    , 0.8412])
    """
    y: Array = x * x
    y *= np.float32(0.044715)
    y += 1
    y *= x
    y *= np.float32(math.sqrt(2 / math.pi))
    np.tanh(y, out=y)
    y += 1
    y *= x
    y *= np.float32(0.5)
    return y


def relu(x: Array) -> Array:
    """Return x where it is positive, else 0."""
    y: Array = np.maximum(x, np.float32(0))
    return y


ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "silu": silu,
    "gelu": gelu,
    "gelu_tanh": gelu_tanh,
    "relu": relu,
}

ERF_END = 4.0  # beyond, erf is 1 to float32
ERF_STEPS = 4096  # a straight line over 1/4096 is within (1/4096)²/8 · max |erf″| = 8e-9 of erf


def erf(x: Array) -> Array:
    """Return the error function of ``x`` to 1e-7: straight lines between values of `math.erf`.

    >>> erf(np.array([-0.5, 0.0, 9.0], np.float32)).round(5)
    array([-0.5205,  0.    ,  1.    ], dtype=float32)
    """
    values, rises = _erf_table()
    place = np.fmin(np.abs(x), np.float32(ERF_END))  # NaN is for the caller, whose x it still is
    place *= ERF_STEPS
    below = place.astype(np.intp)
    place -= below
    y: Array = rises[below]
    y *= place
    y += values[below]
    return np.copysign(y, x)


@lru_cache(maxsize=1)
def _erf_table() -> tuple[Array, Array]:
    values = np.array([math.erf(i / ERF_STEPS) for i in range(int(ERF_END * ERF_STEPS) + 2)])
    return values.astype(np.float32), np.diff(values).astype(np.float32)
