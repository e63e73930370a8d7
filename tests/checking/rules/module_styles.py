"""Modules of several heads in torch, as people write them; each right, and called in its own way."""

import copy
import math

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn


class Annotated(nn.Module):
    """The Annotated Transformer's: four matrices in a list, a mask with an axis for the heads put in."""

    def __init__(self, h, d_model, dropout=0.1):
        super().__init__()
        self.d_k, self.h = d_model // h, h
        self.linears = nn.ModuleList([copy.deepcopy(nn.Linear(d_model, d_model)) for _ in range(4)])
        self.attn = None
        self.dropout = nn.Dropout(p=dropout)

    def forward(self, query, key, value, mask=None):
        mask = None if mask is None else mask.unsqueeze(1)
        n = query.size(0)
        query, key, value = (
            linear(x).view(n, -1, self.h, self.d_k).transpose(1, 2)
            for linear, x in zip(self.linears[:3], (query, key, value), strict=True)
        )
        scores = query @ key.transpose(-2, -1) / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        self.attn = self.dropout(scores.softmax(dim=-1))
        x = (self.attn @ value).transpose(1, 2).contiguous().view(n, -1, self.h * self.d_k)
        return self.linears[-1](x)


class Configured(nn.Module):
    """nanoGPT's: everything from a config, q, k and v in one matrix, always causal."""

    def __init__(self, config):
        super().__init__()
        assert config.n_embd % config.n_head == 0
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd, bias=config.bias)
        self.c_proj = nn.Linear(config.n_embd, config.n_embd, bias=config.bias)
        self.resid_dropout = nn.Dropout(config.dropout)
        self.n_head, self.n_embd, self.dropout = config.n_head, config.n_embd, config.dropout

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = (
            y.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
            for y in self.c_attn(x).split(self.n_embd, dim=2)
        )
        dropout = self.dropout if self.training else 0
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=dropout, is_causal=True)
        return self.resid_dropout(self.c_proj(y.transpose(1, 2).contiguous().view(B, T, C)))


class InAndOut(nn.Module):
    """Raschka's: d_in and d_out, biases of the last matrix alone, a causal mask in a buffer."""

    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.d_out, self.num_heads, self.head_dim = d_out, num_heads, d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), diagonal=1))

    def forward(self, x):
        b, T, _ = x.shape
        keys, queries, values = (
            W(x).view(b, T, self.num_heads, self.head_dim).transpose(1, 2)
            for W in (self.W_key, self.W_query, self.W_value)
        )
        scores = queries @ keys.transpose(2, 3)
        scores.masked_fill_(self.mask.bool()[:T, :T], -torch.inf)
        weights = self.dropout(torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1))
        return self.out_proj((weights @ values).transpose(1, 2).contiguous().view(b, T, self.d_out))


WIDTH = 32  # a global, as in a script


class Head(nn.Module):
    """Karpathy's: one head, the width of the model a global, always causal."""

    def __init__(self, head_size):
        super().__init__()
        self.key = nn.Linear(WIDTH, head_size, bias=False)
        self.query = nn.Linear(WIDTH, head_size, bias=False)
        self.value = nn.Linear(WIDTH, head_size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(64, 64)))

    def scale(self, C, d):
        return d**-0.5

    def forward(self, x):
        _, T, C = x.shape
        k, q = self.key(x), self.query(x)
        wei = q @ k.transpose(-2, -1) * self.scale(C, k.shape[-1])
        wei = F.softmax(wei.masked_fill(self.tril[:T, :T] == 0, float("-inf")), dim=-1)
        return wei @ self.value(x)


class HeadByWholeWidth(Head):
    def scale(self, C, d):
        return C**-0.5


class ListOfHeads(nn.Module):
    """Heads that are modules of their own, in a list."""

    def __init__(self, num_heads, head_size):
        super().__init__()
        self.heads = nn.ModuleList([Head(head_size) for _ in range(num_heads)])
        self.proj = nn.Linear(head_size * num_heads, WIDTH)

    def forward(self, x):
        return self.proj(torch.cat([head(x) for head in self.heads], dim=-1))


class SelfAttention(nn.Module):
    """The from-scratch module's: one head, no W_o."""

    def __init__(self, d_model: int, d_k: int):
        super().__init__()
        self.d_k = d_k
        self.W_q = nn.Linear(d_model, d_k, bias=False)
        self.W_k = nn.Linear(d_model, d_k, bias=False)
        self.W_v = nn.Linear(d_model, d_k, bias=False)

    def forward(self, x, mask=None):
        q, k, v = self.W_q(x), self.W_k(x), self.W_v(x)
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        return F.softmax(scores, dim=-1) @ v


class KeysAndValuesPacked(nn.Module):
    """lucidrains's: to_q, to_kv, to_out a row of two modules, a context, padding as the only mask."""

    def __init__(self, dim, heads=8, dim_head=64, dropout=0.0):
        super().__init__()
        self.heads, self.scale = heads, dim_head**-0.5
        self.to_q = nn.Linear(dim, dim_head * heads, bias=False)
        self.to_kv = nn.Linear(dim, 2 * dim_head * heads, bias=False)
        self.to_out = nn.Sequential(nn.Linear(dim_head * heads, dim), nn.Dropout(dropout))

    def forward(self, x, context=None, mask=None):
        b, n, _ = x.shape
        packed = self.to_kv(x if context is None else context).chunk(2, dim=-1)
        q, k, v = (
            t.reshape(b, -1, self.heads, t.shape[-1] // self.heads).transpose(1, 2)
            for t in (self.to_q(x), *packed)
        )
        dots = q @ k.transpose(-1, -2) * self.scale
        if mask is not None:
            dots = dots.masked_fill(~mask[:, None, None, :], -torch.finfo(dots.dtype).max)
        return self.to_out((dots.softmax(dim=-1) @ v).transpose(1, 2).reshape(b, n, -1))


class HeadByHead(nn.Module):
    """GPT-NeoX's: the packed columns are q, k and v of one head after the other; a tuple comes back."""

    def __init__(self, hidden_size, num_attention_heads):
        super().__init__()
        self.num_attention_heads, self.head_size = num_attention_heads, hidden_size // num_attention_heads
        self.query_key_value = nn.Linear(hidden_size, 3 * hidden_size)
        self.dense = nn.Linear(hidden_size, hidden_size)

    def forward(self, hidden_states, attention_mask=None):
        B, T, C = hidden_states.shape
        packed = self.query_key_value(hidden_states).view(B, T, self.num_attention_heads, 3 * self.head_size)
        q, k, v = (t.permute(0, 2, 1, 3) for t in packed.split(self.head_size, -1))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=attention_mask)
        return self.dense(y.permute(0, 2, 1, 3).reshape(B, T, C)), None


class GroupedAndRotary(nn.Module):
    """Llama's: grouped heads, rotary positions from tables in float32, always causal."""

    def __init__(self, dim, n_heads, n_kv_heads, max_seq_len):
        super().__init__()
        self.n_heads, self.n_kv_heads, self.head_dim = n_heads, n_kv_heads, dim // n_heads
        self.wq = nn.Linear(dim, n_heads * self.head_dim, bias=False)
        self.wk = nn.Linear(dim, n_kv_heads * self.head_dim, bias=False)
        self.wv = nn.Linear(dim, n_kv_heads * self.head_dim, bias=False)
        self.wo = nn.Linear(n_heads * self.head_dim, dim, bias=False)
        steps = 10000.0 ** -(torch.arange(0, self.head_dim, 2).float() / self.head_dim)
        angles = torch.outer(torch.arange(max_seq_len).float(), steps).repeat(1, 2)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def rotated(self, x):
        T = x.shape[-2]
        a, b = x.chunk(2, -1)
        return x * self.cos[:T] + torch.cat([-b, a], -1) * self.sin[:T]

    def forward(self, x):
        B, T, _ = x.shape
        q, k, v = (W(x).view(B, T, -1, self.head_dim).transpose(1, 2) for W in (self.wq, self.wk, self.wv))
        y = F.scaled_dot_product_attention(
            self.rotated(q), self.rotated(k), v, is_causal=True, enable_gqa=True
        )
        return self.wo(y.transpose(1, 2).reshape(B, T, -1))


class ValuesFirst(nn.Module):
    """values, keys, query: by name, whatever the order; a mask that must be given."""

    def __init__(self, embed_size, heads):
        super().__init__()
        self.heads, self.head_dim = heads, embed_size // heads
        self.values = nn.Linear(embed_size, embed_size)
        self.keys = nn.Linear(embed_size, embed_size)
        self.queries = nn.Linear(embed_size, embed_size)
        self.fc_out = nn.Linear(embed_size, embed_size)

    def forward(self, values, keys, query, mask):
        N, T = query.shape[:2]
        v, k, q = (
            W(x).reshape(N, -1, self.heads, self.head_dim)
            for W, x in ((self.values, values), (self.keys, keys), (self.queries, query))
        )
        energy = torch.einsum("nqhd,nkhd->nhqk", [q, k])
        if mask is not None:
            energy = energy.masked_fill(mask == 0, float("-1e20"))
        attention = torch.softmax(energy / self.head_dim**0.5, dim=3)
        return self.fc_out(torch.einsum("nhql,nlhd->nqhd", [attention, v]).reshape(N, T, -1))


class PlainParameters(nn.Module):
    """Matrices that are parameters themselves, stored (out, in)."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.W_q, self.W_k, self.W_v, self.W_o = (
            nn.Parameter(torch.randn(d_model, d_model)) for _ in range(4)
        )

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (
            (x @ W.T).view(B, T, self.n_heads, -1).transpose(1, 2) for W in (self.W_q, self.W_k, self.W_v)
        )
        return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(B, T, C) @ self.W_o.T


class AxisOfHeads(nn.Module):
    """Parameters with an axis of heads: (H, d_model, d_k), and W_o (H, d_k, d_model)."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        d = d_model // n_heads
        self.W_q, self.W_k, self.W_v = (nn.Parameter(torch.randn(n_heads, d_model, d)) for _ in range(3))
        self.W_o = nn.Parameter(torch.randn(n_heads, d, d_model))

    def forward(self, x):
        q, k, v = (torch.einsum("btm,hmd->bhtd", x, W) for W in (self.W_q, self.W_k, self.W_v))
        return torch.einsum("bhtd,hdm->btm", F.scaled_dot_product_attention(q, k, v), self.W_o)


def made_by_a_function(d_model, n_heads, dropout=0.0):
    return Annotated(n_heads, d_model, dropout)


# Right around attention, and wrong in what no value shows


class Detached(PlainParameters):
    """Values that no gradient reaches."""

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (
            (x @ W.T).view(B, T, self.n_heads, -1).transpose(1, 2) for W in (self.W_q, self.W_k, self.W_v)
        )
        return F.scaled_dot_product_attention(q, k, v.detach()).transpose(1, 2).reshape(B, T, C) @ self.W_o.T


class Dropping(Configured):
    """Drops whenever it is asked to, trained or not: the function has no mode of its own."""

    def forward(self, x):
        self_training, self.training = self.training, True
        try:
            return super().forward(x)
        finally:
            self.training = self_training


class DroppingOnce(Configured):
    """Sets its dropout to 0 in evaluation, and keeps it so."""

    def forward(self, x):
        if not self.training:
            self.dropout = 0.0
            self.resid_dropout.p = 0.0
        return super().forward(x)


class WithNorm(Head):
    def __init__(self, head_size):
        super().__init__(head_size)
        self.norm = nn.LayerNorm(head_size)
