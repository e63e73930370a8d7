"""Whether a call was read rightly: a few rows computed from what was read, beside the function's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from riverhead.inspection.watching import rows
from riverhead.inspection.watching.given import Given

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["allowed", "compared", "mixed", "sample"]

SAMPLE = 4  # queries of each sequence and head that are computed again
WIDE, NARROW = 1e-3, 5e-2  # how far they may differ, of their length: float32 and wider, 16 bits
SLACK = 16  # roundings of the largest score that a function may have made


def sample(given: Given) -> Tensor:
    """Return the queries to compute again: the first, the last, and some between."""
    import torch

    T_q = given.shape[-2]
    return torch.linspace(0, T_q - 1, min(SAMPLE, T_q), device=given.q.device).round().long()


def mixed(given: Given, at: Tensor) -> tuple[Tensor, Tensor]:
    """Return ``out`` (..., H, n, d_v) of the queries ``at``, and which of them see a key (..., H, n)."""
    import torch

    outs, seen = [], []
    for group in given.groups():
        w, *_ = rows.weights(group, at)  # (..., group, n, T_k)
        outs.append(w @ group.v.to(w.dtype).nan_to_num())
        seen.append(w.sum(dim=-1) > 0)
    sees = torch.cat(seen, dim=-2)
    for item, (low, high) in enumerate(given.spans or ()):  # a function may make of padding what it likes
        sees[item] &= (at >= low) & (at < high)
    return torch.cat(outs, dim=-3), sees


def compared(ours: Tensor, theirs: Tensor, sees: Tensor) -> float:
    """Return how far the rows that see a key differ, as a fraction of their length; NaN counts as 1."""
    theirs = theirs.to(ours.dtype)
    apart, length = (x.masked_fill(~sees[..., None], 0).norm() for x in (ours - theirs, theirs))
    far = float(apart / length) if float(length) else float(apart)
    return far if far == far else 1.0


def allowed(given: Given, at: Tensor) -> float:
    """Return how far they may differ: the scores' own rounding, where these are large, goes into it."""
    import torch

    largest = 0.0
    for group in given.groups():
        found, _ = rows.scores(group, at)
        largest = max(largest, float(found.masked_fill(found.isneginf(), 0).abs().max()))
    kinds = [x.dtype for x in (given.q, given.k, given.v)]
    eps = max(torch.finfo(kind).eps for kind in kinds)
    return max(NARROW if eps > 1e-4 else WIDE, SLACK * eps * largest)
