"""Attention in torch with one mistake each: in who may see whom, causal or within a window."""

from __future__ import annotations

import math
from typing import Any

import torch.nn.functional as F  # noqa: N812

from implementations.tables import Table
from implementations.wrong_torch import everyone, masked_softmax, mixed, up_to_oneself

WRONG = Table()


def scaled(q: Any, k: Any) -> Any:
    return q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))


# Who sees whom


@WRONG.of("causal-ignored")
def causal_ignored(q, k, v, is_causal=False):
    scores = scaled(q, k)
    return F.softmax(scores, dim=-1) @ v


@WRONG.of("causal-hides-oneself")
def causal_hides_oneself(q, k, v, is_causal=False):
    scores = scaled(q, k)
    seen = up_to_oneself(q, k, ahead=-1) if is_causal else everyone(q, k)
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("causal-sees-one-ahead")
def causal_sees_one_ahead(q, k, v, is_causal=False):
    scores = scaled(q, k)
    seen = up_to_oneself(q, k, ahead=1) if is_causal else everyone(q, k)
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("causal-inverted")
def causal_inverted(q, k, v, is_causal=False):
    scores = scaled(q, k)
    T_q, T_k = scores.shape[-2:]
    seen = everyone(q, k).triu(T_k - T_q) if is_causal else everyone(q, k)
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("causal-start", expect={"causal": "end"})
def causal_start(q, k, v, is_causal=False):
    scores = scaled(q, k)
    seen = everyone(q, k).tril() if is_causal else everyone(q, k)
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("causal-drops-mask")
def causal_drops_mask(q, k, v, attn_mask=None, is_causal=False):
    scores = scaled(q, k)
    seen = everyone(q, k) if attn_mask is None else attn_mask
    if is_causal:
        seen = up_to_oneself(q, k)
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("mask-drops-causal")
def mask_drops_causal(q, k, v, attn_mask=None, is_causal=False):
    seen = everyone(q, k)
    if attn_mask is not None:
        seen = attn_mask
    elif is_causal:
        seen = up_to_oneself(q, k)
    return mixed(masked_softmax(scaled(q, k), seen), v)


@WRONG.of("mask-or-causal")
def mask_or_causal(q, k, v, attn_mask=None, is_causal=False):
    seen = everyone(q, k) if attn_mask is None else attn_mask
    if is_causal:
        seen = up_to_oneself(q, k) if attn_mask is None else attn_mask | up_to_oneself(q, k)
    return mixed(masked_softmax(scaled(q, k), seen), v)


@WRONG.of("causal-unasked")
def causal_unasked(q, k, v, is_causal=False):
    return mixed(masked_softmax(scaled(q, k), up_to_oneself(q, k)), v)


@WRONG.of("causal-after-softmax")
def causal_after_softmax(q, k, v, is_causal=False):
    attn = F.softmax(scaled(q, k), dim=-1)
    if is_causal:
        attn = attn.masked_fill(~up_to_oneself(q, k), 0.0)
    return mixed(attn, v)


@WRONG.of("causal-zeroes-scores")
def causal_zeroes_scores(q, k, v, is_causal=False):
    scores = scaled(q, k)
    if is_causal:
        scores = scores.masked_fill(~up_to_oneself(q, k), 0.0)
    return F.softmax(scores, dim=-1) @ v


@WRONG.of("causal-added")
def causal_added(q, k, v, is_causal=False):
    scores = scaled(q, k)
    if is_causal:
        scores = scores + up_to_oneself(q, k)
    return F.softmax(scores, dim=-1) @ v


@WRONG.of("window-one-more")
def window_one_more(q, k, v, is_causal=False, window=None):
    scores = scaled(q, k)
    seen = up_to_oneself(q, k) if is_causal else everyone(q, k)
    if window is not None:
        seen = seen & ~up_to_oneself(q, k, ahead=-window - 1) & up_to_oneself(q, k, ahead=window)
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("window-one-less")
def window_one_less(q, k, v, is_causal=False, window=None):
    scores = scaled(q, k)
    seen = up_to_oneself(q, k) if is_causal else everyone(q, k)
    if window is not None:
        seen = seen & ~up_to_oneself(q, k, ahead=1 - window) & up_to_oneself(q, k, ahead=window - 2)
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("window-ignored")
def window_ignored(q, k, v, is_causal=False, window=None):
    scores = scaled(q, k)
    seen = up_to_oneself(q, k) if is_causal else everyone(q, k)
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("window-needs-mask")
def window_needs_mask(q, k, v, attn_mask=None, is_causal=False, window=None):
    scores = scaled(q, k)
    seen = up_to_oneself(q, k) if is_causal else everyone(q, k)
    if attn_mask is not None:
        seen = seen & attn_mask
        if window is not None:
            seen = seen & ~up_to_oneself(q, k, ahead=-window)
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("window-sees-future")
def window_sees_future(q, k, v, is_causal=False, window=None):
    scores = scaled(q, k)
    seen = up_to_oneself(q, k) if is_causal else everyone(q, k)
    if window is not None:
        seen = seen & ~up_to_oneself(q, k, ahead=-window)
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("window-drops-causal")
def window_drops_causal(q, k, v, is_causal=False, window=None):
    seen = everyone(q, k)
    if window is not None:
        seen = ~up_to_oneself(q, k, ahead=-window) & up_to_oneself(q, k, ahead=window - 1)
    elif is_causal:
        seen = up_to_oneself(q, k)
    return mixed(masked_softmax(scaled(q, k), seen), v)


@WRONG.of("window-drops-mask")
def window_drops_mask(q, k, v, attn_mask=None, window=None):
    seen = everyone(q, k) if attn_mask is None else attn_mask
    if window is not None:
        seen = ~up_to_oneself(q, k, ahead=-window) & up_to_oneself(q, k, ahead=window - 1)
    return mixed(masked_softmax(scaled(q, k), seen), v)


@WRONG.of("mask-drops-window")
def mask_drops_window(q, k, v, attn_mask=None, window=None):
    seen = everyone(q, k)
    if attn_mask is not None:
        seen = attn_mask
    elif window is not None:
        seen = ~up_to_oneself(q, k, ahead=-window) & up_to_oneself(q, k, ahead=window - 1)
    return mixed(masked_softmax(scaled(q, k), seen), v)
