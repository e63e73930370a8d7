"""Attention by hand in NumPy, step by step: rightly, with one mistake, or rounding as one goes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from typing import Any

import numpy as np

Grids = dict[str, Any]
STEPS = ("dots", "scores", "masked", "exp", "sum", "weights", "out")


def attend(q: Any, k: Any, v: Any, seen: Any = None, **instead: Callable[[Grids], Any]) -> Grids:
    """Work every step; ``instead`` makes one of them otherwise, out of all grids before it."""
    q, k, v = (np.array(x, float) for x in (q, k, v))
    seen = np.ones((len(q), len(k)), bool) if seen is None else seen
    g: Grids = {"q": q, "k": k, "v": v, "seen": seen}
    how: Mapping[str, Callable[[Grids], Any]] = {
        "dots": lambda g: g["q"] @ g["k"].T,
        "scores": lambda g: g["dots"] / np.sqrt(g["q"].shape[1]),
        "masked": lambda g: np.where(seen, g["scores"], -np.inf),
        "exp": lambda g: np.exp(g["masked"]),
        "sum": lambda g: g["exp"].sum(1),
        "weights": lambda g: g["exp"] / g["sum"][:, None],
        "out": lambda g: g["weights"] @ g["v"],
    } | instead
    for step in STEPS:
        g[step] = np.array(how[step](g), float)
    return g


def texts(sheet: Any, grids: Grids) -> dict[str, str]:
    """Write the numbers of one head into the cells that are asked for, at their decimals."""
    found = {}
    for cell in sheet.asked:
        value = float(grids[cell.grid][cell.at])
        found[cell.id] = f"{value:.{cell.decimals}f}"
    return found


def rounding(value: float, decimals: int, up: bool) -> float:
    """Round as it is taught (a half goes up) or as a computer does (to the even digit)."""
    how = ROUND_HALF_UP if up else ROUND_HALF_EVEN
    return float(Decimal(value).quantize(Decimal(1).scaleb(-decimals), how))


def rounded_all_along(
    q: Any, k: Any, v: Any, seen: Any, decimals: int, pick: Callable[[], bool]
) -> Grids | None:
    """Round every number that is written down; go on from it, or from the calculator's, as ``pick`` says.

    None where a sum to divide by is written as 0.00: nobody can follow that.
    """
    q, k, v = (np.array(x, float) for x in (q, k, v))
    T_q, T_k = len(q), len(k)
    up = pick()
    written: Grids = {step: np.zeros((T_q, T_k)) for step in STEPS}
    written["sum"], written["out"] = np.zeros(T_q), np.zeros((T_q, v.shape[1]))

    def note(step: str, at: Any, value: float) -> float:
        written[step][at] = rounding(value, decimals, up)
        return written[step][at] if pick() else value

    for i in range(T_q):
        exps, weights = [0.0] * T_k, [0.0] * T_k
        for j in range(T_k):
            dot = note("dots", (i, j), sum(a * b for a, b in zip(q[i], k[j], strict=True)))
            score = note("scores", (i, j), dot / len(q[i]) ** 0.5)
            exps[j] = note("exp", (i, j), 2.718281828459045**score) if seen[i][j] else 0.0
        total = note("sum", i, sum(exps))
        if written["sum"][i] == 0:
            return None
        for j in range(T_k):
            weights[j] = note("weights", (i, j), exps[j] / total)
        for c in range(v.shape[1]):
            note("out", (i, c), sum(w * row[c] for w, row in zip(weights, v, strict=True)))
    return written
