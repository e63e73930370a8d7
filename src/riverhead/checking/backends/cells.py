"""What stands in the table: a word or a number that was measured, and what there is to say of it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from riverhead.checking.rules.report import Failure, Report

__all__ = ["NOTHING", "Cell", "Row", "Standing", "cell_of", "refused"]

Standing = Literal["", "weak", "broken"]
RAISED = re.compile(r"\w+(Error|Exception)\b")  # how an exception begins where a result was to stand
STANDINGS: Mapping[str, Standing] = {"must": "broken", "should": "weak", "convention": ""}


@dataclass(frozen=True, slots=True)
class Cell:
    """A few words; what they break, a rule that must or one that should hold; what there is to say of it."""

    text: str
    standing: Standing = ""
    says: str = ""


NOTHING = Cell("—")  # it has no such thing


@dataclass(frozen=True, slots=True)
class Row:
    """A behaviour: the rules and conventions of a report that it is read from, and words for what they say.

    ``words`` are by mistake, by a convention's name, or by ``held``; ``probe`` names a measurement instead.
    """

    title: str
    rules: tuple[str, ...] = ()
    conventions: tuple[str, ...] = ()
    words: Mapping[str, str] = field(default_factory=dict)
    probe: str = ""


def cell_of(row: Row, reports: Iterable[Report]) -> Cell:
    """Return what reports say of a row; the later ones where the earlier did not judge.

    >>> shared = Row("kv heads", ("kv-heads",), words={"held": "shared"})
    >>> cell_of(shared, [Report("f", "attention", passed=("kv-heads",))]).text
    'shared'
    """
    for report in reports:
        if (found := _read(row, report)) is not None:
            return found
    return NOTHING


def _read(row: Row, report: Report) -> Cell | None:
    for failure in report.failed:
        if failure.rule in row.rules:
            return _failed(row, failure)
    for agreed in report.conventions:
        if agreed.aspect in row.conventions:
            return Cell(row.words.get(agreed.name, agreed.name), says=agreed.says)
    if any(rule in report.passed for rule in row.rules):
        return Cell(row.words.get("held", "held"))
    for each in report.not_offered:
        if each.rule in row.rules and RAISED.match(each.why):
            return Cell("refused", says=each.why)
    return None


def refused(failure: Failure) -> bool:
    """Whether a function raised where a result was to stand: loud, so that nobody is misled."""
    return failure.cell is None and RAISED.match(failure.detail) is not None


def _failed(row: Row, failure: Failure) -> Cell:
    if refused(failure):
        return Cell("refused", says=failure.detail)
    nan = failure.found is not None and math.isnan(failure.found)
    text = row.words.get(failure.mistake) or ("NaN" if nan else "broken")
    did = f" Here {failure.did}." if failure.did else ""
    return Cell(text, STANDINGS[failure.level], f"{failure.says}{did}")
