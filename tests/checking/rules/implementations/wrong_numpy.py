"""Attention in NumPy with one mistake each: in the equation, in how samples and heads are kept apart."""

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


# Several at once: (B, T, d), (B, H, T, d)


def scaled(q: Any, k: Any) -> Any:
    return q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])


def attend(q: Any, k: Any, v: Any) -> Any:
    return softmax(scaled(q, k)) @ v


@WRONG.of("samples-see-each-other")
def samples_see_each_other(q, k, v):
    if q.ndim == 2:
        return attend(q, k, v)
    rows, keys, values = (np.concatenate(x, axis=-2) for x in (q, k, v))  # (…, B·T, d)
    return np.stack(np.split(attend(rows, keys, values), len(q), axis=-2))


@WRONG.of("samples-scrambled")
def samples_scrambled(q, k, v):
    if q.ndim != 3:
        return attend(q, k, v)
    q, k, v = (x.reshape(x.shape[1], x.shape[0], -1).swapaxes(0, 1) for x in (q, k, v))
    out = attend(q, k, v)
    return out.swapaxes(0, 1).reshape(out.shape)


@WRONG.of("softmax-over-batch")
def softmax_over_batch(q, k, v):
    return softmax(scaled(q, k), axis=0 if q.ndim > 2 else -1) @ v


@WRONG.of("scores-summed-over-batch")
def scores_summed_over_batch(q, k, v):
    if q.ndim != 3:
        return attend(q, k, v)
    scores = np.einsum("bqd,bkd->qk", q, k) / math.sqrt(q.shape[-1])
    return softmax(scores) @ v


@WRONG.of("first-sample-only")
def first_sample_only(q, k, v):
    weights = softmax(scaled(q, k))
    return weights[:1] @ v if q.ndim > 2 else weights @ v


@WRONG.of("first-sample-keys")
def first_sample_keys(q, k, v):
    return attend(q, k[:1], v[:1]) if q.ndim > 2 else attend(q, k, v)


@WRONG.of("scale-by-d_model")
def scale_by_d_model(q, k, v):
    d_model = q.shape[-1] * (q.shape[1] if q.ndim == 4 else 1)
    return softmax(q @ k.swapaxes(-1, -2) / math.sqrt(d_model)) @ v


@WRONG.of("scale-by-n_heads")
def scale_by_n_heads(q, k, v):
    if q.ndim < 4:
        return attend(q, k, v)
    return softmax(q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[1])) @ v


@WRONG.of("heads-averaged")
def heads_averaged(q, k, v):
    weights = softmax(scaled(q, k))
    return (weights.mean(1, keepdims=True) if q.ndim == 4 else weights) @ v


@WRONG.of("heads-share-scores")
def heads_share_scores(q, k, v):
    if q.ndim < 4:
        return attend(q, k, v)
    scores = np.einsum("bhqd,bhkd->bqk", q, k) / math.sqrt(q.shape[-1])
    return softmax(scores)[:, None] @ v


@WRONG.of("heads-read-first")
def heads_read_first(q, k, v):
    out = attend(q, k, v)
    return np.repeat(out[:, :1], q.shape[1], axis=1) if q.ndim == 4 else out


@WRONG.of("kv-first-only")
def kv_first_only(q, k, v):
    return attend(q, k[:, :1], v[:, :1]) if q.ndim == 4 else attend(q, k, v)


@WRONG.of("batch-heads-mixed")
def batch_heads_mixed(q, k, v):
    if q.ndim < 4:
        return attend(q, k, v)
    B, H, T, _ = q.shape
    out = attend(*(x.reshape(B * H, *x.shape[2:]) for x in (q, k, v)))
    return out.reshape(H, B, T, -1).swapaxes(0, 1)


@WRONG.of("kv-heads-tiled")
def kv_heads_tiled(q, k, v):
    if q.ndim < 4:
        return attend(q, k, v)
    times = q.shape[1] // k.shape[1]
    return attend(q, np.tile(k, (1, times, 1, 1)), np.tile(v, (1, times, 1, 1)))


@WRONG.of("kv-along-time")
def kv_along_time(q, k, v, causal=False):
    if q.ndim == 4 and k.shape[1] != q.shape[1]:
        B, G, T, _ = k.shape
        k, v = (np.repeat(x, q.shape[1] // G, axis=2) for x in (k, v))  # axis=1 was meant
        if G > 1:
            k, v = (x.reshape(B, q.shape[1], T, -1) for x in (k, v))
    seen = np.tril(everyone(q, k)) if causal else everyone(q, k)
    return mixed(masked_softmax(scaled(q, k), seen), v)


@WRONG.of("kv-reversed")
def kv_reversed(q, k, v):
    if q.ndim == 4 and k.shape[1] != q.shape[1]:
        k, v = (np.repeat(x[:, ::-1], q.shape[1] // x.shape[1], axis=1) for x in (k, v))
    return attend(q, k, v)
