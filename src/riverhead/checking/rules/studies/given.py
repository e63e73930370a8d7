"""What may be given beside q, k and v: a scale, a soft cap, a bias, sinks; each in its place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from riverhead.checking.rules.call import Call
from riverhead.checking.rules.judge import agree
from riverhead.checking.rules.pipeline import as_it_is
from riverhead.checking.rules.report import Agreed
from riverhead.checking.rules.rule import Change, Choice
from riverhead.checking.rules.studies.hiding import hiding
from riverhead.checking.rules.trial import Observed, Study, Trial, cell_of
from riverhead.core.equation import softmax

__all__ = ["GIVEN"]

SCALE_GIVEN = 0.375  # 1/√d_k for no width, nor is its reciprocal
CAP = 0.375  # most scores of a trial lie beyond it


def only_given(name: str, change: Change, otherwise: Change) -> Change:
    """A change of calls that are given something; others stay as they are."""
    return lambda p: otherwise(p) if getattr(p, name) is None else change(p)


def with_scale(trial: Trial) -> Sequence[Call]:
    """A scale that is not the usual one, and that which leaves the dots as they are."""
    return [Call(trial.qkv(), {"scale": scale}) for scale in (SCALE_GIVEN, 1.0)]


def with_softcap(trial: Trial) -> Sequence[Call]:
    """A cap that scores pass, alone and beside a hidden key, which it must not bring back."""
    s = trial.draw.sizes
    arrays = trial.qkv()
    calls = [Call(arrays, {"softcap": CAP}), Call(trial.qkv(d_v=s.d_k), {"softcap": 2 * CAP})]
    if trial.offers & {"mask", "key_mask"}:
        calls.append(hiding(trial, arrays, np.arange(s.T_k) != s.T_k - 1, softcap=CAP))
    elif "causal" in trial.offers:
        calls.append(Call(arrays, {"softcap": CAP, "causal": True}))
    return calls


def with_cap_of_zero(trial: Trial) -> Sequence[Call]:
    """No cap at all, as some write it."""
    return [Call(trial.qkv(), {"softcap": 0.0})]


def with_bias(trial: Trial) -> Sequence[Call]:
    """A bias for each query and key."""
    s = trial.draw.sizes
    bias = trial.draw.numbers("bias", s.T_k, s.T_k)
    calls = [Call({**trial.qkv(), "bias": bias})]
    if "heads" in trial.offers:
        bias = trial.draw.numbers("bias", s.H, s.T_k, s.T_k)
        calls.append(Call({**trial.qkv(s.B, s.H), "bias": bias}))
    return calls


def with_sinks(trial: Trial) -> Sequence[Call]:
    """Sinks as large as scores are, one for each head."""
    s = trial.draw.sizes
    leading = (s.B, s.H) if "heads" in trial.offers else ()
    sinks = trial.draw.numbers("sinks", s.H if leading else 1)
    return [Call({**trial.qkv(*leading), "sinks": sinks + shift}) for shift in (0.5, 3.0)]


def cap_of_zero(trial: Trial, study: Study, observed: Observed) -> None:
    """A cap of 0 is none, or refused; dividing by it is neither."""
    ((call, outcome),) = observed
    uncapped = Call(call.arrays)
    if not outcome.error and not agree(uncapped, outcome, trial.known, trial.steps):
        cell = cell_of(trial, uncapped, outcome)
        did = "a cap of 0 is applied: every score is divided by it, and multiplied by it"
        trial.fail("softcap-zero", call, mistake="softcap-zero-applied", did=did, **cell)
    trial.pass_("softcap-zero")


def first_head(x: Any) -> Any:
    """Its first head, for all; itself where it has none."""
    return x[..., :1, :, :] if x.ndim > 2 else x


def sink_share(p: Any) -> Any:  # (..., H, T_q, 1)
    """The weight that the sinks take."""
    return 1 - p.weights.sum(axis=-1, keepdims=True)


def shifted(p: Any) -> Any:
    """Append the sinks' weights to the keys', and drop the first column instead of the last."""
    return np.concatenate([p.weights[..., 1:], sink_share(p)], axis=-1)


def unshifted(p: Any) -> Any:
    """Take the row's largest score off the scores, not off the sinks."""
    e = np.exp(p.filled - p.filled.max(axis=-1, keepdims=True))
    return e / (e.sum(axis=-1, keepdims=True) + np.exp(p.sinks))


def weighed(sinks: Change) -> Change:
    """The weights, with the sinks made otherwise."""

    def weights(p: Any) -> Any:
        hidden = np.broadcast_to(~p.seen, p.filled.shape)
        return softmax(p.filled, hidden=hidden, sinks=None if p.sinks is None else sinks(p))

    return weights


OF_SCALE = (
    Choice("scale-ignored", "scale-given", "the given scale is not used: the usual one is",
           {"scaled_by": as_it_is("factor")}),
    Choice("scale-twice", "scale-given", "the given scale and the usual one are both applied",
           {"scaled_by": lambda p: p.factor * (1 if p.scale is None else p.scale)}),
    Choice("scale-divides", "scale-given", "the dots are divided by the given scale, not multiplied",
           {"scaled_by": only_given("scale", lambda p: 1 / p.scale, as_it_is("factor"))}),
    Choice("scale-under-root", "scale-given", "the dots are divided by the square root of the given scale",
           {"scaled_by": only_given("scale", lambda p: p.scale**-0.5, as_it_is("factor"))}),
)  # fmt: skip

OF_SOFTCAP = (
    Choice("softcap-ignored", "softcap", "the scores are not capped", {"capped": as_it_is("scores")}),
    Choice("softcap-clips", "softcap", "scores beyond the cap are cut off, not bent by tanh",
           {"capped": only_given("softcap", lambda p: p.scores.clip(-p.softcap, p.softcap),
                                 as_it_is("scores"))}),
    Choice("softcap-without-multiplying-back", "softcap", "tanh(score/c) is not multiplied by c again",
           {"capped": only_given("softcap", lambda p: np.tanh(p.scores / p.softcap), as_it_is("scores"))}),
    Choice("softcap-without-dividing", "softcap", "the score is not divided by c: c·tanh(score)",
           {"capped": only_given("softcap", lambda p: p.softcap * np.tanh(p.scores), as_it_is("scores"))}),
    Choice("softcap-before-scale", "softcap", "the dots are capped, and scaled only then",
           {"capped": only_given("softcap", lambda p: p.scaled_by * p.softcap * np.tanh(p.dots / p.softcap),
                                 as_it_is("scores"))}),
    Choice("softcap-after-mask", "softcap", "hidden scores are capped too: −∞ becomes −c, and hidden keys "
           "come back",
           {"weights": only_given("softcap", lambda p: softmax(np.where(p.seen, p.biased, -p.softcap)),
                                  weighed(as_it_is("sinks")))}),
)  # fmt: skip

OF_BIAS = (
    Choice("bias-ignored", "bias", "the bias is not added", {"biased": as_it_is("capped")}),
    Choice("bias-times", "bias", "the scores are multiplied by the bias",
           {"biased": only_given("bias", lambda p: p.capped * p.bias, as_it_is("capped"))}),
    Choice("bias-subtracted", "bias", "the bias is taken off the scores",
           {"biased": only_given("bias", lambda p: p.capped - p.bias, as_it_is("capped"))}),
    Choice("bias-transposed", "bias", "the bias is turned over: queries and keys are swapped",
           {"biased": only_given("bias", lambda p: p.capped + p.bias.swapaxes(-1, -2), as_it_is("capped"))}),
    Choice("bias-after-softmax", "bias", "the bias is added to the weights, not to the scores",
           {"biased": as_it_is("capped"),
            "mixed": only_given("bias", lambda p: p.weights + p.bias, as_it_is("weights"))}),
    Choice("bias-first-head", "bias", "every head gets the first head's bias",
           {"biased": only_given("bias", lambda p: p.capped + first_head(p.bias), as_it_is("capped"))}),
    Choice("bias-before-scale", "bias", "the bias is added to the dots, and scaled with them",
           {"biased": only_given("bias", lambda p: p.capped + p.scaled_by * p.bias, as_it_is("capped"))},
           agreed=("bias", "before-scale")),
)  # fmt: skip

OF_SINKS = (
    Choice("sinks-ignored", "sinks", "the sinks take no weight: a row still sums to 1",
           {"weights": weighed(lambda p: None)}),
    Choice("sinks-twice", "sinks", "the sinks are counted twice",
           {"weights": weighed(lambda p: p.sinks + np.log(2))}),
    Choice("sinks-scaled", "sinks", "the sinks are multiplied by the scale, as if they were dots",
           {"weights": weighed(lambda p: p.sinks * p.scaled_by)}),
    Choice("sinks-first-head", "sinks", "every head has the first head's sink",
           {"weights": weighed(lambda p: np.broadcast_to(p.sinks[:1], p.sinks.shape))}),
    Choice("sinks-unshifted", "sinks", "the row's largest score is taken off the scores, not off the sinks",
           {"weights": only_given("sinks", unshifted, weighed(as_it_is("sinks")))}),
    Choice("sinks-in-numerator", "sinks", "the sink's weight is handed to the first key's value",
           {"mixed": only_given("sinks", lambda p: np.concatenate(
               [p.weights[..., :1] + sink_share(p), p.weights[..., 1:]], axis=-1), as_it_is("weights"))}),
    Choice("sinks-column-kept", "sinks", "the first key's column is dropped, not the sinks': weights meet "
           "the wrong values",
           {"mixed": only_given("sinks", shifted, as_it_is("weights"))}),
)  # fmt: skip

AFTER_SCALE = Agreed("bias", "after-scale", "the bias is added to the scaled scores")

GIVEN = (
    Study("scale-given", with_scale, OF_SCALE, optional=True),
    Study("softcap", with_softcap, OF_SOFTCAP, optional=True),
    Study("softcap-zero", with_cap_of_zero, judge=cap_of_zero),
    Study("bias", with_bias, OF_BIAS, usual=(AFTER_SCALE,), optional=True),
    Study("sinks", with_sinks, OF_SINKS, optional=True),
)
