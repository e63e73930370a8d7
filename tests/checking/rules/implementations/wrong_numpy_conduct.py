"""Attention with one mistake each that few calls show: other dtypes, options together. In NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from implementations.tables import Table
from implementations.wrong_numpy import (
    attend,
    everyone,
    masked_softmax,
    mixed,
    scaled,
    softmax,
    up_to_oneself,
)
from implementations.wrong_numpy_masks import of_keys

WRONG = Table()

# Heads that share keys


@WRONG.of("kv-time")
def kv_time(q, k, v, causal=False):
    if q.ndim == 4 and k.shape[1] != q.shape[1]:
        times = q.shape[1] // k.shape[1]
        k, v = (np.repeat(np.repeat(x, times, axis=1), times, axis=2) for x in (k, v))
    seen = np.tril(everyone(q, k), k.shape[-2] - q.shape[-2]) if causal else everyone(q, k)
    return mixed(masked_softmax(scaled(q, k), seen), v)


@WRONG.of("groups-cut")
def groups_cut(q, k, v):
    if q.ndim < 4:
        return attend(q, k, v)
    B, H, T, d_k = q.shape
    G = k.shape[1]
    rows = q[:, : H // G * G].reshape(B, G, H // G * T, d_k)
    return attend(rows, k, v).reshape(B, H // G * G, T, -1)


# Masks


def added(scores: Any, mask: Any) -> Any:
    """Floats of 0 and −∞ hide; what is boolean is added as 1 and 0."""
    scores = np.where(np.isneginf(mask), -np.inf, scores + mask)
    return masked_softmax(scores, ~np.isneginf(scores))


@WRONG.of("mask-added: where floats are right")
def mask_added_to_floats(q, k, v, mask=None):
    scores = scaled(q, k)
    return mixed(softmax(scores) if mask is None else added(scores, mask.astype(float)), v)


@WRONG.of("padding-added: where floats are right")
def padding_added_to_floats(q, k, v, key_mask=None):
    scores = scaled(q, k)
    if key_mask is None:
        return mixed(softmax(scores), v)
    return mixed(added(scores, of_keys(key_mask, scores).astype(float)), v)


@WRONG.of("mask-length-accepted")
def mask_length_accepted(q, k, v, mask=None):
    T_q, T_k = q.shape[-2], k.shape[-2]
    seen = everyone(q, k) if mask is None else mask[..., :T_q, :T_k]
    return mixed(masked_softmax(scaled(q, k), seen), v)


@WRONG.of("padding-on-rows")
def padding_on_rows(q, k, v, key_mask=None):
    scores = scaled(q, k)
    seen = everyone(q, k)
    if key_mask is not None:
        keys = of_keys(key_mask, scores)
        seen = keys & keys.swapaxes(-1, -2)[..., : q.shape[-2], :]
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("max-starts-finite")
def max_starts_finite(q, k, v):
    scores = scaled(q, k)
    top = np.maximum(scores.max(-1, keepdims=True), -1e4)
    e = np.exp(scores - top)
    total = e.sum(-1, keepdims=True)
    return e / np.where(total == 0, 1, total) @ v


@WRONG.of("max-of-all")
def max_of_all(q, k, v):
    scores = scaled(q, k)
    e = np.exp(scores - np.max(scores))
    return e / e.sum(-1, keepdims=True) @ v


@WRONG.of("mask-renormalised")
def mask_renormalised(q, k, v, mask=None):
    scores = scaled(q, k)
    weights = softmax(scores)
    if mask is not None:
        weights = np.where(mask, softmax(np.where(np.isfinite(scores), scores, 0)), 0)
        total = weights.sum(-1, keepdims=True)
        weights = weights / np.where(total == 0, 1, total)
    return mixed(weights, v)


@WRONG.of("empty-row-nan: samples of padding")
def empty_sample_nan(q, k, v, key_mask=None):
    scores = scaled(q, k)
    if key_mask is not None:
        scores = np.where(of_keys(key_mask, scores), scores, -np.inf)
    return mixed(softmax(scores), v)


@WRONG.of("hidden-leaks")
def hidden_leaks(q, k, v, mask=None):
    seen = everyone(q, k) if mask is None else mask
    weights = masked_softmax(scaled(q, k), seen)
    centre = v.sum(-2, keepdims=True) / max(v.shape[-2], 1)
    left = 1 - weights.sum(-1, keepdims=True)  # of a row that sees nothing
    return weights @ (v - centre) + (1 - left) * centre


@WRONG.of("hidden-huge-key")
def hidden_huge_key(q, k, v, mask=None):
    scores = scaled(q, k)
    if mask is None:
        return mixed(softmax(scores), v)
    scores = np.where(mask | np.isfinite(scores), scores, 0) + np.where(mask, 0, -1e20)
    return mixed(np.where(mask.any(-1, keepdims=True), softmax(scores), 0), v)


# The future


@WRONG.of("fill-too-weak: of the future")
def future_fill_too_weak(q, k, v, causal=False):
    scores = scaled(q, k)
    if causal:
        scores = np.where(up_to_oneself(q, k), scores, -1e4)
    return mixed(softmax(scores), v)


@WRONG.of("fill-too-weak: of the future, −1e9")
def future_fill_too_weak_by_far(q, k, v, causal=False):
    scores = scaled(q, k)
    if causal:
        scores = np.where(up_to_oneself(q, k), scores, -1e9)
    return mixed(softmax(scores), v)


@WRONG.of("mask-renormalised: of the future")
def future_renormalised(q, k, v, causal=False):
    weights = softmax(scaled(q, k))
    if causal:
        weights = np.where(up_to_oneself(q, k), weights, 0)
        weights = weights / weights.sum(-1, keepdims=True)
    return mixed(weights, v)


@WRONG.of("empty-row-nan: by padding and causal together")
def empty_together_nan(q, k, v, mask=None, causal=False):
    scores = scaled(q, k)
    seen = everyone(q, k) if mask is None else mask
    empty = ~seen.any(-1, keepdims=True)
    if causal:
        seen = seen & up_to_oneself(q, k)
    scores = np.where(seen, scores, -np.inf)
    return mixed(np.where(empty, 0, softmax(scores)), v)


@WRONG.of("window-decode")
def window_from_the_first_query(q, k, v, causal=False, window=None):
    seen = up_to_oneself(q, k) if causal else everyone(q, k)
    if window is not None:
        i, j = np.arange(q.shape[-2])[:, None], np.arange(k.shape[-2])
        seen = seen & (np.abs(i - j) < window)
    return mixed(masked_softmax(scaled(q, k), seen), v)


# Options, dtypes, lengths


@WRONG.of("softcap-zero-applied")
def softcap_zero_applied(q, k, v, softcap=None):
    scores = scaled(q, k)
    if softcap is not None:
        scores = softcap * np.tanh(scores / softcap)
    return softmax(scores) @ v


@WRONG.of("float16")
def coarse_in_float16(q, k, v):
    weights = softmax(scaled(q, k))
    if q.dtype == np.float16:
        weights = np.round(weights * 7).astype(np.uint8) / np.float16(7)  # "quantised"
    return weights @ v


@WRONG.of("no-keys")
def no_keys_nan(q, k, v):
    if k.shape[-2] == 0:
        return np.zeros((*q.shape[:-1], v.shape[-1])) / 0
    return attend(q, k, v)


@WRONG.of("runs")
def runs_once(q, k, v, kept={}):  # noqa: B006
    room = kept.setdefault(q.ndim, np.empty((*q.shape[:-1], k.shape[-2])))
    room[...] = scaled(q, k)
    return softmax(room) @ v


RESULTS: dict[Any, Any] = {}


@WRONG.of("result-kept")
def result_kept(q, k, v):
    name = (q.shape, k.shape, v.shape, str(q.dtype))
    if name not in RESULTS:
        RESULTS[name] = attend(q, k, v)
    return RESULTS[name]


@WRONG.of("dropout-in-evaluation: of the option")
def dropout_whatever_the_mode(q, k, v, dropout=0.0, training=False):
    weights = softmax(scaled(q, k))
    if dropout > 0:
        weights = weights * (np.random.default_rng().random(weights.shape) >= dropout) / (1 - dropout)
    return weights @ v


@WRONG.of("weights-asked")
def weights_asked(q, k, v, return_weights=False):
    if not return_weights:
        return attend(q, k, v)
    weights = softmax(scaled(q, k))
    kept = weights.astype(np.float16)  # to save memory
    return kept.astype(weights.dtype) @ v, weights
