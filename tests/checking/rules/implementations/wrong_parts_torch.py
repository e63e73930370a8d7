"""What serves attention, with one mistake each: ALiBi, places of tokens, partial results. In torch."""

from __future__ import annotations

import math

import torch

from implementations.tables import Table

WRONG = Table()

# ALiBi


def slopes(n_heads):
    closest = 2 ** int(math.log2(n_heads))
    powers = [2.0 ** (-8 * (h + 1) / closest) for h in range(closest)]
    between = [2.0 ** (-4 * (h + 1) / closest) for h in range(0, 2 * (n_heads - closest), 2)]
    return torch.tensor(powers + between)


def behind(T):
    """How far each key lies behind its query."""
    return torch.arange(T)[:, None] - torch.arange(T)


@WRONG.of("alibi-plain-geometric", kind="alibi")
def alibi_plain_geometric(n_heads):
    return 2.0 ** (-8 * torch.arange(1, n_heads + 1) / n_heads)


@WRONG.of("alibi-first-slope-one", kind="alibi")
def alibi_first_slope_one(n_heads):
    closest = 2 ** int(math.log2(n_heads))
    powers = [2.0 ** (-8 * h / closest) for h in range(closest)]
    return torch.tensor(powers + [2.0 ** (-4 * h / closest) for h in range(0, 2 * (n_heads - closest), 2)])


@WRONG.of("alibi-halves", kind="alibi")
def alibi_halves(n_heads):
    return 0.5 ** torch.arange(1, n_heads + 1)


@WRONG.of("alibi-base-e", kind="alibi")
def alibi_base_e(n_heads):
    return torch.exp(torch.log2(slopes(n_heads)))


@WRONG.of("alibi-sorted", kind="alibi")
def alibi_sorted(n_heads):
    return slopes(n_heads).sort(descending=True).values


@WRONG.of("alibi-reversed", kind="alibi")
def alibi_reversed(n_heads):
    return slopes(n_heads).flip(0)


@WRONG.of("alibi-sign", kind="alibi")
def alibi_sign(n_heads, seq_len):
    return slopes(n_heads)[:, None, None] * behind(seq_len)


@WRONG.of("alibi-squared", kind="alibi")
def alibi_squared(n_heads, seq_len):
    return -slopes(n_heads)[:, None, None] * behind(seq_len) ** 2


@WRONG.of("alibi-logarithm", kind="alibi")
def alibi_logarithm(n_heads, seq_len):
    return -slopes(n_heads)[:, None, None] * torch.log2(1 + behind(seq_len).abs())


@WRONG.of("alibi-distance-from-start", kind="alibi")
def alibi_distance_from_start(n_heads, seq_len):
    bias = -slopes(n_heads)[:, None, None] * torch.arange(seq_len)
    return bias.expand(n_heads, seq_len, seq_len)


@WRONG.of("alibi-from-start", kind="alibi", expect={"alibi-align": "end"})
def alibi_from_start(n_heads, T_q, T_k):
    distance = (torch.arange(T_q)[:, None] - torch.arange(T_k)).abs()
    return -slopes(n_heads)[:, None, None] * distance


# Places of tokens in padded rows


@WRONG.of("positions-arange", kind="positions")
def positions_arange(attention_mask):
    return torch.arange(attention_mask.size(1)).expand_as(attention_mask)


@WRONG.of("positions-over-batch", kind="positions")
def positions_over_batch(attention_mask):
    return (attention_mask.long().cumsum(0) - 1).clamp(min=0)


@WRONG.of("positions-backwards", kind="positions")
def positions_backwards(attention_mask):
    return (attention_mask.long().flip(1).cumsum(1).flip(1) - 1).clamp(min=0)


# Two partial results made one


@WRONG.of("merge-average", kind="merge")
def merge_average(out_a, lse_a, out_b, lse_b):
    return (out_a + out_b) / 2, torch.logaddexp(lse_a, lse_b)


@WRONG.of("merge-sum", kind="merge")
def merge_sum(out_a, lse_a, out_b, lse_b):
    return out_a + out_b, torch.logaddexp(lse_a, lse_b)


def shares(lse_a, lse_b):
    """The part of each in the sum of both."""
    lse = torch.logaddexp(lse_a, lse_b)
    finite = lse.masked_fill(torch.isneginf(lse), 0.0)
    return torch.exp(lse_a - finite)[..., None], torch.exp(lse_b - finite)[..., None], lse


@WRONG.of("merge-swapped", kind="merge")
def merge_swapped(out_a, lse_a, out_b, lse_b):
    a, b, lse = shares(lse_a, lse_b)
    return b * out_a + a * out_b, lse


@WRONG.of("merge-takes-larger", kind="merge")
def merge_takes_larger(out_a, lse_a, out_b, lse_b):
    return torch.where((lse_a >= lse_b)[..., None], out_a, out_b), torch.logaddexp(lse_a, lse_b)


@WRONG.of("merge-lse-largest", kind="merge")
def merge_lse_largest(out_a, lse_a, out_b, lse_b):
    a, b, _ = shares(lse_a, lse_b)
    return a * out_a + b * out_b, torch.maximum(lse_a, lse_b)


@WRONG.of("merge-lse-added", kind="merge")
def merge_lse_added(out_a, lse_a, out_b, lse_b):
    a, b, _ = shares(lse_a, lse_b)
    return a * out_a + b * out_b, lse_a + lse_b


@WRONG.of("merge-without-maximum", kind="merge")
def merge_without_maximum(out_a, lse_a, out_b, lse_b):
    a, b = torch.exp(lse_a), torch.exp(lse_b)
    total = torch.where(a + b == 0, 1.0, a + b)
    return (a[..., None] * out_a + b[..., None] * out_b) / total[..., None], torch.log(a + b)


@WRONG.of("merge-nan", kind="merge")
def merge_nan(out_a, lse_a, out_b, lse_b):
    top = torch.maximum(lse_a, lse_b)
    a, b = torch.exp(lse_a - top), torch.exp(lse_b - top)
    return (a[..., None] * out_a + b[..., None] * out_b) / (a + b)[..., None], top + torch.log(a + b)
