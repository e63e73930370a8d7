"""What hidden keys hold: whether any of it reaches the output, down to the last bit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riverhead.checking.rules.call import Call, Outcome
from riverhead.checking.rules.judge import differ, dtype_of
from riverhead.checking.rules.report import NotOffered
from riverhead.checking.rules.studies.hiding import hiding
from riverhead.checking.rules.trial import Observed, Study, Trial

__all__ = ["HIDDEN", "moved"]

HUGE = 1e30  # fits in float32, and no finite fill hides it
ROUNDINGS = 2  # that a result may move by: a sum taken in another order, because other numbers stand beside


@dataclass(frozen=True, slots=True)
class Change:
    """What is put into a hidden key or its value, and the rule that says it does not matter."""

    rule: str
    mistake: str
    array: str
    number: float | None  # None: others, as they are drawn
    says: str


CHANGES = (
    Change("hidden-values", "hidden-leaks", "v", HUGE, "a huge number in the value of a hidden key"),
    Change("hidden-keys", "hidden-leaks", "k", None, "another hidden key"),
    Change("hidden-huge-keys", "hidden-huge-key", "k", HUGE, "a huge number in a hidden key"),
    Change("hidden-huge-keys", "hidden-huge-key", "k", -HUGE, "a huge negative number in a hidden key"),
    Change("hidden-nan", "hidden-nan", "v", np.nan, "NaN in the value of a hidden key"),
    Change("hidden-nan", "hidden-nan", "v", np.inf, "∞ in the value of a hidden key"),
    Change("hidden-nan", "hidden-nan", "k", np.nan, "NaN in a hidden key"),
    Change("hidden-nan", "hidden-nan", "k", np.inf, "∞ in a hidden key"),
)


def calls(trial: Trial) -> Sequence[Call]:
    """The same call, and again with each change to what is hidden from every query."""
    arrays = trial.qkv()
    n = len(arrays["k"])
    seen = np.arange(n) < n - max(1, n // 3)
    return [
        hiding(trial, given, seen)
        for given in (arrays, *(_changed(trial, arrays, c, ~seen) for c in CHANGES))
    ]


def _changed(
    trial: Trial, arrays: Mapping[str, NDArray[Any]], change: Change, rows: NDArray[np.bool_]
) -> dict[str, NDArray[Any]]:
    x = arrays[change.array]
    other = trial.draw.numbers(f"other {change.array}", *x.shape) if change.number is None else change.number
    return {**arrays, change.array: np.where(rows[:, None], other, x)}


def moved(base: Outcome, outcome: Outcome, rows: slice = slice(None)) -> dict[str, Any]:
    """Return the first cell of some rows that is not what it was before: what a `Failure` takes."""
    if outcome.trouble or outcome.out.shape != base.out.shape:
        return {"detail": outcome.trouble or f"the output has the shape {outcome.out.shape} now"}
    right, found = base.out[..., rows, :], outcome.out[..., rows, :]
    within = ROUNDINGS * float(np.finfo(dtype_of(base)).eps) * float(np.abs(right).max(initial=0))
    cell = differ(found, right, within)
    return {} if cell is None else {"cell": cell, "found": float(found[cell]), "right": float(right[cell])}


def listed(words: Sequence[str]) -> str:
    """Join words as in a sentence."""
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last


def judge(trial: Trial, study: Study, observed: Observed) -> None:
    """Compare each result with the one before the change; say everything that leaks by one rule together."""
    (_, base), *others = observed
    asked = [rule for rule in trial.rules_of(study) if not trial.said(rule.id)]
    if base.trouble:
        trial.not_offered += [NotOffered(rule.id, base.trouble) for rule in asked]
        return
    found = [(change, call, moved(base, each)) for change, (call, each) in zip(CHANGES, others, strict=True)]
    for rule in asked:
        leaks = [each for each in found if each[0].rule == rule.id and each[2]]
        broken = [id for id in rule.after if trial.broke(id)]
        if leaks and broken:
            trial.not_judged.append(NotOffered(rule.id, f"follows from {', '.join(broken)}"))
        elif leaks:
            change, call, cell = leaks[0]
            did = f"the output moves with {listed([each[0].says for each in leaks])}"
            trial.fail(rule.id, call, mistake=change.mistake, did=did, **cell)
        trial.pass_(rule.id)


HIDDEN = (Study("hidden", calls, judge=judge),)
