"""What serves attention, in NumPy, with one mistake each: ALiBi, caches, places of tokens, partial results."""

from __future__ import annotations

import numpy as np

from implementations.tables import Table

WRONG = Table()

# ALiBi


def slopes(n_heads):
    closest = 2 ** int(np.log2(n_heads))
    powers = [2.0 ** (-8 * (h + 1) / closest) for h in range(closest)]
    between = [2.0 ** (-4 * (h + 1) / closest) for h in range(0, 2 * (n_heads - closest), 2)]
    return np.array(powers + between)


def behind(T):
    """How far each key lies behind its query."""
    return np.arange(T)[:, None] - np.arange(T)


@WRONG.of("alibi-plain-geometric", kind="alibi")
def alibi_plain_geometric(n_heads):
    return 2.0 ** (-8 * np.arange(1, n_heads + 1) / n_heads)


@WRONG.of("alibi-first-slope-one", kind="alibi")
def alibi_first_slope_one(n_heads):
    closest = 2 ** int(np.log2(n_heads))
    powers = [2.0 ** (-8 * h / closest) for h in range(closest)]
    return np.array(powers + [2.0 ** (-4 * h / closest) for h in range(0, 2 * (n_heads - closest), 2)])


@WRONG.of("alibi-halves", kind="alibi")
def alibi_halves(n_heads):
    return 0.5 ** np.arange(1, n_heads + 1)


@WRONG.of("alibi-base-e", kind="alibi")
def alibi_base_e(n_heads):
    return np.exp(np.log2(slopes(n_heads)))


@WRONG.of("alibi-sorted", kind="alibi")
def alibi_sorted(n_heads):
    return np.sort(slopes(n_heads))[::-1]


@WRONG.of("alibi-reversed", kind="alibi")
def alibi_reversed(n_heads):
    return slopes(n_heads)[::-1]


@WRONG.of("alibi-sign", kind="alibi")
def alibi_sign(n_heads, seq_len):
    return slopes(n_heads)[:, None, None] * behind(seq_len)


@WRONG.of("alibi-squared", kind="alibi")
def alibi_squared(n_heads, seq_len):
    return -slopes(n_heads)[:, None, None] * behind(seq_len) ** 2


@WRONG.of("alibi-logarithm", kind="alibi")
def alibi_logarithm(n_heads, seq_len):
    return -slopes(n_heads)[:, None, None] * np.log2(1 + np.abs(behind(seq_len)))


@WRONG.of("alibi-distance-from-start", kind="alibi")
def alibi_distance_from_start(n_heads, seq_len):
    bias = -slopes(n_heads)[:, None, None] * np.arange(seq_len)
    return np.broadcast_to(bias, (n_heads, seq_len, seq_len))


# A cache of keys and values


class Cache:
    """Right: grows by what comes, hands back all."""

    def __init__(self):
        self.k = self.v = None

    def update(self, k, v):
        if self.k is None:
            self.k, self.v = k, v
        else:
            self.k, self.v = self.join(k, v)
        return self.k, self.v

    def join(self, k, v):
        return np.concatenate([self.k, k], axis=-2), np.concatenate([self.v, v], axis=-2)


@WRONG.of("cache-not-appended", kind="cache")
class CacheNotAppended(Cache):
    def join(self, k, v):
        return k, v


@WRONG.of("cache-frozen", kind="cache")
class CacheFrozen(Cache):
    def join(self, k, v):
        return self.k, self.v


@WRONG.of("cache-appends-twice-later", kind="cache")
class CacheAppendsTwiceLater(Cache):
    def join(self, k, v):
        return np.concatenate([self.k, k, k], axis=-2), np.concatenate([self.v, v, v], axis=-2)


@WRONG.of("cache-prepends", kind="cache")
class CachePrepends(Cache):
    def join(self, k, v):
        return np.concatenate([k, self.k], axis=-2), np.concatenate([v, self.v], axis=-2)


@WRONG.of("cache-drops-oldest", kind="cache")
class CacheDropsOldest(Cache):
    def join(self, k, v):
        room = self.k.shape[-2]
        k, v = super().join(k, v)
        return k[..., -room:, :], v[..., -room:, :]


@WRONG.of("cache-overwrites-first", kind="cache")
class CacheOverwritesFirst(Cache):
    def join(self, k, v):
        return (
            np.concatenate([k, self.k[..., k.shape[-2] :, :]], axis=-2),
            np.concatenate([v, self.v[..., v.shape[-2] :, :]], axis=-2),
        )


@WRONG.of("cache-overwrites-last", kind="cache")
class CacheOverwritesLast(Cache):
    def join(self, k, v):
        return (
            np.concatenate([self.k[..., :-1, :], k], axis=-2),
            np.concatenate([self.v[..., :-1, :], v], axis=-2),
        )


@WRONG.of("cache-hole-each", kind="cache")
class CacheHoleEach(Cache):
    def join(self, k, v):
        gap_k, gap_v = np.zeros_like(k[..., :1, :]), np.zeros_like(v[..., :1, :])
        return (
            np.concatenate([self.k, gap_k, k], axis=-2),
            np.concatenate([self.v, gap_v, v], axis=-2),
        )


@WRONG.of("cache-keys-only", kind="cache")
class CacheKeysOnly(Cache):
    def join(self, k, v):
        return super().join(k, np.zeros_like(v))


@WRONG.of("cache-values-only", kind="cache")
class CacheValuesOnly(Cache):
    def join(self, k, v):
        return super().join(np.zeros_like(k), v)


@WRONG.of("cache-concat-wrong-axis", kind="cache")
class CacheConcatWrongAxis(Cache):
    def join(self, k, v):
        return np.concatenate([self.k, k], axis=-1), np.concatenate([self.v, v], axis=-1)


# Places of tokens in padded rows


@WRONG.of("positions-arange", kind="positions")
def positions_arange(attention_mask):
    return np.broadcast_to(np.arange(attention_mask.shape[1]), attention_mask.shape)


@WRONG.of("positions-over-batch", kind="positions")
def positions_over_batch(attention_mask):
    return np.maximum(attention_mask.cumsum(0) - 1, 0)


@WRONG.of("positions-backwards", kind="positions")
def positions_backwards(attention_mask):
    return np.maximum(attention_mask[:, ::-1].cumsum(1)[:, ::-1] - 1, 0)


# Two partial results made one


@WRONG.of("merge-average", kind="merge")
def merge_average(out_a, lse_a, out_b, lse_b):
    return (out_a + out_b) / 2, np.logaddexp(lse_a, lse_b)


@WRONG.of("merge-sum", kind="merge")
def merge_sum(out_a, lse_a, out_b, lse_b):
    return out_a + out_b, np.logaddexp(lse_a, lse_b)


def shares(lse_a, lse_b):
    """The part of each in the sum of both."""
    lse = np.logaddexp(lse_a, lse_b)
    finite = np.where(np.isneginf(lse), 0, lse)
    return np.exp(lse_a - finite)[..., None], np.exp(lse_b - finite)[..., None], lse


@WRONG.of("merge-swapped", kind="merge")
def merge_swapped(out_a, lse_a, out_b, lse_b):
    a, b, lse = shares(lse_a, lse_b)
    return b * out_a + a * out_b, lse


@WRONG.of("merge-takes-larger", kind="merge")
def merge_takes_larger(out_a, lse_a, out_b, lse_b):
    return np.where((lse_a >= lse_b)[..., None], out_a, out_b), np.logaddexp(lse_a, lse_b)


@WRONG.of("merge-lse-largest", kind="merge")
def merge_lse_largest(out_a, lse_a, out_b, lse_b):
    a, b, _ = shares(lse_a, lse_b)
    return a * out_a + b * out_b, np.maximum(lse_a, lse_b)


@WRONG.of("merge-lse-added", kind="merge")
def merge_lse_added(out_a, lse_a, out_b, lse_b):
    a, b, _ = shares(lse_a, lse_b)
    return a * out_a + b * out_b, lse_a + lse_b


@WRONG.of("merge-without-maximum", kind="merge")
def merge_without_maximum(out_a, lse_a, out_b, lse_b):
    a, b = np.exp(lse_a), np.exp(lse_b)
    total = np.where(a + b == 0, 1, a + b)
    return (a[..., None] * out_a + b[..., None] * out_b) / total[..., None], np.log(a + b)


@WRONG.of("merge-nan", kind="merge")
def merge_nan(out_a, lse_a, out_b, lse_b):
    top = np.maximum(lse_a, lse_b)
    a, b = np.exp(lse_a - top), np.exp(lse_b - top)
    return (a[..., None] * out_a + b[..., None] * out_b) / (a + b)[..., None], top + np.log(a + b)
