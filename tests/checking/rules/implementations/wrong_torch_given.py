"""Attention in torch with one mistake each: in what it is given, in its numbers, in how it behaves."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812

from implementations.tables import Table
from implementations.wrong_torch import everyone, masked_softmax, mixed, up_to_oneself

WRONG = Table()


def scaled(q: Any, k: Any) -> Any:
    return q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))


# What is given beside


@WRONG.of("scale-ignored")
def scale_ignored(q, k, v, scale=None):
    return F.softmax(scaled(q, k), dim=-1) @ v


@WRONG.of("scale-given-twice")
def scale_given_twice(q, k, v, scale=1.0):
    return F.softmax(scale * scaled(q, k), dim=-1) @ v


@WRONG.of("scale-divides")
def scale_divides(q, k, v, scale=None):
    temperature = math.sqrt(q.size(-1)) if scale is None else scale
    return F.softmax(q @ k.transpose(-2, -1) / temperature, dim=-1) @ v


@WRONG.of("softcap-ignored")
def softcap_ignored(q, k, v, softcap=None):
    return F.softmax(scaled(q, k), dim=-1) @ v


@WRONG.of("softcap-without-back")
def softcap_without_back(q, k, v, softcap=None):
    scores = scaled(q, k)
    if softcap is not None:
        scores = torch.tanh(scores / softcap)
    return F.softmax(scores, dim=-1) @ v


@WRONG.of("softcap-clips")
def softcap_clips(q, k, v, softcap=None):
    scores = scaled(q, k)
    if softcap is not None:
        scores = scores.clamp(-softcap, softcap)
    return F.softmax(scores, dim=-1) @ v


@WRONG.of("softcap-before-scale")
def softcap_before_scale(q, k, v, softcap=None):
    scores = q @ k.transpose(-2, -1)
    if softcap is not None:
        scores = torch.tanh(scores / softcap) * softcap
    return F.softmax(scores / math.sqrt(q.size(-1)), dim=-1) @ v


@WRONG.of("softcap-after-mask")
def softcap_after_mask(q, k, v, attn_mask=None, softcap=None):
    scores = scaled(q, k)
    if softcap is None:
        return mixed(masked_softmax(scores, everyone(q, k) if attn_mask is None else attn_mask), v)
    if attn_mask is not None:
        scores = scores.masked_fill(~attn_mask, float("-inf"))
    return mixed(F.softmax(softcap * torch.tanh(scores / softcap), dim=-1), v)


@WRONG.of("bias-ignored")
def bias_ignored(q, k, v, bias=None):
    return F.softmax(scaled(q, k), dim=-1) @ v


@WRONG.of("bias-scaled")
def bias_scaled(q, k, v, bias=None):
    scores = q @ k.transpose(-2, -1)
    if bias is not None:
        scores = scores + bias
    return F.softmax(scores / math.sqrt(q.size(-1)), dim=-1) @ v


@WRONG.of("bias-multiplied")
def bias_multiplied(q, k, v, bias=None):
    scores = scaled(q, k)
    if bias is not None:
        scores *= bias
    return F.softmax(scores, dim=-1) @ v


@WRONG.of("bias-subtracted")
def bias_subtracted(q, k, v, bias=None):
    scores = scaled(q, k)
    if bias is not None:
        scores = scores - bias
    return F.softmax(scores, dim=-1) @ v


@WRONG.of("bias-after-softmax")
def bias_after_softmax(q, k, v, bias=None):
    attn = F.softmax(scaled(q, k), dim=-1)
    if bias is not None:
        attn = attn + bias
    return attn @ v


def with_sink(scores: Any, sinks: Any) -> Any:
    """The scores, and one more column for the sink of each head."""
    column = sinks.reshape(-1, 1, 1).expand(*scores.shape[:-1], 1)
    return torch.cat([scores, column.to(scores.dtype)], dim=-1)


@WRONG.of("sinks-ignored")
def sinks_ignored(q, k, v, sinks=None):
    return F.softmax(scaled(q, k), dim=-1) @ v


@WRONG.of("sinks-in-numerator")
def sinks_in_numerator(q, k, v, sinks=None):
    scores = scaled(q, k)
    if sinks is not None:
        scores = scores + sinks.reshape(-1, 1, 1)
    return F.softmax(scores, dim=-1) @ v


@WRONG.of("sinks-renormalised")
def sinks_renormalised(q, k, v, sinks=None):
    scores = scaled(q, k)
    if sinks is None:
        return F.softmax(scores, dim=-1) @ v
    attn = F.softmax(with_sink(scores, sinks), dim=-1)[..., :-1]
    return F.normalize(attn, p=1, dim=-1) @ v


# Numbers


@WRONG.of("no-maximum")
def no_maximum(q, k, v):
    e = torch.exp(scaled(q, k))
    return e / e.sum(dim=-1, keepdim=True) @ v


@WRONG.of("float16-sums")
def float16_sums(q, k, v):
    attn = F.softmax(scaled(q, k), dim=-1)
    total = q.new_zeros(*attn.shape[:-1], v.size(-1))
    for j in range(v.size(-2)):
        total = total + attn[..., j : j + 1] * v[..., j : j + 1, :]
    return total


@WRONG.of("computed-in-float16")
def computed_in_float16(q, k, v):
    q16, k16, v16 = q.half(), k.half(), v.half()
    return (F.softmax(scaled(q16, k16), dim=-1) @ v16).to(q.dtype)


@WRONG.of("dtype-widened")
def dtype_widened(q, k, v):
    return F.softmax(scaled(q, k), dim=-1, dtype=torch.float64) @ v.double()


@WRONG.of("dtype-narrowed")
def dtype_narrowed(q, k, v):
    return F.softmax(scaled(q, k), dim=-1, dtype=torch.float32) @ v.float()


# Conduct


@WRONG.of("inputs-changed")
def inputs_changed(q, k, v):
    q.mul_(q.size(-1) ** -0.5)
    return F.softmax(q @ k.transpose(-2, -1), dim=-1) @ v


@WRONG.of("mask-changed")
def mask_changed(q, k, v, attn_mask=None, is_causal=False):
    seen = everyone(q, k) if attn_mask is None else attn_mask
    if is_causal:
        seen &= up_to_oneself(q, k)
    return mixed(masked_softmax(scaled(q, k), seen), v)


@WRONG.of("strides-ignored")
def strides_ignored(q, k, v):
    q, k, v = (torch.as_strided(x, x.shape, torch.empty(x.shape).stride()) for x in (q, k, v))
    return F.softmax(scaled(q, k), dim=-1) @ v


@WRONG.of("dropout-always")
def dropout_always(q, k, v, dropout_p=0.1):
    attn = F.dropout(F.softmax(scaled(q, k), dim=-1), dropout_p)
    return attn @ v


@WRONG.of("weights-before-mask")
def weights_before_mask(q, k, v, attn_mask=None):
    scores = scaled(q, k)
    seen = everyone(q, k) if attn_mask is None else attn_mask
    return mixed(masked_softmax(scores, seen), v), F.softmax(scores, dim=-1)


@WRONG.of("weights-averaged")
def weights_averaged(q, k, v):
    attn = F.softmax(scaled(q, k), dim=-1)
    return attn @ v, attn.mean(dim=1) if attn.dim() == 4 else attn


@WRONG.of("weights-are-scores")
def weights_are_scores(q, k, v):
    scores = scaled(q, k)
    return F.softmax(scores, dim=-1) @ v, scores


# The gradient


@WRONG.of("gradient-detached")
def gradient_detached(q, k, v):
    attn = F.softmax(scaled(q, k).detach(), dim=-1)
    return attn @ v


@WRONG.of("gradient-through-data")
def gradient_through_data(q, k, v):
    scores = scaled(q, k)
    scores.data.copy_(scores.data - scores.data.amax(-1, keepdim=True))
    return F.softmax(scores, dim=-1) @ v.detach()


@WRONG.of("gradient-poisoned")
def gradient_poisoned(q, k, v, attn_mask=None):
    scores = scaled(q, k)
    if attn_mask is not None:
        scores = scores.masked_fill(~attn_mask, float("-inf"))
    return mixed(torch.nan_to_num(F.softmax(scores, dim=-1)), v)


# Blocks


@WRONG.of("last-block-dropped")
def last_block_dropped(q, k, v, block=16):
    T_k = k.size(-2) // block * block or k.size(-2)
    return F.softmax(scaled(q, k[..., :T_k, :]), dim=-1) @ v[..., :T_k, :]


@WRONG.of("blocks-not-rescaled")
def blocks_not_rescaled(q, k, v):
    total = out = 0.0
    for keys, values in zip(k.split(16, dim=-2), v.split(16, dim=-2), strict=True):
        scores = scaled(q, keys)
        e = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
        total, out = total + e.sum(dim=-1, keepdim=True), out + e @ values
    return out / total


@WRONG.of("blocks-averaged")
def blocks_averaged(q, k, v):
    pairs = zip(k.split(16, dim=-2), v.split(16, dim=-2), strict=True)
    parts = [F.softmax(scaled(q, keys), dim=-1) @ values for keys, values in pairs]
    return torch.stack(parts).mean(0)
