"""Multi-head attention that is right, in many forms: modules of torch, classes, functions."""

from __future__ import annotations

import math

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from implementations.accepted import softmax
from implementations.tables import Table
from implementations.wrong_modules_numpy import GroupedAttention as GroupedNumPy
from implementations.wrong_modules_numpy import MultiHeadAttention as MultiHeadNumPy
from implementations.wrong_modules_torch import GroupedAttention, MultiHeadAttention

ACCEPTED = Table()

ACCEPTED.of("a module with four linear layers", kind="heads")(MultiHeadAttention)
ACCEPTED.of("a module with grouped heads", kind="heads")(GroupedAttention)
ACCEPTED.of("a class with four matrices", kind="heads")(MultiHeadNumPy)
ACCEPTED.of("a class with grouped heads", kind="heads")(GroupedNumPy)


@ACCEPTED.of("a module with q, k and v in one matrix", kind="heads")
class FusedAttention(nn.Module):
    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.proj = nn.Linear(d_model, d_model)

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q, k, v = (each.view(B, T, self.n_heads, C // self.n_heads).transpose(1, 2) for each in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v)
        return self.proj(y.transpose(1, 2).contiguous().view(B, T, C))


@ACCEPTED.of("a causal module with its mask in a buffer", kind="heads")
class CausalAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, block_size: int = 64) -> None:
        super().__init__()
        self.n_head = n_head
        self.c_attn = nn.Linear(n_embd, 3 * n_embd)
        self.c_proj = nn.Linear(n_embd, n_embd)
        self.register_buffer("seen", torch.tril(torch.ones(block_size, block_size))[None, None])

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(C, dim=2)
        q, k, v = (each.view(B, T, self.n_head, C // self.n_head).transpose(1, 2) for each in (q, k, v))
        att = q @ k.transpose(-2, -1) / math.sqrt(k.size(-1))
        att = F.softmax(att.masked_fill(self.seen[:, :, :T, :T] == 0, float("-inf")), dim=-1)
        return self.c_proj((att @ v).transpose(1, 2).reshape(B, T, C))


@ACCEPTED.of("heads summed, each by its part of W_o", kind="heads")
def summed_heads(x, W_q, W_k, W_v, W_o, n_heads):
    out = 0.0
    for q, k, v, w in zip(
        *(np.split(W, n_heads, axis=1) for W in (W_q, W_k, W_v)), np.split(W_o, n_heads), strict=True
    ):
        scores = (x @ q) @ (x @ k).swapaxes(-1, -2) / math.sqrt(q.shape[1])
        out = out + softmax(scores) @ (x @ v) @ w
    return out


@ACCEPTED.of("heads put side by side", kind="heads")
def concatenated_heads(x, Wq, Wk, Wv, Wo, num_heads):
    heads = []
    for h in range(num_heads):
        q, k, v = (np.split(x @ W, num_heads, axis=-1)[h] for W in (Wq, Wk, Wv))
        heads.append(softmax(q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5) @ v)
    return np.concatenate(heads, axis=-1) @ Wo


@ACCEPTED.of("heads in one einsum", kind="heads")
def heads_by_einsum(x, W_q, W_k, W_v, W_o, n_heads):
    q, k, v = ((x @ W).reshape(*x.shape[:-1], n_heads, -1) for W in (W_q, W_k, W_v))
    scores = np.einsum("...qhd,...khd->...hqk", q, k) / math.sqrt(q.shape[-1])
    out = np.einsum("...hqk,...khd->...qhd", softmax(scores), v)
    return out.reshape(*x.shape[:-1], -1) @ W_o
