"""Attention in NumPy with one mistake each: in what it is given, in its numbers, in how it behaves."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from implementations.tables import Table
from implementations.wrong_numpy import everyone, masked_softmax, mixed, softmax

WRONG = Table()


def scaled(q: Any, k: Any) -> Any:
    return q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])


# What is given beside


@WRONG.of("scale-ignored")
def scale_ignored(q, k, v, scale=None):
    return softmax(scaled(q, k)) @ v


@WRONG.of("scale-twice")
def scale_twice(q, k, v, scale=1.0):
    return softmax(scaled(q, k) * scale) @ v


@WRONG.of("scale-divides")
def scale_divides(q, k, v, scale=None):
    if scale is None:
        scale = math.sqrt(q.shape[-1])
    return softmax(q @ k.swapaxes(-1, -2) / scale) @ v


@WRONG.of("scale-under-root")
def scale_under_root(q, k, v, scale=None):
    factor = 1 / math.sqrt(q.shape[-1]) if scale is None else 1 / math.sqrt(scale)
    return softmax(factor * (q @ k.swapaxes(-1, -2))) @ v


@WRONG.of("softcap-ignored")
def softcap_ignored(q, k, v, softcap=None):
    return softmax(scaled(q, k)) @ v


@WRONG.of("softcap-without-multiplying-back")
def softcap_without_multiplying_back(q, k, v, softcap=None):
    scores = scaled(q, k)
    if softcap is not None:
        scores = np.tanh(scores / softcap)
    return softmax(scores) @ v


@WRONG.of("softcap-without-dividing")
def softcap_without_dividing(q, k, v, softcap=None):
    scores = scaled(q, k)
    if softcap is not None:
        scores = softcap * np.tanh(scores)
    return softmax(scores) @ v


@WRONG.of("softcap-clips")
def softcap_clips(q, k, v, softcap=None):
    scores = scaled(q, k)
    if softcap is not None:
        scores = np.clip(scores, -softcap, softcap)
    return softmax(scores) @ v


@WRONG.of("softcap-before-scale")
def softcap_before_scale(q, k, v, softcap=None):
    dots = q @ k.swapaxes(-1, -2)
    if softcap is not None:
        dots = softcap * np.tanh(dots / softcap)
    return softmax(dots / math.sqrt(q.shape[-1])) @ v


@WRONG.of("softcap-after-mask")
def softcap_after_mask(q, k, v, mask=None, softcap=None):
    scores = scaled(q, k)
    if softcap is None:
        return mixed(masked_softmax(scores, everyone(q, k) if mask is None else mask), v)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    return mixed(softmax(softcap * np.tanh(scores / softcap)), v)


@WRONG.of("bias-ignored")
def bias_ignored(q, k, v, bias=None):
    return softmax(scaled(q, k)) @ v


@WRONG.of("bias-before-scale", expect={"bias": "after-scale"})
def bias_before_scale(q, k, v, bias=0.0):
    scores = (q @ k.swapaxes(-1, -2) + bias) / math.sqrt(q.shape[-1])
    return softmax(scores) @ v


@WRONG.of("bias-times")
def bias_times(q, k, v, bias=None):
    scores = scaled(q, k)
    if bias is not None:
        scores = scores * bias
    return softmax(scores) @ v


@WRONG.of("bias-subtracted")
def bias_subtracted(q, k, v, bias=0.0):
    return softmax(scaled(q, k) - bias) @ v


@WRONG.of("bias-transposed")
def bias_transposed(q, k, v, bias=None):
    scores = scaled(q, k)
    if bias is not None:
        scores = scores + bias.swapaxes(-1, -2)
    return softmax(scores) @ v


@WRONG.of("bias-first-head")
def bias_first_head(q, k, v, bias=None):
    scores = scaled(q, k)
    if bias is not None:
        scores = scores + (bias[..., :1, :, :] if bias.ndim > 2 else bias)
    return softmax(scores) @ v


@WRONG.of("bias-after-softmax")
def bias_after_softmax(q, k, v, bias=0.0):
    return (softmax(scaled(q, k)) + bias) @ v


def with_sink(scores: Any, sinks: Any) -> Any:
    """The scores, and one more column for the sink of each head."""
    column = np.broadcast_to(np.reshape(sinks, (-1, 1, 1)), (*scores.shape[:-1], 1))
    return np.concatenate([scores, column.astype(scores.dtype)], axis=-1)


@WRONG.of("sinks-ignored")
def sinks_ignored(q, k, v, sinks=None):
    scores = scaled(q, k)
    if sinks is None:
        return softmax(scores) @ v
    weights = softmax(with_sink(scores, sinks))[..., :-1]
    return weights / weights.sum(-1, keepdims=True) @ v


@WRONG.of("sinks-twice")
def sinks_twice(q, k, v, sinks=None):
    scores = scaled(q, k)
    if sinks is None:
        return softmax(scores) @ v
    return softmax(with_sink(with_sink(scores, sinks), sinks))[..., :-2] @ v


@WRONG.of("sinks-scaled")
def sinks_scaled(q, k, v, sinks=None):
    dots = q @ k.swapaxes(-1, -2)
    if sinks is not None:
        dots = with_sink(dots, sinks)
    return softmax(dots / math.sqrt(q.shape[-1]))[..., : k.shape[-2]] @ v


@WRONG.of("sinks-first-head")
def sinks_first_head(q, k, v, sinks=None):
    scores = scaled(q, k)
    if sinks is not None:
        scores = with_sink(scores, sinks[:1])
    return softmax(scores)[..., : k.shape[-2]] @ v


@WRONG.of("sinks-unshifted")
def sinks_unshifted(q, k, v, sinks=None):
    scores = scaled(q, k)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    total = e.sum(-1, keepdims=True)
    if sinks is not None:
        total = total + np.exp(np.reshape(sinks, (-1, 1, 1)))
    return e / total @ v


@WRONG.of("sinks-in-numerator")
def sinks_in_numerator(q, k, v, sinks=None):
    scores = scaled(q, k)
    if sinks is None:
        return softmax(scores) @ v
    weights = softmax(with_sink(scores, sinks))
    return weights[..., :-1] @ v + weights[..., -1:] * v[..., :1, :]


@WRONG.of("sinks-column-kept")
def sinks_column_kept(q, k, v, sinks=None):
    scores = scaled(q, k)
    if sinks is None:
        return softmax(scores) @ v
    return softmax(with_sink(scores, sinks))[..., 1:] @ v


# Numbers


@WRONG.of("no-max-subtraction")
def no_max_subtraction(q, k, v):
    e = np.exp(scaled(q, k))
    return e / e.sum(-1, keepdims=True) @ v


@WRONG.of("sums-in-half")
def sums_in_half(q, k, v):
    weights = softmax(scaled(q, k))
    total = np.zeros((*weights.shape[:-1], v.shape[-1]), v.dtype)
    for j in range(v.shape[-2]):
        total = total + weights[..., j : j + 1] * v[..., j : j + 1, :]
    return total


@WRONG.of("kept-in-float16")
def kept_in_float16(q, k, v):
    half = (x.astype(np.float16) for x in (q, k, v))
    out = (lambda q, k, v: softmax(scaled(q, k)) @ v)(*half)
    return out.astype(q.dtype)


@WRONG.of("dtype-narrowed")
def dtype_narrowed(q, k, v):
    return softmax(scaled(q, k).astype(np.float32)) @ v.astype(np.float32)


# Conduct


@WRONG.of("inputs-changed")
def inputs_changed(q, k, v):
    q *= q.shape[-1] ** -0.5
    return softmax(q @ k.swapaxes(-1, -2)) @ v


@WRONG.of("strides-ignored")
def strides_ignored(q, k, v):
    q, k, v = (x.ravel(order="K").reshape(x.shape) for x in (q, k, v))
    return softmax(scaled(q, k)) @ v


@WRONG.of("dropout-in-evaluation")
def dropout_in_evaluation(q, k, v):
    weights = softmax(scaled(q, k))
    kept = np.random.default_rng().random(weights.shape) > 0.1
    return weights * kept / 0.9 @ v


@WRONG.of("weights-before-mask")
def weights_before_mask(q, k, v, mask=None):
    scores = scaled(q, k)
    seen = everyone(q, k) if mask is None else mask
    return mixed(masked_softmax(scores, seen), v), softmax(scores)


@WRONG.of("weights-averaged")
def weights_averaged(q, k, v):
    weights = softmax(scaled(q, k))
    return weights @ v, weights.mean(1) if weights.ndim == 4 else weights


@WRONG.of("weights-of-first-head")
def weights_of_first_head(q, k, v):
    weights = softmax(scaled(q, k))
    return weights @ v, weights[:, 0] if weights.ndim == 4 else weights


@WRONG.of("weights-are-scores")
def weights_are_scores(q, k, v):
    scores = scaled(q, k)
    return softmax(scores) @ v, scores


@WRONG.of("weights-are-dots")
def weights_are_dots(q, k, v):
    dots = q @ k.swapaxes(-1, -2)
    return softmax(dots / math.sqrt(q.shape[-1])) @ v, dots


@WRONG.of("weights-without-sum")
def weights_without_sum(q, k, v):
    scores = scaled(q, k)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return e @ v / e.sum(-1, keepdims=True), e


# Blocks


@WRONG.of("last-block-dropped")
def last_block_dropped(q, k, v, block=16):
    T_k = k.shape[-2] // block * block or k.shape[-2]
    return softmax(scaled(q, k[..., :T_k, :])) @ v[..., :T_k, :]


@WRONG.of("last-block-padded")
def last_block_padded(q, k, v, block=16):
    short = -k.shape[-2] % block if k.shape[-2] > block else 0
    k, v = (np.concatenate([x, np.zeros_like(x[..., :1, :]).repeat(short, -2)], -2) for x in (k, v))
    return softmax(scaled(q, k)) @ v


@WRONG.of("blocks-not-rescaled")
def blocks_not_rescaled(q, k, v, block=16):
    total, out = 0.0, 0.0
    for j in range(0, k.shape[-2], block):
        scores = scaled(q, k[..., j : j + block, :])
        e = np.exp(scores - scores.max(-1, keepdims=True))
        total, out = total + e.sum(-1, keepdims=True), out + e @ v[..., j : j + block, :]
    return out / total


@WRONG.of("blocks-averaged")
def blocks_averaged(q, k, v, block=16):
    starts = range(0, k.shape[-2], block)
    parts = [(k[..., j : j + block, :], v[..., j : j + block, :]) for j in starts]
    return sum(softmax(scaled(q, keys)) @ values for keys, values in parts) / len(parts)
