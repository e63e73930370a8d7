"""The weights that a printed output was mixed with."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from riverhead.checking.claims.causes.misprints import Pairs

__all__ = ["implied"]


def implied(pairs: Pairs, w: NDArray[np.float64], v: NDArray[np.float64]) -> Iterator[str]:
    """Name the weights behind the first wrong row of an output, where one set of weights gives it.

    ``pairs`` are the numbers of w @ v, row by row; ``w`` (T_q, T_k), ``v`` (T_k, d_v).
    """
    T_k, d_v = v.shape
    if d_v < T_k:  # every output has its weights, whatever the slip was
        return
    rows = [pairs[start : start + d_v] for start in range(0, len(pairs), d_v)]
    for row, right in zip(rows, w, strict=True):
        if not any(pair.wrong for pair in row):
            continue
        beyond_first = np.array([pair.printed for pair in row]) - v[0]
        others, _, rank, _ = np.linalg.lstsq((v[1:] - v[0]).T, beyond_first)
        weights = np.array([1 - others.sum(), *others])  # (T_k,)
        fits = all(pair.fits(value) for pair, value in zip(row, weights @ v, strict=True))
        if rank == T_k - 1 and fits and bool((weights > -1e-9).all()):
            places = max(pair.decimals for pair in row)
            shown, meant = (", ".join(f"{each:.{places}f}" for each in ws) for ws in (weights, right))
            yield f"the weights: {shown} give this, right are {meant}"
        return
