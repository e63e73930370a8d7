"""Multi-head attention as classes in NumPy with one mistake each: what stands around the heads."""

from __future__ import annotations

import math

import numpy as np

from implementations.tables import Table
from implementations.wrong_numpy import masked_softmax, mixed, softmax

WRONG = Table()


class MultiHeadAttention:
    """Right, and in steps: each class below does one of them otherwise."""

    def __init__(self, d_model: int, n_heads: int, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.d_model, self.n_heads, self.d_k = d_model, n_heads, d_model // n_heads
        self.W_q, self.W_k, self.W_v, self.W_o = rng.normal(size=(4, d_model, d_model)) / math.sqrt(d_model)

    def split(self, x):
        return x.reshape(*x.shape[:-1], self.n_heads, self.d_k).swapaxes(-3, -2)  # (B, H, T, d_k)

    def scores(self, q, k):
        return q @ k.swapaxes(-1, -2) / math.sqrt(self.d_k)

    def attend(self, q, k, v, mask):
        scores = self.scores(q, k)
        return mixed(masked_softmax(scores, np.ones(scores.shape, bool) if mask is None else mask != 0), v)

    def merge(self, out):
        out = out.swapaxes(-3, -2)
        return out.reshape(*out.shape[:-2], -1)  # (B, T, H·d_k)

    def project(self, x):
        return x @ self.W_q, x @ self.W_k, x @ self.W_v

    def __call__(self, x, mask=None):
        q, k, v = (self.split(each) for each in self.project(x))
        return self.merge(self.attend(q, k, v, mask)) @ self.W_o


@WRONG.of("merge-without-transposing", kind="heads")
class MergeWithoutTransposing(MultiHeadAttention):
    def merge(self, out):
        return out.reshape(*out.shape[:-3], out.shape[-2], -1)


@WRONG.of("split-wrong-axis", kind="heads")
class SplitWrongAxis(MultiHeadAttention):
    def split(self, x):
        return x.reshape(*x.shape[:-2], self.n_heads, -1, self.d_k)


@WRONG.of("heads-interleaved", kind="heads")
class HeadsInterleaved(MultiHeadAttention):
    def split(self, x):
        return np.moveaxis(x.reshape(*x.shape[:-1], self.d_k, self.n_heads), -1, -3)


@WRONG.of("W_o-missing", kind="heads")
class OutputMissing(MultiHeadAttention):
    def __call__(self, x, mask=None):
        q, k, v = (self.split(each) for each in self.project(x))
        return self.merge(self.attend(q, k, v, mask))


@WRONG.of("scale-by-d_model", kind="heads")
class ScaleByDModel(MultiHeadAttention):
    def scores(self, q, k):
        return q @ k.swapaxes(-1, -2) / math.sqrt(self.d_model)


@WRONG.of("k-projection-for-values", kind="heads")
class KeyProjectionForValues(MultiHeadAttention):
    def project(self, x):
        return x @ self.W_q, x @ self.W_k, x @ self.W_k


@WRONG.of("one-projection-for-all", kind="heads")
class OneProjection(MultiHeadAttention):
    def project(self, x):
        return x @ self.W_q, x @ self.W_q, x @ self.W_q


@WRONG.of("projections-swapped", kind="heads")
class ProjectionsSwapped(MultiHeadAttention):
    def project(self, x):
        return x @ self.W_q, x @ self.W_v, x @ self.W_k


@WRONG.of("projections-unused", kind="heads")
class ProjectionsUnused(MultiHeadAttention):
    def project(self, x):
        return x, x, x


@WRONG.of("W-transposed", kind="heads")
class WTransposed(MultiHeadAttention):
    def project(self, x):
        return x @ self.W_q.T, x @ self.W_k.T, x @ self.W_v.T


@WRONG.of("residual-added", kind="heads")
class ResidualAdded(MultiHeadAttention):
    def __call__(self, x, mask=None):
        return x + super().__call__(x, mask)


@WRONG.of("heads-averaged", kind="heads")
class HeadsAveraged(MultiHeadAttention):
    def attend(self, q, k, v, mask):
        out = super().attend(q, k, v, mask)
        return np.broadcast_to(out.mean(-3, keepdims=True), out.shape)


@WRONG.of("heads-summed", kind="heads")
class HeadsSummed(MultiHeadAttention):
    def merge(self, out):
        out = out.sum(-3)
        return np.concatenate([out] * self.n_heads, axis=-1)


@WRONG.of("heads-and-samples-mixed", kind="heads")
class HeadsAndSamplesMixed(MultiHeadAttention):
    def merge(self, out):
        B, H, T, d_k = out.shape
        out = out.reshape(B * H, T, d_k)
        return out.reshape(H, B, T, d_k).transpose(1, 2, 0, 3).reshape(B, T, H * d_k)


@WRONG.of("W_o-transposed", kind="heads")
class OutputTransposed(MultiHeadAttention):
    def __call__(self, x, mask=None):
        q, k, v = (self.split(each) for each in self.project(x))
        return self.merge(self.attend(q, k, v, mask)) @ self.W_o.T


@WRONG.of("first-head-only", kind="heads")
class FirstHeadOnly(MultiHeadAttention):
    def attend(self, q, k, v, mask):
        first = (x[..., :1, :, :] for x in (q, k, v))
        return np.broadcast_to(super().attend(*first, mask), q.shape)


@WRONG.of("one-wide-head", kind="heads")
class OneWideHead(MultiHeadAttention):
    def __call__(self, x, mask=None):
        q, k, v = (each[..., None, :, :] for each in self.project(x))
        return self.attend(q, k, v, mask)[..., 0, :, :] @ self.W_o


@WRONG.of("softmax-over-heads", kind="heads")
class SoftmaxOverHeads(MultiHeadAttention):
    def attend(self, q, k, v, mask):
        scores = self.scores(q, k)
        seen = np.ones_like(scores, dtype=bool) & (True if mask is None else mask != 0)
        scores, seen = np.swapaxes(scores, -3, -1), np.swapaxes(seen, -3, -1)
        return mixed(np.swapaxes(masked_softmax(scores, seen), -3, -1), v)


@WRONG.of("samples-see-each-other", kind="heads")
class SamplesSeeEachOther(MultiHeadAttention):
    def __call__(self, x, mask=None):
        return np.swapaxes(super().__call__(np.swapaxes(x, 0, 1), None), 0, 1)  # (T, B, d_model) was meant


@WRONG.of("dropout-in-evaluation", kind="heads")
class DropoutInEvaluation(MultiHeadAttention):
    def merge(self, out):
        kept = np.random.default_rng().random(out.shape) > 0.1
        return super().merge(out * kept / 0.9)


@WRONG.of("weights-averaged", kind="heads")
class WeightsAveraged(MultiHeadAttention):
    def __call__(self, x, mask=None):
        q, k, _ = (self.split(each) for each in self.project(x))
        return super().__call__(x, mask), softmax(self.scores(q, k)).mean(-3)


@WRONG.of("weights-turned-over", kind="heads")
class WeightsTurnedOver(MultiHeadAttention):
    def __call__(self, x, mask=None):
        q, k, _ = (self.split(each) for each in self.project(x))
        return super().__call__(x, mask), np.swapaxes(softmax(self.scores(q, k)), -1, -2)


class GroupedAttention(MultiHeadAttention):
    """Grouped heads: query heads 2g and 2g + 1 read kv head g."""

    def __init__(self, d_model: int, n_heads: int, n_kv_heads: int, seed: int = 0) -> None:
        super().__init__(d_model, n_heads, seed)
        self.n_kv_heads = n_kv_heads
        self.W_k, self.W_v = self.W_k[:, : n_kv_heads * self.d_k], self.W_v[:, : n_kv_heads * self.d_k]

    def repeat(self, x):
        return np.repeat(x, self.n_heads // self.n_kv_heads, axis=-3)

    def split(self, x):
        return x.reshape(*x.shape[:-1], -1, self.d_k).swapaxes(-3, -2)

    def attend(self, q, k, v, mask):
        return super().attend(q, self.repeat(k), self.repeat(v), mask)


@WRONG.of("kv-heads-tiled", kind="heads")
class KVTiled(GroupedAttention):
    def repeat(self, x):
        times = self.n_heads // self.n_kv_heads
        return np.concatenate([x] * times, axis=-3)


# What some modules take besides


class CrossAttention(MultiHeadAttention):
    """Right: queries of x, keys and values of the context."""

    def project(self, x, context):
        return x @ self.W_q, context @ self.W_k, context @ self.W_v

    def __call__(self, x, context=None, mask=None):
        q, k, v = (self.split(each) for each in self.project(x, x if context is None else context))
        return self.merge(self.attend(q, k, v, mask)) @ self.W_o


@WRONG.of("context-ignored", kind="heads")
class ContextIgnored(CrossAttention):
    def project(self, x, context):
        return x @ self.W_q, x @ self.W_k, x @ self.W_v


@WRONG.of("context-asks", kind="heads")
class ContextAsks(CrossAttention):
    def project(self, x, context):
        return context @ self.W_q, x @ self.W_k, x @ self.W_v
