"""Who may attend to whom: boolean masks, True = may attend, that broadcast to ``(..., H, T_q, T_k)``."""

from __future__ import annotations

from functools import reduce
from typing import get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from riverhead.core.border import Align, Bools, array, count
from riverhead.errors import DtypeError, InputError

__all__ = ["causal", "check_align", "combine", "lengths", "places", "sliding_window"]


def check_align(align: str) -> None:
    """Raise `InputError` unless ``align`` is one of the two ways for queries to stand among the keys."""
    if align not in get_args(Align):
        raise InputError(f'align is {align!r}; it is "end" (the last query sees the last key) or "start"')


def places(T_q: int, T_k: int, align: Align = "end") -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where the queries (T_q, 1) and the keys (T_k,) stand, counted along the keys.

    With ``align="end"`` the last query stands at the last key (decoding); with ``"start"`` the first query
    stands at the first key.

    >>> i, j = places(2, 3)
    >>> i - j  # how far behind query i key j is
    array([[ 1,  0, -1],
           [ 2,  1,  0]])
    """
    check_align(align)
    j = np.arange(count("T_k", T_k, 0))
    i = np.arange(count("T_q", T_q, 0)) + (T_k - T_q if align == "end" else 0)
    return i[:, None], j


def causal(T_q: int, T_k: int, align: Align = "end") -> Bools:
    """Let each query see itself and the past: (T_q, T_k).

    ``align="start"`` is what ``is_causal=True`` does in torch's ``scaled_dot_product_attention``.
    Vaswani et al. 2017, §3.2.3.

    >>> causal(2, 3).astype(int)
    array([[1, 1, 0],
           [1, 1, 1]])
    """
    i, j = places(T_q, T_k, align)
    return j <= i


def sliding_window(T_q: int, T_k: int, window: int, *, causal: bool = False, align: Align = "end") -> Bools:
    """Let each query see only the nearest keys: (T_q, T_k).

    Causal: itself and the ``window`` − 1 before. Otherwise every key with |i − j| < ``window``, on both
    sides. Beltagy et al. 2020 (Longformer), §3.1; Jiang et al. 2023 (Mistral 7B), §2.

    >>> sliding_window(3, 3, 2, causal=True).astype(int)
    array([[1, 0, 0],
           [1, 1, 0],
           [0, 1, 1]])
    """
    i, j = places(T_q, T_k, align)
    reach = min(count("window", window), T_q + T_k) - 1
    return (j >= i - reach) & (j <= (i if causal else i + reach))


def lengths(lengths: ArrayLike, T_k: int) -> Bools:
    """Let every query of sequence b see the first ``lengths[b]`` keys: ``(..., 1, 1, T_k)``.

    >>> lengths([2, 0], 3)[:, 0, 0].astype(int)
    array([[1, 1, 0],
           [0, 0, 0]])
    """
    n = array("lengths", lengths)
    if n.dtype.kind not in "iu":
        raise DtypeError(f"lengths is {n.dtype}; it must hold whole numbers")
    if n.size and (n.min() < 0 or n.max() > T_k):
        raise InputError(f"lengths run from {n.min()} to {n.max()}; with T_k {T_k} they lie in 0..{T_k}")
    return np.arange(count("T_k", T_k, 0)) < n[..., None, None, None]


def combine(*masks: Bools | None) -> Bools | None:
    """Allow what every mask allows; None allows everything, and None comes back if nothing else was given.

    >>> combine(causal(2, 2), None, lengths(1, 2)[0]).astype(int)
    array([[1, 0],
           [1, 0]])
    """
    given = [mask for mask in masks if mask is not None]
    return reduce(np.logical_and, given) if given else None
