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
    Change("hidden-values", "hidden-leaks", "v", HUGE, "a huge number"),
    Change("hidden-keys", "hidden-leaks", "k", None, "other numbers"),
    Change("hidden-huge-keys", "hidden-huge-key", "k", HUGE, "a huge number"),
    Change("hidden-huge-keys", "hidden-huge-key", "k", -HUGE, "a huge negative number"),
    Change("hidden-nan", "hidden-nan", "v", np.nan, "NaN"),
    Change("hidden-nan", "hidden-nan", "v", np.inf, "∞"),
    Change("hidden-nan", "hidden-nan", "k", np.nan, "NaN"),
    Change("hidden-nan", "hidden-nan", "k", np.inf, "∞"),
)
PLACES = {"k": "in a hidden key", "v": "in the value of a hidden key"}


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


def said(changes: Sequence[Change]) -> str:
    """Say what moves the output.

    >>> print(said(CHANGES[4:7]))
    the output moves with NaN or ∞ in the value of a hidden key, and with NaN in a hidden key
    """
    by_place = {c.array: " or ".join(each.says for each in changes if each.array == c.array) for c in changes}
    return "the output moves " + ", and ".join(f"with {what} {PLACES[x]}" for x, what in by_place.items())


def _visible(call: Call) -> slice:
    """The rows that must not move: those of queries that are padding themselves may give anything."""
    return slice(int(call.arrays["key_mask"].sum())) if "key_mask" in call.arrays else slice(None)


def judge(trial: Trial, study: Study, observed: Observed) -> None:
    """Compare each result with the one before the change; say everything that leaks by one rule together."""
    (_, base), *others = observed
    asked = [rule for rule in trial.rules_of(study) if not trial.said(rule.id)]
    if base.trouble:
        trial.not_offered += [NotOffered(rule.id, base.trouble) for rule in asked]
        return
    rows = _visible(observed[0][0])
    found = [(c, call, moved(base, each, rows)) for c, (call, each) in zip(CHANGES, others, strict=True)]
    for rule in asked:
        leaks = [each for each in found if each[0].rule == rule.id and each[2]]
        broken = [id for id in rule.after if trial.broke(id)]
        if leaks and broken:
            trial.not_judged.append(NotOffered(rule.id, f"follows from {', '.join(broken)}"))
        elif leaks:
            change, call, cell = leaks[0]
            did = said([each[0] for each in leaks])
            trial.fail(rule.id, call, mistake=change.mistake, did=did, **cell)
        trial.pass_(rule.id)


HIDDEN = (Study("hidden", calls, judge=judge),)
