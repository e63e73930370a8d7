"""What a module of several heads is asked: by value first, and then what no value shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riverhead.checking.rules.call import Call, Outcome
from riverhead.checking.rules.draw import Draw, Sizes
from riverhead.checking.rules.judge import explain
from riverhead.checking.rules.report import Agreed
from riverhead.checking.rules.rule import Choice
from riverhead.checking.rules.studies.module_steps import HEADS
from riverhead.checking.rules.studies.module_ways import AGREED, CONTEXT, FLOAT32, PACKED, STORED, WAYS
from riverhead.checking.rules.studies.place import CAUSAL_WAYS
from riverhead.checking.rules.trial import Observed, Study, Trial, by_value

__all__ = ["VALUES", "call_of", "drawn"]

Array = NDArray[Any]


def described(trial: Trial) -> None:
    """Look at the module once, before anything else: how many heads it has, in which shapes it keeps what."""
    if "parameters" in trial.facts:
        return
    outcome = trial.ask(Call({}, want=("parameters",)))
    trial.facts |= outcome.facts
    trial.facts["time_first"] |= trial.expect.get("layout") == TIME_FIRST.name
    trial.steps, trial.draw = HEADS, Draw(_apart(trial, outcome), trial.draw.seed)
    trial.facts["parameters"] = {name: drawn(trial, name, x.shape) for name, x in outcome.arrays.items()}


def _apart(trial: Trial, outcome: Outcome) -> Sizes:
    """The trial's sizes with the module's own, and with lengths and a batch that are no number of heads."""
    s, H, G = trial.draw.sizes, int(outcome.facts["n_heads"]), int(outcome.facts["n_kv_heads"])
    width = outcome.arrays["W_q"].shape[1] // H
    taken = {1, H, G}
    found = {}
    for name, wanted in (("T_k", s.T_k), ("T_q", s.T_q), ("B", s.B)):
        found[name] = next(n for n in count(wanted) if n not in taken)
        taken.add(found[name])
    T_q, T_k = sorted((found["T_q"], found["T_k"]))
    return replace(s, H=H, G=G, d_k=width, d_v=width, B=found["B"], T_q=T_q, T_k=T_k)


def drawn(trial: Trial, name: str, shape: tuple[int, ...]) -> Array:
    """Draw a matrix that keeps x about as large as it is, so that no softmax is all on one key; or a bias."""
    numbers = trial.draw.numbers(name, *shape)
    rows = shape[0] if len(shape) == 2 else 1
    return np.asarray(numbers * 2.0 ** -np.ceil(np.log2(rows) / 2 + 1))


def call_of(trial: Trial, T: int, S: int | None = None, B: int | None = None, **more: Any) -> Call:
    """A call with parameters and an x of T tokens; keys and values come from S others where that is given."""
    described(trial)
    parameters, facts = trial.facts["parameters"], trial.facts
    axes = (B or trial.draw.sizes.B,) if facts["batch"] else ()
    d_model = len(parameters["W_q"])
    arrays = {"x": trial.draw.numbers("x", *axes, T, d_model)}
    if S is not None:
        arrays["context"] = trial.draw.numbers("context", *axes, S, d_model)
    options = {name: facts[name] for name in ("n_heads", "n_kv_heads", "time_first")}
    options |= more.pop("options", {})
    return Call({**arrays, **more.pop("arrays", {}), **parameters}, options, **more)


def calls(trial: Trial) -> Sequence[Call]:
    """Some samples of one length, and of another."""
    s = trial.draw.sizes
    return [call_of(trial, s.T_k), call_of(trial, s.T_q)]


def ways_of(trial: Trial) -> tuple[Choice, ...]:
    """Return the ways that this module could go: some need packed columns, some plain matrices."""
    facts = trial.facts
    ways: list[Choice] = [*WAYS, *AGREED]
    if facts["packed"]:
        ways = [*PACKED, *(way for way in ways if way.id not in ("projections-swapped", "scores-transposed"))]
    if facts["plain"] and not facts["turned"]:
        ways.append(STORED)
    if not facts["batch"]:
        ways = [way for way in ways if way.rule != "samples"]
    if trial.always_causal:
        ways += CAUSAL_WAYS
    return tuple(ways)


def usual_of(trial: Trial) -> tuple[Agreed, ...]:
    """Return what is kept unless something else is found, as far as it says anything."""
    kept = {agreed.aspect: agreed for agreed in USUAL}
    if not trial.facts["batch"]:
        kept.pop("layout")
    elif trial.facts["time_first"]:
        kept["layout"] = TIME_FIRST
    if trial.facts["plain"] and trial.facts["turned"]:
        kept["matrices"] = Agreed(*STORED.agreed, STORED.says) if STORED.agreed else kept["matrices"]
    elif not trial.facts["plain"]:
        kept.pop("matrices")
    if not trial.facts["packed"]:
        kept.pop("packing")
    return tuple(kept.values())


def judge(trial: Trial, study: Study, observed: Observed) -> None:
    """Judge by value, by those ways that this module could go; what is agreed upon counts as right first."""
    ways = ways_of(trial)
    found = explain(observed, trial.known, ways, trial.steps)
    if found is None and not trial.always_causal and "causal" not in trial.offers:
        causal = [(replace(call, options={**call.options, "causal": True}), o) for call, o in observed]
        found = explain(causal, trial.known, ways, trial.steps)
        if found is not None:  # causal by what it is; a mistake carries what comes later to earlier rows
            trial.facts["offers"] = frozenset({"always_causal"})
            observed = causal
    if found is None:
        found = explain(observed, trial.known, (*ways, ROUNDED), trial.steps)
    agreed = [way for way in found or () if way.agreed is not None and trial.wanted(*way.agreed)]
    kept = {each.aspect: each for each in usual_of(trial)}
    kept |= {way.agreed[0]: Agreed(*way.agreed, way.says) for way in agreed if way.agreed is not None}
    trial.known += agreed
    rest = tuple(way for way in found or () if way not in agreed)
    by_value(trial, replace(study, ways=rest, usual=tuple(kept.values())), observed)


def cross_calls(trial: Trial) -> Sequence[Call]:
    """Keys and values from another text, as long as x and, where that fits, longer."""
    s = trial.draw.sizes
    longer = [call_of(trial, s.T_q, s.T_k)] if "cross" in trial.offers else []
    return [call_of(trial, s.T_k, s.T_k), *longer]


ROUNDED = Choice("kept-in-float32", "definition", "results keep the digits of float32: the softmax is in it",
                 agreed=("precision", "float32"), loose=FLOAT32)  # fmt: skip
TIME_FIRST = Agreed("layout", "time-first", "x is (T, B, d_model)")
USUAL = (
    Agreed("layout", "batch-first", "x is (B, T, d_model)"),
    Agreed("matrices", "in-by-out", "matrices are stored (in, out): x @ W"),
    Agreed("packing", "qkv", "the packed columns are those of q, k, v"),
    Agreed("positions", "none", "no positions are added"),
)
VALUES = (
    Study("plain", calls, (*WAYS, *AGREED, *PACKED, STORED), (*USUAL, TIME_FIRST), judge),
    Study("module", calls),
    Study("heads", calls),
    Study("grouped", calls),
    Study("context", cross_calls, CONTEXT, optional=True),
)
