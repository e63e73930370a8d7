"""One head's row: its means over a text, their columns, and the conditions that choose rows."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass

from riverhead.errors import InputError
from riverhead.inspection.habit import NEAR
from riverhead.inspection.tables import rules

__all__ = ["COLUMNS", "Column", "HeadRow", "column_of", "condition"]


@dataclass(frozen=True, slots=True)
class Column:
    """Where a row keeps a number, the decimals it is shown with, and what it is."""

    field: str
    decimals: int
    meaning: str


COLUMNS = {  # by the name that people write
    "entropy": Column("entropy_nats", 2, "mean entropy of a query's weights, in nats"),
    "entropy_share": Column("entropy_share", 2, "entropy as a part of the most it could be"),
    "distance": Column("mean_distance", 1, "mean distance of what is looked at, in tokens"),
    "first": Column("first_weight", 3, "mean weight on the first token"),
    "last": Column("last_weight", 3, "mean weight on the last token"),
    "previous": Column("previous_weight", 3, "mean weight on the token before"),
    "next": Column("next_weight", 3, "mean weight on the token after"),
    "self": Column("self_weight", 3, "mean weight on oneself"),
    "near": Column("near_weight", 3, f"mean weight within {NEAR} tokens, oneself included"),
    "duplicate": Column("duplicate_weight", 3, "mean weight on earlier copies of the query's token"),
    "induction": Column("induction_weight", 3, "mean weight on what followed earlier copies"),
    "surprise": Column("surprise", 3, "mean over queries of the largest weight − habit"),
}


@dataclass(frozen=True, slots=True)
class HeadRow:
    """One head's means over the queries of a text; None where no query can have one.

    ``entropy_nats``, and as a part of the most it could be; ``mean_distance`` in tokens; mean weights on the
    first token, the one before, oneself, all within 4 tokens, earlier copies of the query's token, what
    followed those, and in a model that sees both ways on the next and on the last token. ``surprise`` is the
    mean over queries of the largest weight − habit, the first and special tokens and oneself apart. The
    ``label`` says what the head does in plain text, the ``reason`` by which number.
    """

    name: str
    layer: int
    head: int
    entropy_nats: float
    entropy_share: float
    mean_distance: float
    first_weight: float
    previous_weight: float
    self_weight: float
    near_weight: float | None
    duplicate_weight: float | None
    induction_weight: float | None
    next_weight: float | None
    last_weight: float | None
    surprise: float | None
    label: str
    reason: str

    def number(self, column: str) -> float | None:
        """Return the number in a column of `COLUMNS`, or the ``layer``, or the ``head`` within it."""
        field = COLUMNS[column].field if column in COLUMNS else column
        value: float | None = getattr(self, field)
        return value


def column_of(name: str) -> Column:
    """Return a column by name; `InputError` naming them all where there is none.

    >>> column_of("first").field
    'first_weight'
    """
    if name not in COLUMNS:
        raise InputError(f"{name!r:.60} is no column; the columns are {', '.join(COLUMNS)}")
    return COLUMNS[name]


_CONDITION = re.compile(r"\s*(\w+)\s*(>=|<=|=|>|<)\s*(.*\S)\s*")
_SIGNS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "=": operator.eq,
}


def condition(written: str) -> Callable[[HeadRow], bool]:
    """Read ``"previous>=0.5"``, ``"layer=9"`` or ``"label=sink"``; a row without the number does not meet it.

    It is taken apart, never run. Raises `InputError` naming what is not understood.
    """
    match = _CONDITION.fullmatch(written)
    if match is None:
        raise InputError(f"{written!r:.60} is no condition; write one like previous>=0.5 or label=sink")
    name, sign, value = match.groups()
    if name == "label":
        return _has_label(sign, value)
    if name not in ("layer", "head"):
        column_of(name)
    try:
        bound, compare = float(value), _SIGNS[sign]
    except ValueError as error:
        raise InputError(f"{written!r:.60}: {value!r:.40} is not a number") from error

    def holds(row: HeadRow) -> bool:
        number = row.number(name)
        return number is not None and compare(number, bound)

    return holds


def _has_label(sign: str, value: str) -> Callable[[HeadRow], bool]:
    labels = [rule.words for rule in rules("label")]
    if sign != "=" or value not in labels:
        raise InputError(f"label{sign}{value:.40}: write label= and one of {', '.join(labels)}")
    return lambda row: row.label == value
