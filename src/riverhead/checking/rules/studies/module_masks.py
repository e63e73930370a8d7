"""What is asked of masks, asked of a module: the same masks, with tokens for queries, keys and values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from riverhead.checking.rules.call import Call
from riverhead.checking.rules.report import Agreed, NotOffered
from riverhead.checking.rules.studies.conduct import CONDUCT
from riverhead.checking.rules.studies.empty import EMPTY
from riverhead.checking.rules.studies.empty import ways as empty_ways
from riverhead.checking.rules.studies.hiding import form_of, lost, speckled
from riverhead.checking.rules.studies.masks import MASKS
from riverhead.checking.rules.studies.module_values import call_of
from riverhead.checking.rules.studies.place import PLACE
from riverhead.checking.rules.trial import Observed, Study, Trial, by_value

__all__ = ["CONVERTED", "of_tokens"]

NAMES = (  # of the studies of attention whose calls say enough without their q, k and v
    "mask", "mask-boolean", "mask-shared", "mask-own",
    "padding", "padding-boolean", "padding-cross", "padding-and-mask",
    "empty-row", "empty-sample", "causal", "causal-cross", "causal-and-mask", "empty-causal",
    "inputs-unchanged",
)  # fmt: skip
WHO = {
    "empty-row": "a query that may attend to no key",
    "empty-sample": "a sample that is padding throughout",
    "empty-causal": "a query that padding and causal together leave without a key",
}
ASPECT = "empty-row"
BESIDE = ("mask", "key_mask")  # what is handed over as it is


def of_tokens(trial: Trial, call: Call) -> Call | None:
    """Return a call of attention as one of a module; None where its heads or samples do not fit."""
    q, k = call.arrays["q"], call.arrays["k"]
    B, T, S = q.shape[0] if q.ndim > 2 else 1, q.shape[-2], k.shape[-2]
    several = "batch" in trial.offers
    heads = q.shape[1] if q.ndim > 3 else trial.draw.sizes.H
    if (B > 1 and not several) or heads != trial.draw.sizes.H or (S != T and "cross" not in trial.offers):
        return None
    beside = {name: call.arrays[name] for name in BESIDE if name in call.arrays}
    if "key_mask" in beside:
        beside["key_mask"] = np.broadcast_to(beside["key_mask"], (B, S)).copy()
    made = call_of(trial, T, None if S == T else S, B, arrays=beside, options=dict(call.options))
    return replace(made, want=call.want)


def own_calls(trial: Trial) -> Sequence[Call]:
    """A mask for each sample, and as many samples as heads, so that masks laid over the heads fit."""
    if "batch" not in trial.offers:
        return []
    T, B = trial.draw.sizes.T_k, max(2, trial.draw.sizes.H)
    masks = np.stack([speckled(trial, f"mask of {b}", T, T) for b in range(B)])[:, None]  # (B, 1, T, T)
    return [call_of(trial, T, B=B, arrays={"mask": masks}, options=form_of(trial, "mask"))]


def converted(study: Study) -> Study:
    """Return a study of attention as one of modules."""
    calls = own_calls if study.name == "mask-own" else partial(calls_of, of=study.calls)
    ways, judge = study.ways, study.judge
    if study.name in WHO:
        ways, judge = empty_ways(study.name, WHO[study.name]), empty_judge
    if study.name != "inputs-unchanged":
        calls = partial(if_apart, study=study, calls=calls)
    return replace(study, calls=calls, ways=ways, judge=judge)


def if_apart(trial: Trial, study: Study, calls: Callable[[Trial], Sequence[Call]]) -> Sequence[Call]:
    """Ask nothing where samples see each other: then the axes of a mask are not where they seem."""
    if not trial.broke("samples"):
        return calls(trial)
    asked = [rule.id for rule in trial.rules_of(study) if not trial.said(rule.id)]
    trial.not_judged += [NotOffered(id, "follows from samples") for id in asked]
    return []


def calls_of(trial: Trial, of: Callable[[Trial], Sequence[Call]]) -> Sequence[Call]:
    """Return those calls of attention that fit a module."""
    tried = [of_tokens(trial, call) for call in of(trial)]
    fit = [call for call in tried if call is not None]
    if trial.facts["padding_apart"] or not any({*BESIDE} <= call.arrays.keys() for call in fit):
        return fit
    trial.not_offered.append(NotOffered("padding-and-mask", "one argument takes both masks"))
    return []


def empty_judge(trial: Trial, study: Study, observed: Observed) -> None:
    """Judge by value; where nothing else was found, the heads of a query without a key give zeros."""
    if lost(trial, study):
        return
    by_value(trial, replace(study, usual=()), observed)
    if trial.broke(study.name) or any(agreed.aspect == ASPECT for agreed in trial.conventions):
        return
    if trial.wanted(ASPECT, "zeros"):
        trial.agree(Agreed(ASPECT, "zeros", "the heads of a query that may attend to no key give zeros"))
    else:
        detail = f"heads without a key give zeros; {trial.expect[ASPECT]} was asked for"
        trial.fail(study.name, observed[0][0], detail=detail)


CONVERTED = tuple(converted(study) for study in (*MASKS, *EMPTY, *PLACE, *CONDUCT) if study.name in NAMES)
