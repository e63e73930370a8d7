"""From dots to exponents: what the dots are multiplied by, and what a row is moved by."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from riverhead.derivation.given import Given

__all__ = ["is_usual", "multiplier", "shift"]

EXP_REACH = 600.0  # e^600 is about 1e260: a row of such numbers still has a sum in float64


def is_usual(given: Given) -> bool:
    """Say whether the scale is 1/√d_k, chosen or not."""
    return given.scale is None or math.isclose(given.scale, given.d_k**-0.5)


def multiplier(given: Given) -> float:
    """Return what the dots are multiplied by: scale over temperature."""
    scale = 1 / math.sqrt(given.d_k) if given.scale is None else given.scale
    return scale / given.temperature


def shift(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what is taken off each row (..., T_k) → (..., 1): 0, or its peak where e^score would overflow.

    The weights do not change: the exponentials and their sum shrink by the same factor.
    """
    peak = scores.max(axis=-1, keepdims=True)
    return np.where(np.isfinite(peak) & (np.abs(peak) > EXP_REACH), peak, 0.0)
