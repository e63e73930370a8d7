"""The numbers that a function is tried on: small, exact in every dtype, none like another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Draw", "Sizes"]

GRAIN = 4  # numbers are multiples of 1/4: exact in float16 and bfloat16, and a person can follow them
REACH = 8  # and no larger than 8/4 = 2,
SMALL = {"q": 4, "k": 4}  # these than 1: so that no query gives one key nearly all


@dataclass(frozen=True, slots=True)
class Sizes:
    """The axes of a trial; all are different, so that each wrong divisor and each swapped axis shows."""

    B: int = 2
    H: int = 6
    G: int = 3
    T_q: int = 3
    T_k: int = 5
    d_k: int = 4
    d_v: int = 7


class Draw:
    """Draws arrays from a seed: the same seed, the same numbers, on any machine."""

    def __init__(self, sizes: Sizes | None = None, seed: int = 0) -> None:
        self.sizes, self.seed = sizes or Sizes(), seed

    def numbers(self, name: str, *shape: int) -> NDArray[np.float64]:
        """Return multiples of 1/4 between −2 and 2, in q and k −1 and 1; ``name`` and the shape decide which.

        >>> Draw().numbers("q", 1, 3)
        array([[-0.75, -0.75, -0.75]])
        """
        letters = [self.seed, *name.encode(), *shape]
        reach = SMALL.get(name, REACH)
        raw = np.random.Generator(np.random.PCG64(letters)).integers(-reach, reach + 1, size=shape)
        return raw / GRAIN

    def qkv(
        self,
        *leading: int,
        kv: tuple[int, ...] | None = None,
        T_q: int | None = None,
        T_k: int | None = None,
        d_v: int | None = None,
    ) -> dict[str, NDArray[Any]]:
        """Return q (..., T_q, d_k), k (..., T_k, d_k), v (..., T_k, d_v); ``kv`` leads k and v, else as q."""
        s = self.sizes
        rows, columns = T_q or s.T_q, T_k or s.T_k
        of_kv = leading if kv is None else kv
        return {
            "q": self.numbers("q", *leading, rows, s.d_k),
            "k": self.numbers("k", *of_kv, columns, s.d_k),
            "v": self.numbers("v", *of_kv, columns, d_v or s.d_v),
        }
