"""Printed numbers: an exact value, rounded once, at display; and what a printed number may claim."""

from riverhead.numbers.shown import Number, fixed, plain, significant

__all__ = ["Number", "fixed", "plain", "significant"]
