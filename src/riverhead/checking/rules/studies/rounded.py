"""Results with fewer digits than what was given: how far rounding on the way may move them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riverhead.checking.rules.judge import dtype_of
from riverhead.checking.rules.pipeline import ATTENTION, follow
from riverhead.checking.rules.rule import Change, Choice
from riverhead.checking.rules.trial import Observed

__all__ = ["BITS", "rounded"]

BITS = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8}  # binary digits of a number
SLACK = 8  # times the error of one order of rounding: loops and fused kernels came to 5.5 times it
ROUNDED_STEPS = ("k", "v", "dots", "scores", "weights", "out")


def rounded(observed: Observed) -> tuple[Choice, ...]:
    """Return the ways to lose digits of what was observed: each dtype with fewer than the result's own.

    How loose each way is, is measured: attention of the very calls, each step rounded to the dtype.
    """
    results = [dtype_of(outcome) for _, outcome in observed if not outcome.trouble]
    own = min((BITS[np.dtype(dtype).name] for dtype in results), default=0)
    return tuple(_way(name, observed) for name, bits in BITS.items() if bits < own)


def _way(name: str, observed: Observed) -> Choice:
    rounding = Choice("", "", "", _rounding(BITS[name]))
    off = max(_off(follow(call, [rounding]).out, follow(call).out) for call, _ in observed)
    return Choice(
        f"kept-in-{name}", "precision",
        f"numbers are rounded to {name} on the way, to {BITS[name]} binary digits",
        agreed=("precision", name) if name == "float32" else None, loose=SLACK * off,
    )  # fmt: skip


def _rounding(bits: int) -> Mapping[str, Change]:
    def after(step: str) -> Change:
        return lambda p: to_bits(ATTENTION[step](p), bits)

    return {step: after(step) for step in ROUNDED_STEPS}


def _off(found: NDArray[Any], right: NDArray[Any]) -> float:
    """The largest difference, relative to the largest number, as a tolerance is."""
    return float(np.abs(found - right).max(initial=0) / max(1.0, np.abs(right).max(initial=0)))


def to_bits(x: Any, bits: int) -> NDArray[Any]:
    """Round to so many binary digits.

    >>> to_bits([1 + 2**-11, 1000.25], 11)
    array([   1., 1000.])
    """
    mantissa, exponent = np.frexp(x)
    return np.asarray(np.ldexp(np.round(np.ldexp(mantissa, bits)), exponent - bits))
