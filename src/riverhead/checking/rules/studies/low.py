"""Scores far below zero: a row still sums to 1, and what is hidden lies lower still."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from riverhead.checking.rules.call import Call
from riverhead.checking.rules.rule import Change, Choice
from riverhead.checking.rules.studies.hiding import hiding, instead_of_hidden
from riverhead.checking.rules.trial import Study, Trial

__all__ = ["FILLS", "LOW", "fill_studies"]

LEVELS = (3e1, 3e2, 3e3, 3e4, 3e5)  # how far below 0 the visible scores lie; trained models reach the fourth
FAR = 3e12  # no model comes here, but −1e9 and −1e10 lie above it
ABOUT = 0.9  # of a level: its square root, squared again, is rounded
ROUNDED = 1e-3  # relative: what scores lose that such a number was added to
BETWEEN = 10  # a fill that shows at a level lies at least this many times nearer to 0


def low(trial: Trial, level: float) -> dict[str, Any]:
    """Draw arrays in which every query's score with key 0 is −level, and with the others as usual.

    One number makes the low score: no rounding of sums can tell two of them apart.
    """
    arrays = trial.qkv()
    far = math.sqrt(level * math.sqrt(arrays["q"].shape[-1]))
    arrays["q"][:, 0], arrays["k"][:, 0] = -far, 0
    arrays["k"][0] = 0
    arrays["k"][0, 0] = far
    return arrays


def low_calls(trial: Trial) -> Sequence[Call]:
    """Every key is key 0."""
    found = []
    for level in LEVELS:
        arrays = low(trial, level)
        arrays["k"][:] = arrays["k"][0]
        found.append(Call(arrays))
    return found


def starting_at(level: float) -> Choice:
    """A running maximum that starts at a number above the scores: every exponential is 0."""
    says = f"the running maximum starts at a number, not at −∞: scores below −{level:.0f} count as none"

    def out(p: Any) -> Any:  # (..., H, T_q, d_v)
        return np.where(p.filled.max(axis=-1, keepdims=True) <= -ABOUT * level, 0, p.out)

    return Choice("max-starts-finite", "low-scores", says, {"out+": out})


LOW = Study("low-scores", low_calls, tuple(map(starting_at, LEVELS)))


def fill_calls(levels: Sequence[float], make: Callable[..., Call]) -> Callable[[Trial], Sequence[Call]]:
    """Only key 0 is visible, and its score lies far below those of hidden keys."""
    return lambda trial: [make(trial, low(trial, level)) for level in levels]


def by_mask(trial: Trial, arrays: dict[str, Any]) -> Call:
    """Hide every key but 0 by a mask."""
    return hiding(trial, arrays, np.arange(len(arrays["k"])) == 0)


def by_place(trial: Trial, arrays: dict[str, Any]) -> Call:
    """Hide the future: the first query sees key 0 alone."""
    return Call(arrays, {"causal": True})


def weak(rule: str, level: float, steps: Sequence[str]) -> tuple[Choice, ...]:
    """A finite fill, put in the score's place or added to it, that lies above −level."""
    says = f"what is hidden gets a finite number: it takes weight where visible scores lie below −{level:.0f}"
    number = -level / BETWEEN
    fills: tuple[Change, ...] = (lambda p: number, lambda p: p.biased + number)
    changes = [instead_of_hidden(step, fill) for step in steps for fill in fills]
    return tuple(Choice("fill-too-weak", rule, says, change, loose=ROUNDED) for change in changes)


def fill_studies(prefix: str, make: Callable[..., Call], steps: Sequence[str]) -> tuple[Study, Study]:
    """Return the studies of how low a fill is: as low as a model may come, and far lower."""
    near = tuple(way for level in LEVELS for way in weak(prefix, level, steps))
    return (
        Study(prefix, fill_calls(LEVELS, make), near),
        Study(f"{prefix}-far", fill_calls([FAR], make), weak(f"{prefix}-far", FAR, steps)),
    )


FILLS = fill_studies("fill", by_mask, ("masked", "padded"))
