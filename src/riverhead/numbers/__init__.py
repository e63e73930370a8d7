"""Printed numbers: an exact value, rounded once, at display; and what a printed number may claim."""

from riverhead.numbers.interval import Interval
from riverhead.numbers.reading import Printed, read
from riverhead.numbers.rounding import Rounding
from riverhead.numbers.shown import Number, fixed, grouped, plain, significant
from riverhead.numbers.verdict import Verdict, judge

__all__ = [
    "Interval",
    "Number",
    "Printed",
    "Rounding",
    "Verdict",
    "fixed",
    "grouped",
    "judge",
    "plain",
    "read",
    "significant",
]
