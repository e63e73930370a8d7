"""Sessions of a cache: what is given, in pieces, and what came back, as one array to be compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from riverhead.checking.rules.call import Call, Outcome
from riverhead.checking.rules.pipeline import follow
from riverhead.checking.rules.rule import Choice
from riverhead.checking.rules.studies.memory_steps import CACHE, pieces, roomy
from riverhead.checking.rules.trial import Observed, Trial

__all__ = ["LAYOUTS", "LOOSE", "STORE", "begun", "case", "session", "shown", "whole_room"]

STORE = "keys and values back"  # what is offered by what holds, and does not attend
Layout = tuple[str, tuple[str, ...], dict[str, Any]]
LAYOUTS: tuple[Layout, ...] = (  # leading axes, and how the adapter hands them over
    ("BHTd", ("B", "H"), {}),
    ("BTHd", ("B", "H"), {"tokens_first": True}),
    ("Td", (), {}),
    ("d", (), {"vectors": True}),
)
NEAR = 2.0**-20  # relative: a cache may keep float32
LOOSE = Choice("float32", "", "", loose=NEAR)


def session(trial: Trial, chunks: Sequence[int], name: str = "", B: int = 0, **options: Any) -> Call:
    """Tokens that come in pieces, in the layout that was found."""
    _, leading, how = trial.facts.get("layout", LAYOUTS[0])
    s, T = trial.draw.sizes, sum(chunks)
    axes = [{"B": B or s.B, "H": s.H}[axis] for axis in leading]
    arrays = {side: trial.draw.numbers(side + name, *axes, T, s.d_k) for side in "qkv"}
    return Call(arrays, {"chunks": list(chunks), "events": {}, **how, **options})


def case(trial: Trial, call: Call, outcome: Outcome) -> tuple[Call, Outcome]:
    """A session as `follow` works it out, and everything that came back in one array."""
    steps = STORE not in trial.subject.offers
    given = Call(call.arrays, {"window": None, **call.options, "steps": steps}, call.dtype)
    if outcome.trouble:
        return given, outcome
    n = len(call.options["chunks"])
    if steps:
        out = np.concatenate([outcome.arrays[f"out_{i}"] for i in range(n)], axis=-2)
    else:
        arrays = [outcome.arrays[f"{name}_{i}"] for i in range(n) for name in ("keys", "values")]
        out = np.concatenate([np.concatenate([x.shape, np.ravel(x)]) for x in arrays])
    return given, replace(outcome, arrays={"out": out})


def whole_room(call: Call, outcome: Outcome) -> int:
    """How many slots a store gives back where it gives more than were written; else 0."""
    if outcome.trouble or call.options["steps"]:
        return 0
    room, chunks = int(outcome.out[call.arrays["k"].ndim - 2]), call.options["chunks"]
    return room if room > sum(chunks) else 0


def begun(call: Call, outcome: Outcome) -> tuple[Call, Outcome]:
    """A session that is taken to begin with whatever stands before its first tokens."""
    keys, values, *_ = parts_of(call, outcome)
    n = max(keys.shape[-2] - call.options["chunks"][0], 0)
    others = {"other_k": keys[..., :n, :], "other_v": values[..., :n, :]}
    return Call({**call.arrays, **others}, call.options, call.dtype), outcome


def room_of(room: int) -> list[Choice]:
    """The way of who gives back the whole room, if anyone does."""
    return [Choice("room", "", "", {"show": roomy(room)})] if room else []


def shown(cases: Observed, known: Sequence[Choice]) -> dict[str, Any]:
    """The first step whose keys, values or output are not what they should be."""
    for call, outcome in cases:
        right = follow(call, known, CACHE)
        wanted = (
            [("out", x) for x in pieces(right.out, call.options["chunks"])] if call.options["steps"]
            else [(name, x) for step in zip(right.keys, right.values, strict=True)
                  for name, x in zip(("keys", "values"), step, strict=True)]
        )  # fmt: skip
        if found := _first(wanted, parts_of(call, outcome), ", ".join(map(str, call.options["chunks"]))):
            return found
    return {}


def parts_of(call: Call, outcome: Outcome) -> list[Any]:
    """What came back, step by step."""
    if call.options["steps"]:
        return pieces(np.asarray(outcome.out), call.options["chunks"])
    found, rest, rank = [], np.asarray(outcome.out), call.arrays["k"].ndim
    while rest.size:
        shape = tuple(map(int, rest[:rank]))
        size = int(np.prod(shape))
        found.append(rest[rank : rank + size].reshape(shape))
        rest = rest[rank + size :]
    return found


def _first(wanted: list[tuple[str, Any]], found: list[Any], chunks: str) -> dict[str, Any]:
    a_step = len(wanted) // len(chunks.split(", "))
    for place, ((name, right), got) in enumerate(zip(wanted, found, strict=True)):
        when = f"tokens came {chunks} at a time; after step {place // a_step}"
        if got.shape != right.shape:
            return {"array": name, "detail": f"{when} {name} are {got.shape}, not {right.shape}"}
        apart = np.argwhere(~np.isclose(got, right, rtol=0, atol=4 * NEAR))
        if len(apart):
            cell = tuple(map(int, apart[0]))
            return {
                "cell": cell,
                "array": name,
                "found": float(got[cell]),
                "right": float(right[cell]),
                "detail": when,
            }
    return {}
