"""Which way of doing attention gives exactly what was found: the fewest changes that explain every case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riverhead.checking.rules.call import Call, Outcome
from riverhead.checking.rules.pipeline import ATTENTION, follow
from riverhead.checking.rules.rule import Change, Choice

__all__ = ["agree", "differ", "dtype_of", "explain", "looseness", "loosest", "tolerance"]

MOST = 2  # mistakes at once: three that explain a few numbers could be anything
COARSEST = 2.0**-6  # relative: what is wrong is off by more
SLACK = 64  # roundings of numbers as large as any in the sum: another order, another form, an exponential


def tolerance(right: Any, dtype: Any, loose: float = 0.0) -> float:
    """How far a right result of ``dtype`` may lie from the exact ``right``, for the few terms of a trial.

    A form of attention rounds each of T_k terms some times, relative to scores and values no larger than a
    trial's; what no right form does is worse than that by orders of magnitude.
    """
    kept = np.abs(np.asarray(right, float))
    large = float(kept[np.isfinite(kept)].max(initial=1.0))
    return float(large * (SLACK * float(np.finfo(dtype).eps) + loose))


def differ(found: NDArray[Any], right: NDArray[Any], within: float) -> tuple[int, ...] | None:
    """Return the first cell where two arrays of one shape differ by more than ``within``; None if none does.

    NaN agrees with NaN alone, ∞ with the same ∞.

    >>> differ(np.array([1.0, np.nan]), np.array([1.0, 2.0]), 0.1)
    (1,)
    """
    found, right = np.asarray(found, float), np.asarray(right, float)
    with np.errstate(invalid="ignore"):
        near = np.abs(found - right) <= within
    same = near | (found == right) | (np.isnan(found) & np.isnan(right))
    apart = np.argwhere(~same)
    return tuple(map(int, apart[0])) if len(apart) else None


def agree(
    call: Call, outcome: Outcome, choices: Sequence[Choice], steps: Mapping[str, Change] = ATTENTION
) -> bool:
    """Whether these ways give what was found: an output, or none that fits where their axes do not."""
    try:
        done = follow(call, choices, steps)
    except ValueError:  # axes that do not fit: whoever goes this way gets an error here, or another shape
        shape = _shape(call, (), steps)
        return bool(outcome.error) or (shape is not None and outcome.out.shape != shape)
    right = np.asarray(done.out)
    if outcome.trouble or right.shape != outcome.out.shape:
        return False
    dtype = dtype_of(outcome, call.dtype)
    return differ(outcome.out, right, tolerance(right, dtype, looseness(done, dtype, choices))) is None


def looseness(steps: Any, dtype: Any, choices: Sequence[Choice]) -> float:
    """How coarse a result may be beside its own rounding: as coarse as its ways are, or as large scores are.

    A form that takes the logarithm of a sum off the scores rounds what it exponentiates as they are rounded.
    """
    scores = np.abs(np.asarray(getattr(steps, "scores", 0.0), float))
    large = float(scores[np.isfinite(scores)].max(initial=0.0))
    rounding = min(4 * large * float(np.finfo(dtype).eps), COARSEST)
    return loosest(choices) + rounding


def loosest(choices: Sequence[Choice]) -> float:
    """How coarse the coarsest of some ways leaves a result, relative to its largest number."""
    return max((choice.loose for choice in choices), default=0.0)


def dtype_of(outcome: Outcome, given: str = "float64") -> Any:
    """The dtype that a result is as coarse as: its own, or that of what was given; bfloat16 as float16."""
    names = (str(outcome.facts.get("dtype", outcome.out.dtype)), given)
    dtypes = [np.dtype("float16" if name == "bfloat16" else name) for name in names]
    return max(dtypes, key=lambda dtype: float(np.finfo(dtype).eps))


def _shape(call: Call, choices: Sequence[Choice], steps: Mapping[str, Change]) -> tuple[int, ...] | None:
    """The shape of what some ways give; None where the arrays of a call do not fit them."""
    try:
        return tuple(np.shape(follow(call, choices, steps).out))
    except ValueError:
        return None


def explain(
    observed: Sequence[tuple[Call, Outcome]],
    known: Sequence[Choice],
    ways: Sequence[Choice],
    steps: Mapping[str, Change] = ATTENTION,
) -> tuple[Choice, ...] | None:
    """Return the fewest of ``ways`` that, with what is ``known`` already, give all that was observed."""
    if all(outcome.trouble for _, outcome in observed):
        return None  # an error alone explains nothing
    for some in _sets(known, ways):
        done = (*known, *some)
        if all(agree(call, outcome, done, steps) for call, outcome in observed) and any(
            _shape(call, done, steps) is not None
            for call, _ in observed  # no number was compared otherwise
        ):
            return some
    return None


def _sets(known: Sequence[Choice], ways: Sequence[Choice]) -> Iterator[tuple[Choice, ...]]:
    """Nothing, then one way, then two; no step is done in two ways, but much may be done after it."""
    for n in range(MOST + 1):
        for some in combinations(ways, n):
            steps = [step for way in (*known, *some) for step in way.changes if not step.endswith("+")]
            if len(steps) == len(set(steps)):
                yield some
