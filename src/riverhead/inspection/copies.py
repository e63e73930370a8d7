"""A layer's weights on chosen keys, from q, k and the log-sum-exp: places, and copies of a query's token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riverhead.core import attention, kernel
from riverhead.core.inputs import Options
from riverhead.core.job import job_of

__all__ = ["LayerWeights", "copies", "on_copies"]

FEW = 32  # keys
MASK = 1 << 24  # bytes of a mask, where a window needs one

Array = NDArray[np.float32]
Places = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class LayerWeights:
    """What any weight of a layer follows from; query head h reads kv head h // (H // G)."""

    q: Array  # (H, T, d_k)
    k: Array  # (G, T, d_k)
    lse: Array  # (H, T)
    scale: float
    window: int | None

    @classmethod
    def of(cls, q: Array, k: Array, lse: Array, options: dict[str, Any]) -> LayerWeights:
        """Return them for a layer whose `Config.attention` is ``options``."""
        return cls(q, k, lse, options["scale"], options["window"])

    def along(self, queries: slice, keys: slice) -> Array:
        """Return each query's weight on its key, one for one or all on one, (H, n); 0 beyond the window."""
        group = len(self.q) // len(self.k)
        k = self.k[:, keys].repeat(group, axis=0)
        dots = np.einsum("hid,hid->hi", self.q[:, queries], k)
        weights: Array = np.exp(dots * np.float32(self.scale) - self.lse[:, queries])
        if self.window is not None:
            at = np.arange(self.q.shape[1])
            weights[:, np.abs(at[queries] - at[keys]) >= self.window] = 0
        return weights

    def on_earlier(self, queries: Places, keys: Places) -> Array:
        """Return each query's weight on all keys (C, m) up to its own column, (C, H, n).

        The queries (C, n) are the last n of m columns. A sum of weights is exp(lse of those keys − lse), and
        that the fused pass over these keys alone gives; with few keys its tiles would be mostly empty.
        """
        within = None
        if self.window is not None:
            within = np.abs(queries[:, None, :, None] - keys[:, None, None, :]) < self.window
        q, k = self.q[:, queries].swapaxes(0, 1), self.k[:, keys].swapaxes(0, 1)  # (C, H, n, d_k)
        nothing = np.zeros((*k.shape[:-1], 1), np.float32)
        lse = self.lse[:, queries].swapaxes(0, 1)  # (C, H, n)
        how: Options = {"scale": self.scale, "causal": True, "mask": within}
        if keys.shape[1] < FEW:
            scores = attention(q, k, nothing, **how).scores  # (C, H, n, m)
            few: Array = np.exp(scores - lse[..., None]).sum(axis=-1)
            return few
        weights: Array = np.exp(kernel.run(job_of(q, k, nothing, **how), statistics=False)["lse"] - lse)
        return weights


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
    total = np.zeros(len(weights.q))
    for group in places:
        queries, keys = group[:, 1:], group[:, :-1] + behind
        n = queries.shape[1]
        rows = n if weights.window is None else max(1, MASK // keys.size)
        for at in range(0, n, rows):
            found = weights.on_earlier(queries[:, at : at + rows], keys[:, : at + rows])
            total += found.sum(axis=(0, 2), dtype=np.float64)
    return total
