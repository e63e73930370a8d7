"""How the right number of a cell is made, in a line."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["arithmetic"]

MOST_TERMS = 8  # of a sum, as on a line


def arithmetic(steps: Any, cell: tuple[int, ...], array: str = "out") -> str:
    """Return the sum that makes a cell of ``out``: each weight times its value; empty for other arrays.

    >>> from riverhead.checking.rules.call import Call
    >>> from riverhead.checking.rules.pipeline import follow
    >>> steps = follow(Call({"q": np.zeros((1, 2)), "k": np.zeros((2, 2)), "v": np.array([[1.0], [4.0]])}))
    >>> print(arithmetic(steps, (0, 0)))
    0.5·1 + 0.5·4 = 2.5
    """
    if array != "out" or not hasattr(steps, "mixed"):
        return ""
    *leading, i, c = cell
    *shape, _, _ = steps.out.shape
    weights = np.broadcast_to(steps.mixed, (*shape, *steps.mixed.shape[-2:]))[tuple(leading)][i]
    values = np.broadcast_to(steps.v, (*shape, *steps.v.shape[-2:]))[tuple(leading)][:, c]
    terms = [f"{_number(w)}·{_factor(x)}" for w, x in zip(weights, values, strict=True) if w]
    if not terms:
        return "no key is visible: 0"
    shown = terms if len(terms) <= MOST_TERMS else [*terms[:MOST_TERMS], f"… {len(terms)} terms"]
    return f"{' + '.join(shown)} = {_number(steps.out[cell])}"


def _number(x: float) -> str:
    return f"{x:.4g}".replace("-", "−")


def _factor(x: float) -> str:
    return f"({_number(x)})" if x < 0 else _number(x)
