"""A number as it is shown: the exact value beside the text that prints it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal

__all__ = ["Number", "fixed", "grouped", "plain", "significant"]

LARGE = 1e15  # float64 has steps of 1/8 here: places after the point would be noise
MINUS = "−"  # U+2212, as wide as + and a digit


@dataclass(frozen=True, slots=True)
class Number:
    """An exact ``value`` and the ``text`` that shows it, rounded once."""

    value: float
    text: str

    def __str__(self) -> str:
        return self.text


def fixed(value: float, decimals: int = 3) -> Number:
    """Show ``value`` with ``decimals`` places, of its mantissa from 10**15 up.

    >>> fixed(0.538776).text, fixed(-0.0001, 2).text, fixed(float("-inf")).text, fixed(1e300).text
    ('0.539', '0.00', '−∞', '1.000e300')
    """
    if not math.isfinite(value):
        return Number(value, _special(value))
    if abs(value) >= LARGE:
        return Number(value, _scientific(f"{value:.{decimals}e}"))
    return Number(value, _signed(f"{value:.{decimals}f}"))


def significant(value: float, digits: int = 4) -> Number:
    """Show ``value`` with ``digits`` significant digits, in scientific notation from 10**9 up and below 1e-6.

    Between them it drops no digit before the point, however few ``digits`` are asked for.

    >>> significant(16.918829).text, significant(2.028115).text, significant(434921).text
    ('16.92', '2.028', '434921')
    """
    if value == 0 or not math.isfinite(value):
        return fixed(value, max(digits - 1, 0))
    rounded = f"{value:.{digits - 1}e}"
    exponent = int(rounded.partition("e")[2])  # after rounding: 9.9996 is 10.00
    if not -6 <= exponent < 9:
        return Number(value, _scientific(rounded))
    return fixed(value, max(digits - 1 - exponent, 0))


def plain(value: float) -> Number:
    """Show ``value`` in the shortest decimal that reads back as it: 2, 0.5, −1; from 10**15 up 1e15.

    >>> plain(2.0).text, plain(0.5).text, plain(-1).text, plain(1e200).text
    ('2', '0.5', '−1', '1e200')
    """
    if not math.isfinite(value):
        return Number(value, _special(value))
    text = repr(float(value))
    if abs(value) >= LARGE:
        return Number(value, _scientific(f"{Decimal(text).normalize():e}"))
    return Number(value, _signed(text.removesuffix(".0")))


def grouped(count: int) -> Number:
    """Show a whole number, its thousands apart.

    >>> grouped(46080).text, grouped(-1000).text
    ('46,080', '−1,000')
    """
    return Number(count, _signed(f"{count:,}"))


def _special(value: float) -> str:
    return "NaN" if math.isnan(value) else "∞" if value > 0 else MINUS + "∞"


def _scientific(text: str) -> str:
    """Python's ``1.5e+09`` as ``1.5e9``."""
    mantissa, _, power = text.partition("e")
    return _signed(f"{mantissa}e{int(power)}")


def _signed(text: str) -> str:
    """A true minus sign, and none before a number that prints as zero."""
    if not text.startswith("-"):
        return text
    return text[1:] if not text.strip("-0.") else MINUS + text[1:]
