"""How much memory a call takes beside its inputs, as the text grows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from riverhead.checking.rules.call import Call
from riverhead.checking.rules.report import Agreed, NotOffered
from riverhead.checking.rules.trial import Observed, Study, Trial

__all__ = ["MEMORY"]

SHORT = (128, 256)  # a loop over every pair in plain Python takes a second for the longer
LONG = (768, 1536)  # blocks of kernels are as large at the one as at the other
QUICK = 0.06  # CPU seconds at T = 256: no loop over every pair; such a function is asked the long ones
BETWEEN = 3.0  # twice the length: twice the bytes, or four times


def growing(trial: Trial) -> Sequence[Call]:
    """A call, and the same twice as long."""
    return [_call(trial, T) for T in SHORT]


def _call(trial: Trial, T: int) -> Call:
    """In the layout that kernels are made for, where it is offered, values as wide as keys."""
    leading = (1, 1) if "heads" in trial.offers else ()
    arrays = trial.qkv(*leading, T_q=T, T_k=T, d_v=trial.draw.sizes.d_k)
    return Call(arrays, want=("peak_bytes",))


def grown(trial: Trial, study: Study, observed: Observed) -> None:
    """Whether the bytes grow with T or with T·T; both are right."""
    if observed[-1][1].facts.get("cpu_seconds", QUICK) < QUICK:
        observed = [(call, trial.ask(call)) for call in (_call(trial, T) for T in LONG)]
    peaks = [int(outcome.facts.get("peak_bytes", 0)) for _, outcome in observed]
    if not all(peaks):
        trial.not_offered.append(NotOffered(study.name, "its peak memory could not be measured"))
        return
    squared = peaks[1] > BETWEEN * peaks[0]
    T = observed[-1][0].arrays["q"].shape[-2]
    one = T**2 * np.dtype(float).itemsize
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
