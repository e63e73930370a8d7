"""Attention in NumPy with one mistake each: in the equation, in the mask, in who may see whom."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from implementations.tables import Table

WRONG = Table()

# What is right in all of them


def softmax(scores: Any, axis: Any = -1) -> Any:
    e = np.exp(scores - scores.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def masked_softmax(scores: Any, seen: Any) -> Any:
    """Exactly 0 where hidden; a row that sees nothing is all zeros."""
    scores = np.where(seen, scores, np.finfo(scores.dtype).min)
    e = np.exp(scores - scores.max(-1, keepdims=True, initial=np.finfo(scores.dtype).min))
    e = np.where(seen, e, 0)
    total = e.sum(-1, keepdims=True)
    return e / np.where(total == 0, 1, total)


def mixed(weights: Any, v: Any) -> Any:
    """``weights @ v``, where a value of weight 0 adds nothing, whatever it holds."""
    bad = ~np.isfinite(v)
    taken = (weights != 0) @ bad
    return np.where(taken, weights @ v, weights @ np.where(bad, 0, v))


def everyone(q: Any, k: Any) -> Any:
    return np.ones((q.shape[-2], k.shape[-2]), bool)


def up_to_oneself(q: Any, k: Any, ahead: int = 0) -> Any:
    T_q, T_k = q.shape[-2], k.shape[-2]
    return np.tril(np.ones((T_q, T_k), bool), T_k - T_q + ahead)


# The equation


@WRONG.of("no-scale")
def no_scale(q, k, v):
    scores = q @ k.swapaxes(-1, -2)
    return softmax(scores) @ v


@WRONG.of("scale-by-d_k")
def scale_by_d_k(q, k, v):
    scores = q @ k.swapaxes(-1, -2) / q.shape[-1]
    return softmax(scores) @ v


@WRONG.of("scale-up")
def scale_up(q, k, v):
    scores = q @ k.swapaxes(-1, -2) / q.shape[-1] ** -0.5
    return softmax(scores) @ v


@WRONG.of("scale-by-d_v")
def scale_by_d_v(q, k, v):
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(v.shape[-1])
    return softmax(scores) @ v


@WRONG.of("scale-by-T_k")
def scale_by_T_k(q, k, v):  # noqa: N802
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(k.shape[-2])
    return softmax(scores) @ v


@WRONG.of("scale-by-fourth-root")
def scale_by_fourth_root(q, k, v):
    q = q * q.shape[-1] ** -0.25
    return softmax(q @ k.swapaxes(-1, -2)) @ v


@WRONG.of("scale-after-softmax")
def scale_after_softmax(q, k, v):
    weights = softmax(q @ k.swapaxes(-1, -2)) / math.sqrt(q.shape[-1])
    return weights @ v


@WRONG.of("softmax-over-queries")
def softmax_over_queries(q, k, v):
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    weights = softmax(scores, axis=-2)
    return weights @ v


@WRONG.of("softmax-over-all")
def softmax_over_all(q, k, v):
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    e = np.exp(scores - scores.max())
    return e / e.sum() @ v


@WRONG.of("softmax-over-heads")
def softmax_over_heads(q, k, v):
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    weights = softmax(scores, axis=1) if scores.ndim == 4 else softmax(scores)
    return weights @ v


@WRONG.of("no-softmax")
def no_softmax(q, k, v):
    weights = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    return weights @ v


@WRONG.of("softmax-twice")
def softmax_twice(q, k, v):
    weights = softmax(q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1]))
    return softmax(weights) @ v


@WRONG.of("exp-without-sum")
def exp_without_sum(q, k, v):
    weights = np.exp(q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1]))
    return weights @ v


@WRONG.of("log-softmax")
def log_softmax(q, k, v):
    weights = np.log(softmax(q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])))
    return weights @ v


@WRONG.of("weights-transposed")
def weights_transposed(q, k, v):
    weights = softmax(q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1]))
    return weights.swapaxes(-1, -2) @ v


@WRONG.of("keys-mixed")
def keys_mixed(q, k, v):
    weights = softmax(q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1]))
    return weights @ k


@WRONG.of("queries-mixed")
def queries_mixed(q, k, v):
    weights = softmax(q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1]))
    return weights @ q


@WRONG.of("scores-from-values")
def scores_from_values(q, k, v):
    scores = q @ v.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    return softmax(scores) @ v


@WRONG.of("scores-from-keys")
def scores_from_keys(q, k, v):
    scores = k @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    return softmax(scores) @ v


@WRONG.of("scores-from-queries")
def scores_from_queries(q, k, v):
    scores = q @ q.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    return softmax(scores) @ v


@WRONG.of("scores-transposed")
def scores_transposed(q, k, v):
    scores = k @ q.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    return softmax(scores) @ v


# The mask


@WRONG.of("mask-ignored")
def mask_ignored(q, k, v, mask=None):
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    if mask is not None:
        np.where(mask, scores, -np.inf)
    return softmax(scores) @ v


@WRONG.of("mask-inverted", expect={"mask": "keep"})
def mask_inverted(q, k, v, mask=None):
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    seen = everyone(q, k) if mask is None else mask == 0
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("mask-added")
def mask_added(q, k, v, mask=None):
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores + mask.astype(scores.dtype)
    return softmax(scores) @ v


@WRONG.of("mask-multiplied")
def mask_multiplied(q, k, v, mask=None):
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores * mask
    return softmax(scores) @ v


@WRONG.of("mask-after-softmax")
def mask_after_softmax(q, k, v, mask=None):
    weights = softmax(q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1]))
    if mask is not None:
        weights = np.where(mask, weights, 0)
    return mixed(weights, v)


@WRONG.of("mask-transposed")
def mask_transposed(q, k, v, mask=None):
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    seen = everyone(q, k) if mask is None else mask.swapaxes(-1, -2)
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("mask-on-values")
def mask_on_values(q, k, v, mask=None):
    weights = softmax(q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1]))
    if mask is not None:
        v = np.where(mask.any(-2)[..., None], v, 0)
    return weights @ v


@WRONG.of("fill-too-weak")
def fill_too_weak(q, k, v, mask=None):
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -1e-9)
    return mixed(softmax(scores), v)


@WRONG.of("fill-overflow")
def fill_overflow(q, k, v, mask=None):
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores + (1 - mask.astype(scores.dtype)) * scores.dtype.type(-1e9)
    return softmax(scores) @ v


@WRONG.of("empty-nan")
def empty_nan(q, k, v, mask=None):
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    return mixed(softmax(scores), v)


@WRONG.of("empty-mean", expect={"empty-row": "zeros"})
def empty_mean(q, k, v, mask=None):
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, np.finfo(scores.dtype).min)
    return mixed(softmax(scores), v)


@WRONG.of("hidden-nan")
def hidden_nan(q, k, v, mask=None):
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    seen = everyone(q, k) if mask is None else mask
    return masked_softmax(scores, seen) @ v


@WRONG.of("key-mask-on-queries")
def key_mask_on_queries(q, k, v, key_mask=None):
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    seen = everyone(q, k)
    if key_mask is not None:
        seen = seen & key_mask[:, :, None] if scores.ndim == 3 else seen & key_mask[:, None, :, None]
    return mixed(masked_softmax(scores, seen), v)


# Who sees whom


@WRONG.of("causal-ignored")
def causal_ignored(q, k, v, causal=False):
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    return softmax(scores) @ v


@WRONG.of("causal-hides-oneself")
def causal_hides_oneself(q, k, v, causal=False):
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    seen = up_to_oneself(q, k, ahead=-1) if causal else everyone(q, k)
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("causal-sees-ahead")
def causal_sees_ahead(q, k, v, causal=False):
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    seen = up_to_oneself(q, k, ahead=1) if causal else everyone(q, k)
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("causal-reversed")
def causal_reversed(q, k, v, causal=False):
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    T_q, T_k = scores.shape[-2:]
    seen = np.triu(np.ones((T_q, T_k), bool), T_k - T_q) if causal else everyone(q, k)
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("causal-start", expect={"causal": "end"})
def causal_start(q, k, v, causal=False):
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    seen = np.tril(everyone(q, k)) if causal else everyone(q, k)
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("causal-drops-mask")
def causal_drops_mask(q, k, v, mask=None, causal=False):
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    seen = everyone(q, k) if mask is None else mask
    if causal:
        seen = up_to_oneself(q, k)
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("causal-after-softmax")
def causal_after_softmax(q, k, v, causal=False):
    weights = softmax(q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1]))
    if causal:
        weights = np.where(up_to_oneself(q, k), weights, 0)
    return mixed(weights, v)


@WRONG.of("window-one-more")
def window_one_more(q, k, v, causal=False, window=None):
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    seen = up_to_oneself(q, k) if causal else everyone(q, k)
    if window is not None:
        seen = seen & ~up_to_oneself(q, k, ahead=-window - 1)
        seen = seen & (causal | up_to_oneself(q, k, ahead=window))
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("window-one-less")
def window_one_less(q, k, v, causal=False, window=None):
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    seen = up_to_oneself(q, k) if causal else everyone(q, k)
    if window is not None:
        seen = seen & ~up_to_oneself(q, k, ahead=1 - window)
        seen = seen & (causal | up_to_oneself(q, k, ahead=window - 2))
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("window-ignored")
def window_ignored(q, k, v, causal=False, window=None):
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    seen = up_to_oneself(q, k) if causal else everyone(q, k)
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("window-without-mask")
def window_without_mask(q, k, v, mask=None, causal=False, window=None):
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    seen = up_to_oneself(q, k) if causal else everyone(q, k)
    if mask is not None:
        seen = seen & mask
        if window is not None:
            seen = seen & ~up_to_oneself(q, k, ahead=-window)
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("window-drops-right-bound")
def window_drops_right_bound(q, k, v, causal=False, window=None):
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    seen = up_to_oneself(q, k) if causal else everyone(q, k)
    if window is not None:
        seen = seen & ~up_to_oneself(q, k, ahead=-window)
    return mixed(masked_softmax(scores, seen), v)
