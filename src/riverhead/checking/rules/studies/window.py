"""A sliding window: how many keys it shows, on which sides, beside causal, beside a mask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from riverhead.checking.rules.call import Call
from riverhead.checking.rules.judge import explain
from riverhead.checking.rules.pipeline import everyone
from riverhead.checking.rules.report import Agreed
from riverhead.checking.rules.rule import Change, Choice
from riverhead.checking.rules.studies.hiding import FEWER, form_of, lost
from riverhead.checking.rules.studies.place import START, fewer, from_the_start, masked_calls, when
from riverhead.checking.rules.trial import Observed, Study, Trial, by_value

__all__ = ["WINDOW"]

WINDOWS = (2, 3)


def option(trial: Trial) -> dict[str, bool]:
    """Ask for causal where it can be asked for."""
    return {"causal": True} if "causal" in trial.offers else {}


def window_calls(trial: Trial) -> Sequence[Call]:
    """Narrow windows, and some that reach as far as there are keys, and further."""
    arrays, T = trial.qkv(), trial.draw.sizes.T_k
    return [Call(arrays, {"window": W, **option(trial)}) for W in (*WINDOWS, T - 1, T, T + 2)]


def sides_calls(trial: Trial) -> Sequence[Call]:
    """Windows without causal."""
    arrays = trial.qkv()
    return [Call(arrays, {"window": W}) for W in WINDOWS]


def one_calls(trial: Trial) -> Sequence[Call]:
    """Fewer queries than keys, and one alone."""
    return [Call(arrays, {"window": W, **option(trial)}) for arrays in fewer(trial) for W in WINDOWS]


def window_mask_calls(trial: Trial) -> Sequence[Call]:
    """A narrow window, and a mask that hides some of it and shows some of what lies outside."""
    options = {"window": WINDOWS[0], **option(trial), **form_of(trial, "mask")}
    return [replace(call, options=options) for call in masked_calls(trial)]


def near(id: str, rule: str, says: str, change: Change, **more: Any) -> Choice:
    """Another window."""
    return Choice(id, rule, says, {"near": when("window", change)}, **more)


def sides(rule: str) -> tuple[Choice, ...]:
    """Where a window lies, if not on both sides."""
    return (
        near("window-back", rule, "a window reaches back alone: itself and the W − 1 keys before",
             lambda p: (p.behind >= 0) & (p.behind < p.window), agreed=("window", "back")),
        near("window-sees-future", rule, "a window bounds the past alone: each query sees all of the future",
             lambda p: p.behind < p.window),
        near("window-centred", rule, "a window has half its width on each side",
             lambda p: abs(p.behind) <= p.window // 2, agreed=("window", "centred")),
    )  # fmt: skip


def without_causal(rule: str) -> tuple[Choice, ...]:
    """Where a window lies without causal, if not on both sides; with causal it is known already."""
    alone = near("window-with-causal-alone", rule, "without causal, a window hides nothing", everyone,
                 agreed=("window", "with-causal-alone"))  # fmt: skip
    off = (way for way in widths(rule, "without causal, ") if way.id != "window-ignored")
    ways = (alone, *off, *sides(rule))
    return tuple(replace(way, changes={"near+": _unless_causal(way.changes["near"])}) for way in ways)


def _unless_causal(change: Change) -> Change:
    return lambda p: p.near if p.causal else change(p)


def widths(rule: str, where: str = "") -> tuple[Choice, ...]:
    """How many keys a window shows, if not as many as it says."""
    return (
        near("window-one-more", rule, f"{where}a window of W shows W + 1 keys: oneself is not counted",
             lambda p: abs(p.behind) <= p.window),
        near("window-one-less", rule, f"{where}a window of W shows W − 1 keys",
             lambda p: abs(p.behind) < p.window - 1),
        near("window-ignored", rule, f"{where}the window hides nothing", everyone),
    )  # fmt: skip


def window_judge(trial: Trial, study: Study, observed: Observed) -> None:
    """Judge by value; a window that hides nothing may need a mask, which is then given, too."""
    if lost(trial, study):
        return
    found = explain(observed, trial.known, study.ways, trial.steps) or ()
    if "window-ignored" in {way.id for way in found} and "mask" in trial.offers:
        call, _ = observed[0]
        T = len(call.arrays["k"])
        arrays = {**call.arrays, "mask": np.ones((T, T), bool)}
        more = Call(arrays, {**call.options, **form_of(trial, "mask")})
        outcome = trial.ask(more)
        observed = observed if outcome.trouble else [*observed, (more, outcome)]
    alone = not option(trial) and not trial.always_causal
    by_value(trial, replace(study, usual=(BOTH_SIDES,) if alone else ()), observed)


BOTH_SIDES = Agreed("window", "both-sides", "without causal, a window of W shows W − 1 keys on each side")
WINDOW_WAYS = (
    *widths("window"),
    near("window-needs-mask", "window", "the window hides nothing unless a mask is given, too",
         lambda p: everyone(p) if p.mask is None else abs(p.behind) < p.window),
    Choice("window-drops-causal", "window", "causal is ignored where there is a window",
           {"past+": lambda p: p.past if p.window is None else everyone(p)}),
    *sides("window"),
)  # fmt: skip
ONE_WAYS = (
    *widths("window-decode", FEWER),
    Choice("causal-start", "window-decode", START, {"behind+": from_the_start}, agreed=("causal", "start")),
)
WINDOW_MASK_WAYS = (
    Choice("window-drops-mask", "window-and-mask", "the mask is ignored where there is a window",
           {"masked+": lambda p: p.masked if p.window is None else everyone(p)}),
    Choice("mask-drops-window", "window-and-mask", "the window is ignored where there is a mask",
           {"near+": lambda p: p.near if p.mask is None else everyone(p)}),
)  # fmt: skip

WINDOW = (
    Study("window", window_calls, WINDOW_WAYS, judge=window_judge),
    Study("window-sides", sides_calls, without_causal("window-sides"),
          usual=(BOTH_SIDES,), optional=True),
    Study("window-decode", one_calls, ONE_WAYS, optional=True),
    Study("window-and-mask", window_mask_calls, WINDOW_MASK_WAYS, optional=True),
)  # fmt: skip
