"""Chance for exercises: a seed gives the same draws on every machine and every Python."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

__all__ = ["Draw"]

T = TypeVar("T")


class Draw:
    """Draws from ``seed``; all of it from `random.random`, the one stream that Python keeps as it is.

    >>> draw = Draw("softmax-1-k3m9q2")
    >>> draw.integer(1, 6) == Draw("softmax-1-k3m9q2").integer(1, 6)
    True
    """

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed).random

    def integer(self, low: int, high: int) -> int:
        """Return a whole number from ``low`` to ``high``, both included."""
        return low + int(self._random() * (high - low + 1))

    def choice(self, of: Sequence[T]) -> T:
        """Return one of ``of``."""
        return of[self.integer(0, len(of) - 1)]

    def shuffled(self, of: Sequence[T]) -> list[T]:
        """Return ``of`` in another order."""
        left = list(of)
        return [left.pop(self.integer(0, len(left) - 1)) for _ in of]

    def sample(self, of: Sequence[T], n: int) -> list[T]:
        """Return ``n`` different places of ``of``, in a drawn order."""
        return self.shuffled(of)[:n]

    def vector(self, n: int, low: int, high: int) -> list[float]:
        """Return ``n`` whole numbers from ``low`` to ``high``."""
        return [float(self.integer(low, high)) for _ in range(n)]

    def matrix(self, rows: int, columns: int, low: int, high: int) -> list[list[float]]:
        """Return ``rows`` vectors of ``columns`` whole numbers."""
        return [self.vector(columns, low, high) for _ in range(rows)]
