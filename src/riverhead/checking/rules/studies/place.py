"""Who may attend by place: causal order, and where queries stand among more keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from riverhead.checking.rules.call import Call
from riverhead.checking.rules.judge import explain
from riverhead.checking.rules.pipeline import everyone
from riverhead.checking.rules.report import Agreed, NotOffered
from riverhead.checking.rules.rule import Change, Choice
from riverhead.checking.rules.studies.empty import EMPTY_WITH_PLACE
from riverhead.checking.rules.studies.hidden import HUGE, moved
from riverhead.checking.rules.studies.hiding import EMPTY_ROWS, FEWER, form_of, leading, manners, speckled
from riverhead.checking.rules.studies.low import by_place, fill_studies
from riverhead.checking.rules.trial import Observed, Study, Trial
from riverhead.core.masks import places

__all__ = ["PLACE", "START", "fewer", "from_the_start", "hides_the_future", "masked_calls", "when"]


def when(option: str, change: Change) -> Change:
    """Change who is visible by place only where an option asks for it."""
    return lambda p: change(p) if getattr(p, option) else everyone(p)


# Causal


def causal_calls(trial: Trial) -> Sequence[Call]:
    """As many queries as keys: nothing to agree on."""
    return [Call(trial.qkv(), {"causal": True})]


def turned_away(id: str, says: str, past: Change) -> tuple[Choice, ...]:
    """A causal order under which some query sees no key, with each thing that such a row may give."""
    return tuple(
        Choice(id, "causal", f"{says}; a row that is left without a key gives {name}",
               {"past": when("causal", past), **rows})
        for name, rows in EMPTY_ROWS.items()
    )  # fmt: skip


CAUSAL_WAYS = (
    *manners("causal", "causal", "past", "the causal mask", "the future"),
    Choice("causal-sees-one-ahead", "causal", "each query sees one token of the future",
           {"past": when("causal", lambda p: p.behind >= -1)}),
    Choice("causal-inverted", "causal", "the causal mask is turned over: a query sees itself and the future",
           {"past": when("causal", lambda p: p.behind <= 0)}),
    *turned_away("causal-hides-oneself", "no query sees itself, only those before it",
                 lambda p: p.behind > 0),
    *turned_away("causal-inverted", "the causal mask is inverted: each query sees the future alone",
                 lambda p: p.behind < 0),
)  # fmt: skip


def fewer(trial: Trial) -> list[dict[str, Any]]:
    """Fewer queries than keys, and one query alone, as in decoding."""
    arrays, s = trial.qkv(), trial.draw.sizes
    return [{**arrays, "q": arrays["q"][:n]} for n in (min(s.T_q, s.T_k - 1), 1)]


def cross_calls(trial: Trial) -> Sequence[Call]:
    """Causal calls with fewer queries than keys, unless nothing is hidden, or it is not known what."""
    wrong = next((failure.mistake for failure in trial.failed if failure.rule == "causal"), None)
    if wrong in ("", "causal-ignored"):
        trial.not_judged.append(NotOffered("causal-cross", "follows from causal"))
        return []
    return [Call(arrays, {"causal": True}) for arrays in fewer(trial)]


def from_the_start(p: Any) -> Any:  # (T_q, T_k)
    """How many places key j lies behind query i; the first query stands at the first key."""
    i, j = places(p.T_q, p.T_k, "start")
    return i - j


def _one_sees_all(p: Any) -> Any:  # (T_q, T_k)
    return p.behind if p.T_q == 1 else from_the_start(p)


START = f"{FEWER}the first query stands at the first key"
ALIGNED = (
    Choice("causal-start", "causal-cross", START, {"behind+": from_the_start}, agreed=("causal", "start")),
    Choice("causal-start", "causal-cross", f"{START}, but one query alone sees every key",
           {"behind+": _one_sees_all}, agreed=("causal", "start")),
    Choice("causal-ignored", "causal-cross", f"{FEWER}the causal mask hides nothing",
           {"past+": lambda p: p.past if p.T_q == p.T_k else everyone(p)}),
)  # fmt: skip
END = Agreed("causal", "end", f"{FEWER}the last query stands at the last key")


def masked_calls(trial: Trial) -> Sequence[Call]:
    """A mask that hides some of the past, and shows some of it and of the future, and each query itself."""
    s = trial.draw.sizes
    mask = speckled(trial, "mask", s.T_k, s.T_k, oneself=True)
    mask[-1, -2], mask[0, -1], mask[-1, 0] = False, True, True
    return [Call({**trial.qkv(), "mask": mask}, {"causal": True, **form_of(trial, "mask")})]


MASKED_WAYS = (
    Choice("causal-drops-mask", "causal-and-mask", "the mask is ignored where causal is asked for",
           {"masked+": lambda p: everyone(p) if p.causal else p.masked}),
    Choice("mask-drops-causal", "causal-and-mask", "causal is ignored where there is a mask",
           {"past+": lambda p: p.past if p.mask is None else everyone(p)}),
    Choice("mask-or-causal", "causal-and-mask", "a key is visible where either of the two lets it be seen",
           {"seen+": lambda p: (p.masked | p.past) & p.padded & p.near
            if p.causal and p.mask is not None else p.seen}),
)  # fmt: skip


# Causal without being asked

UNASKED = Choice("causal-unasked", "definition", "no query sees the future, though causal is not asked for",
                 {"past": lambda p: p.behind >= 0})  # fmt: skip
ALWAYS = Agreed("future", "always-hidden", "no query sees the future: it is causal without being asked")


def hides_the_future(
    trial: Trial, observed: Observed, ways: Sequence[Choice]
) -> tuple[Observed, tuple[Choice, ...]]:
    """Return plain results as those of causal calls if that explains them, and the ways that this takes.

    A function without an option for it may be causal by what it is; from then on it is asked as one. Where
    its queries stand among more keys is asked later.
    """
    if not trial.always_causal and explain(observed, trial.known, ways, trial.steps) is not None:
        return observed, ()
    square = [(call, o) for call, o in observed if call.arrays["q"].shape[-2] == call.arrays["k"].shape[-2]]
    if "causal" in trial.offers:
        unasked = explain(square, trial.known, (*ways, UNASKED), trial.steps) is not None
        return (square, (UNASKED,)) if unasked else (observed, ())
    causal = [(replace(call, options={**call.options, "causal": True}), o) for call, o in square]
    kept = [way for way in CAUSAL_WAYS if way.id != "causal-ignored"]  # which is not being causal at all
    if explain(causal, trial.known, (*ways, *kept), trial.steps) is None:
        return observed, ()
    if not trial.always_causal:
        trial.facts["offers"] = frozenset({"always_causal"})
    trial.agree(ALWAYS)
    return causal, tuple(kept)


# The future


def future_calls(trial: Trial) -> Sequence[Call]:
    """The same tokens, and again others from the middle on: alone, in samples, with weights asked for."""
    offers = trial.offers
    found = []
    for axes in ((), *((leading(trial),) if offers & {"batch", "heads"} else ())):
        arrays = trial.qkv(*axes)
        later = np.arange(arrays["q"].shape[-2])[:, None] >= _middle(arrays)
        other = {name: trial.draw.numbers(f"later {name}", *x.shape) for name, x in arrays.items()}
        other["v"][...] = HUGE
        changed = {name: np.where(later, other[name], x) for name, x in arrays.items()}
        for want in ((), *((("weights",),) if "weights" in offers else ())):
            found += [Call(each, {"causal": True}, want=want) for each in (arrays, changed)]
    return found


def _middle(arrays: Any) -> int:
    return int(arrays["q"].shape[-2]) // 2


def future_judge(trial: Trial, study: Study, observed: Observed) -> None:
    """What comes later moves no earlier row."""
    for (_, base), (call, outcome) in zip(observed[::2], observed[1::2], strict=True):
        found = (
            {"detail": base.trouble} if base.trouble else moved(base, outcome, slice(_middle(call.arrays)))
        )
        if found:
            did = "other tokens later on move earlier rows"
            trial.fail(study.name, call, mistake="future-leaks", did=did, **found)
    trial.pass_(study.name)


PLACE = (
    Study("causal", causal_calls, CAUSAL_WAYS),
    Study("causal-cross", cross_calls, ALIGNED, usual=(END,), optional=True),
    *fill_studies("causal-fill", by_place, ("past",)),
    Study("causal-and-mask", masked_calls, MASKED_WAYS, optional=True),
    EMPTY_WITH_PLACE,
    Study("future", future_calls, judge=future_judge),
)  # fmt: skip
