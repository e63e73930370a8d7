"""Queries, keys and values alone: the scale, the softmax, and which of the three does what."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from riverhead.checking.rules.call import Call
from riverhead.checking.rules.judge import explain
from riverhead.checking.rules.pipeline import turned
from riverhead.checking.rules.rule import Choice
from riverhead.checking.rules.studies.fitted import fitted
from riverhead.checking.rules.studies.place import hides_the_future
from riverhead.checking.rules.studies.rounded import rounded
from riverhead.checking.rules.trial import Observed, Study, Trial, by_value
from riverhead.core.equation import softmax

__all__ = ["PLAIN"]


def calls(trial: Trial) -> Sequence[Call]:
    """As many queries as keys, values as wide as keys: so what is turned over, or mistaken, still fits."""
    s = trial.draw.sizes
    found = [Call(trial.qkv()), Call(trial.qkv(d_v=s.d_k))]
    return [*found, Call(trial.qkv(T_q=s.T_q))] if "cross" in trial.subject.offers else found


WAYS = (
    Choice("no-scale", "scale", "the dots are not divided by √d_k", {"factor": lambda p: 1.0}),
    Choice("scale-by-d_k", "scale", "the dots are divided by d_k, or by √d_k twice",
           {"factor": lambda p: 1 / p.d_k}),
    Choice("scale-up", "scale", "the dots are multiplied by √d_k",
           {"factor": lambda p: math.sqrt(p.d_k)}),
    Choice("scale-by-d_v", "scale", "the dots are divided by √d_v",
           {"factor": lambda p: 1 / math.sqrt(p.d_v)}),
    Choice("scale-by-T_k", "scale", "the dots are divided by √T_k",
           {"factor": lambda p: 1 / math.sqrt(p.T_k)}),
    Choice("scale-by-fourth-root", "scale", "only one of q and k is divided by the fourth root of d_k",
           {"factor": lambda p: p.d_k**-0.25}),
    Choice("scale-after-softmax", "softmax-once", "the weights, not the scores, are divided by √d_k",
           {"scores": lambda p: p.dots, "mixed": lambda p: p.weights / math.sqrt(p.d_k)}),
    Choice("softmax-over-queries", "softmax-axis", "the softmax runs down the columns, over the queries",
           {"weights": lambda p: turned(softmax(turned(p.filled)))}),
    Choice("softmax-over-all", "softmax-axis", "one softmax runs over the whole matrix",
           {"weights": lambda p: softmax(p.filled.reshape(*p.filled.shape[:-2], -1))
            .reshape(p.filled.shape)}),
    Choice("softmax-over-heads", "softmax-axis", "the softmax runs over the heads: of one, every weight is 1",
           {"weights": lambda p: softmax(p.filled.swapaxes(-1, -3)).swapaxes(-1, -3)
            if p.filled.ndim > 2 else np.ones_like(p.filled), "mixed": lambda p: p.weights}),
    Choice("no-softmax", "softmax-once", "the scores themselves mix the values, without a softmax",
           {"weights": lambda p: np.where(p.seen, p.biased, 0)}),
    Choice("softmax-twice", "softmax-once", "the softmax is taken of weights that are one already",
           {"mixed": lambda p: softmax(p.weights)}),
    Choice("exp-without-sum", "softmax-once", "the exponentials are not divided by their sum",
           {"weights": lambda p: np.exp(p.filled)}),
    Choice("one-in-the-sum", "softmax-once", "1 is added to each row's sum: its weights sum to less than 1",
           {"weights": lambda p: softmax(p.filled, sinks=np.zeros((1, 1)))}),
    Choice("log-softmax", "softmax-once", "the logarithm of the weights mixes the values",
           {"mixed": lambda p: np.log(p.weights)}),
    Choice("weights-transposed", "roles", "the weights are turned over: Aᵀv",
           {"mixed": lambda p: turned(p.weights)}),
    Choice("keys-mixed", "roles", "the weights mix the keys, not the values",
           {"out": lambda p: p.mixed @ p.k}),
    Choice("queries-mixed", "roles", "the weights mix the queries, not the values",
           {"out": lambda p: p.mixed @ p.q}),
    Choice("scores-from-values", "roles", "the queries are compared with the values",
           {"dots": lambda p: p.q @ turned(p.v)}),
    Choice("scores-from-keys", "roles", "the keys are compared with each other",
           {"dots": lambda p: p.k @ turned(p.k)}),
    Choice("scores-from-queries", "roles", "the queries are compared with each other",
           {"dots": lambda p: p.q @ turned(p.q)}),
    Choice("scores-transposed", "roles", "the scores are turned over: k qᵀ",
           {"dots": lambda p: p.k @ turned(p.q)}),
)  # fmt: skip


def judge(trial: Trial, study: Study, observed: Observed) -> None:
    """Judge by value, causal or not; else by a scale that is none of the usual ones; else by digits lost."""
    if not any(np.isfinite(outcome.out).any() for _, outcome in observed if not outcome.trouble):
        by_value(trial, replace(study, ways=()), observed)  # NaN alone is what any way to NaN gives
        return
    observed, places = hides_the_future(trial, observed, WAYS)
    tiers: tuple[Callable[[Observed], tuple[Choice, ...]], ...] = (
        lambda _: (*WAYS, *places),
        fitted,
        rounded,
    )
    for tier in tiers:
        ways = tier(observed)
        if explain(observed, trial.known, ways) is not None:
            break
    by_value(trial, replace(study, ways=ways), observed)


PLAIN = Study("plain", calls, WAYS, judge=judge)
