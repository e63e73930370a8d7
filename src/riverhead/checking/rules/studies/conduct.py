"""How a function behaves, whatever it computes: the same again, its inputs as they were, however they lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riverhead.checking.rules.call import Call, Outcome
from riverhead.checking.rules.judge import agree, differ, dtype_of, loosest, tolerance
from riverhead.checking.rules.report import NotOffered
from riverhead.checking.rules.studies.hiding import form_of, speckled
from riverhead.checking.rules.trial import Observed, Study, Trial

__all__ = ["CONDUCT", "REPEAT", "near"]

Array = NDArray[Any]

MANY = 16  # queries and keys: 256 weights a call, of which a dropout of 1 in 50 leaves its mark
AGAIN = 4  # times that the same call is made
RATE = 0.5  # of a dropout that is asked for and must do nothing
HOWS = {"strided": "stored in the reverse order of axes, every other number", "reversed": "stored backwards",
        "expanded": "stored once where nothing changes"}  # fmt: skip


# The same call again


def square(trial: Trial, name: str) -> dict[str, Array]:
    """q, k and v of one size; v is the identity, so that the output is the weights."""
    return {
        "q": trial.draw.numbers(f"q {name}", MANY, MANY),
        "k": trial.draw.numbers(f"k {name}", MANY, MANY),
        "v": np.eye(MANY),
    }


def again(trial: Trial) -> Sequence[Call]:
    """A call, another between, and the first some times more."""
    first, between = Call(square(trial, "first")), Call(square(trial, "between"))
    return [first, between, *[first] * AGAIN]


def repeatable(trial: Trial, study: Study, observed: Observed) -> None:
    """Whether it runs, whether the same call gives the same, and if not, why."""
    troubled = next(((call, outcome) for call, outcome in observed if outcome.trouble), None)
    if troubled is not None:
        trial.fail("runs", troubled[0], detail=troubled[1].trouble)
        _nothing_more(trial, "runs", ("dropout", "repeatable"))
        return
    trial.pass_("runs")
    call, first = observed[0]
    outs = [first.out, *(outcome.out for _, outcome in observed[2:])]
    dropped = rate_of(outs)
    if dropped:
        cell, found, right = _first_dropped(outs)
        trial.fail(
            "dropout", call, mistake="dropout-in-evaluation", cell=cell, found=found, right=right,
            did=f"weights are dropped at random, in a call that trains nothing: about {dropped:.0%} of them",
        )  # fmt: skip
        _nothing_more(trial, "dropout", ("repeatable",))
        return
    trial.pass_("dropout")
    _same(trial, observed)
    trial.pass_("repeatable")


def _nothing_more(trial: Trial, id: str, others: Sequence[str]) -> None:
    """No value can be judged after this."""
    trial.lost = id
    trial.not_judged += [NotOffered(other, f"follows from {id}") for other in others if not trial.said(other)]


def _same(trial: Trial, observed: Observed) -> None:
    """Whether the first call and its repetitions give the same bits."""
    (call, first), (between, other), *later = observed
    if np.array_equal(first.out, other.out):
        did = "other arrays give the result of the first call again"
        trial.fail("repeatable", between, mistake="result-kept", did=did)
        trial.lost = "repeatable"
        return
    apart = next((each for _, outcome in later if (each := _apart(outcome, first, 0.0))), None)
    if apart is not None:
        named = {"mistake": "keys-kept", "did": "keys and values of earlier calls are still attended to"}
        trial.fail("repeatable", call, **(named if _kept(observed) else {}), **apart)
        trial.lost = "repeatable"


def _kept(observed: Observed) -> bool:
    """Whether the third result is attention to the keys of all three calls."""
    calls, third = [call for call, _ in observed[:3]], observed[2][1]
    long = {name: np.concatenate([call.arrays[name] for call in calls]) for name in "kv"}
    return agree(Call({"q": calls[2].arrays["q"], **long}), third, ())


def rate_of(outs: Sequence[Array]) -> float:
    """Return how much dropout explains that results differ: numbers are 0 at times, and else the same; or 0.

    Numbers here are weights, each the output of one key alone.

    >>> rate_of([np.array([0.5, 0.0]), np.array([0.5, 1.0])]), rate_of([np.eye(2), np.eye(2) / 3])
    (0.25, 0.0)
    """
    if len({out.shape for out in outs}) > 1:
        return 0.0
    all_outs = np.stack(outs)
    largest = all_outs.max(axis=0)
    near = np.abs(all_outs - largest) <= tolerance(largest, all_outs.dtype)
    zero = (all_outs == 0) & (largest != 0)
    return float(zero.mean()) if zero.any() and (near | zero).all() else 0.0


def _first_dropped(outs: Sequence[Array]) -> tuple[tuple[int, ...], float, float]:
    """The first cell that is 0 in one call and not in another: where, what was found, what comes else."""
    all_outs = np.stack(outs)
    largest = all_outs.max(axis=0)
    cells = np.argwhere(((all_outs == 0) & (largest != 0)).any(axis=0))
    cell = tuple(map(int, cells[0]))
    return cell, 0.0, float(largest[cell])


# A dropout that is asked for


def with_dropout(trial: Trial) -> Sequence[Call]:
    """No dropout, and then some, in evaluation."""
    arrays = square(trial, "first")
    return [Call(arrays), *[Call(arrays, {"dropout": RATE})] * AGAIN]


def dropped(trial: Trial, study: Study, observed: Observed) -> None:
    """A rate of dropout changes nothing where nothing is trained."""
    (_, without), *asked = observed
    for call, outcome in asked:
        apart = differ(outcome.out, without.out, 0.0)
        if apart is not None:
            named = _thinned(outcome.out, without.out)
            trial.fail(
                study.name, call, mistake="dropout-in-evaluation" if named else "",
                did=f"a dropout of {RATE:g} drops weights in evaluation too" if named else "",
                cell=apart, found=float(outcome.out[apart]), right=float(without.out[apart]),
            )  # fmt: skip
            return
    trial.pass_(study.name)


def _thinned(found: Array, right: Array) -> bool:
    """Whether some weights are 0 and all others the right ones, times one factor."""
    kept = found != 0
    if kept.all() or not kept.any():
        return False
    times = found[kept] / right[kept]
    return bool(np.ptp(times) <= tolerance(times, found.dtype))


# Inputs


def looked_at(trial: Trial) -> Sequence[Call]:
    """Inputs that are looked at afterwards: alone, and with all that may be handed over beside."""
    s, offers = trial.draw.sizes, trial.offers
    calls = [Call(trial.qkv())]
    if "mask" in offers:
        masked = {**trial.qkv(), "mask": speckled(trial, "mask", s.T_k, s.T_k, oneself=True)}
        calls.append(Call(masked, form_of(trial, "mask")))
    if "causal" in offers:
        calls += [replace(call, options={**call.options, "causal": True}) for call in calls]
    return [replace(call, want=("inputs",)) for call in calls]


def unchanged(trial: Trial, study: Study, observed: Observed) -> None:
    """Whether every array that was handed over is as it was."""
    for call, outcome in observed:
        for name in call.arrays:
            if name not in outcome.arrays:  # not brought back, or the call raised
                continue
            was, now = call.arrays[name].astype(float), outcome.arrays[name].astype(float)
            cell = differ(now, was, 0.0) if now.shape == was.shape else None
            if cell is not None:
                trial.fail(
                    study.name, call, mistake="inputs-changed", did=f"{name} is changed in place",
                    array=name, cell=cell, found=float(now[cell]), right=float(was[cell]),
                )  # fmt: skip
                return
    trial.pass_(study.name)


# How arrays lie


def laid(trial: Trial) -> Sequence[Call]:
    """The same numbers, plain and lying otherwise; expanded, k and v are those of the first for all."""
    s, offers = trial.draw.sizes, trial.offers
    leading = (s.B, s.H) if "heads" in offers else (s.B,) if "batch" in offers else ()
    arrays = trial.qkv(*leading)
    first = {name: arrays[name][:1] for name in "kv" if leading}
    once = arrays | {name: np.broadcast_to(x, arrays[name].shape).copy() for name, x in first.items()}
    calls = []
    for how in ("strided", "reversed", "expanded"):
        if how in offers:
            given = once if how == "expanded" else arrays
            calls += [Call(given), Call(given, how=how)]
    return calls


def as_plain(trial: Trial, study: Study, observed: Observed) -> None:
    """Whether a view gives what the plain array gives."""
    for (_, plain), (call, view) in zip(observed[::2], observed[1::2], strict=True):
        if view.error and not plain.trouble:  # refused aloud: nobody gets another result
            trial.not_offered.append(NotOffered(study.name, view.error))
            return
        found = _apart(view, plain, near(trial, plain))
        if found is not None:
            did = f"arrays that are {HOWS[call.how]}, give another result than the same numbers in a row"
            trial.fail(study.name, call, mistake="strides-ignored", did=did, **found)
            return
    trial.pass_(study.name)


def near(trial: Trial, outcome: Outcome) -> float:
    """How far results of one function may lie apart whose sums run in another order, or in fewer digits."""
    return tolerance(outcome.out, dtype_of(outcome), loosest(trial.known))


def _apart(found: Outcome, right: Outcome, within: float) -> dict[str, Any] | None:
    """Where a result differs from another of the same function by more than ``within``."""
    if found.trouble or right.trouble:
        return {"detail": found.trouble} if found.trouble and not right.trouble else None
    if found.out.shape != right.out.shape:
        return {"detail": f"out has the shape {found.out.shape}, not {right.out.shape}"}
    cell = differ(found.out, right.out, within)
    if cell is None:
        return None
    return {"cell": cell, "found": float(found.out[cell]), "right": float(right.out[cell])}


# The order of keys


def reordered(trial: Trial) -> Sequence[Call]:
    """Keys with their values, and the same in another order."""
    if trial.always_causal:
        return []
    arrays = trial.qkv()
    other = {name: x if name == "q" else x[::-1].copy() for name, x in arrays.items()}
    return [Call(arrays), Call(other)]


def unordered(trial: Trial, study: Study, observed: Observed) -> None:
    """Whether the order of keys changes nothing."""
    (_, right), (call, found) = observed
    apart = _apart(found, right, near(trial, right))
    if apart is not None:
        trial.fail(study.name, call, did="a key's place changes what it is worth", **apart)
    trial.pass_(study.name)


REPEAT = Study("repeat", again, judge=repeatable)
CONDUCT = (
    Study("dropout-option", with_dropout, judge=dropped, optional=True),
    Study("inputs-unchanged", looked_at, judge=unchanged),
    Study("strides", laid, judge=as_plain),
    Study("order", reordered, judge=unordered, optional=True),
)
