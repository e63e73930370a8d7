"""The weights that a printed output was mixed with."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from riverhead.checking.claims.misprints import Pairs

__all__ = ["implied"]


def implied(pairs: Pairs, w: NDArray[np.float64], v: NDArray[np.float64]) -> Iterator[str]:
    """Name the weights behind the first wrong row of an output, where only one set of weights gives it.

    ``pairs`` are the numbers of w @ v, row by row; ``w`` (T_q, T_k), ``v`` (T_k, d_v).
    """
    width = v.shape[1]
    rows = [pairs[start : start + width] for start in range(0, len(pairs), width)]
    for row, right in zip(rows, w, strict=True):
        if not any(pair.wrong for pair in row):
            continue
        system = np.vstack([v.T, np.ones(len(v))])  # (d_v + 1, T_k): the output, and that weights sum to 1
        found, _, rank, _ = np.linalg.lstsq(system, np.array([*(pair.printed for pair in row), 1.0]))
        fits = all(pair.fits(value) for pair, value in zip(row, found @ v, strict=True))
        if rank == len(v) and fits and bool((found > -1e-9).all()):
            places = max(pair.decimals for pair in row)
            shown, meant = (", ".join(f"{weight:.{places}f}" for weight in each) for each in (found, right))
            yield f"the weights: {shown} give this, right are {meant}"
        return
