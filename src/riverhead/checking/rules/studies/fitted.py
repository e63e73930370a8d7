"""A scale that is none of the usual ones, worked out of what was found."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from riverhead.checking.rules.call import Call, Outcome
from riverhead.checking.rules.pipeline import ATTENTION, follow
from riverhead.checking.rules.rule import Choice

__all__ = ["fitted"]

GRID = np.geomspace(2**-10, 2**6, 65)  # times ±1: where the search for the factor begins
STEPS = 40  # of Gauss and Newton; from the right start five are enough
ROUNDED = 1e-4  # relative: what is this near the usual factor is the usual one, worked out in fewer digits
NEAR = 1e-6  # relative: a fitted 1/c² this near a whole number is that number


def fitted(observed: Sequence[tuple[Call, Outcome]]) -> tuple[Choice, ...]:
    """Return the one factor c for which softmax(c·q kᵀ) v is what was found; nothing where there is none."""
    call, outcome = observed[0]
    if outcome.trouble or outcome.out.shape != np.asarray(follow(call).out).shape:
        return ()
    starts = sorted((s * c for s in (1, -1) for c in GRID), key=lambda c: _distance(call, outcome, c))
    factor = starts[0]
    for _ in range(STEPS):
        factor = _nearer(call, outcome, factor)
    right = 1 / math.sqrt(follow(call).d_k)
    if not math.isfinite(factor) or math.isclose(factor, right, rel_tol=ROUNDED):  # the usual one
        return ()
    says = f"the dots are multiplied by {_root(factor)}, not by {right:.4g}"
    return (Choice("scale-other", "scale", says, {"factor": lambda p: factor}, loose=NEAR),)


def _missing(call: Call, outcome: Outcome, factor: float) -> tuple[Any, Any]:
    """What the output with this factor lacks, and how the output grows with it."""
    p = follow(call, [Choice("", "", "", {"factor": lambda p: factor})], ATTENTION)
    centred = p.dots - (p.weights * p.dots).sum(axis=-1, keepdims=True)  # (..., T_q, T_k)
    return outcome.out - p.out, (p.weights * centred) @ p.v


def _distance(call: Call, outcome: Outcome, factor: float) -> float:
    missing, _ = _missing(call, outcome, factor)
    return float(np.nan_to_num((missing**2).sum(), nan=np.inf))


def _nearer(call: Call, outcome: Outcome, factor: float) -> float:
    """One step of Gauss and Newton."""
    missing, growth = _missing(call, outcome, factor)
    size = float((growth**2).sum())
    return factor + float((missing * growth).sum()) / size if size else math.nan


def _root(factor: float) -> str:
    """Write a factor, as 1/√n where it is one.

    >>> print(_root(512**-0.5), _root(0.3))
    0.04419 = 1/√512 0.3
    """
    n = 1 / factor**2
    if factor > 0 and round(n) > 1 and abs(n - round(n)) < NEAR * n:
        return f"{factor:.4g} = 1/√{round(n)}"
    return f"{factor:.4g}".replace("-", "−")
