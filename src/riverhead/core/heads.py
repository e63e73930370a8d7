"""Several heads: a wide vector is cut into narrow ones, each attends, and W_o mixes what they found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from riverhead.core.border import Floats, count, floats
from riverhead.core.equation import Attention, attention
from riverhead.core.inputs import Options, check_groups
from riverhead.errors import InputError, ShapeError
from riverhead.shapes import check_axis, check_rank

__all__ = ["HeadsOutput", "MultiHead", "kv_head_of", "merge", "split"]


def split(x: Floats, n_heads: int) -> Floats:
    """Cut (..., T, H·d) into (..., H, T, d): head h takes columns h·d to (h + 1)·d of every token.

    >>> split(np.array([[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]), 2).tolist()
    [[[1.0, 2.0], [5.0, 6.0]], [[3.0, 4.0], [7.0, 8.0]]]
    """
    check_rank("x", x.shape, "T H·d")
    *batch, T, width = x.shape
    if width % count("n_heads", n_heads):
        raise ShapeError(f"{width} columns cannot be cut into n_heads {n_heads} of the same width")
    return x.reshape(*batch, T, n_heads, width // n_heads).swapaxes(-3, -2)


def merge(x: Floats) -> Floats:
    """Put the heads (..., H, T, d) side by side again: (..., T, H·d).

    >>> merge(np.array([[[1.0, 2.0], [5.0, 6.0]], [[3.0, 4.0], [7.0, 8.0]]])).tolist()
    [[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]
    """
    check_rank("x", x.shape, "H T d")
    *batch, H, T, d = x.shape
    return x.swapaxes(-3, -2).reshape(*batch, T, H * d)


def kv_head_of(h: int, n_heads: int, n_kv_heads: int) -> int:
    """Return the kv head that query head ``h`` reads: neighbours share one. Ainslie et al. 2023, §2.2.

    >>> [kv_head_of(h, 9, 3) for h in range(9)]
    [0, 0, 0, 1, 1, 1, 2, 2, 2]
    """
    check_groups(n_heads, n_kv_heads)
    if not 0 <= h < n_heads:
        raise InputError(f"head {h} of {n_heads}; heads are counted from 0 to {n_heads - 1}")
    return h // (n_heads // n_kv_heads)


@dataclass(frozen=True, slots=True, eq=False)
class HeadsOutput:
    """What multi-head attention gives, and what it went through."""

    y: Floats  # (..., T_q, d_model)
    q: Floats  # (..., H, T_q, d_k)
    k: Floats  # (..., G, T_k, d_k)
    v: Floats  # (..., G, T_k, d_v)
    attention: Attention


@dataclass(frozen=True, slots=True, eq=False)
class MultiHead:
    """Multi-head attention: three jobs for every token, n_heads times over, and W_o to mix the heads.

    However many heads the columns are cut into, the parameters are those of one wide head. Vaswani et al.
    2017, §3.2.2; grouped heads: Ainslie et al. 2023, §2.2.

    >>> MultiHead(*np.ones((4, 6, 6)), n_heads=3, n_kv_heads=3).n_parameters
    144
    """

    W_q: Floats  # (d_model, H·d_k)
    W_k: Floats  # (d_model, G·d_k)
    W_v: Floats  # (d_model, G·d_v)
    W_o: Floats  # (H·d_v, d_model)
    n_heads: int
    n_kv_heads: int

    def __post_init__(self) -> None:
        for name in ("W_q", "W_k", "W_v", "W_o"):
            W = floats(name, getattr(self, name))
            if W.ndim != 2:
                raise ShapeError(f"{name} is {W.shape}; it has 2 axes, what goes in by what comes out")
            object.__setattr__(self, name, W)
        H, G = count("n_heads", self.n_heads), count("n_kv_heads", self.n_kv_heads)
        check_groups(H, G)
        for name, W, n in (("W_q", self.W_q, H), ("W_k", self.W_k, G), ("W_v", self.W_v, G)):
            if W.shape[1] % n:
                raise ShapeError(f"{name} has {W.shape[1]} columns, not a multiple of its {n} heads")
        d_k, d_v = self.W_q.shape[1] // H, self.W_v.shape[1] // G
        check_axis("d_k", "each query is compared with each key", W_q=d_k, W_k=self.W_k.shape[1] // G)
        check_axis("H·d_v", "W_o mixes what the heads found", W_v=H * d_v, W_o=self.W_o.shape[0])
        check_axis("d_model", "keys and values are made of the same x", W_k=len(self.W_k), W_v=len(self.W_v))

    @property
    def n_parameters(self) -> int:
        """How many numbers are learned."""
        return self.W_q.size + self.W_k.size + self.W_v.size + self.W_o.size

    def forward(
        self, x: ArrayLike, context: ArrayLike | None = None, **options: Unpack[Options]
    ) -> HeadsOutput:
        """Let ``x`` (..., T_q, d_model) attend to itself, or to ``context`` (..., T_k, d_model).

        With ``context`` this is cross-attention: keys and values come from a second sequence, as in Luong et
        al. 2015, §3. ``options`` are those of `attention`.
        """
        x = floats("x", x)
        context = x if context is None else floats("context", context)
        check_rank("x", x.shape, "T_q d_model")
        check_rank("context", context.shape, "T_k d_model")
        check_axis("d_model", "each token is multiplied with W_q", x=x.shape[-1], W_q=len(self.W_q))
        check_axis("d_model", "keys are made of the context", context=context.shape[-1], W_k=len(self.W_k))
        with np.errstate(all="ignore"):  # padding may hold ∞ and NaN
            q = split(x @ self.W_q, self.n_heads)  # (..., H, T_q, d_k)
            k = split(context @ self.W_k, self.n_kv_heads)  # (..., G, T_k, d_k)
            v = split(context @ self.W_v, self.n_kv_heads)  # (..., G, T_k, d_v)
            heads = attention(q, k, v, **options)
            return HeadsOutput(merge(heads.out) @ self.W_o, q, k, v, heads)
