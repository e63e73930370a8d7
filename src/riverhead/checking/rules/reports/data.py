"""A report as JSON holds it: everything, with words for the numbers that JSON lacks."""

from __future__ import annotations

import math
from typing import Any

from riverhead.checking.rules.reports.reproduce import reproduce
from riverhead.checking.rules.reports.standing import Standing
from riverhead.numbers import plain

__all__ = ["data"]


def data(standing: Standing) -> dict[str, Any]:
    """Return the report, of each failure who accepts it and a script, the stale lines and the summary."""
    report, known = standing.report, standing.known
    accepted = {failure.rule: {"line": line.line, "why": line.why} for failure, line in standing.accepted}
    whole = report.to_dict()
    for failure, written in zip(report.failed, whole["failed"], strict=True):
        written["accepted"] = accepted.get(failure.rule)
        written["reproduce"] = reproduce(report, failure)
        del written["script"]
    stale = [{"line": x.line, "rule": x.rule, "says": known.says(x, report)} for x in standing.stale]
    found: dict[str, Any] = _plain(
        {**whole, "fine": standing.fine, "stale": stale, "summary": standing.summary}
    )
    return found


def _plain(value: Any) -> Any:
    """The same with lists for tuples, and words for NaN and ∞.

    >>> _plain({"found": (float("nan"), -float("inf"), 0.5)})
    {'found': ['NaN', '−∞', 0.5]}
    """
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return plain(value).text
    return value
