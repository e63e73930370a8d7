"""KV caches in NumPy with one mistake each."""

from __future__ import annotations

import numpy as np

from implementations.tables import Table
from implementations.wrong_numpy import everyone, masked_softmax, scaled, up_to_oneself

WRONG = Table()

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


@WRONG.of("cache-changes-the-past", kind="cache")
class CacheOfOneBuffer:
    """Tokens stand at the end of a buffer; what came before is moved forward in it."""

    def __init__(self, max_len=64):
        self.max_len, self.n = max_len, 0

    def moved(self, old, new):
        if old is None:
            old = np.zeros((*new.shape[:-2], self.max_len, new.shape[-1]), new.dtype)
        T = new.shape[-2]
        old[..., :-T, :] = old[..., T:, :].copy()
        old[..., -T:, :] = new
        return old

    def update(self, k, v):
        self.n += k.shape[-2]
        self.k, self.v = self.moved(getattr(self, "k", None), k), self.moved(getattr(self, "v", None), v)
        return self.k[..., -self.n :, :], self.v[..., -self.n :, :]


# Attention of new tokens, with a cache behind it


class CachedAttention:
    """Right: new tokens see what came before them, and each other up to themselves."""

    def __init__(self):
        self.past = None

    def __call__(self, q, k, v):
        if self.past is not None:
            k, v = (np.concatenate([a, b], axis=-2) for a, b in zip(self.past, (k, v), strict=True))
        self.past = k, v
        return masked_softmax(scaled(q, k), self.seen(q, k)) @ v

    def seen(self, q, k):
        return up_to_oneself(q, k)


@WRONG.of("cache-piece-unmasked", kind="cache")
class CachePieceUnmasked(CachedAttention):
    def seen(self, q, k):
        return everyone(q, k)


@WRONG.of("cache-mask-own", kind="cache")
class CacheMaskOwn(CachedAttention):
    def seen(self, q, k):
        return np.tril(everyone(q, k))


# What some caches do besides


class WholeCache(Cache):
    """Right, and counts, keeps a window, reorders, is cut, and is emptied."""

    def __init__(self, window=None):
        super().__init__()
        self.window, self.n = window, 0

    def __len__(self):
        return self.n

    def update(self, k, v):
        self.n += k.shape[-2]
        super().update(k, v)
        self.slide()
        return self.k, self.v

    def slide(self):
        if self.window is not None:
            self.k, self.v = self.k[..., -self.window :, :], self.v[..., -self.window :, :]

    def reorder_cache(self, beam_idx):
        self.k, self.v = self.k[beam_idx], self.v[beam_idx]

    def crop(self, max_length):
        self.n = max_length
        self.k, self.v = self.k[..., :max_length, :], self.v[..., :max_length, :]

    def reset(self):
        self.k = self.v = None
        self.n = 0


@WRONG.of("cache-not-reordered", kind="cache")
class CacheNotReordered(WholeCache):
    def reorder_cache(self, beam_idx):
        self.k[beam_idx], self.v[beam_idx]


@WRONG.of("cache-values-not-reordered", kind="cache")
class CacheValuesNotReordered(WholeCache):
    def reorder_cache(self, beam_idx):
        self.k = self.k[beam_idx]


@WRONG.of("cache-reordered-backwards", kind="cache")
class CacheReorderedBackwards(WholeCache):
    def reorder_cache(self, beam_idx):
        k, v = self.k.copy(), self.v.copy()
        k[beam_idx], v[beam_idx] = self.k, self.v
        self.k, self.v = k, v


@WRONG.of("cache-not-cropped", kind="cache")
class CacheNotCropped(WholeCache):
    def crop(self, max_length):
        self.n = max_length


@WRONG.of("cache-crop-keeps-last", kind="cache")
class CacheCropKeepsLast(WholeCache):
    def crop(self, max_length):
        self.n = max_length
        self.k, self.v = self.k[..., -max_length:, :], self.v[..., -max_length:, :]


@WRONG.of("cache-window-ignored", kind="cache")
class CacheWindowIgnored(WholeCache):
    def slide(self):
        pass


@WRONG.of("cache-window-one-more", kind="cache")
class CacheWindowOneMore(WholeCache):
    def slide(self):
        if self.window is not None:
            self.k, self.v = self.k[..., -self.window - 1 :, :], self.v[..., -self.window - 1 :, :]


@WRONG.of("cache-not-reset", kind="cache")
class CacheNotReset(WholeCache):
    def reset(self):
        self.n = 0


@WRONG.of("cache-counts-steps", kind="cache")
class CacheCountsSteps(WholeCache):
    def update(self, k, v):
        kept, self.n = self.n, 0
        given = super().update(k, v)
        self.n = kept + 1
        return given


@WRONG.of("cache-layers-shared", kind="cache")
class CacheLayersShared(Cache):
    def update(self, k, v, layer_idx):
        return super().update(k, v)
