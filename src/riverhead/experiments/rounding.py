"""How far two right results of attention lie apart by chance."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import DTypeLike

__all__ = ["by_chance"]

CHANCE = 10  # standard deviations at least: no draw of millions comes so far


def by_chance(n: int, *, largest: float, dtype: DTypeLike) -> float:
    """Return how far two outputs of at most ``largest`` lie apart where roundings are independent.

    Each of the ``n`` additions on the way to an output rounds by at most u, the unit roundoff, up or down;
    such errors add as √n, not as n: 10·√n·u·largest. What no rounding at all can pass grows as n, is far
    wider, and lets pass what is not rounding. Higham & Mary 2019 (SIAM J. Sci. Comput. 41).

    >>> f"{by_chance(1088, largest=1, dtype='float32'):.1e}"
    '2.0e-05'
    """
    u = float(np.finfo(dtype).eps) / 2
    return CHANCE * math.sqrt(n) * u * largest
