"""The same statistics in torch, a block of rows at a time: for tensors that are not on the CPU."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from riverhead.inspection.watching.given import Given

if TYPE_CHECKING:
    import torch
    from torch import Tensor

__all__ = ["scores", "statistics", "weights"]

BLOCK_BYTES = 64 << 20  # of the scores of one block of rows


def scores(given: Given, rows: Tensor) -> tuple[Tensor, Tensor | None]:
    """Return the scores (..., H, n, T_k) of some queries, −∞ where hidden, and what is hidden if anything."""
    dtype = _dtype(given)
    q, k = given.q[..., rows, :].to(dtype) * given.scale, given.k.to(dtype)
    *lead, H, n, d = q.shape
    G = k.shape[-3]
    dots = q.reshape(*lead, G, H // G, n, d) @ k.unsqueeze(-3).mT
    found = dots.reshape(*dots.shape[:-4], H, n, k.shape[-2])  # (..., H, n, T_k)
    if given.softcap is not None:
        found = (found / given.softcap).tanh() * given.softcap
    hidden = _hidden(given, rows)
    if given.bias is not None:
        bias = _rows(given.bias, rows).to(dtype)
        found = found + bias
        low = bias.isneginf()
        hidden = low if hidden is None else hidden | low
    if hidden is not None:
        found = found.masked_fill(hidden, -float("inf"))
    return found, hidden


def weights(given: Given, rows: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Return weights (..., H, n, T_k), lse (..., H, n), scores and what is hidden, of some queries."""
    found, hidden = scores(given, rows)
    lse = found.logsumexp(dim=-1)
    if given.sinks is not None:
        lse = lse.logaddexp(given.sinks.to(found.dtype)[:, None])
    shift = lse.masked_fill(lse.isneginf(), 0)
    return (found - shift[..., None]).exp(), lse, found, hidden


def statistics(given: Given, top: int) -> dict[str, Tensor]:
    """Return every statistic of `attend` but ``out``, by its name, where q lies; rows are (..., H, T_q).

    >>> import torch
    >>> one = Given(*torch.ones(3, 1, 2, 1), scale=1.0, causal=True)
    >>> statistics(one, 0)["received"]
    tensor([[1.5000, 0.5000]])
    """
    import torch

    *lead, T_q, T_k = given.shape
    n = max(1, BLOCK_BYTES // (_dtype(given).itemsize * T_k * max(1, math.prod(lead))))
    blocks: list[dict[str, Tensor]] = []
    received = torch.zeros(*lead, T_k, dtype=_dtype(given), device=given.q.device)
    received_max = torch.zeros_like(received)
    for first in range(0, T_q, n):
        rows = torch.arange(first, min(first + n, T_q), device=given.q.device)
        w, lse, found, hidden = weights(given, rows)
        blocks.append({"lse": lse, **_of_rows(given, rows, w, lse, found, hidden, top)})
        received += w.sum(dim=-2)
        received_max = torch.maximum(received_max, w.amax(dim=-2))
    whole = {name: torch.cat([block[name] for block in blocks], dim=len(lead)) for name in blocks[0]}
    return whole | {"received": received, "received_max": received_max}


def _of_rows(
    given: Given, rows: Tensor, w: Tensor, lse: Tensor, found: Tensor, hidden: Tensor | None, top: int
) -> dict[str, Tensor]:
    import torch

    places, keys = rows + given.offset, torch.arange(w.shape[-1], device=w.device)
    logs = (found - lse[..., None]).clamp_min(torch.finfo(w.dtype).min)  # 0 · −∞ counts nothing
    first = keys.new_zeros(()) if hidden is None else (~hidden).to(torch.uint8).argmax(dim=-1, keepdim=True)
    distance = (places[:, None] - keys).abs().to(w.dtype)
    return {
        "entropy_nats": -(w * logs.nan_to_num()).sum(dim=-1).clamp_max(0),
        "mean_distance": (w * distance).sum(dim=-1),
        "max_weight": w.amax(dim=-1),
        "first_weight": w.gather(-1, first.expand(*w.shape[:-1], 1))[..., 0],
        "self_weight": _at(w, places),
        "previous_weight": _at(w, places - 1),
        **_top(w, hidden, top),
    }


def _at(w: Tensor, key: Tensor) -> Tensor:
    """The weight of row i on key[i], 0 where there is no such key."""
    there = (key >= 0) & (key < w.shape[-1])
    at = key.clamp(0, w.shape[-1] - 1)[:, None].expand(*w.shape[:-1], 1)
    return w.gather(-1, at)[..., 0] * there


def _top(w: Tensor, hidden: Tensor | None, top: int) -> dict[str, Tensor]:
    """The largest weights of each row, and their keys; of equal ones those with the lower key."""
    import torch

    ranked = w if hidden is None else w.masked_fill(hidden, -1.0)
    order = ranked.argsort(dim=-1, descending=True, stable=True)[..., :top]
    weight = ranked.gather(-1, order)
    key = order.to(torch.int32).masked_fill(weight < 0, -1)
    missing = (0, top - key.shape[-1])
    pad = torch.nn.functional.pad
    return {"top_weight": pad(weight.clamp_min(0), missing), "top_key": pad(key, missing, value=-1)}


def _hidden(given: Given, rows: Tensor) -> Tensor | None:
    """Who is hidden from these queries by place or by mask; broadcasts to (..., H, n, T_k)."""
    import torch

    hides = []
    i, j = rows[:, None] + given.offset, torch.arange(given.k.shape[-2], device=rows.device)
    if given.causal:
        hides.append(j > i)
    if given.window is not None:
        hides += [j <= i - given.window, j >= i + given.window]
    if given.mask is not None:
        hides.append(~_rows(given.mask, rows))
    if not hides:
        return None
    hidden = hides[0]
    for part in hides[1:]:
        hidden = hidden | part
    return hidden


def _rows(x: Tensor, rows: Tensor) -> Tensor:
    """The rows of a mask or a bias, which may hold one for all queries."""
    return x[..., rows, :] if x.ndim > 1 and x.shape[-2] > 1 else x


def _dtype(given: Given) -> torch.dtype:
    import torch

    return torch.float64 if given.q.dtype == torch.float64 else torch.float32
