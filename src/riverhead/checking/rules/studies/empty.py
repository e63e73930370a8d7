"""A query that may attend to no key: what it gives, and whether the others notice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from riverhead.checking.rules.call import Call, Outcome
from riverhead.checking.rules.pipeline import follow
from riverhead.checking.rules.report import Agreed, NotOffered
from riverhead.checking.rules.rule import Choice
from riverhead.checking.rules.studies.hiding import (
    EMPTY_ROWS,
    empty,
    form_of,
    hiding,
    leading,
    lost,
    speckled,
)
from riverhead.checking.rules.trial import Observed, Study, Trial, by_value, cell_of
from riverhead.core.equation import softmax

__all__ = ["EMPTY", "EMPTY_WITH_PLACE"]

ASPECT = "empty-row"
ZEROS = Agreed(ASPECT, "zeros", "a query that may attend to no key gives zeros")
ROUNDED = 1e-3  # relative: scores to which −1e9 was added have lost that much


def row_calls(trial: Trial) -> Sequence[Call]:
    """One row of a mask hides every key."""
    s = trial.draw.sizes
    mask = speckled(trial, "mask", s.T_k, s.T_k)
    mask[1] = False
    return [Call({**trial.qkv(), "mask": mask}, form_of(trial, "mask"))]


def sample_calls(trial: Trial) -> Sequence[Call]:
    """One sample is padding throughout."""
    s = trial.draw.sizes
    keys = speckled(trial, "key_mask", s.B, s.T_k)
    keys[:, 0], keys[-1] = True, False
    return [Call({**trial.qkv(*leading(trial)), "key_mask": keys}, form_of(trial, "key_mask"))]


def _by_scores(p: Any) -> Any:  # (..., T_q, T_k)
    left = np.where(p.past & p.near, p.biased, -np.inf)
    return np.where(empty(p), softmax(left), p.weights)


def _of_the_past(p: Any) -> Any:  # (..., T_q, T_k)
    left = p.past & p.near
    return np.where(empty(p), left / np.maximum(left.sum(axis=-1, keepdims=True), 1), p.weights)


def ways(rule: str, who: str) -> tuple[Choice, ...]:
    """What else a query without a key may give; ``who`` it is."""
    return (
        Choice("empty-row-nan", rule, f"{who} gives NaN: its softmax is 0/0", EMPTY_ROWS["NaN"]),
        Choice("empty-row-spoils", rule, f"{who} makes the whole output NaN",
               {"out+": lambda p: np.full_like(p.out, np.nan) if empty(p).any() else p.out}),
        Choice("empty-row-mean", rule, f"{who} gives the mean of all values",
               EMPTY_ROWS["the mean"], agreed=(ASPECT, "mean")),
        Choice("empty-row-mean-of-past", rule, f"{who} gives the mean of the values up to itself",
               {"weights+": _of_the_past}, agreed=(ASPECT, "mean")),
        Choice("empty-row-all", rule, f"{who} attends as if nothing were hidden",
               {"weights+": _by_scores}, agreed=(ASPECT, "all"), loose=ROUNDED),
    )  # fmt: skip


def judge(trial: Trial, study: Study, observed: Observed) -> None:
    """Judge by value; zeros are what was agreed only where the rule holds and nothing else was."""
    if lost(trial, study):
        return
    ((call, outcome),) = observed
    if not outcome.trouble and np.isnan(outcome.out).any():  # whatever is known already gives NaN, too
        trial.known = [way for way in trial.known if not np.isnan(follow(call, [way], trial.steps).out).any()]
    by_value(trial, replace(study, usual=()), observed)
    known = any(agreed.aspect == ASPECT for agreed in trial.conventions)
    if trial.broke(study.name) or known or outcome.out[_rows(trial, call)].any():
        return
    if trial.wanted(ASPECT, "zeros"):
        trial.agree(ZEROS)
    else:
        trial.fail(study.name, call, detail=f"an empty row gives zeros; {trial.expect[ASPECT]} was asked for")


def cell_in_rows(trial: Trial, call: Call, outcome: Outcome) -> dict[str, Any]:
    """Return the first wrong cell; in a row that sees no key any number will do."""
    steps = follow(call, trial.known, trial.steps)
    if outcome.trouble or outcome.out.shape != steps.out.shape:
        return cell_of(trial, call, outcome)
    agreed = np.broadcast_to(empty(steps), steps.out.shape) & np.isfinite(outcome.out)
    found = np.where(agreed, steps.out, outcome.out)
    return cell_of(trial, call, replace(outcome, arrays={"out": found}))


def _rows(trial: Trial, call: Call) -> Any:  # (..., T_q, d_v)
    """The cells of queries that see no key."""
    steps = follow(call, trial.known, trial.steps)
    return np.broadcast_to(empty(steps), steps.out.shape)


# Left padding and causal


def padded_calls(trial: Trial) -> Sequence[Call]:
    """The first keys are padding: the first queries, being causal, see nothing."""
    keys = np.arange(trial.draw.sizes.T_k)
    return [hiding(trial, trial.qkv(), keys >= max(1, len(keys) // 3), causal=True)]


def padded_judge(trial: Trial, study: Study, observed: Observed) -> None:
    """Rows that see a key are right; those that see none are numbers, whichever."""
    if lost(trial, study):
        return
    ((call, outcome),) = observed
    found = cell_in_rows(trial, call, outcome)
    if np.isnan(found.get("found", 0)):
        did = "a query that padding and causal together leave without a key gives NaN"
        found |= {"mistake": "empty-row-nan", "did": did}
    if found:
        trial.fail(study.name, call, **found)
    trial.pass_(study.name)


# float16


def float16_calls(trial: Trial) -> Sequence[Call]:
    """Nothing hidden, which must work for the others to tell; a key hidden; every key hidden."""
    arrays, keys = trial.qkv(), np.arange(trial.draw.sizes.T_k)
    some, none = hiding(trial, arrays, keys < len(keys) - 1), hiding(trial, arrays, keys < 0)
    return [replace(call, dtype="float16") for call in (Call(arrays), some, none)]


def float16_judge(trial: Trial, study: Study, observed: Observed) -> None:
    """A fill of −1e9 does not fit: an error, or 0·∞ = NaN, or a row that is −∞ throughout."""
    if lost(trial, study):
        return
    (_, plain), *masked = observed
    if plain.trouble or not np.isfinite(plain.out).all():
        trial.not_offered.append(
            NotOffered(study.name, plain.trouble or "in float16 it gives no numbers at all")
        )
        return
    for call, outcome in masked:
        found = cell_in_rows(trial, call, outcome)
        if outcome.trouble or np.isnan(found.get("found", 0)):
            found |= {
                "mistake": "fill-overflows-float16",
                "did": "the number that fills in for −∞ ends beyond float16",
            }
        if found:
            trial.fail(study.name, call, **found)
    trial.pass_(study.name)


EMPTY = (
    Study("empty-row", row_calls, ways("empty-row", "a query that may attend to no key"), (ZEROS,), judge),
    Study(
        "empty-sample", sample_calls, ways("empty-sample", "a sample that is padding throughout"), judge=judge
    ),
    Study("fill-float16", float16_calls, judge=float16_judge),
)
EMPTY_WITH_PLACE = Study("empty-causal", padded_calls, judge=padded_judge, optional=True)
