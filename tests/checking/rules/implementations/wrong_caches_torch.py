"""KV caches in torch with one mistake each."""

from __future__ import annotations

import torch

from implementations.tables import Table
from implementations.wrong_torch import everyone, masked_softmax, scaled, up_to_oneself

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
        return torch.cat([self.k, k], dim=-2), torch.cat([self.v, v], dim=-2)


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
        return torch.cat([self.k, k, k], dim=-2), torch.cat([self.v, v, v], dim=-2)


@WRONG.of("cache-prepends", kind="cache")
class CachePrepends(Cache):
    def join(self, k, v):
        return torch.cat([k, self.k], dim=-2), torch.cat([v, self.v], dim=-2)


@WRONG.of("cache-drops-oldest", kind="cache")
class CacheDropsOldest(Cache):
    def join(self, k, v):
        room = self.k.size(-2)
        k, v = super().join(k, v)
        return k[..., -room:, :], v[..., -room:, :]


@WRONG.of("cache-overwrites-first", kind="cache")
class CacheOverwritesFirst(Cache):
    def join(self, k, v):
        return (
            torch.cat([k, self.k[..., k.size(-2) :, :]], dim=-2),
            torch.cat([v, self.v[..., v.size(-2) :, :]], dim=-2),
        )


@WRONG.of("cache-overwrites-last", kind="cache")
class CacheOverwritesLast(Cache):
    def join(self, k, v):
        return (
            torch.cat([self.k[..., :-1, :], k], dim=-2),
            torch.cat([self.v[..., :-1, :], v], dim=-2),
        )


@WRONG.of("cache-hole-each", kind="cache")
class CacheHoleEach(Cache):
    def join(self, k, v):
        gap_k, gap_v = torch.zeros_like(k[..., :1, :]), torch.zeros_like(v[..., :1, :])
        return (
            torch.cat([self.k, gap_k, k], dim=-2),
            torch.cat([self.v, gap_v, v], dim=-2),
        )


@WRONG.of("cache-keys-only", kind="cache")
class CacheKeysOnly(Cache):
    def join(self, k, v):
        return super().join(k, torch.zeros_like(v))


@WRONG.of("cache-values-only", kind="cache")
class CacheValuesOnly(Cache):
    def join(self, k, v):
        return super().join(torch.zeros_like(k), v)


@WRONG.of("cache-concat-wrong-axis", kind="cache")
class CacheConcatWrongAxis(Cache):
    def join(self, k, v):
        return torch.cat([self.k, k], dim=-1), torch.cat([self.v, v], dim=-1)


@WRONG.of("cache-changes-the-past", kind="cache")
class CacheOfOneBuffer:
    """Tokens stand at the end of a buffer; what came before is moved forward in it."""

    def __init__(self, max_len=64):
        self.max_len, self.n = max_len, 0

    def moved(self, old, new):
        if old is None:
            old = new.new_zeros(*new.shape[:-2], self.max_len, new.size(-1))
        T = new.size(-2)
        old[..., :-T, :] = old[..., T:, :].clone()
        old[..., -T:, :] = new
        return old

    def update(self, k, v):
        self.n += k.size(-2)
        self.k, self.v = self.moved(getattr(self, "k", None), k), self.moved(getattr(self, "v", None), v)
        return self.k[..., -self.n :, :], self.v[..., -self.n :, :]


# Attention of new tokens, with a cache behind it


class CachedAttention:
    """Right: new tokens see what came before them, and each other up to themselves."""

    def __init__(self):
        self.past = None

    def __call__(self, q, k, v):
        if self.past is not None:
            k, v = (torch.cat([a, b], dim=-2) for a, b in zip(self.past, (k, v), strict=True))
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
        return everyone(q, k).tril()


# What some caches do besides


class WholeCache(Cache):
    """Right, and counts, keeps a window, reorders, is cut, and is emptied."""

    def __init__(self, window=None):
        super().__init__()
        self.window, self.n = window, 0

    def __len__(self):
        return self.n

    def update(self, k, v):
        self.n += k.size(-2)
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
        k, v = self.k.clone(), self.v.clone()
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
