"""Attention with one mistake each that few calls show: other dtypes, options together. In torch."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812

from implementations.tables import Table
from implementations.wrong_torch import attend, everyone, masked_softmax, mixed, scaled, up_to_oneself
from implementations.wrong_torch_masks import of_keys

WRONG = Table()

# Heads that share keys


@WRONG.of("kv-time")
def kv_time(q, k, v, is_causal=False):
    if q.dim() == 4 and k.size(1) != q.size(1):
        groups = q.size(1) // k.size(1)
        k, v = (x.repeat_interleave(groups, 1).repeat_interleave(groups, 2) for x in (k, v))
    seen = up_to_oneself(q, k) if is_causal else everyone(q, k)
    return mixed(masked_softmax(scaled(q, k), seen), v)


@WRONG.of("groups-cut")
def groups_cut(q, k, v):
    if q.dim() < 4:
        return attend(q, k, v)
    B, H, T, d_k = q.shape
    G = k.size(1)
    rows = q[:, : H // G * G].reshape(B, G, H // G * T, d_k)
    return attend(rows, k, v).reshape(B, H // G * G, T, -1)


# Masks


def added(scores: Any, mask: Any) -> Any:
    """Floats of 0 and −∞ hide; what is boolean is added as 1 and 0."""
    scores = torch.where(torch.isneginf(mask), float("-inf"), scores + mask)
    return masked_softmax(scores, ~torch.isneginf(scores))


@WRONG.of("mask-added: where floats are right")
def mask_added_to_floats(q, k, v, attn_mask=None):
    scores = scaled(q, k)
    return mixed(F.softmax(scores, dim=-1) if attn_mask is None else added(scores, attn_mask.to(q.dtype)), v)


@WRONG.of("padding-added: where floats are right")
def padding_added_to_floats(q, k, v, key_padding_mask=None):
    scores = scaled(q, k)
    if key_padding_mask is None:
        return mixed(F.softmax(scores, dim=-1), v)
    return mixed(added(scores, of_keys(key_padding_mask, scores).to(q.dtype)), v)


@WRONG.of("mask-length-accepted")
def mask_length_accepted(q, k, v, attn_mask=None):
    seen = everyone(q, k) if attn_mask is None else attn_mask[..., : q.size(-2), : k.size(-2)]
    return mixed(masked_softmax(scaled(q, k), seen), v)


@WRONG.of("padding-on-rows")
def padding_on_rows(q, k, v, key_padding_mask=None):
    scores = scaled(q, k)
    seen = everyone(q, k)
    if key_padding_mask is not None:
        keys = of_keys(key_padding_mask, scores)
        seen = keys & keys.mT[..., : q.size(-2), :]
    return mixed(masked_softmax(scores, seen), v)


@WRONG.of("max-starts-finite")
def max_starts_finite(q, k, v):
    scores = scaled(q, k)
    e = torch.exp(scores - scores.amax(-1, keepdim=True).clamp(min=-1e4))
    return F.normalize(e, p=1, dim=-1) @ v


@WRONG.of("max-of-all")
def max_of_all(q, k, v):
    scores = scaled(q, k)
    e = torch.exp(scores - scores.max())
    return e / e.sum(-1, keepdim=True) @ v


@WRONG.of("mask-renormalised")
def mask_renormalised(q, k, v, attn_mask=None):
    scores = scaled(q, k)
    if attn_mask is None:
        return mixed(F.softmax(scores, dim=-1), v)
    scores = torch.where(torch.isfinite(scores), scores, 0.0)
    attn = F.softmax(scores, dim=-1).masked_fill(~attn_mask, 0.0)
    return mixed(attn / attn.sum(-1, keepdim=True).clamp(min=torch.finfo(attn.dtype).tiny), v)


@WRONG.of("empty-row-nan: samples of padding")
def empty_sample_nan(q, k, v, key_padding_mask=None):
    scores = scaled(q, k)
    if key_padding_mask is not None:
        scores = scores.masked_fill(~of_keys(key_padding_mask, scores), float("-inf"))
    return mixed(F.softmax(scores, dim=-1), v)


@WRONG.of("hidden-leaks")
def hidden_leaks(q, k, v, attn_mask=None):
    attn = masked_softmax(scaled(q, k), everyone(q, k) if attn_mask is None else attn_mask)
    centre = v.sum(-2, keepdim=True) / max(v.size(-2), 1)
    return attn @ (v - centre) + attn.sum(-1, keepdim=True) * centre


@WRONG.of("hidden-huge-key")
def hidden_huge_key(q, k, v, attn_mask=None):
    scores = scaled(q, k)
    if attn_mask is None:
        return mixed(F.softmax(scores, dim=-1), v)
    scores = torch.where(attn_mask | torch.isfinite(scores), scores, 0.0)
    scores = scores + torch.where(attn_mask, 0.0, -1e20).to(scores.dtype)
    empty = ~attn_mask.any(-1, keepdim=True)
    return mixed(F.softmax(scores.masked_fill(empty, 0.0), dim=-1).masked_fill(empty, 0.0), v)


# The future


@WRONG.of("fill-too-weak: of the future")
def future_fill_too_weak(q, k, v, is_causal=False):
    scores = scaled(q, k)
    if is_causal:
        scores = scores.masked_fill(~up_to_oneself(q, k), -1e4)
    return mixed(F.softmax(scores, dim=-1), v)


@WRONG.of("fill-too-weak: of the future, −1e9")
def future_fill_too_weak_by_far(q, k, v, is_causal=False):
    scores = scaled(q, k).double()
    if is_causal:
        scores = scores.masked_fill(~up_to_oneself(q, k), -1e9)
    return mixed(F.softmax(scores, dim=-1).to(q.dtype), v)


@WRONG.of("mask-renormalised: of the future")
def future_renormalised(q, k, v, is_causal=False):
    attn = F.softmax(scaled(q, k), dim=-1)
    if is_causal:
        attn = attn.masked_fill(~up_to_oneself(q, k), 0.0)
        attn = attn / attn.sum(-1, keepdim=True)
    return mixed(attn, v)


@WRONG.of("empty-row-nan: by padding and causal together")
def empty_together_nan(q, k, v, attn_mask=None, is_causal=False):
    seen = everyone(q, k) if attn_mask is None else attn_mask
    empty = ~seen.any(-1, keepdim=True)
    if is_causal:
        seen = seen & up_to_oneself(q, k)
    attn = F.softmax(scaled(q, k).masked_fill(~seen & ~empty, float("-inf")), dim=-1)
    return mixed(attn.masked_fill(empty, 0.0), v)


@WRONG.of("window-decode")
def window_from_the_first_query(q, k, v, is_causal=False, window=None):
    seen = up_to_oneself(q, k) if is_causal else everyone(q, k)
    if window is not None:
        apart = torch.arange(q.size(-2))[:, None] - torch.arange(k.size(-2))
        seen = seen & (apart.abs() < window)
    return mixed(masked_softmax(scaled(q, k), seen), v)


# Options, dtypes, lengths


@WRONG.of("softcap-zero-applied")
def softcap_zero_applied(q, k, v, softcap=None):
    scores = scaled(q, k)
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    return F.softmax(scores, dim=-1) @ v


@WRONG.of("float16")
def coarse_in_float16(q, k, v):
    attn = F.softmax(scaled(q, k), dim=-1)
    if q.dtype == torch.float16:
        attn = (attn * 7).round().to(torch.uint8).to(q.dtype) / 7  # "quantised"
    return attn @ v


@WRONG.of("bfloat16")
def coarse_in_bfloat16(q, k, v):
    attn = F.softmax(scaled(q, k), dim=-1)
    if q.dtype == torch.bfloat16:
        attn = (attn * 7).round().to(torch.uint8).to(q.dtype) / 7
    return attn @ v


@WRONG.of("no-keys")
def no_keys_nan(q, k, v):
    out = attend(q, k, v)
    return out / 0 if k.size(-2) == 0 else out


@WRONG.of("runs")
def runs_once(q, k, v, kept={}):  # noqa: B006
    room = kept.setdefault(q.dim(), torch.empty(*q.shape[:-1], k.size(-2), dtype=q.dtype))
    room.copy_(scaled(q, k))
    return F.softmax(room, dim=-1) @ v


RESULTS: dict[Any, Any] = {}


@WRONG.of("result-kept")
def result_kept(q, k, v):
    name = (q.shape, k.shape, v.shape, q.dtype)
    if name not in RESULTS:
        RESULTS[name] = attend(q, k, v)
    return RESULTS[name]


@WRONG.of("dropout-in-evaluation: of the option")
def dropout_whatever_the_mode(q, k, v, dropout_p=0.0, training=False):
    return F.dropout(F.softmax(scaled(q, k), dim=-1), dropout_p) @ v


@WRONG.of("weights-asked")
def weights_asked(q, k, v, need_weights=False):
    if not need_weights:
        return attend(q, k, v)
    attn = F.softmax(scaled(q, k), dim=-1)
    return attn.half().to(v.dtype) @ v, attn  # half, to save memory
