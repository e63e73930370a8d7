"""A layer's weights on chosen keys, from q, k and the log-sum-exp: places, and copies of a query's token."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["LayerWeights", "copies", "on_copies"]

BLOCK = 1 << 22  # weights that are made at once: 16 MB

Array = NDArray[np.float32]
Places = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class LayerWeights:
    """What any weight of a layer follows from; heads stand by the kv head they read."""

    q: Array  # (G, H // G, T, d_k)
    k: Array  # (G, 1, T, d_k)
    lse: Array  # (G, H // G, T)
    scale: float
    window: int | None

    @classmethod
    def of(cls, q: Array, k: Array, lse: Array, options: dict[str, Any]) -> LayerWeights:
        """Return them for q (H, T, d_k), k (G, T, d_k), lse (H, T), and what `Config.attention` says."""
        G, T, d_k = k.shape
        grouped = q.reshape(G, -1, T, d_k), k[:, None], lse.reshape(G, -1, T)
        return cls(*grouped, options["scale"], options["window"])

    def along(self, queries: slice, keys: slice) -> Array:
        """Return each query's weight on its key, one for one or all on one, (H, n); 0 beyond the window."""
        dots = np.einsum("ghid,ghid->ghi", self.q[:, :, queries], self.k[:, :, keys])
        weights: Array = np.exp(dots * np.float32(self.scale) - self.lse[..., queries])
        if self.window is not None:
            at = np.arange(self.q.shape[2])
            weights[..., np.abs(at[queries] - at[keys]) >= self.window] = 0
        return weights.reshape(-1, weights.shape[-1])

    def between(self, queries: Places, keys: Places, seen: NDArray[np.bool_]) -> Array:
        """Return the weights of queries (C, n) on keys (C, m), (H, C, n, m), 0 where not ``seen`` (n, m)."""
        dots = self.q[:, :, queries] @ self.k[:, :, keys].swapaxes(-1, -2)  # (G, H // G, C, n, m)
        dots *= np.float32(self.scale)
        dots -= self.lse[:, :, queries][..., None]
        if self.window is not None:
            seen = seen & (np.abs(queries[..., None] - keys[:, None, :]) < self.window)
        np.copyto(dots, -np.inf, where=~seen)
        weights: Array = np.exp(dots, out=dots)
        return weights.reshape(-1, *dots.shape[2:])


def copies(token_ids: NDArray[np.intp]) -> list[Places]:
    """Return where the tokens stand that appear more than once, (n_tokens, n) for each number of times.

    >>> [places.tolist() for places in copies(np.array([5, 7, 5, 9, 7, 5]))]
    [[[1, 4]], [[0, 2, 5]]]
    """
    _, which, times = np.unique(token_ids, return_inverse=True, return_counts=True)
    order, first = np.argsort(which, kind="stable"), np.cumsum(times) - times
    return [order[first[times == n][:, None] + np.arange(n)] for n in np.unique(times[times > 1])]


def on_copies(weights: LayerWeights, places: Sequence[Places], behind: int) -> NDArray[np.float64]:
    """Return each head's weights on the tokens ``behind`` after earlier copies, summed over queries, (H,).

    ``behind`` is 0 for the copies themselves, 1 for what followed them: for a query at i with a copy at
    j < i that is j + 1, which may be i itself. Olsson et al. 2022, "In-context Learning and Induction Heads".
    """
    n_heads = weights.lse.shape[0] * weights.lse.shape[1]
    total = np.zeros(n_heads)
    for group in places:
        for some, rows in _blocks(group.shape, n_heads):
            queries, keys = group[some, 1:][:, rows], group[some, : rows.stop] + behind
            earlier = np.arange(rows.start, rows.stop)[:, None] >= np.arange(rows.stop)
            total += weights.between(queries, keys, earlier).sum(axis=(1, 2, 3), dtype=np.float64)
    return total


def _blocks(shape: tuple[int, ...], n_heads: int) -> Iterator[tuple[slice, slice]]:
    """Cut (n_tokens, n), tokens that stand n times and the n - 1 queries of each, into small blocks."""
    n_tokens, n = shape
    tokens = max(1, BLOCK // (n_heads * n * n))
    rows = n - 1 if tokens > 1 else max(1, BLOCK // (n_heads * n))
    for at in range(0, n_tokens, tokens):
        for first in range(0, n - 1, rows):
            yield slice(at, at + tokens), slice(first, min(first + rows, n - 1))
