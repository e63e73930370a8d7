"""What one piece of the experiment found, and how a growth is read from a line of measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riverhead.scene import Part

__all__ = ["Piece", "exponent", "exponent_error"]


@dataclass(frozen=True, slots=True)
class Piece:
    """``measured`` has a number for each prediction, by name; the rest is as in `Result`."""

    measured: Mapping[str, float]
    parts: tuple[Part, ...]
    data: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def exponent(sizes: Sequence[int], values: Sequence[float]) -> float:
    """Return the p of the power law c·size^p nearest to ``values``: least squares on both logarithms.

    >>> round(exponent((8, 64, 512), (2.0, 16.0, 128.0)), 12)
    1.0
    """
    return float(_pulls(sizes) @ np.log(values))


def exponent_error(sizes: Sequence[int], relative_errors: Sequence[float]) -> float:
    """Return the standard error of `exponent`, given that of each value as a part of it."""
    return float(np.sqrt(_pulls(sizes) ** 2 @ np.square(relative_errors)))


def _pulls(sizes: Sequence[int]) -> NDArray[np.float64]:
    """How far each value's logarithm moves the exponent."""
    off = np.log(sizes) - np.log(sizes).mean()
    pulls: NDArray[np.float64] = off / (off @ off)
    return pulls
