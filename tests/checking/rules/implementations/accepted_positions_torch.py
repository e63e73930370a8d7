"""Rotary positions, ALiBi, caches and merges that are right, in the forms that people give them, in torch."""

from __future__ import annotations

import torch
from torch import nn

from implementations.tables import Table

ACCEPTED = Table()


def rotate_half(x):
    one, two = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
    return torch.cat((-two, one), dim=-1)


@ACCEPTED.of("RoPE, q and k with cos and sin", kind="rope")
def apply_rotary_pos_emb(q, k, cos, sin, unsqueeze_dim=1):
    cos, sin = cos.unsqueeze(unsqueeze_dim), sin.unsqueeze(unsqueeze_dim)
    return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin


@ACCEPTED.of("RoPE, a complex table", kind="rope")
def apply_rotary_emb(xq, xk, freqs_cis):
    freqs_cis = freqs_cis[None, :, None, :]  # (1, T, 1, d/2)

    def turned(x):
        pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * freqs_cis).flatten(-2).type_as(x)

    return turned(xq), turned(xk)


@ACCEPTED.of("RoPE, a module with its speeds in a buffer", kind="rope")
class RotaryEmbedding(nn.Module):
    def __init__(self, dim: int, base: float = 10000.0) -> None:
        super().__init__()
        speeds = 1.0 / base ** (torch.arange(0, dim, 2, dtype=torch.float64) / dim)
        self.register_buffer("inv_freq", speeds, persistent=False)

    def forward(self, x, positions):
        theta = torch.outer(positions.to(self.inv_freq.dtype), self.inv_freq)
        theta = torch.cat((theta, theta), dim=-1)
        return (x * theta.cos() + rotate_half(x) * theta.sin()).to(x.dtype)


@ACCEPTED.of("ALiBi's bias, torch", kind="alibi")
def build_alibi(num_heads: int, seq_len: int) -> torch.Tensor:
    closest = 2 ** (num_heads.bit_length() - 1)
    slopes = torch.tensor(2.0) ** (-8 / closest * torch.arange(1, closest + 1))
    between = torch.tensor(2.0) ** (-4 / closest * torch.arange(1, 2 * (num_heads - closest) + 1, 2))
    places = torch.arange(seq_len)
    return torch.cat([slopes, between])[:, None, None] * (places[None] - places[:, None])


@ACCEPTED.of("a cache of every layer", kind="cache")
class LayeredCache:
    def __init__(self) -> None:
        self.key_cache: list[torch.Tensor] = []
        self.value_cache: list[torch.Tensor] = []

    def update(self, key_states, value_states, layer_idx):
        if layer_idx == len(self.key_cache):
            self.key_cache.append(key_states)
            self.value_cache.append(value_states)
        else:
            for kept, new in ((self.key_cache, key_states), (self.value_cache, value_states)):
                kept[layer_idx] = torch.cat([kept[layer_idx], new], dim=-2)
        return self.key_cache[layer_idx], self.value_cache[layer_idx]

    def get_seq_length(self, layer_idx=0):
        return self.key_cache[layer_idx].shape[-2] if len(self.key_cache) > layer_idx else 0

    def reorder_cache(self, beam_idx):
        for kept in (self.key_cache, self.value_cache):
            kept[:] = [x.index_select(0, beam_idx) for x in kept]


@ACCEPTED.of("places of tokens, torch", kind="positions")
def create_position_ids(attention_mask):
    position_ids = attention_mask.long().cumsum(-1) - 1
    return position_ids.masked_fill(attention_mask == 0, 1)


@ACCEPTED.of("two parts merged by a sigmoid", kind="merge")
def merge_state(out_a, lse_a, out_b, lse_b):
    gap = torch.nan_to_num(lse_a - lse_b, nan=0.0)  # of two empty parts
    share = torch.sigmoid(gap)[..., None]
    return share * out_a + (1 - share) * out_b, torch.logaddexp(lse_a, lse_b)
