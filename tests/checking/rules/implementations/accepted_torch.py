"""Attention that is right, in the many forms that people give it, in torch."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812

from implementations.accepted import PRODUCT
from implementations.tables import Table

ACCEPTED = Table()


@ACCEPTED.of("as in the paper, torch")
def as_in_the_paper(query, key, value):
    attn = F.softmax(query @ key.transpose(-2, -1) / math.sqrt(query.size(-1)), dim=-1)
    return attn @ value


@ACCEPTED.of("torch's own function")
def torch_sdpa(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


@ACCEPTED.of("torch's own function, with its arguments", weak=PRODUCT)
def torch_sdpa_whole(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    return F.scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, is_causal, scale=scale)


ACCEPTED.of("torch.nn.functional.scaled_dot_product_attention", weak=PRODUCT)(F.scaled_dot_product_attention)


@ACCEPTED.of("baddbmm, flattened heads")
def by_baddbmm(q, k, v):
    Q, K, V = (x.reshape(-1, *x.shape[-2:]) for x in (q, k, v))
    room = Q.new_empty(len(Q), Q.size(1), K.size(1))
    scores = torch.baddbmm(room, Q, K.transpose(1, 2), beta=0, alpha=Q.size(-1) ** -0.5)
    return torch.bmm(scores.softmax(-1), V).reshape(*q.shape[:-1], v.size(-1))


@ACCEPTED.of("einsum, torch")
def by_einsum(q, k, v):
    sim = torch.einsum("... i d, ... j d -> ... i j", q * q.size(-1) ** -0.5, k)
    attn = (sim - sim.amax(dim=-1, keepdim=True).detach()).softmax(dim=-1)
    return torch.einsum("... i j, ... j d -> ... i d", attn, v)


@ACCEPTED.of("by logsumexp, torch")
def by_logsumexp(q, k, v):
    scores = q @ k.mT / math.sqrt(q.size(-1))
    return torch.exp(scores - torch.logsumexp(scores, -1, keepdim=True)) @ v


@ACCEPTED.of("the mask as −∞, empty rows set to zero", weak=PRODUCT)
def empty_rows_zero(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    if mask is None:
        return F.softmax(scores, dim=-1) @ v
    empty = ~(mask != 0).any(-1, keepdim=True)
    scores = scores.masked_fill((mask == 0) & ~empty, float("-inf"))
    return F.softmax(scores, dim=-1).masked_fill(empty, 0.0) @ v


@ACCEPTED.of("the smallest number as fill, torch", weak=PRODUCT)
def smallest_number(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, torch.finfo(scores.dtype).min)
    return F.softmax(scores, dim=-1) @ v


@ACCEPTED.of("the mask as a bias of −∞, by log", weak=PRODUCT)
def mask_as_log(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    if mask is None:
        return scores.softmax(-1) @ v
    top = torch.finfo(scores.dtype).min
    return (scores + torch.log(mask.to(scores.dtype)).clamp(min=top)).softmax(-1) @ v


@ACCEPTED.of("float32 inside, torch")
def float32_inside(q, k, v):
    wide = torch.promote_types(q.dtype, torch.float32)
    scores = q.to(wide) @ k.to(wide).transpose(-2, -1) / math.sqrt(q.size(-1))
    return (scores.softmax(-1) @ v.to(wide)).to(q.dtype)


@ACCEPTED.of("grouped by repeat_interleave")
def grouped(q, k, v):
    if q.dim() == 4:
        k = k.repeat_interleave(q.size(1) // k.size(1), dim=1)
        v = v.repeat_interleave(q.size(1) // v.size(1), dim=1)
    return as_in_the_paper(q, k, v)


@ACCEPTED.of("weights returned beside")
def with_weights(q: Any, k: Any, v: Any) -> Any:
    attn = F.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.size(-1)), dim=-1)
    return attn @ v, attn


@ACCEPTED.of("dropout that is off unless training")
def with_dropout(q, k, v, dropout_p=0.0, training=False):
    attn = F.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.size(-1)), dim=-1)
    return F.dropout(attn, dropout_p, training) @ v
