"""The weights that a function hands back: those that mixed the values, each head's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riverhead.checking.rules.call import Call, Outcome
from riverhead.checking.rules.judge import differ, dtype_of, loosest, tolerance
from riverhead.checking.rules.pipeline import ATTENTION, follow, turned
from riverhead.checking.rules.rule import Choice
from riverhead.checking.rules.studies.conduct import near
from riverhead.checking.rules.studies.hiding import form_of, speckled
from riverhead.checking.rules.trial import Observed, Study, Trial, cell_of
from riverhead.core.equation import softmax

__all__ = ["RETURNED"]

STEPS = {**ATTENTION, "returned": lambda p: p.weights}  # (..., H, T_q, T_k)

WAYS = (
    Choice("weights-averaged", "weights-per-head", "the weights of all heads are averaged",
           {"returned": lambda p: p.weights.mean(axis=-3)}),
    Choice("weights-averaged", "weights-per-head", "the weights of all heads are averaged to one",
           {"returned": lambda p: p.weights.mean(axis=-3, keepdims=True)}),
    Choice("weights-of-first-head", "weights-per-head", "only the first head's weights are handed back",
           {"returned": lambda p: p.weights[..., 0, :, :]}),
    Choice("weights-are-scores", "weights-returned", "the scores are handed back, not the weights",
           {"returned": lambda p: p.filled}),
    Choice("weights-are-scores", "weights-returned", "the scores are handed back, not the weights, and those "
           "that are hidden too",
           {"returned": lambda p: p.biased}),
    Choice("weights-are-dots", "weights-returned", "the dots are handed back, not the weights",
           {"returned": lambda p: p.dots}),
    Choice("weights-before-mask", "weights-returned", "the weights are handed back as if nothing were hidden",
           {"returned": lambda p: softmax(p.biased)}),
    Choice("weights-without-sum", "weights-returned", "the exponentials are handed back, undivided",
           {"returned": lambda p: np.exp(p.filled)}),
    Choice("weights-without-sum", "weights-returned", "the exponentials are handed back, undivided",
           {"returned": lambda p: np.exp(p.filled - p.filled.max(axis=-1, keepdims=True))}),
    Choice("weights-turned-over", "weights-returned", "the weights are handed back turned over",
           {"returned": lambda p: turned(p.weights)}),
)  # fmt: skip


def with_weights(trial: Trial) -> Sequence[Call]:
    """Calls that ask for the weights; of heads where there are any, and with something hidden."""
    s, offers = trial.draw.sizes, trial.offers
    leading = (s.B, s.H) if "heads" in offers else (s.B,) if "batch" in offers else ()
    arrays = trial.qkv(*leading)
    calls = [Call(arrays, want=("weights",))]
    if "mask" in offers:
        mask = speckled(trial, "mask", s.T_k, s.T_k)
        calls.append(Call({**arrays, "mask": mask}, form_of(trial, "mask"), want=("weights",)))
    elif "causal" in offers:
        calls.append(Call(arrays, {"causal": True}, want=("weights",)))
    return calls


def judge(trial: Trial, study: Study, observed: Observed) -> None:
    """Which step of attention the weights are that came back."""
    if trial.lost:
        return
    kept = [(call, outcome.arrays.get("weights"), outcome) for call, outcome in observed]
    fit = [way for way in (None, *WAYS) if all(_is(trial, way, *each) for each in kept)]
    if fit and fit[0] is not None:
        call, outcome = next(
            (call, o) for call, _, o in kept if not _is(trial, None, call, o.arrays.get("weights"), o)
        )
        trial.fail(fit[0].rule, call, mistake=fit[0].id, did=fit[0].says, **_cell(trial, call, outcome))
    elif not fit:
        call, outcome = next((call, o) for call, w, o in kept if not _is(trial, None, call, w, o))
        trial.fail("weights-returned", call, **_cell(trial, call, outcome))
    trial.pass_("weights-returned", "weights-per-head")


def _is(trial: Trial, way: Choice | None, call: Call, found: NDArray[Any] | None, outcome: Outcome) -> bool:
    right = np.asarray(follow(call, [*trial.known, *([way] if way else [])], STEPS).returned)
    if found is None or outcome.trouble or found.shape != right.shape:
        return False
    return differ(found, right, tolerance(right, dtype_of(outcome), loosest(trial.known))) is None


def _cell(trial: Trial, call: Call, outcome: Outcome) -> dict[str, Any]:
    if not outcome.trouble and "weights" not in outcome.arrays:
        return {"array": "weights", "detail": "no weights came back"}
    return cell_of(trial, call, outcome, array="weights")


def asked_and_not(trial: Trial) -> Sequence[Call]:
    """The same call with and without its weights; with a query that sees no key, where that can be."""
    s, offers = trial.draw.sizes, trial.offers
    arrays, options = trial.qkv(), {}
    if "mask" in offers:
        mask = speckled(trial, "mask", s.T_k, s.T_k)
        mask[0] = trial.always_causal
        arrays, options = {**arrays, "mask": mask}, form_of(trial, "mask")
    return [Call(arrays, options), Call(arrays, options, want=("weights",))]


def only_looked(trial: Trial, study: Study, observed: Observed) -> None:
    """Whether asking for the weights leaves the output as it is."""
    (_, right), (call, found) = observed
    if not right.trouble and found.trouble:
        trial.fail(study.name, call, detail=found.trouble)
    elif not right.trouble:
        cell = differ(found.out, right.out, near(trial, right))
        if cell is not None:
            shown = {"cell": cell, "found": float(found.out[cell]), "right": float(right.out[cell])}
            trial.fail(study.name, call, did="asking for the weights changes the output", **shown)
    trial.pass_(study.name)


RETURNED = (
    Study("weights-returned", with_weights, judge=judge, optional=True),
    Study("weights-asked", asked_and_not, judge=only_looked),
)
