"""Rotary positions, ALiBi, caches and merges that are right, in the forms that people give them, in NumPy."""

from __future__ import annotations

import math

import numpy as np

from implementations.tables import Table

ACCEPTED = Table()


def angles(positions, d, base=10000.0):
    return np.multiply.outer(np.asarray(positions, float), base ** (-np.arange(0, d, 2) / d))  # (T, d/2)


@ACCEPTED.of("RoPE, halves", kind="rope")
def rope_halves(x, positions):
    theta = np.tile(angles(positions, x.shape[-1]), 2)
    one, two = np.split(x, 2, axis=-1)
    return x * np.cos(theta) + np.concatenate([-two, one], axis=-1) * np.sin(theta)


@ACCEPTED.of("RoPE, neighbours", kind="rope")
def rope_neighbours(x, offset=0):
    theta = np.repeat(angles(offset + np.arange(x.shape[-2]), x.shape[-1]), 2, axis=-1)
    other = np.stack([-x[..., 1::2], x[..., ::2]], axis=-1).reshape(x.shape)
    return x * np.cos(theta) + other * np.sin(theta)


@ACCEPTED.of("RoPE, complex numbers", kind="rope")
def rope_complex(xq, xk, positions):
    turns = np.exp(1j * angles(positions, xq.shape[-1]))

    def turned(x):
        z = (x[..., ::2] + 1j * x[..., 1::2]) * turns
        return np.stack([z.real, z.imag], axis=-1).reshape(x.shape)

    return turned(xq), turned(xk)


@ACCEPTED.of("RoPE, matrices of two by two", kind="rope")
def rope_matrices(x):
    theta = angles(np.arange(x.shape[-2]), x.shape[-1])
    turns = np.array([[np.cos(theta), -np.sin(theta)], [np.sin(theta), np.cos(theta)]])  # (2, 2, T, d/2)
    pairs = x.reshape(*x.shape[:-1], 2, -1)
    return np.einsum("ijtp,...tjp->...tip", turns, pairs).reshape(x.shape)


@ACCEPTED.of("ALiBi's slopes, by recursion", kind="alibi")
def slopes_by_recursion(n_heads):
    if math.log2(n_heads).is_integer():
        start = 2 ** (-(2 ** -(math.log2(n_heads) - 3)))
        return [start * start**i for i in range(n_heads)]
    closest = 2 ** math.floor(math.log2(n_heads))
    return slopes_by_recursion(closest) + slopes_by_recursion(2 * closest)[::2][: n_heads - closest]


@ACCEPTED.of("ALiBi's bias, of both sides", kind="alibi")
def alibi_both_sides(n_heads, seq_len):
    distance = np.abs(np.arange(seq_len)[:, None] - np.arange(seq_len))
    return -np.array(slopes_by_recursion(n_heads))[:, None, None] * distance


@ACCEPTED.of("ALiBi's bias, by the place of the key", kind="alibi")
def alibi_by_key(n_heads, seq_len):
    bias = np.array(slopes_by_recursion(n_heads))[:, None, None] * np.arange(seq_len)
    return np.broadcast_to(bias, (n_heads, seq_len, seq_len))


@ACCEPTED.of("a cache of lists", kind="cache")
class ListCache:
    def __init__(self):
        self.keys, self.values = [], []

    def update(self, k, v):
        self.keys.append(k)
        self.values.append(v)
        return np.concatenate(self.keys, axis=-2), np.concatenate(self.values, axis=-2)


@ACCEPTED.of("a cache of fixed room", kind="cache")
class RoomyCache:
    def __init__(self, max_len=64):
        self.max_len, self.n = max_len, 0

    def update(self, k, v):
        if self.n == 0:
            self.k = np.zeros((*k.shape[:-2], self.max_len, k.shape[-1]), k.dtype)
            self.v = np.zeros((*v.shape[:-2], self.max_len, v.shape[-1]), v.dtype)
        end = self.n + k.shape[-2]
        self.k[..., self.n : end, :], self.v[..., self.n : end, :] = k, v
        self.n = end
        return self.k[..., :end, :], self.v[..., :end, :]


@ACCEPTED.of("a cache as a pair", kind="cache")
def pair_cache(k, v, past=None):
    if past is not None:
        k, v = (np.concatenate(pair, axis=-2) for pair in zip(past, (k, v), strict=True))
    return k, v


@ACCEPTED.of("places of tokens, by a cumulative sum", kind="positions")
def cumulative_places(attention_mask):
    return np.clip(np.cumsum(attention_mask, axis=1) - 1, 0, None)


@ACCEPTED.of("places of tokens, 1 where there is padding", kind="positions")
def places_with_ones(attention_mask):
    return np.where(attention_mask == 0, 1, np.cumsum(attention_mask, axis=1) - 1)


@ACCEPTED.of("two parts merged by their shares", kind="merge")
def merged_by_shares(out_a, lse_a, out_b, lse_b):
    lse = np.logaddexp(lse_a, lse_b)
    top = np.where(np.isneginf(lse), 0, lse)
    return np.exp(lse_a - top)[..., None] * out_a + np.exp(lse_b - top)[..., None] * out_b, lse
