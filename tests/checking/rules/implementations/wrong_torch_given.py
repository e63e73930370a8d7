"""Attention in torch with one mistake each: in what it is given, in its numbers, in how it behaves."""

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


# What is given beside


@WRONG.of("scale-ignored")
def scale_ignored(q, k, v, scale=None):
    return F.softmax(scaled(q, k), dim=-1) @ v


@WRONG.of("scale-twice")
def scale_twice(q, k, v, scale=1.0):
    return F.softmax(scale * scaled(q, k), dim=-1) @ v


@WRONG.of("scale-divides")
def scale_divides(q, k, v, scale=None):
    temperature = math.sqrt(q.size(-1)) if scale is None else scale
    return F.softmax(q @ k.transpose(-2, -1) / temperature, dim=-1) @ v


@WRONG.of("scale-under-root")
def scale_under_root(q, k, v, scale=None):
    width = q.size(-1) if scale is None else scale
    return F.softmax(q @ k.transpose(-2, -1) / math.sqrt(width), dim=-1) @ v


@WRONG.of("softcap-ignored")
def softcap_ignored(q, k, v, softcap=None):
    return F.softmax(scaled(q, k), dim=-1) @ v


@WRONG.of("softcap-without-multiplying-back")
def softcap_without_multiplying_back(q, k, v, softcap=None):
    scores = scaled(q, k)
    if softcap is not None:
        scores = torch.tanh(scores / softcap)
    return F.softmax(scores, dim=-1) @ v


@WRONG.of("softcap-without-dividing")
def softcap_without_dividing(q, k, v, softcap=None):
    scores = scaled(q, k)
    if softcap is not None:
        scores = softcap * torch.tanh(scores)
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


@WRONG.of("bias-before-scale", expect={"bias": "after-scale"})
def bias_before_scale(q, k, v, bias=None):
    scores = q @ k.transpose(-2, -1)
    if bias is not None:
        scores = scores + bias
    return F.softmax(scores / math.sqrt(q.size(-1)), dim=-1) @ v


@WRONG.of("bias-times")
def bias_times(q, k, v, bias=None):
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


@WRONG.of("bias-transposed")
def bias_transposed(q, k, v, bias=None):
    scores = scaled(q, k)
    if bias is not None:
        scores = scores + bias.transpose(-2, -1)
    return F.softmax(scores, dim=-1) @ v


@WRONG.of("bias-first-head")
def bias_first_head(q, k, v, bias=None):
    scores = scaled(q, k)
    if bias is not None:
        scores = scores + (bias[..., :1, :, :] if bias.dim() > 2 else bias)
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
    scores = scaled(q, k)
    if sinks is None:
        return F.softmax(scores, dim=-1) @ v
    attn = F.softmax(with_sink(scores, sinks), dim=-1)[..., :-1]
    return F.normalize(attn, p=1, dim=-1) @ v


@WRONG.of("sinks-twice")
def sinks_twice(q, k, v, sinks=None):
    scores = scaled(q, k)
    if sinks is not None:
        scores = with_sink(with_sink(scores, sinks), sinks)
    return F.softmax(scores, dim=-1)[..., : k.size(-2)] @ v


@WRONG.of("sinks-scaled")
def sinks_scaled(q, k, v, sinks=None):
    scores = q @ k.transpose(-2, -1)
    if sinks is not None:
        scores = with_sink(scores, sinks)
    return F.softmax(scores / math.sqrt(q.size(-1)), dim=-1)[..., : k.size(-2)] @ v


@WRONG.of("sinks-first-head")
def sinks_first_head(q, k, v, sinks=None):
    scores = scaled(q, k)
    if sinks is not None:
        scores = with_sink(scores, sinks[:1])
    return F.softmax(scores, dim=-1)[..., : k.size(-2)] @ v


@WRONG.of("sinks-unshifted")
def sinks_unshifted(q, k, v, sinks=None):
    scores = scaled(q, k)
    e = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
    total = e.sum(dim=-1, keepdim=True)
    if sinks is not None:
        total = total + sinks.reshape(-1, 1, 1).exp()
    return e / total @ v


@WRONG.of("sinks-in-numerator")
def sinks_in_numerator(q, k, v, sinks=None):
    scores = scaled(q, k)
    if sinks is None:
        return F.softmax(scores, dim=-1) @ v
    attn = F.softmax(with_sink(scores, sinks), dim=-1)
    return attn @ torch.cat([v, v[..., :1, :]], dim=-2)


@WRONG.of("sinks-column-kept")
def sinks_column_kept(q, k, v, sinks=None):
    scores = scaled(q, k)
    if sinks is not None:
        scores = with_sink(scores, sinks)
    return F.softmax(scores, dim=-1)[..., -k.size(-2) :] @ v


# Numbers


@WRONG.of("no-max-subtraction")
def no_max_subtraction(q, k, v):
    e = torch.exp(scaled(q, k))
    return e / e.sum(dim=-1, keepdim=True) @ v


@WRONG.of("sums-in-half")
def sums_in_half(q, k, v):
    attn = F.softmax(scaled(q, k), dim=-1)
    total = q.new_zeros(*attn.shape[:-1], v.size(-1))
    for j in range(v.size(-2)):
        total = total + attn[..., j : j + 1] * v[..., j : j + 1, :]
    return total


@WRONG.of("kept-in-float16")
def kept_in_float16(q, k, v):
    q16, k16, v16 = q.half(), k.half(), v.half()
    return (F.softmax(scaled(q16, k16), dim=-1) @ v16).to(q.dtype)


@WRONG.of("dtype-narrowed")
def dtype_narrowed(q, k, v):
    return F.softmax(scaled(q, k), dim=-1, dtype=torch.float32) @ v.float()


# Conduct


@WRONG.of("inputs-changed")
def inputs_changed(q, k, v):
    q.mul_(q.size(-1) ** -0.5)
    return F.softmax(q @ k.transpose(-2, -1), dim=-1) @ v


@WRONG.of("strides-ignored")
def strides_ignored(q, k, v):
    q, k, v = (torch.as_strided(x, x.shape, torch.empty(x.shape).stride()) for x in (q, k, v))
    return F.softmax(scaled(q, k), dim=-1) @ v


@WRONG.of("dropout-in-evaluation")
def dropout_in_evaluation(q, k, v):
    attn = F.dropout(F.softmax(scaled(q, k), dim=-1), 0.1)
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


@WRONG.of("weights-of-first-head")
def weights_of_first_head(q, k, v):
    attn = F.softmax(scaled(q, k), dim=-1)
    return attn @ v, attn[:, 0] if attn.dim() == 4 else attn


@WRONG.of("weights-are-scores")
def weights_are_scores(q, k, v):
    scores = scaled(q, k)
    return F.softmax(scores, dim=-1) @ v, scores


@WRONG.of("weights-are-dots")
def weights_are_dots(q, k, v):
    dots = q @ k.transpose(-2, -1)
    return F.softmax(dots / math.sqrt(q.size(-1)), dim=-1) @ v, dots


@WRONG.of("weights-without-sum")
def weights_without_sum(q, k, v):
    scores = scaled(q, k)
    e = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
    return e @ v / e.sum(dim=-1, keepdim=True), e


# The gradient


@WRONG.of("gradient-detached")
def gradient_detached(q, k, v):
    attn = F.softmax(scaled(q, k).detach(), dim=-1)
    return attn @ v


@WRONG.of("gradient-detached: the values")
def gradient_detached_from_values(q, k, v):
    attn = F.softmax(scaled(q, k), dim=-1)
    return attn @ v.data


@WRONG.of("gradient-poisoned")
def gradient_poisoned(q, k, v, attn_mask=None):
    scores = scaled(q, k)
    if attn_mask is None:
        return F.softmax(scores, dim=-1) @ v
    attn = F.softmax(scores.masked_fill(~attn_mask, float("-inf")), dim=-1)
    return mixed(attn, v).masked_fill(~attn_mask.any(-1, keepdim=True), 0.0)


# Blocks


@WRONG.of("last-block-dropped")
def last_block_dropped(q, k, v, block=16):
    T_k = k.size(-2) // block * block or k.size(-2)
    return F.softmax(scaled(q, k[..., :T_k, :]), dim=-1) @ v[..., :T_k, :]


@WRONG.of("last-block-padded")
def last_block_padded(q, k, v, block=16):
    short = -k.size(-2) % block if k.size(-2) > block else 0
    k, v = F.pad(k, (0, 0, 0, short)), F.pad(v, (0, 0, 0, short))
    return F.softmax(scaled(q, k), dim=-1) @ v


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
