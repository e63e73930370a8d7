"""Attention of torch as repositories have it: names, layouts, masks and results of all sorts."""

from __future__ import annotations

import math
import warnings

import pytest
from adapting_forms import D_K

torch = pytest.importorskip("torch")
F = torch.nn.functional
nn = torch.nn


def from_scratch(Q, K, V, mask=None):
    scores = (Q @ K.transpose(-2, -1)) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    return F.softmax(scores, dim=-1) @ V


def annotated(query, key, value, mask=None, dropout=None):
    """After the annotated transformer: dropout is a module, the mask has four axes."""
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    p_attn = scores.softmax(dim=-1)
    if dropout is not None:
        p_attn = dropout(p_attn)
    return torch.matmul(p_attn, value), p_attn


def told_width(q, k, v, d_k, mask=None, dropout=None):
    scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(d_k)
    if mask is not None:
        mask = mask.unsqueeze(1)
        scores = scores.masked_fill(mask == 0, -1e9)
    scores = F.softmax(scores, dim=-1)
    if dropout is not None:
        scores = dropout(scores)
    return torch.matmul(scores, v)


def gpt(q, k, v):
    """Causal whatever is asked, with four axes."""
    _B, _nh, T, _hs = q.size()
    att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
    bias = torch.tril(torch.ones(T, T)).view(1, 1, T, T)
    att = att.masked_fill(bias[:, :, :T, :T] == 0, float("-inf"))
    return F.softmax(att, dim=-1) @ v


def efficient(query, key, value, attn_bias=None, p: float = 0.0, scale=None):
    """As memory-efficient libraries have it: (B, T, H, d), a bias, no mask."""
    scale = 1.0 / query.shape[-1] ** 0.5 if scale is None else scale
    query, key, value = (x.transpose(1, 2) for x in (query, key, value))
    attn = query @ key.transpose(-2, -1) * scale
    if attn_bias is not None:
        attn = attn + attn_bias
    attn = F.dropout(attn.softmax(-1), p)
    return (attn @ value).transpose(1, 2).contiguous()


def flash(q, k, v, dropout_p=0.0, softmax_scale=None, causal=False, window_size=(-1, -1), softcap=0.0,
          alibi_slopes=None, deterministic=False, return_attn_probs=False):  # fmt: skip
    """As fused kernels have it: (B, T, H, d), fewer kv heads, a window of two numbers, three results."""
    _B, T, H, d = q.shape
    S, G = k.shape[1:3]
    k, v = (x.repeat_interleave(H // G, dim=2) for x in (k, v))
    scores = torch.einsum("bthd,bshd->bhts", q, k) * (d**-0.5 if softmax_scale is None else softmax_scale)
    if softcap > 0:
        scores = softcap * torch.tanh(scores / softcap)
    i, j = torch.arange(T)[:, None] + S - T, torch.arange(S)[None]
    left, right = window_size
    right = 0 if causal else right
    hidden = torch.zeros(T, S, dtype=torch.bool)
    hidden |= (j > i + right) if right >= 0 else False
    hidden |= (j < i - left) if left >= 0 else False
    scores = scores.masked_fill(hidden, float("-inf"))
    probs = scores.softmax(-1)
    out = torch.einsum("bhts,bshd->bthd", probs, v)
    return (out, scores.logsumexp(-1), probs) if return_attn_probs else out


def repeat_kv(hidden_states, n_rep):
    B, G, S, d = hidden_states.shape
    return hidden_states[:, :, None].expand(B, G, n_rep, S, d).reshape(B, G * n_rep, S, d)


def eager(module: nn.Module, query, key, value, attention_mask, scaling, dropout=0.0, **kwargs):
    """As transformers has it: a module that says how many heads share, an added mask, (B, T, H, d) back."""
    key_states = repeat_kv(key, module.num_key_value_groups)
    value_states = repeat_kv(value, module.num_key_value_groups)
    attn_weights = torch.matmul(query, key_states.transpose(2, 3)) * scaling
    if attention_mask is not None:
        attn_weights = attn_weights + attention_mask[:, :, :, : key_states.shape[-2]]
    attn_weights = F.softmax(attn_weights, dim=-1).to(query.dtype)
    attn_weights = F.dropout(attn_weights, p=dropout, training=module.training)
    attn_output = torch.matmul(attn_weights, value_states)
    return attn_output.transpose(1, 2).contiguous(), attn_weights


def padded(q, k, v, mask=None, attn_bias=None):
    """A mask of keys that is called mask, beside a bias."""
    sim = torch.einsum("b h i d, b h j d -> b h i j", q, k) * q.shape[-1] ** -0.5
    if attn_bias is not None:
        sim = sim + attn_bias
    if mask is not None:
        sim = sim.masked_fill(~mask[:, None, None, :], -torch.finfo(sim.dtype).max)
    return torch.einsum("b h i j, b h j d -> b h i d", sim.softmax(dim=-1), v)


def must_have_mask(q, k, v, mask):
    scores = torch.bmm(q, k.transpose(1, 2)) / math.sqrt(q.size(-1))
    return torch.bmm(torch.softmax(scores.masked_fill(mask == 0, -1e9), dim=-1), v)


def must_have_drop(q, k, v, mask):
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    return torch.softmax(scores.masked_fill(mask, float("-inf")), dim=-1) @ v


def must_have_numbers(q, k, v, mask):
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    return torch.softmax(scores + (1 - mask) * -1e30, dim=-1) @ v


def to_script(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, is_causal: bool = False) -> torch.Tensor:
    scores = q @ k.transpose(-2, -1) / (float(q.size(-1)) ** 0.5)
    if is_causal:
        hidden = torch.ones(scores.size(-2), scores.size(-1), dtype=torch.bool).triu(
            1 + scores.size(-1) - scores.size(-2)
        )
        scores = scores.masked_fill(hidden, float("-inf"))
    return torch.softmax(scores, -1) @ v


with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # torch.jit is on its way out, and still met
    scripted = torch.jit.script(to_script)


class ScaledDotProduct(nn.Module):
    """A module without weights, made for a width, with a dropout of its own."""

    def __init__(self, d_k, attn_dropout=0.1):
        super().__init__()
        self.temperature = d_k**0.5
        self.dropout = nn.Dropout(attn_dropout)

    def forward(self, q, k, v, mask=None):
        attn = torch.matmul(q / self.temperature, k.transpose(-2, -1))
        if mask is not None:
            attn = attn.masked_fill(mask == 0, -1e9)
        attn = self.dropout(F.softmax(attn, dim=-1))
        return torch.matmul(attn, v), attn


class Narrow(nn.Module):
    """One that only works in float32, for it holds a number in it."""

    def __init__(self):
        super().__init__()
        self.register_buffer("eye", torch.eye(D_K, dtype=torch.float32))

    def forward(self, q, k, v):
        assert q.dtype == torch.float32
        return F.scaled_dot_product_attention(q, k, v)
