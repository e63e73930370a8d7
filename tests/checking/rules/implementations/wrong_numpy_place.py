"""Attention in NumPy with one mistake each: in who may see whom, causal or within a window."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from implementations.tables import Table
from implementations.wrong_numpy import everyone, masked_softmax, mixed, softmax, up_to_oneself

WRONG = Table()


def scaled(q: Any, k: Any) -> Any:
    return q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])


# Who sees whom


@WRONG.of("causal-ignored")
def causal_ignored(q, k, v, causal=False):
    scores = scaled(q, k)
    return softmax(scores) @ v


@WRONG.of("causal-hides-oneself")
def causal_hides_oneself(q, k, v, causal=False):
    scores = scaled(q, k)
    seen = up_to_oneself(q, k, ahead=-1) if causal else everyone(q, k)
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("causal-sees-one-ahead")
def causal_sees_one_ahead(q, k, v, causal=False):
    scores = scaled(q, k)
    seen = up_to_oneself(q, k, ahead=1) if causal else everyone(q, k)
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("causal-inverted")
def causal_inverted(q, k, v, causal=False):
    scores = scaled(q, k)
    T_q, T_k = scores.shape[-2:]
    seen = np.triu(np.ones((T_q, T_k), bool), T_k - T_q) if causal else everyone(q, k)
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("causal-start", expect={"causal": "end"})
def causal_start(q, k, v, causal=False):
    scores = scaled(q, k)
    seen = np.tril(everyone(q, k)) if causal else everyone(q, k)
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("causal-drops-mask")
def causal_drops_mask(q, k, v, mask=None, causal=False):
    scores = scaled(q, k)
    seen = everyone(q, k) if mask is None else mask
    if causal:
        seen = up_to_oneself(q, k)
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("mask-drops-causal")
def mask_drops_causal(q, k, v, mask=None, causal=False):
    seen = everyone(q, k)
    if mask is not None:
        seen = mask
    elif causal:
        seen = up_to_oneself(q, k)
    return mixed(masked_softmax(scaled(q, k), seen), v)


@WRONG.of("mask-or-causal")
def mask_or_causal(q, k, v, mask=None, causal=False):
    seen = everyone(q, k) if mask is None else mask
    if causal:
        seen = up_to_oneself(q, k) if mask is None else mask | up_to_oneself(q, k)
    return mixed(masked_softmax(scaled(q, k), seen), v)


@WRONG.of("causal-unasked")
def causal_unasked(q, k, v, causal=False):
    return mixed(masked_softmax(scaled(q, k), up_to_oneself(q, k)), v)


@WRONG.of("causal-after-softmax")
def causal_after_softmax(q, k, v, causal=False):
    weights = softmax(scaled(q, k))
    if causal:
        weights = np.where(up_to_oneself(q, k), weights, 0)
    return mixed(weights, v)


@WRONG.of("causal-zeroes-scores")
def causal_zeroes_scores(q, k, v, causal=False):
    scores = scaled(q, k)
    if causal:
        scores = scores * up_to_oneself(q, k)
    return softmax(scores) @ v


@WRONG.of("causal-added")
def causal_added(q, k, v, causal=False):
    scores = scaled(q, k)
    if causal:
        scores = scores + up_to_oneself(q, k)
    return softmax(scores) @ v


@WRONG.of("window-one-more")
def window_one_more(q, k, v, causal=False, window=None):
    scores = scaled(q, k)
    seen = up_to_oneself(q, k) if causal else everyone(q, k)
    if window is not None:
        seen = seen & ~up_to_oneself(q, k, ahead=-window - 1)
        seen = seen & (causal | up_to_oneself(q, k, ahead=window))
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("window-one-less")
def window_one_less(q, k, v, causal=False, window=None):
    scores = scaled(q, k)
    seen = up_to_oneself(q, k) if causal else everyone(q, k)
    if window is not None:
        seen = seen & ~up_to_oneself(q, k, ahead=1 - window)
        seen = seen & (causal | up_to_oneself(q, k, ahead=window - 2))
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("window-ignored")
def window_ignored(q, k, v, causal=False, window=None):
    scores = scaled(q, k)
    seen = up_to_oneself(q, k) if causal else everyone(q, k)
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("window-needs-mask")
def window_needs_mask(q, k, v, mask=None, causal=False, window=None):
    scores = scaled(q, k)
    seen = up_to_oneself(q, k) if causal else everyone(q, k)
    if mask is not None:
        seen = seen & mask
        if window is not None:
            seen = seen & ~up_to_oneself(q, k, ahead=-window)
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("window-sees-future")
def window_sees_future(q, k, v, causal=False, window=None):
    scores = scaled(q, k)
    seen = up_to_oneself(q, k) if causal else everyone(q, k)
    if window is not None:
        seen = seen & ~up_to_oneself(q, k, ahead=-window)
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("window-drops-causal")
def window_drops_causal(q, k, v, causal=False, window=None):
    seen = everyone(q, k)
    if window is not None:
        seen = ~up_to_oneself(q, k, ahead=-window) & up_to_oneself(q, k, ahead=window - 1)
    elif causal:
        seen = up_to_oneself(q, k)
    return mixed(masked_softmax(scaled(q, k), seen), v)


@WRONG.of("window-drops-mask")
def window_drops_mask(q, k, v, mask=None, window=None):
    seen = everyone(q, k) if mask is None else mask
    if window is not None:
        seen = ~up_to_oneself(q, k, ahead=-window) & up_to_oneself(q, k, ahead=window - 1)
    return mixed(masked_softmax(scaled(q, k), seen), v)


@WRONG.of("mask-drops-window")
def mask_drops_window(q, k, v, mask=None, window=None):
    seen = everyone(q, k)
    if mask is not None:
        seen = mask
    elif window is not None:
        seen = ~up_to_oneself(q, k, ahead=-window) & up_to_oneself(q, k, ahead=window - 1)
    return mixed(masked_softmax(scaled(q, k), seen), v)
