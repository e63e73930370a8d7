"""The gradient: that of attention, and finite where a query sees no key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riverhead.checking.rules.call import Call, Outcome
from riverhead.checking.rules.judge import differ, dtype_of, tolerance
from riverhead.checking.rules.pipeline import follow
from riverhead.checking.rules.studies.hiding import form_of, speckled
from riverhead.checking.rules.trial import Observed, Study, Trial
from riverhead.core.gradient import attention_gradient

__all__ = ["GRADIENT"]

Array = NDArray[Any]

INPUTS = {"dq": "q", "dk": "k", "dv": "v"}
OPTIONS = ("causal", "scale", "window", "softcap")
STEP = 2.0**-17  # of a difference quotient: its own error is near STEP², rounding near 2⁻⁵² / STEP
ROUGHER = 4  # times: a gradient passes through a rounding again, and through its own
NEAR = 2.0**-26  # how far a difference quotient may be off


def probed(trial: Trial, call: Call) -> Call:
    """Ask for the gradient of the sum of the output times a probe."""
    shape = (*call.arrays["q"].shape[:-1], call.arrays["v"].shape[-1])
    probe = trial.draw.numbers("probe", *shape)
    return replace(call, arrays={**call.arrays, "probe": probe}, want=("gradient",))


def with_gradient(trial: Trial) -> Sequence[Call]:
    """One head; and, where nothing is done otherwise, heads that share keys, and a mask."""
    s, offers = trial.draw.sizes, trial.offers
    plain = trial.qkv()
    calls = [Call(plain)]
    if "heads" in offers and not changed(trial):
        calls.append(Call(trial.qkv(s.B, s.H, kv=(s.B, s.G if "grouped" in offers else s.H))))
    unnamed = any(failure.rule == "mask" and not failure.mistake for failure in trial.failed)
    if "mask" in offers and not unnamed:
        calls.append(Call({**plain, "mask": speckled(trial, "mask", s.T_k, s.T_k)}, form_of(trial, "mask")))
    return [probed(trial, call) for call in calls]


def with_an_empty_row(trial: Trial) -> Sequence[Call]:
    """The first query sees no key, and the loss does not read what it gives."""
    s = trial.draw.sizes
    mask = speckled(trial, "mask", s.T_k, s.T_k)
    mask[0] = False
    call = probed(trial, Call({**trial.qkv(), "mask": mask}, form_of(trial, "mask")))
    call.arrays["probe"][0] = 0
    return [call]


def changed(trial: Trial) -> bool:
    """Whether something is known to be done otherwise than in attention."""
    return any(choice.changes for choice in trial.known)


def right_gradient(trial: Trial, call: Call) -> Mapping[str, Array]:
    """The gradient by hand; of what is done otherwise, by difference quotients."""
    arrays = call.arrays
    if changed(trial):
        return {name: _quotients(trial, call, given) for name, given in INPUTS.items()}
    options = {name: call.options[name] for name in OPTIONS if name in call.options}
    found = attention_gradient(
        arrays["probe"], arrays["q"], arrays["k"], arrays["v"], mask=arrays.get("mask"), **options
    )
    return dict(zip(INPUTS, found, strict=True))


def _quotients(trial: Trial, call: Call, name: str) -> Array:
    found = np.empty(call.arrays[name].shape)
    for cell in np.ndindex(found.shape):
        up, down = (_loss(trial, call, name, cell, step) for step in (STEP, -STEP))
        found[cell] = (up - down) / (2 * STEP)
    return found


def _loss(trial: Trial, call: Call, name: str, cell: tuple[int, ...], step: float) -> float:
    moved = call.arrays[name].copy()
    moved[cell] += step
    out = follow(replace(call, arrays={**call.arrays, name: moved}), trial.known, trial.steps).out
    probe = call.arrays["probe"]
    return float(np.where(probe == 0, 0, out * probe).sum())


def judge(trial: Trial, study: Study, observed: Observed) -> None:
    """Whether dq, dk and dv are those of attention."""
    for call, outcome in observed:
        if outcome.trouble:
            trial.fail(study.name, call, detail=outcome.trouble)
            return
        rights = right_gradient(trial, call)
        cut = [given for name, given in INPUTS.items() if _is_cut(outcome.arrays.get(name), rights[name])]
        if cut:
            did = f"no gradient reaches {' and '.join(cut)}: what they make is detached on the way"
            name = f"d{cut[0]}"
            trial.fail(
                study.name, call, mistake="gradient-detached", did=did, array=name,
                **_first(rights[name], np.zeros_like(rights[name]), 0.0),
            )  # fmt: skip
            return
        if _wrong(trial, study, call, outcome, rights):
            return
    trial.pass_(study.name)


def _is_cut(found: Array | None, right: Array) -> bool:
    return bool((right != 0).any() and (found is None or not np.any(found)))


def _wrong(trial: Trial, study: Study, call: Call, outcome: Outcome, rights: Mapping[str, Array]) -> bool:
    for name, right in rights.items():
        found = outcome.arrays[name]
        if found.shape != right.shape:
            detail = f"{name} has the shape {found.shape}, not {right.shape}"
            trial.fail(study.name, call, array=name, detail=detail)
            return True
        loose = max((choice.loose for choice in trial.known), default=0.0)
        near = tolerance(right, dtype_of(outcome), ROUGHER * loose + (NEAR if changed(trial) else 0.0))
        first = _first(right, found, near)
        if first:
            did = "" if np.isfinite(found).all() else f"{name} holds NaN or ∞"
            trial.fail(study.name, call, array=name, detail=did, **first)
            return True
    return False


def _first(right: Array, found: Array, within: float) -> dict[str, Any]:
    """The first cell that differs: what a `Failure` takes."""
    cell = differ(found, right, within)
    return {} if cell is None else {"cell": cell, "found": float(found[cell]), "right": float(right[cell])}


def unpoisoned(trial: Trial, study: Study, observed: Observed) -> None:
    """Whether a row that no loss reads leaves every gradient finite."""
    ((call, outcome),) = observed
    gradients = {name: outcome.arrays[name] for name in INPUTS if name in outcome.arrays}
    spoilt = [name for name, found in gradients.items() if not np.isfinite(found).all()]
    if spoilt:
        name, found = spoilt[0], gradients[spoilt[0]]
        cell = tuple(map(int, np.argwhere(~np.isfinite(found))[0]))
        did = RECIPES.get(tuple(spoilt), f"{' and '.join(spoilt)} are spoilt")
        trial.fail(
            study.name, call, mistake="gradient-poisoned", did=did, array=name, cell=cell,
            found=float(found[cell]), right=float(right_gradient(trial, call)[name][cell]),
        )  # fmt: skip
    elif not outcome.trouble:
        _wrong(trial, study, call, outcome, right_gradient(trial, call))
    trial.pass_(study.name)


RECIPES = {
    ("dv",): "dv holds NaN: the empty row's weights are 0/0, and 0·NaN is NaN",
    ("dq", "dk"): "dq and dk hold NaN: −∞ is added to the scores, and NaN that is removed later comes back",
    (
        "dq",
        "dk",
        "dv",
    ): "dq, dk and dv hold NaN: −∞ is added to the scores, and the empty row's weights are 0/0",
}

GRADIENT = (
    Study("gradient", with_gradient, judge=judge, optional=True),
    Study("gradient-empty-row", with_an_empty_row, judge=unpoisoned, optional=True),
)
