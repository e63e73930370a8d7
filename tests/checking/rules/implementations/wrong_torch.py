"""Attention in torch with one mistake each: in the equation, in how samples and heads are kept apart."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812

from implementations.tables import Table

WRONG = Table()

# What is right in all of them


def masked_softmax(scores: Any, seen: Any) -> Any:
    """Exactly 0 where hidden; a row that sees nothing is all zeros, backward too."""
    weights = F.softmax(scores.masked_fill(~seen, torch.finfo(scores.dtype).min), dim=-1)
    return weights.masked_fill(~seen, 0.0)


def mixed(weights: Any, v: Any) -> Any:
    """``weights @ v``, where a value of weight 0 adds nothing, whatever it holds."""
    bad = ~torch.isfinite(v)
    if not bad.any():
        return weights @ v
    taken = (weights != 0).to(v.dtype) @ bad.to(v.dtype) > 0
    return torch.where(taken, weights @ v, weights @ v.masked_fill(bad, 0.0))


def everyone(q: Any, k: Any) -> Any:
    return torch.ones(q.size(-2), k.size(-2), dtype=torch.bool)


def up_to_oneself(q: Any, k: Any, ahead: int = 0) -> Any:
    T_q, T_k = q.size(-2), k.size(-2)
    return torch.ones(T_q, T_k, dtype=torch.bool).tril(T_k - T_q + ahead)


# The equation


@WRONG.of("no-scale")
def no_scale(query, key, value):
    attn = torch.matmul(query, key.transpose(-2, -1))
    return torch.matmul(F.softmax(attn, dim=-1), value)


@WRONG.of("scale-by-d_k")
def scale_by_d_k(query, key, value):
    attn = torch.matmul(query, key.transpose(-2, -1)) / key.size(-1)
    return torch.matmul(F.softmax(attn, dim=-1), value)


@WRONG.of("scale-up")
def scale_up(query, key, value):
    scale = query.size(-1) ** 0.5
    return F.softmax(query @ key.transpose(-2, -1) * scale, dim=-1) @ value


@WRONG.of("scale-by-d_v")
def scale_by_d_v(query, key, value):
    d_k = value.size(-1)
    return F.softmax(query @ key.transpose(-2, -1) / math.sqrt(d_k), dim=-1) @ value


@WRONG.of("scale-by-T_k")
def scale_by_T_k(query, key, value):  # noqa: N802
    d_k = key.size(-2)
    return F.softmax(query @ key.transpose(-2, -1) / math.sqrt(d_k), dim=-1) @ value


@WRONG.of("scale-by-fourth-root")
def scale_by_fourth_root(query, key, value):
    query = query / query.size(-1) ** 0.25
    return F.softmax(query @ key.transpose(-2, -1), dim=-1) @ value


@WRONG.of("scale-after-softmax")
def scale_after_softmax(query, key, value):
    attn = F.softmax(query @ key.transpose(-2, -1), dim=-1)
    attn = attn / math.sqrt(query.size(-1))
    return attn @ value


@WRONG.of("softmax-over-queries")
def softmax_over_queries(query, key, value):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    return F.softmax(scores, dim=-2) @ value


@WRONG.of("softmax-over-all")
def softmax_over_all(query, key, value):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    return F.softmax(scores.flatten(), dim=0).view_as(scores) @ value


@WRONG.of("softmax-over-heads")
def softmax_over_heads(query, key, value):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    return F.softmax(scores, dim=1 if scores.dim() == 4 else -1) @ value


@WRONG.of("no-softmax")
def no_softmax(query, key, value):
    scores = torch.einsum("...id,...jd->...ij", query, key) / math.sqrt(query.size(-1))
    return torch.einsum("...ij,...jd->...id", scores, value)


@WRONG.of("softmax-twice")
def softmax_twice(query, key, value):
    attn = F.softmax(query @ key.transpose(-2, -1) / math.sqrt(query.size(-1)), dim=-1)
    return F.softmax(attn, dim=-1) @ value


@WRONG.of("exp-without-sum")
def exp_without_sum(query, key, value):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    return torch.exp(scores) @ value


@WRONG.of("log-softmax")
def log_softmax(query, key, value):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    return F.log_softmax(scores, dim=-1) @ value


@WRONG.of("weights-transposed")
def weights_transposed(query, key, value):
    attn = F.softmax(query @ key.transpose(-2, -1) / math.sqrt(query.size(-1)), dim=-1)
    return torch.einsum("...ij,...id->...jd", attn, value)


@WRONG.of("keys-mixed")
def keys_mixed(query, key, value):
    attn = F.softmax(query @ key.transpose(-2, -1) / math.sqrt(query.size(-1)), dim=-1)
    return attn @ key


@WRONG.of("queries-mixed")
def queries_mixed(query, key, value):
    attn = F.softmax(query @ key.transpose(-2, -1) / math.sqrt(query.size(-1)), dim=-1)
    return attn @ query


@WRONG.of("scores-from-values")
def scores_from_values(query, key, value):
    scores = query @ value.transpose(-2, -1) / math.sqrt(query.size(-1))
    return F.softmax(scores, dim=-1) @ value


@WRONG.of("scores-from-keys")
def scores_from_keys(query, key, value):
    scores = key @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    return F.softmax(scores, dim=-1) @ value


@WRONG.of("scores-from-queries")
def scores_from_queries(query, key, value):
    scores = query @ query.transpose(-2, -1) / math.sqrt(query.size(-1))
    return F.softmax(scores, dim=-1) @ value


@WRONG.of("scores-transposed")
def scores_transposed(query, key, value):
    scores = torch.einsum("...id,...jd->...ji", query, key) / math.sqrt(query.size(-1))
    return F.softmax(scores, dim=-1) @ value


# Several at once: (B, T, d), (B, H, T, d)


def scaled(q: Any, k: Any) -> Any:
    return q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))


def attend(q: Any, k: Any, v: Any) -> Any:
    return F.softmax(scaled(q, k), dim=-1) @ v


@WRONG.of("samples-see-each-other")
def samples_see_each_other(q, k, v):
    if q.dim() == 2:
        return attend(q, k, v)
    rows, keys, values = (torch.cat(list(x), dim=-2) for x in (q, k, v))  # (…, B·T, d)
    return torch.stack(attend(rows, keys, values).chunk(len(q), dim=-2))


@WRONG.of("samples-scrambled")
def samples_scrambled(q, k, v):
    if q.dim() != 3:
        return attend(q, k, v)
    q, k, v = (x.contiguous().view(x.size(1), x.size(0), -1).transpose(0, 1) for x in (q, k, v))
    out = attend(q, k, v)
    return out.transpose(0, 1).reshape(out.shape)


@WRONG.of("softmax-over-batch")
def softmax_over_batch(q, k, v):
    return F.softmax(scaled(q, k), dim=0 if q.dim() > 2 else -1) @ v


@WRONG.of("scores-summed-over-batch")
def scores_summed_over_batch(q, k, v):
    if q.dim() != 3:
        return attend(q, k, v)
    return F.softmax(scaled(q, k).sum(0), dim=-1) @ v


@WRONG.of("first-sample-only")
def first_sample_only(q, k, v):
    attn = F.softmax(scaled(q, k), dim=-1)
    return attn[:1] @ v if q.dim() > 2 else attn @ v


@WRONG.of("first-sample-keys")
def first_sample_keys(q, k, v):
    return attend(q, k[:1], v[:1]) if q.dim() > 2 else attend(q, k, v)


@WRONG.of("scale-by-d_model")
def scale_by_d_model(q, k, v):
    embed_dim = q.size(-1) * (q.size(1) if q.dim() == 4 else 1)
    return F.softmax(q @ k.transpose(-2, -1) * embed_dim**-0.5, dim=-1) @ v


@WRONG.of("scale-by-n_heads")
def scale_by_n_heads(q, k, v):
    if q.dim() < 4:
        return attend(q, k, v)
    return F.softmax(q @ k.transpose(-2, -1) * q.size(1) ** -0.5, dim=-1) @ v


@WRONG.of("heads-averaged")
def heads_averaged(q, k, v):
    attn = F.softmax(scaled(q, k), dim=-1)
    return (attn.mean(dim=1, keepdim=True) if q.dim() == 4 else attn) @ v


@WRONG.of("heads-share-scores")
def heads_share_scores(q, k, v):
    scores = scaled(q, k)
    if q.dim() == 4:
        scores = scores.sum(dim=1, keepdim=True)
    return F.softmax(scores, dim=-1) @ v


@WRONG.of("heads-read-first")
def heads_read_first(q, k, v):
    out = attend(q, k, v)
    return out[:, :1].expand_as(out) if q.dim() == 4 else out


@WRONG.of("kv-first-only")
def kv_first_only(q, k, v):
    return attend(q, k[:, :1], v[:, :1]) if q.dim() == 4 else attend(q, k, v)


@WRONG.of("batch-heads-mixed")
def batch_heads_mixed(q, k, v):
    if q.dim() < 4:
        return attend(q, k, v)
    B, H, T, _ = q.shape
    out = torch.bmm(
        F.softmax(scaled(q.flatten(0, 1), k.flatten(0, 1)), dim=-1),
        v.flatten(0, 1),
    )
    return out.view(H, B, T, -1).transpose(0, 1)


@WRONG.of("kv-heads-tiled")
def kv_heads_tiled(q, k, v):
    if q.dim() < 4:
        return attend(q, k, v)
    groups = q.size(1) // k.size(1)
    return attend(q, k.repeat(1, groups, 1, 1), v.repeat(1, groups, 1, 1))


@WRONG.of("kv-along-time")
def kv_along_time(q, k, v, is_causal=False):
    if q.dim() == 4 and k.size(1) != q.size(1):
        B, G, T, _ = k.shape
        k, v = (x.repeat_interleave(q.size(1) // G, dim=2) for x in (k, v))  # dim=1 was meant
        if G > 1:
            k, v = (x.reshape(B, q.size(1), T, -1) for x in (k, v))
    seen = everyone(q, k).tril() if is_causal else everyone(q, k)
    return mixed(masked_softmax(scaled(q, k), seen), v)


@WRONG.of("kv-reversed")
def kv_reversed(q, k, v):
    if q.dim() == 4 and k.size(1) != q.size(1):
        k, v = (x.flip(1).repeat_interleave(q.size(1) // x.size(1), dim=1) for x in (k, v))
    return attend(q, k, v)
