"""A module that takes its cache back: each step gives the last row of a pass over all tokens so far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riverhead.checking.rules.call import Call
from riverhead.checking.rules.judge import differ
from riverhead.checking.rules.report import NotOffered
from riverhead.checking.rules.trial import Observed, Trial

__all__ = ["judge_module", "module_calls"]

WIDEST = 64  # columns of x, of which a module takes what it needs
T, PROMPT = 5, 3
WITHIN = 2.0**-14  # times the largest number: a module computes in float32, through several products


def module_calls(trial: Trial) -> Sequence[Call]:
    """Single tokens; a prompt and single tokens; each beginning in one pass; tokens alone; the last three."""
    x = trial.draw.numbers("x", trial.draw.sizes.B, T, WIDEST)

    def call(first: int, end: int, *chunks: int) -> Call:
        return Call(
            {"x": x[:, first:end]}, {"chunks": list(chunks) or [end - first], "events": {}}, "float32"
        )

    sessions = [call(0, T, *(1,) * T), call(0, T, PROMPT, 1, 1)]
    passes = [call(0, t + 1) for t in range(T)]
    alone = [call(t, t + 1) for t in range(T)]
    return [*sessions, *passes, *alone, call(T - PROMPT, T)]


def judge_module(trial: Trial, asked: Sequence[str], observed: Observed) -> None:
    """Compare the rows of both sessions with the last rows of the passes."""
    trouble = next(((call, outcome.trouble) for call, outcome in observed if outcome.trouble), None)
    others = [id for id in asked if id != "cache-step"]
    trial.not_offered += [
        NotOffered(id, "is a module: what it holds is not seen, only what it gives") for id in others
    ]
    if trouble:
        return trial.fail("cache-step", trouble[0], detail=trouble[1])
    whole, alone, last = observed[2 : 2 + T], observed[2 + T : 2 + 2 * T], observed[-1]
    right = np.stack([_row(outcome.arrays["out_0"]) for _, outcome in whole], axis=-2)  # (B, T, d)
    lone = np.stack([_row(outcome.arrays["out_0"]) for _, outcome in alone], axis=-2)
    for call, outcome in observed[:2]:
        chunks = call.options["chunks"]
        found = np.stack([_row(outcome.arrays[f"out_{n}"]) for n in range(len(chunks))], axis=-2)
        rows = np.cumsum(chunks) - 1
        cell = _apart(found, right[..., rows, :])
        if cell is None:
            continue
        named = {}
        if _apart(found[..., 1:, :], lone[..., rows[1:], :]) is None:
            named = {
                "mistake": "cache-not-appended",
                "did": "each step sees its own tokens alone: nothing is kept",
            }
        elif (
            chunks[0] == PROMPT
            and _apart(found[..., -1:, :], _row(last[1].arrays["out_0"])[..., None, :]) is None
        ):
            did = "no more tokens are kept than the first piece had: the oldest go"
            named = {"mistake": "cache-drops-oldest", "did": did}
        *leading, n, c = cell
        place = (*leading, int(rows[n]), c)
        numbers = {"found": float(found[cell]), "right": float(right[place])}
        detail = "right is the last row of a pass over all tokens so far"
        return trial.fail("cache-step", call, **named, cell=place, **numbers, detail=detail)
    return trial.pass_("cache-step")


def _row(x: NDArray[Any]) -> NDArray[Any]:
    """The last token's row."""
    row: NDArray[Any] = x[..., -1, :]
    return row


def _apart(found: NDArray[Any], right: NDArray[Any]) -> tuple[int, ...] | None:
    return differ(found, right, WITHIN * max(1.0, float(np.abs(right).max())))
