"""A number as it is shown: the exact value beside the text that prints it."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["Number", "fixed", "plain", "significant"]

MINUS = "−"  # U+2212, as wide as + and a digit


@dataclass(frozen=True, slots=True)
class Number:
    """An exact ``value`` and the ``text`` that shows it, rounded once."""

    value: float
    text: str

    def __str__(self) -> str:
        return self.text


def fixed(value: float, decimals: int = 3) -> Number:
    """Show ``value`` with ``decimals`` places.

    >>> fixed(0.538776).text, fixed(-0.0001, 2).text, fixed(float("-inf")).text
    ('0.539', '0.00', '−∞')
    """
    if not math.isfinite(value):
        return Number(value, _special(value))
    return Number(value, _signed(f"{value:.{decimals}f}"))


def significant(value: float, digits: int = 4) -> Number:
    """Show ``value`` with ``digits`` significant digits, never in scientific notation below 10**9.

    >>> significant(16.918829).text, significant(2.028115).text, significant(1503.2).text
    ('16.92', '2.028', '1503')
    """
    if value == 0 or not math.isfinite(value):
        return fixed(value, max(digits - 1, 0))
    exponent = int(f"{abs(value):.{digits - 1}e}".partition("e")[2])  # after rounding: 9.9996 is 10.00
    if not -6 <= exponent < 9:
        mantissa, _, power = f"{value:.{digits - 1}e}".partition("e")
        return Number(value, _signed(f"{mantissa}e{int(power)}"))
    return fixed(value, max(digits - 1 - exponent, 0))


def plain(value: float) -> Number:
    """Show ``value`` in the shortest decimal that reads back as it: 2, 0.5, −1.

    >>> plain(2.0).text, plain(0.5).text, plain(-1).text
    ('2', '0.5', '−1')
    """
    if not math.isfinite(value):
        return Number(value, _special(value))
    text = repr(float(value))
    return Number(value, _signed(text.removesuffix(".0")))


def _special(value: float) -> str:
    return "NaN" if math.isnan(value) else "∞" if value > 0 else MINUS + "∞"


def _signed(text: str) -> str:
    """A true minus sign, and none before a number that prints as zero."""
    if not text.startswith("-"):
        return text
    return text[1:] if not text.strip("-0.") else MINUS + text[1:]
