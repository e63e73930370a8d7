"""Two small parts: the positions of padded rows, and two partial results of attention made one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from riverhead.checking.rules.call import Call, Outcome
from riverhead.checking.rules.judge import differ, explain
from riverhead.checking.rules.pipeline import follow
from riverhead.checking.rules.report import Agreed, NotOffered
from riverhead.checking.rules.rule import Change, Choice
from riverhead.checking.rules.trial import Observed, Study, Trial

__all__ = ["MERGE", "MERGE_STUDIES", "MERGE_WAYS", "PLACES", "PLACE_WAYS", "POSITION_STUDIES"]

LOOSE = Choice("float32", "", "", loose=2.0**-18)  # a part may keep float32


def judged(trial: Trial, cases: Observed, ways: Sequence[Choice], steps: Mapping[str, Change]) -> None:
    """Name what was done otherwise; the first rule asked is broken where nobody knows."""
    call = cases[0][0]
    asked = [rule.id for rule in trial.rules_of(trial.facts["study"]) if not trial.said(rule.id)]
    known = [LOOSE, *trial.known]
    found = explain(cases, known, ways, steps)
    shown = next((cell for given, got in cases if (cell := _cell(given, got, known, steps))), {})
    if found is None:
        trial.fail(asked[0], call, **shown)
        trial.not_judged += [NotOffered(id, f"follows from {asked[0]}") for id in asked[1:]]
    for way in found or ():
        if way.agreed and trial.wanted(*way.agreed):
            trial.agree(Agreed(*way.agreed, way.says))
            trial.known.append(way)
        else:
            trial.fail(way.rule, call, mistake=way.id, did=way.says, **shown)
    trial.pass_(*asked)


def _cell(
    call: Call, outcome: Outcome, known: Sequence[Choice], steps: Mapping[str, Change]
) -> dict[str, Any]:
    if outcome.trouble:
        return {"detail": outcome.trouble}
    right = np.asarray(follow(call, known, steps).out)
    if right.shape != outcome.out.shape:
        return {"detail": f"the shape is {outcome.out.shape}, not {right.shape}"}
    cell = differ(outcome.out, right, 1e-5)
    if cell is None:
        return {}
    return {"cell": cell, "found": float(outcome.out[cell]), "right": float(right[cell])}


# ---------------------------------------------------------------- positions of padded rows

PLACES: Mapping[str, Change] = {
    "counted": lambda p: np.cumsum(p.mask, axis=-1) - 1,  # (B, T)
    "next": lambda p: p.mask.sum(axis=-1),  # (B,): where the next token of each row goes
    "out": lambda p: np.where(p.mask, p.counted, 0) if p.rows else p.next,  # of padding, anything
}
PLACE_WAYS = (
    Choice("positions-from-one", "positions-real", "the first token stands at position 1",
           {"counted+": lambda p: p.counted + 1}, ("positions-start", "1")),
    Choice("positions-arange", "positions-real", "every row counts from its first column, padding too",
           {"counted": lambda p: np.broadcast_to(np.arange(p.mask.shape[-1]), p.mask.shape),
            "next": lambda p: np.full(len(p.mask), p.mask.shape[-1])}),
    Choice("positions-over-batch", "positions-real",
           "the mask is summed down the samples, not along the tokens",
           {"counted": lambda p: np.cumsum(p.mask, axis=0) - 1}),
    Choice("positions-backwards", "positions-real", "positions count down from the end of the row",
           {"counted": lambda p: np.cumsum(p.mask[:, ::-1], axis=-1)[:, ::-1] - 1}),
    Choice("positions-shifted-all", "positions-real", "every row is shifted as the most padded one is",
           {"counted": lambda p: np.arange(p.mask.shape[-1]) - p.mask.argmax(axis=-1).max()}),
)  # fmt: skip


def position_calls(trial: Trial) -> Sequence[Call]:
    """Rows padded on the left by different lengths, on the right, and not at all."""
    T = trial.draw.sizes.T_k + 3
    left = np.arange(T) >= np.array([2, 0, 1])[:, None]
    right = np.arange(T) < np.array([3, T, T - 1])[:, None]
    return [Call({"mask": mask}, {"rows": True}) for mask in (left, right, np.ones((3, T), bool))]


def judge_positions(trial: Trial, study: Study, observed: Observed) -> None:
    """Compare the positions of real tokens; of a function that gives one number a row, the next positions."""
    trial.facts["study"] = study
    cases = []
    for call, outcome in observed:
        rows = outcome.trouble != "" or outcome.out.ndim > 1
        given = Call(call.arrays, {"rows": rows})
        if rows and not outcome.trouble and outcome.out.shape == call.arrays["mask"].shape:
            outcome = replace(outcome, arrays={"out": np.where(call.arrays["mask"], outcome.out, 0)})
        cases.append((given, outcome))
    judged(trial, cases, PLACE_WAYS, PLACES)


FROM_ZERO = Agreed("positions-start", "0", "the first token stands at position 0")
POSITION_STUDIES = (Study("positions", position_calls, PLACE_WAYS, (FROM_ZERO,), judge_positions),)

# ---------------------------------------------------------------- two partial results made one


def weighed(p: SimpleNamespace) -> Any:
    """The outputs by their sums, the larger taken off; nothing where both are empty."""
    total = p.of_a + p.of_b
    both = p.of_a[..., None] * p.out_a + p.of_b[..., None] * p.out_b
    return np.where(total[..., None] > 0, both / np.where(total > 0, total, 1)[..., None], 0)


def divided(p: SimpleNamespace) -> Any:
    """The same, divided by whatever the sum is."""
    both = p.of_a[..., None] * p.out_a + p.of_b[..., None] * p.out_b
    return both / (p.of_a + p.of_b)[..., None]


MERGE: Mapping[str, Change] = {
    "log_base": lambda p: 1.0,  # the natural logarithm: ln e
    "most": lambda p: np.maximum(p.lse_a, p.lse_b),
    "top": lambda p: np.where(np.isfinite(p.most), p.most, 0),
    "of_a": lambda p: np.exp((p.lse_a - p.top) * p.log_base),
    "of_b": lambda p: np.exp((p.lse_b - p.top) * p.log_base),
    "merged": weighed,  # (..., T, d)
    "lse": lambda p: p.top + np.log(p.of_a + p.of_b) / p.log_base,  # (..., T)
    "out": lambda p: np.concatenate([p.merged, p.lse[..., None]], axis=-1),  # the last column is lse
}
MERGE_WAYS = (
    Choice("merge-base-2", "merge-lse", "sums are kept as logarithms to base 2",
           {"log_base": lambda p: np.log(2.0)}, ("merge-base", "2")),
    Choice("merge-average", "merge-weights", "the outputs are averaged, whatever their sums",
           {"merged": lambda p: (p.out_a + p.out_b) / 2}),
    Choice("merge-sum", "merge-weights", "the outputs are added",
           {"merged": lambda p: p.out_a + p.out_b}),
    Choice("merge-not-divided", "merge-weights",
           "the weighed outputs are not divided by the sum of both weights",
           {"merged+": lambda p: p.merged * ((p.of_a + p.of_b) * np.exp(p.top))[..., None]}),
    Choice("merge-not-divided-by-total", "merge-weights",
           "weights are taken against the larger sum, and not divided by both",
           {"merged+": lambda p: p.merged * (p.of_a + p.of_b)[..., None]}),
    Choice("merge-by-lse", "merge-weights", "the outputs are weighed by the logarithms, not by the sums",
           {"merged": lambda p: (p.lse_a[..., None] * p.out_a + p.lse_b[..., None] * p.out_b)
            / (p.lse_a + p.lse_b)[..., None]}),
    Choice("merge-swapped", "merge-weights", "each output gets the other one's weight",
           {"merged": lambda p: weighed(SimpleNamespace(of_a=p.of_b, of_b=p.of_a,
                                                        out_a=p.out_a, out_b=p.out_b))}),
    Choice("merge-takes-larger", "merge-weights", "only the part with the larger sum is kept",
           {"merged": lambda p: np.where((p.lse_a >= p.lse_b)[..., None], p.out_a, p.out_b)}),
    Choice("merge-lse-largest", "merge-lse", "the larger of the two is taken for the log-sum-exp of both",
           {"lse": lambda p: p.most}),
    Choice("merge-lse-added", "merge-lse", "the logarithms are added",
           {"lse": lambda p: p.lse_a + p.lse_b}),
    Choice("merge-lse-shifted", "merge-lse", "the larger sum is not put back after it was taken off",
           {"lse+": lambda p: p.lse - p.top}),
    Choice("merge-lse-averaged", "merge-lse", "the logarithms are averaged",
           {"lse": lambda p: (p.lse_a + p.lse_b) / 2}),
)  # fmt: skip
FAR = tuple(
    Choice("merge-without-maximum", "merge-far", "exp is taken of log-sum-exps as they are: it overflows",
           {"top": lambda p: np.zeros_like(p.most), "merged": how})
    for how in (weighed, divided)
)  # fmt: skip
NAN = (
    Choice("merge-nan", "merge-empty", "−∞ is taken off −∞: two empty parts give NaN",
           {"top": lambda p: p.most, "merged": divided}),
    Choice("merge-nan-out", "merge-empty", "the output of two empty parts is 0/0, NaN", {"merged": divided}),
)  # fmt: skip


def merge_calls(trial: Trial) -> Sequence[Call]:
    """Two parts of several rows."""
    s = trial.draw.sizes
    arrays = {f"out_{side}": trial.draw.numbers(f"out_{side}", s.T_k, s.d_v) for side in "ab"}
    lse = {f"lse_{side}": trial.draw.numbers(f"lse_{side}", s.T_k) for side in "ab"}
    return [Call({**arrays, **lse})]


def far_calls(trial: Trial) -> Sequence[Call]:
    """Sums beyond what exp can hold, and below."""
    ((call),) = merge_calls(trial)
    return [Call({**call.arrays, **{f"lse_{side}": call.arrays[f"lse_{side}"] + by for side in "ab"}})
            for by in (2000.0, -2000.0)]  # fmt: skip


def empty_calls(trial: Trial) -> Sequence[Call]:
    """The second part empty, the first, and both; the outputs of empty parts are 0."""
    ((call),) = merge_calls(trial)

    def emptied(sides: str) -> Call:
        none = {f"lse_{side}": np.full_like(call.arrays["lse_a"], -np.inf) for side in sides}
        return Call(
            {**call.arrays, **none, **{f"out_{side}": np.zeros_like(call.arrays["out_a"]) for side in sides}}
        )

    return [emptied(sides) for sides in ("b", "a", "ab")]


def merged(ways: Sequence[Choice]) -> Any:
    """Judge outputs and sums together."""

    def judge(trial: Trial, study: Study, observed: Observed) -> None:
        trial.facts["study"] = study
        judged(trial, observed, ways, MERGE)

    return judge


NATURAL = Agreed("merge-base", "e", "sums are kept as natural logarithms")
MERGE_STUDIES = (
    Study("merge", merge_calls, MERGE_WAYS, (NATURAL,), merged(MERGE_WAYS)),
    Study("merge-far", far_calls, FAR, judge=merged(FAR)),
    Study("merge-empty", empty_calls, NAN, judge=merged(NAN)),
)
