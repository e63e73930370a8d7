"""Masks as models give them, boolean or added: who may attend, what is left to add, and what is padding."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from riverhead.inspection.watching.given import Given, Spans

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Masks", "Parted", "parted", "spans"]

FILL = -9_999.0  # the usual fills lie from −10,000 down, and the usual scores within ±4,000
USUAL_SCORE = 4_000.0
SWALLOWS = -1e30  # a number as low as this leaves nothing of any score


class Masks:
    """Reads masks; the one that all layers of a model share is read once.

    With ``own`` what it returns is no one else's to change, and hides from padding queries everything.
    """

    def __init__(self, *, own: bool) -> None:
        self._own = own
        self._known: tuple[Any, Tensor, Parted, Spans | None, int] | None = (
            None  # the tensor keeps its address
        )

    def read(self, given: Given, mask: Tensor) -> Given:
        """Return the call under ``mask``, with each sequence's own tokens where there is padding."""
        low = FILL if mask.dtype.is_floating_point and _largest_score(given) < USUAL_SCORE else SWALLOWS
        key = (mask.data_ptr(), mask.shape, mask.stride(), mask.dtype, low, given.shape)
        version = None if mask.is_inference() else mask._version
        if version is None or self._known is None or self._known[0] != (key, version):
            self._known = ((key, version), mask, *self._read(given, mask, low))
        parts, own, offset = self._known[2:]
        biases = [x for x in (given.bias, parts.bias) if x is not None]
        bias = sum(biases[1:], biases[0]) if biases else None
        return replace(given, mask=parts.mask, bias=bias, spans=own, offset=offset)

    def _read(self, given: Given, mask: Tensor, low: float) -> tuple[Parted, Spans | None, int]:
        parts = parted(mask, low)
        found = spans(replace(given, mask=parts.mask))
        if self._own and parts.mask is not None:
            parts = parts._replace(
                mask=parts.mask.clone() if found is None else _rows_hidden(parts.mask, found)
            )
        return parts, found, _offset(given, parts.mask)


class Parted(NamedTuple):
    """An added mask as who may attend, and what is left to add."""

    mask: Tensor | None
    bias: Tensor | None


def parted(mask: Tensor, low: float = FILL) -> Parted:
    """Part ``mask`` into the two: a key is hidden where it is boolean and False, or ``low`` or less is added.

    So much below its row, its weight is exactly 0. In a row where every key is, none is seen: what a softmax
    makes of nothing but fill is no attention.

    >>> import torch
    >>> parted(torch.tensor([0.0, -1e9]))
    Parted(mask=tensor([ True, False]), bias=None)
    """
    import torch

    if mask.dtype == torch.bool:
        return Parted(mask, None)
    hidden = mask <= low
    rest = mask.masked_fill(hidden, 0)
    return Parted(~hidden if bool(hidden.any()) else None, rest if bool(rest.any()) else None)


def _largest_score(given: Given) -> float:
    """No score is larger, either way."""
    if given.softcap is not None:
        return given.softcap
    q, k = (float(x.norm(dim=-1).max()) for x in (given.q, given.k))
    return abs(given.scale) * q * k


def spans(given: Given) -> Spans | None:
    """Return from where to where each sequence's own tokens stand, or None where there is no padding.

    A token is padding if no query sees it, itself included, while every other token sees itself.
    """
    mask, (*_, T_q, T_k) = given.mask, given.shape
    if mask is None or T_q != T_k or given.q.ndim != 4 or mask.ndim != 4:
        return None
    seen = mask.any(dim=-2).any(dim=-2)  # (B, T_k)
    oneself = mask.expand(*mask.shape[:2], T_q, T_k).diagonal(dim1=-2, dim2=-1).any(dim=-2)  # (B, T)
    if bool(seen.all()) or not bool(seen.any()) or bool((seen & ~oneself).any()):
        return None
    found = []
    for row in seen.expand(given.q.shape[0], T_k):
        at = row.nonzero().flatten().tolist()
        low, high = (at[0], at[-1] + 1) if at else (0, 0)
        if high - low != len(at):
            return None
        found.append((low, high))
    return tuple(found)


def _offset(given: Given, mask: Tensor | None) -> int:
    """Where T_q ≠ T_k, the last query stands at the last key that any sees: after it a cache may be empty."""
    T_q, T_k = given.shape[-2:]
    if given.causal or mask is None or T_q == T_k:
        return given.offset
    last = mask.reshape(-1, mask.shape[-1]).any(dim=0).nonzero()
    return int(last[-1]) + 1 - T_q if mask.shape[-1] == T_k and len(last) else given.offset


def _rows_hidden(mask: Tensor, found: Spans) -> Tensor:
    """The mask without what padding queries see, (B, 1 or H, T, T)."""
    import torch

    place = torch.arange(mask.shape[-1], device=mask.device)
    own = torch.stack([(place >= low) & (place < high) for low, high in found])  # (B, T)
    return mask & own[:, None, :, None]
