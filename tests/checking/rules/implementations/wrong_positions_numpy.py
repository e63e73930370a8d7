"""Rotary positions, ALiBi and KV caches in NumPy with one mistake each."""

from __future__ import annotations

import numpy as np

from implementations.tables import Table

WRONG = Table()


def angles(positions, d, base=10000.0):
    inv_freq = base ** (-np.arange(0, d, 2) / d)
    return np.asarray(positions)[:, None] * inv_freq  # (T, d/2)


def half_split(x, cos, sin):
    one, two = np.split(x, 2, axis=-1)
    return np.concatenate([one * cos - two * sin, two * cos + one * sin], axis=-1)


# Rotary positions


@WRONG.of("rope-mixed-layouts", kind="rope")
def rope_mixed_layouts(x, positions):
    theta = np.repeat(angles(positions, x.shape[-1]), 2, axis=-1)  # interleaved frequencies
    one, two = np.split(x, 2, axis=-1)
    return x * np.cos(theta) + np.concatenate([-two, one], axis=-1) * np.sin(theta)  # halves turned


@WRONG.of("rope-sign", kind="rope")
def rope_sign(x, positions):
    theta = angles(positions, x.shape[-1])
    one, two = np.split(x, 2, axis=-1)
    cos, sin = np.cos(theta), np.sin(theta)
    return np.concatenate([one * cos + two * sin, two * cos + one * sin], axis=-1)


@WRONG.of("rope-by-index", kind="rope")
def rope_by_index(x, positions):
    theta = angles(np.arange(len(positions)), x.shape[-1])
    return half_split(x, np.cos(theta), np.sin(theta))


@WRONG.of("rope-along-heads", kind="rope")
def rope_along_heads(x, positions):
    if x.ndim < 3:
        theta = angles(positions, x.shape[-1])
        return half_split(x, np.cos(theta), np.sin(theta))
    theta = angles(np.arange(x.shape[-3]), x.shape[-1])[:, None]
    return half_split(x, np.cos(theta), np.sin(theta))


@WRONG.of("rope-frequencies", kind="rope")
def rope_frequencies(x, positions):
    d = x.shape[-1]
    inv_freq = 10000.0 ** (-np.arange(d // 2) / d)  # 2i/d was meant
    theta = np.asarray(positions)[:, None] * inv_freq
    return half_split(x, np.cos(theta), np.sin(theta))


@WRONG.of("rope-one-frequency", kind="rope")
def rope_one_frequency(x, positions):
    theta = np.asarray(positions)[:, None] * np.ones(x.shape[-1] // 2)
    return half_split(x, np.cos(theta), np.sin(theta))


@WRONG.of("rope-added", kind="rope")
def rope_added(x, positions):
    theta = angles(positions, x.shape[-1])
    return x + np.concatenate([np.sin(theta), np.cos(theta)], axis=-1)


@WRONG.of("rope-first-half-only", kind="rope")
def rope_first_half_only(x, positions):
    theta = angles(positions, x.shape[-1])
    one, two = np.split(x, 2, axis=-1)
    return np.concatenate([one * np.cos(theta) - two * np.sin(theta), two], axis=-1)


# ALiBi


@WRONG.of("slopes-geometric", kind="alibi")
def slopes_geometric(n_heads):
    return np.array([2.0 ** (-8 * (h + 1) / n_heads) for h in range(n_heads)])


@WRONG.of("slopes-from-zero", kind="alibi")
def slopes_from_zero(n_heads):
    closest = 2 ** int(np.log2(n_heads))
    slopes = [2.0 ** (-8 * h / closest) for h in range(closest)]
    slopes += [2.0 ** (-8 * h / (2 * closest)) for h in range(0, 2 * (n_heads - closest), 2)]
    return np.array(slopes)


def slopes(n_heads):
    closest = 2 ** int(np.log2(n_heads))
    right = [2.0 ** (-8 * (h + 1) / closest) for h in range(closest)]
    return np.array(right + [2.0 ** (-4 * (h + 1) / closest) for h in range(0, 2 * (n_heads - closest), 2)])


@WRONG.of("alibi-rewards-distance", kind="alibi")
def alibi_rewards_distance(n_heads, T):
    distance = np.abs(np.arange(T)[:, None] - np.arange(T))
    return slopes(n_heads)[:, None, None] * distance


# A cache of keys and values


class Cache:
    """Right: grows by what comes, hands back all."""

    def __init__(self):
        self.k = self.v = None

    def update(self, k, v):
        if self.k is None:
            self.k, self.v = k, v
        else:
            self.k, self.v = np.concatenate([self.k, k], -2), np.concatenate([self.v, v], -2)
        return self.k, self.v


@WRONG.of("cache-forgets", kind="cache")
class CacheForgets(Cache):
    def update(self, k, v):
        self.k, self.v = k, v
        return k, v


@WRONG.of("cache-reversed", kind="cache")
class CacheReversed(Cache):
    def update(self, k, v):
        if self.k is None:
            self.k, self.v = k, v
        else:
            self.k, self.v = np.concatenate([k, self.k], -2), np.concatenate([v, self.v], -2)
        return self.k, self.v


@WRONG.of("cache-keys-only", kind="cache")
class CacheKeysOnly(Cache):
    def update(self, k, v):
        if self.k is None:
            self.k, self.v = k, v
        else:
            self.k = np.concatenate([self.k, k], -2)
            self.v = np.concatenate([self.v, np.zeros_like(v)], -2)
        return self.k, self.v


@WRONG.of("cache-slot-skipped", kind="cache")
class CacheSlotSkipped(Cache):
    def update(self, k, v):
        if self.k is None:
            self.k, self.v = k, v
        else:
            self.k = np.concatenate([self.k, np.zeros_like(k[..., :1, :]), k], -2)
            self.v = np.concatenate([self.v, np.zeros_like(v[..., :1, :]), v], -2)
        return self.k, self.v
