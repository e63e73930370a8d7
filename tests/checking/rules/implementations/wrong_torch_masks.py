"""Attention in torch with one mistake each: in the mask, in the padding, in what is hidden."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812

from implementations.tables import Table
from implementations.wrong_torch import everyone, masked_softmax, mixed

WRONG = Table()


def scaled(q: Any, k: Any) -> Any:
    return q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))


# The mask


@WRONG.of("mask-ignored")
def mask_ignored(q, k, v, mask=None):
    scores = scaled(q, k)
    if mask is not None:
        scores.masked_fill(mask == 0, float("-inf"))
    return F.softmax(scores, dim=-1) @ v


@WRONG.of("mask-inverted", expect={"mask": "keep"})
def mask_inverted(q, k, v, mask=None):
    scores = scaled(q, k)
    seen = everyone(q, k) if mask is None else mask == 0
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("mask-added")
def mask_added(q, k, v, mask=None):
    scores = scaled(q, k)
    if mask is not None:
        scores = scores + mask.bool().to(scores.dtype)
    return F.softmax(scores, dim=-1) @ v


@WRONG.of("mask-zeroes-scores")
def mask_zeroes_scores(q, k, v, mask=None):
    scores = scaled(q, k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, 0.0)
    return F.softmax(scores, dim=-1) @ v


@WRONG.of("mask-after-softmax")
def mask_after_softmax(q, k, v, mask=None):
    attn = F.softmax(scaled(q, k), dim=-1)
    if mask is not None:
        attn = attn.masked_fill(mask == 0, 0.0)
    return mixed(attn, v)


@WRONG.of("mask-transposed")
def mask_transposed(q, k, v, mask=None):
    scores = scaled(q, k)
    seen = everyone(q, k) if mask is None else mask.transpose(-2, -1) != 0
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("mask-on-values")
def mask_on_values(q, k, v, mask=None):
    attn = F.softmax(scaled(q, k), dim=-1)
    if mask is not None:
        v = v.masked_fill(~(mask != 0).any(-2).unsqueeze(-1), 0.0)
    return attn @ v


@WRONG.of("mask-tiny-fill")
def mask_tiny_fill(q, k, v, mask=None):
    scores = scaled(q, k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e-9)
    return F.softmax(scores, dim=-1) @ v


@WRONG.of("mask-large-fill")
def mask_large_fill(q, k, v, mask=None):
    scores = scaled(q, k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, 1e9)
    return F.softmax(scores, dim=-1) @ v


@WRONG.of("mask-first-sample")
def mask_first_sample(q, k, v, mask=None):
    scores = scaled(q, k)
    seen = torch.ones_like(scores, dtype=torch.bool)
    if mask is not None:
        own = slice(1) if scores.dim() > 2 else slice(None)
        seen[own] &= mask.expand_as(seen)[own]
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("mask-first-head")
def mask_first_head(q, k, v, mask=None):
    scores = scaled(q, k)
    seen = torch.ones_like(scores, dtype=torch.bool)
    if mask is not None:
        heads = slice(1) if scores.dim() == 4 else slice(None)
        seen.movedim(-3, 0)[heads] &= mask.expand_as(seen).movedim(-3, 0)[heads]
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("mask-of-first-sample")
def mask_of_first_sample(q, k, v, mask=None):
    scores = scaled(q, k)
    seen = everyone(q, k)
    if mask is not None:
        seen = mask[:1] if mask.dim() > 2 else mask
    return mixed(masked_softmax(scores, seen), v)


# The padding


def of_keys(key_padding_mask: Any, scores: Any) -> Any:
    """(B, T_k) as (B, 1, …, T_k)."""
    return key_padding_mask.view(len(key_padding_mask), *[1] * (scores.dim() - 2), -1)


@WRONG.of("padding-inverted", expect={"padding": "keep"})
def padding_inverted(q, k, v, key_padding_mask=None):
    scores = scaled(q, k)
    seen = everyone(q, k) if key_padding_mask is None else ~of_keys(key_padding_mask, scores)
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("padding-ignored")
def padding_ignored(q, k, v, key_padding_mask=None):
    return F.softmax(scaled(q, k), dim=-1) @ v


@WRONG.of("padding-added")
def padding_added(q, k, v, key_padding_mask=None):
    scores = scaled(q, k)
    if key_padding_mask is not None:
        scores = scores + of_keys(key_padding_mask, scores).bool().to(scores.dtype)
    return F.softmax(scores, dim=-1) @ v


@WRONG.of("padding-zeroes-scores")
def padding_zeroes_scores(q, k, v, key_padding_mask=None):
    scores = scaled(q, k)
    if key_padding_mask is not None:
        scores = scores.masked_fill(~of_keys(key_padding_mask, scores), 0.0)
    return F.softmax(scores, dim=-1) @ v


@WRONG.of("padding-after-softmax")
def padding_after_softmax(q, k, v, key_padding_mask=None):
    attn = F.softmax(scaled(q, k), dim=-1)
    if key_padding_mask is not None:
        attn = attn.masked_fill(~of_keys(key_padding_mask, attn), 0.0)
    return mixed(attn, v)


@WRONG.of("padding-on-queries")
def padding_on_queries(q, k, v, key_padding_mask=None):
    scores = scaled(q, k)
    seen = everyone(q, k) if key_padding_mask is None else of_keys(key_padding_mask, scores).mT
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("padding-first-sample")
def padding_first_sample(q, k, v, key_padding_mask=None):
    scores = scaled(q, k)
    seen = everyone(q, k) if key_padding_mask is None else of_keys(key_padding_mask, scores)[:1]
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("padding-drops-mask")
def padding_drops_mask(q, k, v, attn_mask=None, key_padding_mask=None):
    scores = scaled(q, k)
    seen = everyone(q, k) if attn_mask is None else attn_mask
    if key_padding_mask is not None:
        seen = of_keys(key_padding_mask, scores)
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("mask-drops-padding")
def mask_drops_padding(q, k, v, attn_mask=None, key_padding_mask=None):
    scores = scaled(q, k)
    seen = everyone(q, k) if key_padding_mask is None else of_keys(key_padding_mask, scores)
    if attn_mask is not None:
        seen = attn_mask
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("mask-or-padding")
def mask_or_padding(q, k, v, attn_mask=None, key_padding_mask=None):
    scores = scaled(q, k)
    padding = None if key_padding_mask is None else of_keys(key_padding_mask, scores)
    given = [x for x in (attn_mask, padding) if x is not None]
    seen = given[0] | given[-1] if given else everyone(q, k)
    return mixed(masked_softmax(scores, seen), v)


# What is hidden, and rows that see nothing


@WRONG.of("fill-too-weak")
def fill_too_weak(q, k, v, mask=None):
    scores = scaled(q, k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e4)
    return mixed(F.softmax(scores, dim=-1), v)


@WRONG.of("fill-too-weak: −1e9")
def fill_too_weak_by_far(q, k, v, mask=None):
    scores = scaled(q, k).double()
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    return mixed(F.softmax(scores, dim=-1).to(q.dtype), v)


@WRONG.of("fill-overflows-float16")
def fill_overflows_float16(q, k, v, mask=None):
    scores = scaled(q, k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e30)
    return mixed(F.softmax(scores, dim=-1), v)


@WRONG.of("empty-row-nan")
def empty_row_nan(q, k, v, mask=None):
    scores = scaled(q, k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    return mixed(F.softmax(scores, dim=-1), v)


@WRONG.of("empty-row-spoils")
def empty_row_spoils(q, k, v, mask=None):
    out = empty_row_nan(q, k, v, mask)
    return out + 0 * out.sum()


@WRONG.of("empty-row-mean", expect={"empty-row": "zeros"})
def empty_row_mean(q, k, v, mask=None):
    scores = scaled(q, k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, torch.finfo(scores.dtype).min)
    return mixed(F.softmax(scores, dim=-1), v)


@WRONG.of("hidden-nan")
def hidden_nan(q, k, v, mask=None):
    scores = scaled(q, k)
    seen = everyone(q, k) if mask is None else mask != 0
    return masked_softmax(scores, seen) @ v
