"""How far two right results of attention may lie apart: at the very most, and by chance."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import DTypeLike

__all__ = ["apart", "by_chance"]

CHANCE = 10  # standard deviations at least: no draw of millions comes so far


def apart(T: int, d_k: int, *, reach: float, largest: float, dtype: DTypeLike, d_model: int = 0) -> float:
    """Return how far two outputs may lie apart that sum the same numbers, each in an order of its own.

    ``reach`` bounds scale · Σ|q||k|, ``largest`` each |v|; where q, k and v were projected from ``d_model``
    numbers, both are meant with Σ|x||W| for each of theirs. With u the unit roundoff and sums in any order, a
    score is off by δ ≤ (d_k + 16 + 2·d_model)·u·reach, a weight by the factor e^(2δ) and (T + 16)·u, the sum
    of T values by T·u more: twice all of it, to first order. Higham 2002, §3.1.

    >>> f"{apart(1024, 64, reach=4, largest=1, dtype='float32'):.1e}"
    '3.2e-04'
    """
    u = float(np.finfo(dtype).eps) / 2
    of_score = (d_k + 16 + 2 * d_model) * u * reach
    of_weight = math.expm1(2 * of_score) + (T + 16) * u
    return 2 * (of_weight + (T + d_model) * u) * largest


def by_chance(n: int, *, largest: float, dtype: DTypeLike) -> float:
    """Return how far two outputs of at most ``largest`` lie apart where roundings are independent.

    Each of the ``n`` additions on the way to an output rounds by at most u, the unit roundoff, up or down;
    such errors add as √n, not as n: 10·√n·u·largest. `apart`, which no rounding can pass, is far wider, and
    lets pass what is not rounding. Higham & Mary 2019 (SIAM J. Sci. Comput. 41).

    >>> f"{by_chance(1088, largest=1, dtype='float32'):.1e}"
    '2.0e-05'
    """
    u = float(np.finfo(dtype).eps) / 2
    return CHANCE * math.sqrt(n) * u * largest
