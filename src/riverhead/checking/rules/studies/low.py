"""Scores far below zero: a row still sums to 1, and what is hidden lies lower still."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from riverhead.checking.rules.call import Call, Outcome
from riverhead.checking.rules.judge import explain
from riverhead.checking.rules.pipeline import follow
from riverhead.checking.rules.report import NotOffered
from riverhead.checking.rules.rule import Change, Choice
from riverhead.checking.rules.studies.hiding import apart, hiding, instead_of_hidden, lost
from riverhead.checking.rules.trial import Observed, Study, Trial, cell_of

__all__ = ["FILLS", "LOW", "fill_studies"]

# How far below 0 the visible scores lie, in numbers and words; those of trained models reach the fourth. No
# model comes as far as the last, but −1e9 and −1e10 lie above it.
LEVELS: Mapping[float, str] = {
    3e1: "−30", 3e2: "−300", 3e3: "−3000", 3e4: "−30000", 3e5: "−300000",
}  # fmt: skip
FAR: Mapping[float, str] = {3e12: "−3·10¹²"}
BETWEEN = 3  # a fill that shows at a level, and not at the one before, is about this many times nearer to 0
ABOUT = 0.9  # of a level: its square root, squared again, is rounded
ROUNDED = 1e-3  # relative: what scores lose that such a number was added to


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


# With nothing hidden


def low_calls(trial: Trial) -> Sequence[Call]:
    """Every key is key 0."""
    found = []
    for level in LEVELS:
        arrays = low(trial, level)
        arrays["k"][:] = arrays["k"][0]
        found.append(Call(arrays))
    return found


def starting_at(level: float, words: str) -> Choice:
    """A running maximum that starts at a number above the scores: every exponential is 0."""
    says = f"the running maximum starts at a number, not at −∞: rows with scores of {words} come to nothing"

    def out(p: Any) -> Any:  # (..., H, T_q, d_v)
        return np.where(p.filled.max(axis=-1, keepdims=True) <= -ABOUT * level, 0, p.out)

    return Choice("max-starts-finite", "low-scores", says, {"out+": out})


LOW = Study("low-scores", low_calls, tuple(starting_at(*each) for each in LEVELS.items()))


# With higher scores hidden


def by_mask(trial: Trial, arrays: dict[str, Any]) -> Call:
    """Hide every key but 0 by a mask."""
    return hiding(trial, arrays, np.arange(len(arrays["k"])) == 0)


def by_place(trial: Trial, arrays: dict[str, Any]) -> Call:
    """Hide the future: the first query sees key 0 alone."""
    return Call(arrays, {"causal": True})


def weak(rule: str, level: float, words: str, steps: Sequence[str]) -> tuple[Choice, ...]:
    """A finite fill, put in the score's place or added to it, that lies above −level."""
    says = f"what is hidden gets a finite number, and takes the weight where visible scores lie at {words}"
    number = -level / BETWEEN
    fills: tuple[Change, ...] = (lambda p: number, lambda p: p.biased + number)
    changes = [instead_of_hidden(step, fill) for step in steps for fill in fills]
    return tuple(Choice("fill-too-weak", rule, says, change, loose=ROUNDED) for change in changes)


def judge(trial: Trial, study: Study, observed: Observed) -> None:
    """Judge by value; rows that hidden keys only make smaller, with nothing of theirs in them, are weak."""
    if lost(trial, study):
        return
    lesser = f"{study.name}-underflow"
    found = explain(observed, trial.known, study.ways, trial.steps)
    if found is None and all(_shrunk(trial, *each) for each in observed):
        call, cell = next((call, cell) for call, each in observed if (cell := cell_of(trial, call, each)))
        did = "the softmax is taken of hidden scores, too: next to them visible weights vanish, and 0 is left"
        trial.fail(lesser, call, mistake="mask-renormalised", did=did, **cell)
        trial.pass_(study.name)
        return
    if found != ():
        trial.not_judged.append(NotOffered(lesser, f"follows from {study.name}"))
    apart(trial, study, observed)


def _shrunk(trial: Trial, call: Call, outcome: Outcome) -> bool:
    """Whether each row is the right one, times a number from 0 to 1, or NaN."""
    right = np.asarray(follow(call, trial.known, trial.steps).out)
    if outcome.trouble or outcome.out.shape != right.shape:
        return False
    found = np.asarray(outcome.out, float)
    with np.errstate(all="ignore"):
        share = (found * right).sum(axis=-1, keepdims=True) / (right * right).sum(axis=-1, keepdims=True)
        same = (np.abs(found - share * right) <= ROUNDED) & (share <= 1 + ROUNDED) & (share >= 0)
    return bool((same | np.isnan(found).all(axis=-1, keepdims=True)).all())


def fill_studies(prefix: str, make: Callable[..., Call], steps: Sequence[str]) -> tuple[Study, Study]:
    """Return the studies of how low a fill is: as low as a model may come, and far lower."""

    def calls(levels: Mapping[float, str]) -> Callable[[Trial], Sequence[Call]]:
        return lambda trial: [make(trial, low(trial, level)) for level in levels]

    near, far = (
        tuple(way for each in levels.items() for way in weak(rule, *each, steps))
        for rule, levels in ((prefix, LEVELS), (f"{prefix}-far", FAR))
    )
    return (
        Study(prefix, calls(LEVELS), near, judge=judge),
        Study(f"{prefix}-far", calls(FAR), far, judge=apart),
    )


FILLS = fill_studies("fill", by_mask, ("masked", "padded"))
