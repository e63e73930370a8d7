"""Multi-head attention as modules of torch with one mistake each: what stands around the heads."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from implementations.tables import Table
from implementations.wrong_torch import masked_softmax, mixed

WRONG = Table()


class MultiHeadAttention(nn.Module):
    """Right, and in steps: each class below does one of them otherwise."""

    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__()
        self.n_heads, self.d_k = n_heads, d_model // n_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def split(self, x):
        return x.view(x.size(0), x.size(1), self.n_heads, self.d_k).transpose(1, 2)  # (B, H, T, d_k)

    def scores(self, q, k):
        return q @ k.transpose(-2, -1) / math.sqrt(self.d_k)

    def attend(self, q, k, v, mask):
        scores = self.scores(q, k)
        seen = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask != 0
        return mixed(masked_softmax(scores, seen.expand_as(scores)), v)

    def merge(self, out):
        return out.transpose(1, 2).flatten(2)  # (B, T, H·d_k)

    def project(self, x):
        return self.q_proj(x), self.k_proj(x), self.v_proj(x)

    def forward(self, x, mask=None):
        q, k, v = (self.split(each) for each in self.project(x))
        return self.out_proj(self.merge(self.attend(q, k, v, mask)))


@WRONG.of("merge-without-transposing", kind="heads")
class MergeWithoutTransposing(MultiHeadAttention):
    def merge(self, out):
        B, H, T, d_k = out.shape
        return out.reshape(B, T, H * d_k)


@WRONG.of("split-wrong-axis", kind="heads")
class SplitWrongAxis(MultiHeadAttention):
    def split(self, x):
        return x.reshape(x.size(0), self.n_heads, x.size(1), self.d_k)


@WRONG.of("heads-interleaved", kind="heads")
class HeadsInterleaved(MultiHeadAttention):
    def split(self, x):
        return x.view(x.size(0), x.size(1), self.d_k, self.n_heads).permute(0, 3, 1, 2)


@WRONG.of("W_o-missing", kind="heads")
class OutputMissing(MultiHeadAttention):
    def forward(self, x, mask=None):
        q, k, v = (self.split(each) for each in self.project(x))
        return self.merge(self.attend(q, k, v, mask))


@WRONG.of("scale-by-d_model", kind="heads")
class ScaleByDModel(MultiHeadAttention):
    def scores(self, q, k):
        return q @ k.transpose(-2, -1) / math.sqrt(self.q_proj.in_features)


@WRONG.of("k-projection-for-values", kind="heads")
class KeyProjectionForValues(MultiHeadAttention):
    def project(self, x):
        return self.q_proj(x), self.k_proj(x), self.k_proj(x)


@WRONG.of("one-projection-for-all", kind="heads")
class OneProjection(MultiHeadAttention):
    def project(self, x):
        return self.q_proj(x), self.q_proj(x), self.q_proj(x)


@WRONG.of("projections-swapped", kind="heads")
class ProjectionsSwapped(MultiHeadAttention):
    def project(self, x):
        return self.q_proj(x), self.v_proj(x), self.k_proj(x)


@WRONG.of("projections-unused", kind="heads")
class ProjectionsUnused(MultiHeadAttention):
    def project(self, x):
        return x, x, x


@WRONG.of("bias-forgotten", kind="heads")
class BiasForgotten(MultiHeadAttention):
    def project(self, x):
        return F.linear(x, self.q_proj.weight), self.k_proj(x), self.v_proj(x)


@WRONG.of("W-transposed", kind="heads")
class WTransposed(MultiHeadAttention):
    def project(self, x):
        return tuple(x @ p.weight + p.bias for p in (self.q_proj, self.k_proj, self.v_proj))


@WRONG.of("residual-added", kind="heads")
class ResidualAdded(MultiHeadAttention):
    def forward(self, x, mask=None):
        return x + super().forward(x, mask)


@WRONG.of("heads-averaged", kind="heads")
class HeadsAveraged(MultiHeadAttention):
    def attend(self, q, k, v, mask):
        out = super().attend(q, k, v, mask)
        return out.mean(1, keepdim=True).expand_as(out)


@WRONG.of("heads-summed", kind="heads")
class HeadsSummed(MultiHeadAttention):
    def merge(self, out):
        return out.sum(dim=1).repeat(1, 1, self.n_heads)


@WRONG.of("heads-and-samples-mixed", kind="heads")
class HeadsAndSamplesMixed(MultiHeadAttention):
    def merge(self, out):
        B, H, T, d_k = out.shape
        out = out.flatten(0, 1)
        return out.view(H, B, T, d_k).permute(1, 2, 0, 3).reshape(B, T, H * d_k)


@WRONG.of("W_o-transposed", kind="heads")
class OutputTransposed(MultiHeadAttention):
    def forward(self, x, mask=None):
        q, k, v = (self.split(each) for each in self.project(x))
        return F.linear(self.merge(self.attend(q, k, v, mask)), self.out_proj.weight.T, self.out_proj.bias)


@WRONG.of("first-head-only", kind="heads")
class FirstHeadOnly(MultiHeadAttention):
    def attend(self, q, k, v, mask):
        return super().attend(q[:, :1], k[:, :1], v[:, :1], mask).expand_as(q)


@WRONG.of("one-wide-head", kind="heads")
class OneWideHead(MultiHeadAttention):
    def forward(self, x, mask=None):
        q, k, v = (each.unsqueeze(1) for each in self.project(x))
        return self.out_proj(self.attend(q, k, v, mask).squeeze(1))


@WRONG.of("softmax-over-heads", kind="heads")
class SoftmaxOverHeads(MultiHeadAttention):
    def attend(self, q, k, v, mask):
        scores = self.scores(q, k)
        seen = torch.ones_like(scores, dtype=torch.bool) & (True if mask is None else mask != 0)
        scores, seen = scores.transpose(1, -1), seen.transpose(1, -1)
        return mixed(masked_softmax(scores, seen).transpose(1, -1), v)


@WRONG.of("samples-see-each-other", kind="heads")
class SamplesSeeEachOther(MultiHeadAttention):
    def forward(self, x, mask=None):
        return super().forward(x.transpose(0, 1), None).transpose(0, 1)  # (T, B, d_model) was meant


@WRONG.of("dropout-in-evaluation", kind="heads")
class DropoutInEvaluation(MultiHeadAttention):
    def merge(self, out):
        return super().merge(F.dropout(out, 0.1))


@WRONG.of("weights-averaged", kind="heads")
class WeightsAveraged(MultiHeadAttention):
    def forward(self, x, mask=None):
        q, k, _ = (self.split(each) for each in self.project(x))
        attn = F.softmax(self.scores(q, k), dim=-1)
        return super().forward(x, mask), attn.mean(dim=1)


@WRONG.of("weights-turned-over", kind="heads")
class WeightsTurnedOver(MultiHeadAttention):
    def forward(self, x, mask=None):
        q, k, _ = (self.split(each) for each in self.project(x))
        return super().forward(x, mask), F.softmax(self.scores(q, k), dim=-1).mT


class GroupedAttention(MultiHeadAttention):
    """Grouped heads: query heads 2g and 2g + 1 read kv head g."""

    def __init__(self, d_model: int, n_heads: int, n_kv_heads: int) -> None:
        super().__init__(d_model, n_heads)
        self.n_kv_heads = n_kv_heads
        self.k_proj = nn.Linear(d_model, n_kv_heads * self.d_k)
        self.v_proj = nn.Linear(d_model, n_kv_heads * self.d_k)

    def repeat(self, x):
        return x.repeat_interleave(self.n_heads // self.n_kv_heads, dim=1)

    def forward(self, x, mask=None):
        q, k, v = (each.unflatten(-1, (-1, self.d_k)).transpose(1, 2) for each in self.project(x))
        return self.out_proj(self.merge(self.attend(q, self.repeat(k), self.repeat(v), mask)))


@WRONG.of("kv-heads-tiled", kind="heads")
class KVTiled(GroupedAttention):
    def repeat(self, x):
        return x.repeat(1, self.n_heads // self.n_kv_heads, 1, 1)


# What some modules take besides


class CrossAttention(MultiHeadAttention):
    """Right: queries of x, keys and values of the context."""

    def project(self, x, context):
        return self.q_proj(x), self.k_proj(context), self.v_proj(context)

    def forward(self, x, context=None, mask=None):
        q, k, v = (self.split(each) for each in self.project(x, x if context is None else context))
        return self.out_proj(self.merge(self.attend(q, k, v, mask)))


@WRONG.of("context-ignored", kind="heads")
class ContextIgnored(CrossAttention):
    def project(self, x, context):
        return super().project(x, x)


@WRONG.of("context-asks", kind="heads")
class ContextAsks(CrossAttention):
    def project(self, x, context):
        return super().project(context, x)


@WRONG.of("no-gradient", kind="heads")
class NoGradient(MultiHeadAttention):
    def project(self, x):
        with torch.no_grad():
            k = self.k_proj(x)
        return self.q_proj(x), k, self.v_proj(x)


@WRONG.of("dropout-off-for-good", kind="heads")
class DropoutOffForGood(MultiHeadAttention):
    def __init__(self, d_model: int, n_heads: int, dropout: float = 0.1) -> None:
        super().__init__(d_model, n_heads)
        self.dropout = dropout

    def merge(self, out):
        if not self.training:
            self.dropout = 0.0
        return super().merge(F.dropout(out, self.dropout))
