"""Numbers that are large, and numbers with few digits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from riverhead.checking.rules.call import Call
from riverhead.checking.rules.judge import differ
from riverhead.checking.rules.pipeline import follow
from riverhead.checking.rules.report import Agreed, NotOffered
from riverhead.checking.rules.rule import Change, Choice
from riverhead.checking.rules.studies.rounded import BITS, rounded
from riverhead.checking.rules.trial import Observed, Study, Trial, by_value

__all__ = ["LARGE", "PRECISION"]

BIG = 128.0  # its square, over √d_k, passes the 709 at which e^score ends in float64
HALVES = ("float16", "bfloat16")
WIDE = 64  # d_k at which 60·60·64 = 230400 passes float16's 65504, and an eighth of it does not
LONG = 4096  # equal keys: 1 + 1 + … in float16 stops at 2048, in bfloat16 at 256


# Large scores


def large(trial: Trial) -> Sequence[Call]:
    """Scores beyond ±1000: keys that share the weight, one far above the others, a row far above another.

    Each dot is one product, so that no order of sums rounds otherwise.
    """
    s = trial.draw.sizes
    n = max(s.T_k, 3)
    shared = np.resize([1, -1, 0.5], n)
    lone = np.where(np.arange(n) == n - 1, 2, shared)
    calls = []
    for queries, keys in ((np.ones(n), shared), (np.ones(n), lone), (np.resize([1, 0], n), np.ones(n))):
        q, k = np.zeros((n, s.d_k)), np.zeros((n, s.d_k))
        q[:, 0], k[:, 0] = BIG * queries, BIG * keys
        calls.append(Call({"q": q, "k": k, "v": trial.qkv(T_k=n)["v"]}))
    return calls


def shifted_by(largest: Change) -> Change:
    """e^(score − a number) over its sum."""

    def weights(p: Any) -> Any:
        shift = largest(p)
        e = np.exp(p.filled - shift)
        sinks = 0 if p.sinks is None else np.exp(p.sinks - shift)
        return e / (e.sum(axis=-1, keepdims=True) + sinks)

    return weights


OF_LARGE = (
    Choice("no-max-subtraction", "large-scores", "the row's largest score is not subtracted: e^1000 is ∞, "
           "and ∞/∞ is NaN",
           {"weights": shifted_by(lambda p: 0)}),
    Choice("max-of-all", "large-scores", "the largest score of all rows is subtracted, not the row's own: "
           "in a row far below it every exponential is 0, and 0/0 is NaN",
           {"weights": shifted_by(lambda p: p.filled.max())}),
)  # fmt: skip


# Fewer digits


def in_dtype(dtype: str) -> Callable[[Trial], Sequence[Call]]:
    """Return the calls of a dtype: small numbers, exact in it, and dots that are too."""

    def calls(trial: Trial) -> Sequence[Call]:
        arrays = trial.qkv()
        wide = dtype == "float32" and dtype not in trial.offers
        return [Call(arrays | {"q": arrays["q"] / 2}, dtype="float64" if wide else dtype)]

    return calls


def digits(trial: Trial, study: Study, observed: Observed) -> None:
    """Judge by value, and by how many digits a result keeps."""
    if trial.lost or trial.broke("precision"):
        return
    if all(outcome.error for _, outcome in observed):
        trial.pass_("precision")  # of float64, as the plain results were
    else:
        by_value(trial, replace(study, ways=rounded(observed), usual=()), observed)


def as_wide(trial: Trial, study: Study, observed: Observed) -> None:
    """Whether results have the dtype of what was given."""
    kept = {
        str(outcome.facts.get("given", call.dtype)): str(outcome.facts.get("dtype", ""))
        for call, outcome in observed
        if not outcome.trouble
    }
    apart = {given: found for given, found in kept.items() if found and found != given}
    narrower = [given for given, found in apart.items() if BITS.get(found, 0) < BITS[given]]
    words = ", ".join(f"{given} gives {found}" for given, found in apart.items())
    if narrower:
        did = f"{narrower[0]} arrays give a result of {apart[narrower[0]]}"
        trial.fail("dtype", observed[0][0], mistake="dtype-narrowed", did=did)
    elif apart or not trial.wanted("result", "as-given"):
        name, says = (
            ("wider", f"results have more digits: {words}") if apart else ("as-given", RESULTS[0].says)
        )
        agreed(trial, "dtype", observed[0][0], Agreed("result", name, says))
    trial.pass_("dtype")


def agreed(trial: Trial, rule: str, call: Call, found: Agreed) -> None:
    """Say which convention is kept; that another was asked for breaks the rule."""
    if trial.wanted(found.aspect, found.name):
        trial.agree(found)
    else:
        trial.fail(rule, call, detail=f"{found.says}; {trial.expect[found.aspect]} was asked for")


def each_dtype(trial: Trial) -> Sequence[Call]:
    """The same numbers in every dtype that the function takes."""
    names = ("float64", *(name for name in ("float32", *HALVES) if name in trial.offers))
    arrays = trial.qkv()
    return [Call(arrays, dtype=name) for name in names]


# Half precision


def beyond(trial: Trial) -> Sequence[Call]:
    """Dots that float16 cannot hold, scaled scores that it can."""
    arrays = {"q": np.full((2, WIDE), 60.0), "k": np.full((2, WIDE), 60.0), "v": np.eye(2, WIDE)}
    arrays["k"][1] = 59
    return [Call(arrays, dtype="float16")]


def where_scaled(trial: Trial, study: Study, observed: Observed) -> None:
    """Where the scale sits: before the dots, which then fit, or after them."""
    ((call, outcome),) = observed
    if outcome.trouble:
        trial.not_offered.append(NotOffered("scale-place", outcome.trouble))
    elif np.isfinite(outcome.out).all():
        says = "in float16, dots of 230400 that scale to 28800 give numbers: q is scaled first"
        agreed(trial, "scale-place", call, Agreed("scale", "before", says))
    else:
        says = (
            "in float16, dots of 230400 overflow before they are scaled to 28800: the scale comes after them"
        )
        agreed(trial, "scale-place", call, Agreed("scale", "after", says))
    trial.pass_("scale-place")


def long_sums(trial: Trial) -> Sequence[Call]:
    """Equal keys in number: the sum of the exponentials, and that of the values, each the same small step."""
    like = trial.qkv()
    v = np.ones((LONG, like["v"].shape[-1]))
    v[LONG // 2 :, 1] = 0
    arrays = {"q": np.zeros((1, like["q"].shape[-1])), "k": np.zeros((LONG, like["k"].shape[-1])), "v": v}
    return [Call(arrays, dtype=name) for name in HALVES if name in trial.offers]


def summed(trial: Trial, study: Study, observed: Observed) -> None:
    """Whether sums over many keys stop growing."""
    for call, outcome in observed:
        right = np.asarray(follow(call, trial.known, trial.steps).out)
        if outcome.trouble or outcome.out.shape != right.shape:
            continue
        cell = differ(outcome.out, right, SHORT * max(1.0, float(np.abs(right).max())))
        if cell is not None:
            trial.fail(
                study.name, call, mistake="sums-in-half", cell=cell, found=float(outcome.out[cell]),
                right=float(right[cell]), did=f"sums over {LONG} equal keys are kept in {call.dtype}, where "
                "small steps are lost",
            )  # fmt: skip
    trial.pass_(study.name)


SHORT = 2.0**-4  # far above the rounding of a weight in bfloat16, far below what a sum that stops loses


DIGITS = (
    Agreed("precision", "float32", "of float64 arrays, results keep the digits of float32"),
    Agreed("precision", "as-given", "results keep the digits of what was given"),
)
RESULTS = (
    Agreed("result", "as-given", "the result has the dtype that was given"),
    Agreed("result", "wider", "the result has more digits than what was given"),
)
PLACES = (
    Agreed("scale", "before", "the scale comes before the dots"),
    Agreed("scale", "after", "the scale comes after the dots"),
)

LARGE = Study("large-scores", large, OF_LARGE)
PRECISION = (
    Study("precision", in_dtype("float32"), usual=DIGITS, judge=digits, about_dtype=True),
    Study("float16", in_dtype("float16"), optional=True),
    Study("bfloat16", in_dtype("bfloat16"), optional=True),
    Study("dtype", each_dtype, usual=RESULTS, judge=as_wide, about_dtype=True),
    Study("scale-place", beyond, usual=PLACES, judge=where_scaled),
    Study("sums-in-half", long_sums, judge=summed),
)
