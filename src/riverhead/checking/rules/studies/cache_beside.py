"""What some caches do besides: other caches, counting, layers, beams, cutting, a window, a reset."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from riverhead.checking.rules.call import Call
from riverhead.checking.rules.judge import differ, explain
from riverhead.checking.rules.report import Agreed, NotOffered
from riverhead.checking.rules.rule import Choice
from riverhead.checking.rules.studies.cache_sessions import LOOSE, STORE, case, session, shown
from riverhead.checking.rules.studies.memory_steps import CACHE, SHARED, join, pieces
from riverhead.checking.rules.trial import Observed, Study, Trial

__all__ = ["BESIDE"]

ROWS = (2, 2, 0)  # of three beams, those that are kept
WINDOW = 3  # tokens
SINGLY = (1,) * 7


def one(rule: str, made: Callable[[Trial], Sequence[Call]], *ways: Choice) -> Study:
    """A study of one rule: its sessions, and the ways that break it."""

    def judge(trial: Trial, study: Study, observed: Observed) -> None:
        trouble = next((outcome.trouble for _, outcome in observed if outcome.trouble), "")
        if trouble:
            return trial.fail(rule, observed[0][0], detail=trouble)
        cases = [case(trial, *each) for each in observed]
        known = [LOOSE, *trial.facts.get("room", []), *trial.known]
        found = explain(cases, known, ways, CACHE)
        if found is None:
            trial.fail(rule, observed[0][0], **shown(cases, known))
        for way in found or ():
            if way.agreed and trial.wanted(*way.agreed):
                trial.agree(Agreed(*way.agreed, way.says))
            else:
                trial.fail(rule, observed[0][0], mistake=way.id, did=way.says, **shown(cases, known))
        trial.pass_(rule)
        return None

    return Study(rule, where_offered(rule, made), ways, judge=judge)


LACKS = {  # what is said where something is not offered
    "cache-fresh": ("step|" + STORE, "is a module: what it keeps comes back from it"),
    "cache-stable": (STORE, "hands back no keys and values"),
    "cache-count": ("count", "does not say how many tokens it has read"),
    "cache-layers": ("layer", "takes no index of a layer"),
    "cache-rows": ("reorder", "has no method that reorders the rows of a batch"),
    "cache-crop": ("crop", "has no method that cuts it to fewer tokens"),
    "cache-window": ("window", "takes no window"),
    "cache-reset": ("reset", "has no method that empties it"),
}


def where_offered(rule: str, made: Callable[[Trial], Sequence[Call]]) -> Callable[[Trial], Sequence[Call]]:
    """Make the calls of a rule, or say why it cannot be asked."""
    offer, why = LACKS[rule]

    def calls(trial: Trial) -> Sequence[Call]:
        if trial.subject.offers.isdisjoint(offer.split("|")):
            trial.not_offered.append(NotOffered(rule, why))
            return []
        if rule == "cache-rows" and not trial.facts["layout"][1]:
            trial.not_offered.append(NotOffered(rule, "takes no batch"))
            return []
        return made(trial)

    return calls


def beside(trial: Trial, call: Call) -> Call:
    """The same session, and the tokens of another text."""
    other = session(trial, call.options["chunks"], name="-other").arrays
    return Call({**call.arrays, **{f"other_{name}": x for name, x in other.items()}}, call.options)


def fresh_calls(trial: Trial) -> Sequence[Call]:
    """Another cache, made before, reads another text in turn."""
    return [beside(trial, session(trial, (1, 1, 1), beside=True))]


def layer_calls(trial: Trial) -> Sequence[Call]:
    """Each piece comes to another layer first."""
    return [beside(trial, session(trial, (1, 1, 1), layers=True))]


def rows_calls(trial: Trial) -> Sequence[Call]:
    """Three beams, of which two go on; only where there are samples."""
    return [session(trial, (1, 1, 1, 1), B=len(ROWS), events={"1": [["rows", list(ROWS)]]})]


def crop_calls(trial: Trial) -> Sequence[Call]:
    """Five tokens, cut to two."""
    return [session(trial, SINGLY, events={"4": [["crop", 2]]})]


def reset_calls(trial: Trial) -> Sequence[Call]:
    """Two tokens, then a new text."""
    return [session(trial, (1, 1, 1, 1), events={"1": [["reset", 0]]})]


def window_calls(trial: Trial) -> Sequence[Call]:
    """More tokens than the window holds, one at a time."""
    return [session(trial, SINGLY, window=WINDOW)]


def scattered(state: Any, rows: Any) -> Any:
    """Row i goes to place rows[i]."""
    new = state.copy()
    new[list(rows)] = state[: len(rows)]
    return new


def with_other(side: str) -> Callable[[Any], Any]:
    """Write the other layer's piece, too."""
    return lambda p: lambda state, new, n: join(state, pieces(getattr(p, f"other_{side}"), p.chunks)[n], new)


def ring(p: Any) -> Any:
    """Slot i holds the token whose position leaves i when divided by the window."""
    return lambda before, after, new, n: np.roll(after, (n + 1) % p.window if n >= p.window else 0, axis=-2)


def of_window(n: int) -> Callable[[Any], Any]:
    """Keep so many more than the window has."""
    return lambda p: lambda state: state[..., -(p.window + n) :, :]


def ends_of(options: Any) -> list[int]:
    """How many tokens were read after each piece."""
    return [int(end) for end in np.cumsum(options["chunks"])]


COUNTS = (
    Choice("cache-counts-kept", "cache-count", "only the tokens still held are counted",
           {"counts": lambda options: [min(end, options.get("window") or end) for end in ends_of(options)]}),
    Choice("cache-counts-steps", "cache-count", "calls are counted, not tokens",
           {"counts": lambda options: list(range(1, len(options["chunks"]) + 1))}),
    Choice("cache-counts-one-more", "cache-count", "one token too many is counted",
           {"counts": lambda options: [end + 1 for end in ends_of(options)]}),
    Choice("cache-counts-before", "cache-count", "the newest tokens are not counted",
           {"counts": lambda options: [0, *ends_of(options)[:-1]]}),
    Choice("cache-counts-newest", "cache-count", "only the newest tokens are counted",
           {"counts": lambda options: list(options["chunks"])}),
)  # fmt: skip
CHANGES_THE_PAST = Choice("cache-changes-the-past", "cache-stable",
                          "arrays that were handed out are written to later")  # fmt: skip


def judge_count(trial: Trial, study: Study, observed: Observed) -> None:
    """Compare the count after each piece."""
    for call, outcome in observed:
        if outcome.trouble:
            return trial.fail("cache-count", call, detail=outcome.trouble)
        counts, ends = [int(n) for n in outcome.facts["counts"]], ends_of(call.options)
        if counts == ends:
            continue
        row = next((way for way in COUNTS if way.changes["counts"](call.options) == counts), None)
        named = {"mistake": row.id, "did": row.says} if row else {}
        step = next(n for n, (a, b) in enumerate(zip(counts, ends, strict=True)) if a != b)
        numbers = {"found": float(counts[step]), "right": float(ends[step])}
        return trial.fail("cache-count", call, **named, cell=(step,), array="count", **numbers)
    return trial.pass_("cache-count")


def count_calls(trial: Trial) -> Sequence[Call]:
    """A prompt and single tokens; and more than a window holds."""
    chunks = (1, 1, 1, 1) if "vectors" in trial.facts["layout"][2] else (3, 1, 1)
    plain = [session(trial, chunks)]
    return [*plain, session(trial, SINGLY, window=WINDOW)] if "window" in trial.subject.offers else plain


def stable_calls(trial: Trial) -> Sequence[Call]:
    """A session whose first results are looked at again when it is over."""
    return [session(trial, (1, 1, 1, 1))]


def judge_stable(trial: Trial, study: Study, observed: Observed) -> None:
    """Compare what was handed out with what it is at the end, as far as it was written then."""
    ((call, outcome),) = observed
    if outcome.trouble:
        return trial.fail("cache-stable", call, detail=outcome.trouble)
    for n, end in enumerate(np.cumsum(call.options["chunks"]).tolist()):
        for name in ("keys", "values"):
            then, late = (outcome.arrays[f"{when}{name}_{n}"][..., :end, :] for when in ("", "late_"))
            cell = (0,) if then.shape != late.shape else differ(late, then, 0)
            if cell is not None:
                same = then.shape == late.shape
                numbers = (
                    {"cell": cell, "found": float(late[cell]), "right": float(then[cell])} if same else {}
                )
                named = {"mistake": CHANGES_THE_PAST.id, "did": CHANGES_THE_PAST.says, "array": name}
                detail = f"{name} of step {n}, looked at when all tokens had come"
                return trial.fail("cache-stable", call, **named, **numbers, detail=detail)
    return trial.pass_("cache-stable")


BESIDE = (
    one("cache-fresh", fresh_calls, Choice(
        SHARED.id, SHARED.rule, SHARED.says, {"write": with_other("k"), "write_v": with_other("v")})),
    Study("cache-stable", where_offered("cache-stable", stable_calls), (CHANGES_THE_PAST,),
          judge=judge_stable),
    Study("cache-count", where_offered("cache-count", count_calls), COUNTS, judge=judge_count),
    one("cache-layers", layer_calls, Choice(
        "cache-layers-shared", "cache-layers", "all layers write into one row of tokens",
        {"write": with_other("k"), "write_v": with_other("v")})),
    one("cache-rows", rows_calls,
        Choice("cache-not-reordered", "cache-rows", "the rows stay where they were",
               {"choose": lambda p: lambda state, rows: state}),
        Choice("cache-reordered-backwards", "cache-rows",
               "row i goes to the place that is named for it, and is not fetched",
               {"choose": lambda p: scattered}),
        Choice("cache-values-not-reordered", "cache-rows", "only the keys' rows are fetched",
               {"choose_v": lambda p: lambda state, rows: state})),
    one("cache-crop", crop_calls,
        Choice("cache-not-cropped", "cache-crop",
               "nothing is cut",
               {"cut": lambda p: lambda state, n: state}),
        Choice("cache-crop-keeps-last", "cache-crop", "the last n are kept, not the first",
               {"cut": lambda p: lambda state, n: state[..., -n:, :]}),
        Choice("cache-crop-drops", "cache-crop", "n tokens are dropped, not kept",
               {"cut": lambda p: lambda state, n: state[..., :-n, :]})),
    one("cache-window", window_calls,
        Choice("cache-ring", "cache-window",
               "the window is a ring: slot i holds the token whose position leaves i",
               {"show": ring}, ("cache-window", "ring")),
        Choice("cache-window-ignored", "cache-window",
               "all tokens are kept",
               {"keep": lambda p: lambda state: state}),
        Choice("cache-window-keeps-first", "cache-window", "the first tokens are kept, later ones lost",
               {"keep": lambda p: lambda state: state[..., : p.window, :]}),
        Choice("cache-window-one-more", "cache-window",
               "one token more than the window is kept",
               {"keep": of_window(1)}),
        Choice("cache-window-one-less", "cache-window",
               "one token less than the window is kept",
               {"keep": of_window(-1)})),
    one("cache-reset", reset_calls, Choice(
        "cache-not-reset", "cache-reset", "what was held before the reset is still there",
        {"clear": lambda p: lambda state, _: state})),
)  # fmt: skip
