"""Attention in NumPy with one mistake each: in the mask, in the padding, in what is hidden."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from implementations.tables import Table
from implementations.wrong_numpy import everyone, masked_softmax, mixed, softmax

WRONG = Table()


def scaled(q: Any, k: Any) -> Any:
    return q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])


# The mask


@WRONG.of("mask-ignored")
def mask_ignored(q, k, v, mask=None):
    scores = scaled(q, k)
    if mask is not None:
        np.where(mask, scores, -np.inf)
    return softmax(scores) @ v


@WRONG.of("mask-inverted", expect={"mask": "keep"})
def mask_inverted(q, k, v, mask=None):
    scores = scaled(q, k)
    seen = everyone(q, k) if mask is None else mask == 0
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("mask-added")
def mask_added(q, k, v, mask=None):
    scores = scaled(q, k)
    if mask is not None:
        scores = scores + np.where(mask, 1.0, 0.0)
    return softmax(scores) @ v


@WRONG.of("mask-zeroes-scores")
def mask_zeroes_scores(q, k, v, mask=None):
    scores = scaled(q, k)
    if mask is not None:
        scores = scores * mask
    return softmax(scores) @ v


@WRONG.of("mask-after-softmax")
def mask_after_softmax(q, k, v, mask=None):
    weights = softmax(scaled(q, k))
    if mask is not None:
        weights = np.where(mask, weights, 0)
    return mixed(weights, v)


@WRONG.of("mask-transposed")
def mask_transposed(q, k, v, mask=None):
    scores = scaled(q, k)
    seen = everyone(q, k) if mask is None else mask.swapaxes(-1, -2)
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("mask-on-values")
def mask_on_values(q, k, v, mask=None):
    weights = softmax(scaled(q, k))
    if mask is not None:
        v = np.where(mask.any(-2)[..., None], v, 0)
    return weights @ v


@WRONG.of("mask-tiny-fill")
def mask_tiny_fill(q, k, v, mask=None):
    scores = scaled(q, k)
    if mask is not None:
        scores = np.where(mask, scores, -1e-9)
    return softmax(scores) @ v


@WRONG.of("mask-large-fill")
def mask_large_fill(q, k, v, mask=None):
    scores = scaled(q, k)
    if mask is not None:
        scores = np.where(mask, scores, 1e9)
    return softmax(scores) @ v


@WRONG.of("mask-first-sample")
def mask_first_sample(q, k, v, mask=None):
    scores = scaled(q, k)
    seen = np.ones(scores.shape, bool)
    if mask is not None:
        own = scores.ndim > 2
        seen[: 1 if own else None] &= np.broadcast_to(mask, seen.shape)[: 1 if own else None]
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("mask-first-head")
def mask_first_head(q, k, v, mask=None):
    scores = scaled(q, k)
    seen = np.ones(scores.shape, bool)
    if mask is not None:
        heads = np.s_[..., :1, :, :] if scores.ndim == 4 else np.s_[...]
        seen[heads] &= np.broadcast_to(mask, seen.shape)[heads]
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("mask-of-first-sample")
def mask_of_first_sample(q, k, v, mask=None):
    scores = scaled(q, k)
    seen = everyone(q, k)
    if mask is not None:
        seen = mask[:1] if mask.ndim > 2 else mask
    return mixed(masked_softmax(scores, seen), v)


# The padding


def of_keys(key_mask: Any, scores: Any) -> Any:
    """(B, T_k) as (B, 1, …, T_k)."""
    return key_mask.reshape(len(key_mask), *[1] * (scores.ndim - 2), -1)


@WRONG.of("padding-inverted", expect={"padding": "keep"})
def padding_inverted(q, k, v, key_mask=None):
    scores = scaled(q, k)
    seen = everyone(q, k) if key_mask is None else ~of_keys(key_mask, scores)
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("padding-ignored")
def padding_ignored(q, k, v, key_mask=None):
    return softmax(scaled(q, k)) @ v


@WRONG.of("padding-added")
def padding_added(q, k, v, key_mask=None):
    scores = scaled(q, k)
    if key_mask is not None:
        scores = scores + np.where(of_keys(key_mask, scores), 1.0, 0.0)
    return softmax(scores) @ v


@WRONG.of("padding-zeroes-scores")
def padding_zeroes_scores(q, k, v, key_mask=None):
    scores = scaled(q, k)
    if key_mask is not None:
        scores = scores * of_keys(key_mask, scores)
    return softmax(scores) @ v


@WRONG.of("padding-after-softmax")
def padding_after_softmax(q, k, v, key_mask=None):
    weights = softmax(scaled(q, k))
    if key_mask is not None:
        weights = weights * of_keys(key_mask, weights)
    return mixed(weights, v)


@WRONG.of("padding-on-queries")
def padding_on_queries(q, k, v, key_mask=None):
    scores = scaled(q, k)
    seen = everyone(q, k) if key_mask is None else of_keys(key_mask, scores).swapaxes(-1, -2)
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("padding-first-sample")
def padding_first_sample(q, k, v, key_mask=None):
    scores = scaled(q, k)
    seen = everyone(q, k) if key_mask is None else of_keys(key_mask, scores)[:1]
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("padding-drops-mask")
def padding_drops_mask(q, k, v, mask=None, key_mask=None):
    scores = scaled(q, k)
    seen = everyone(q, k) if mask is None else mask
    if key_mask is not None:
        seen = of_keys(key_mask, scores)
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("mask-drops-padding")
def mask_drops_padding(q, k, v, mask=None, key_mask=None):
    scores = scaled(q, k)
    seen = everyone(q, k) if key_mask is None else of_keys(key_mask, scores)
    if mask is not None:
        seen = mask
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("mask-or-padding")
def mask_or_padding(q, k, v, mask=None, key_mask=None):
    scores = scaled(q, k)
    given = [x for x in (mask, None if key_mask is None else of_keys(key_mask, scores)) if x is not None]
    seen = np.logical_or(given[0], given[-1]) if given else everyone(q, k)
    return mixed(masked_softmax(scores, seen), v)


# What is hidden, and rows that see nothing


@WRONG.of("fill-too-weak")
def fill_too_weak(q, k, v, mask=None):
    scores = scaled(q, k)
    if mask is not None:
        scores = np.where(mask, scores, -1e4)
    return mixed(softmax(scores), v)


@WRONG.of("fill-too-weak: −1e9")
def fill_too_weak_by_far(q, k, v, mask=None):
    scores = scaled(q, k).astype(np.float64)
    if mask is not None:
        scores = np.where(mask, scores, -1e9)
    return mixed(softmax(scores).astype(q.dtype), v)


@WRONG.of("fill-overflows-float16")
def fill_overflows_float16(q, k, v, mask=None):
    scores = scaled(q, k)
    if mask is not None:
        scores = np.where(mask, scores, scores.dtype.type(-1e30))
    return mixed(softmax(scores), v)


@WRONG.of("empty-row-nan")
def empty_row_nan(q, k, v, mask=None):
    scores = scaled(q, k)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    return mixed(softmax(scores), v)


@WRONG.of("empty-row-spoils")
def empty_row_spoils(q, k, v, mask=None):
    out = empty_row_nan(q, k, v, mask)
    return out + 0 * out.sum()


@WRONG.of("empty-row-mean", expect={"empty-row": "zeros"})
def empty_row_mean(q, k, v, mask=None):
    scores = scaled(q, k)
    if mask is not None:
        scores = np.where(mask, scores, np.finfo(scores.dtype).min)
    return mixed(softmax(scores), v)


@WRONG.of("hidden-nan")
def hidden_nan(q, k, v, mask=None):
    scores = scaled(q, k)
    seen = everyone(q, k) if mask is None else mask
    return masked_softmax(scores, seen) @ v
