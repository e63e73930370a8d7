"""How much memory a call takes beside its inputs, as the text grows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from riverhead.checking.rules.call import Call
from riverhead.checking.rules.report import Agreed, NotOffered
from riverhead.checking.rules.trial import Observed, Study, Trial

__all__ = ["MEMORY"]

LENGTHS = (64, 128, 256)  # a loop in plain Python takes a second for the longest
BETWEEN = 3.0  # twice the length: twice the bytes, or four times


def growing(trial: Trial) -> Sequence[Call]:
    """One call, and the same twice and four times as long."""
    return [Call(trial.qkv(T_q=T, T_k=T), want=("peak_bytes",)) for T in LENGTHS]


def grown(trial: Trial, study: Study, observed: Observed) -> None:
    """Whether the bytes grow with T or with T·T; both are right."""
    peaks = [int(outcome.facts.get("peak_bytes", 0)) for _, outcome in observed]
    if not all(peaks):
        trial.not_offered.append(NotOffered(study.name, "its peak memory could not be measured"))
        return
    squared = peaks[2] - peaks[1] > BETWEEN * (peaks[1] - peaks[0])
    T, one = LENGTHS[-1], LENGTHS[-1] ** 2 * np.dtype(float).itemsize
    says = f"at T = {T} a call takes {peaks[-1] / one:.2g} times the bytes of {T} × {T} scores in float64"
    found = Agreed("memory", "T×T" if squared else "linear", says)
    if trial.wanted(found.aspect, found.name):
        trial.agree(found)
        trial.pass_(study.name)
    else:
        trial.fail(study.name, observed[-1][0], detail=f"{says}; {trial.expect[found.aspect]} was asked for")


MEMORY = Study(
    "memory", growing, judge=grown, optional=True,
    usual=(Agreed("memory", "T×T", "bytes grow with T·T"), Agreed("memory", "linear", "bytes grow with T")),
)  # fmt: skip
