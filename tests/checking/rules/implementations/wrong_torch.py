"""Attention in torch with one mistake each: in the equation, in the mask, in who may see whom."""

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


# The mask


@WRONG.of("mask-ignored")
def mask_ignored(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    if mask is not None:
        scores.masked_fill(mask == 0, float("-inf"))
    return F.softmax(scores, dim=-1) @ v


@WRONG.of("mask-inverted", expect={"mask": "keep"})
def mask_inverted(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    seen = everyone(q, k) if mask is None else mask == 0
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("mask-added")
def mask_added(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores + mask
    return F.softmax(scores, dim=-1) @ v


@WRONG.of("mask-multiplied")
def mask_multiplied(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, 0.0)
    return F.softmax(scores, dim=-1) @ v


@WRONG.of("mask-after-softmax")
def mask_after_softmax(q, k, v, mask=None):
    attn = F.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.size(-1)), dim=-1)
    if mask is not None:
        attn = attn.masked_fill(mask == 0, 0.0)
    return mixed(attn, v)


@WRONG.of("mask-transposed")
def mask_transposed(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    seen = everyone(q, k) if mask is None else mask.transpose(-2, -1) != 0
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("mask-on-values")
def mask_on_values(q, k, v, mask=None):
    attn = F.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.size(-1)), dim=-1)
    if mask is not None:
        v = v.masked_fill(~(mask != 0).any(-2).unsqueeze(-1), 0.0)
    return attn @ v


@WRONG.of("fill-too-weak")
def fill_too_weak(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, 1e-9)
    return mixed(F.softmax(scores, dim=-1), v)


@WRONG.of("fill-overflow")
def fill_overflow(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores + (1 - mask.to(scores.dtype)) * -1e9
    return F.softmax(scores, dim=-1) @ v


@WRONG.of("empty-nan")
def empty_nan(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    return mixed(F.softmax(scores, dim=-1), v)


@WRONG.of("empty-mean", expect={"empty-row": "zeros"})
def empty_mean(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, torch.finfo(scores.dtype).min)
    return mixed(F.softmax(scores, dim=-1), v)


@WRONG.of("hidden-nan")
def hidden_nan(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    seen = everyone(q, k) if mask is None else mask != 0
    return masked_softmax(scores, seen) @ v


@WRONG.of("key-mask-on-queries")
def key_mask_on_queries(q, k, v, key_padding_mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    seen = everyone(q, k)
    if key_padding_mask is not None:
        padding = key_padding_mask.unsqueeze(-1) != 0  # (B, T, 1)
        seen = seen & (padding if scores.dim() == 3 else padding.unsqueeze(1))
    return mixed(masked_softmax(scores, seen), v)


# Who sees whom


@WRONG.of("causal-ignored")
def causal_ignored(q, k, v, is_causal=False):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    return F.softmax(scores, dim=-1) @ v


@WRONG.of("causal-hides-oneself")
def causal_hides_oneself(q, k, v, is_causal=False):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    seen = up_to_oneself(q, k, ahead=-1) if is_causal else everyone(q, k)
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("causal-sees-ahead")
def causal_sees_ahead(q, k, v, is_causal=False):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    seen = up_to_oneself(q, k, ahead=1) if is_causal else everyone(q, k)
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("causal-reversed")
def causal_reversed(q, k, v, is_causal=False):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    T_q, T_k = scores.shape[-2:]
    seen = everyone(q, k).triu(T_k - T_q) if is_causal else everyone(q, k)
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("causal-start", expect={"causal": "end"})
def causal_start(q, k, v, is_causal=False):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    seen = everyone(q, k).tril() if is_causal else everyone(q, k)
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("causal-drops-mask")
def causal_drops_mask(q, k, v, attn_mask=None, is_causal=False):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    seen = everyone(q, k) if attn_mask is None else attn_mask
    if is_causal:
        seen = up_to_oneself(q, k)
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("causal-after-softmax")
def causal_after_softmax(q, k, v, is_causal=False):
    attn = F.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.size(-1)), dim=-1)
    if is_causal:
        attn = attn.masked_fill(~up_to_oneself(q, k), 0.0)
    return mixed(attn, v)


@WRONG.of("window-one-more")
def window_one_more(q, k, v, is_causal=False, window=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    seen = up_to_oneself(q, k) if is_causal else everyone(q, k)
    if window is not None:
        seen = seen & ~up_to_oneself(q, k, ahead=-window - 1) & up_to_oneself(q, k, ahead=window)
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("window-one-less")
def window_one_less(q, k, v, is_causal=False, window=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    seen = up_to_oneself(q, k) if is_causal else everyone(q, k)
    if window is not None:
        seen = seen & ~up_to_oneself(q, k, ahead=1 - window) & up_to_oneself(q, k, ahead=window - 2)
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("window-ignored")
def window_ignored(q, k, v, is_causal=False, window=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    seen = up_to_oneself(q, k) if is_causal else everyone(q, k)
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("window-without-mask")
def window_without_mask(q, k, v, attn_mask=None, is_causal=False, window=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    seen = up_to_oneself(q, k) if is_causal else everyone(q, k)
    if attn_mask is not None:
        seen = seen & attn_mask
        if window is not None:
            seen = seen & ~up_to_oneself(q, k, ahead=-window)
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("window-drops-right-bound")
def window_drops_right_bound(q, k, v, is_causal=False, window=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    seen = up_to_oneself(q, k) if is_causal else everyone(q, k)
    if window is not None:
        seen = seen & ~up_to_oneself(q, k, ahead=-window)
    return mixed(masked_softmax(scores, seen), v)
