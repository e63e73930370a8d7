"""A numeral as it is written, with its separators: its value, and how far its last digit reaches."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from riverhead.errors import InputError

__all__ = ["LONGEST", "numeral", "trailing_zeros"]

LONGEST = 300  # digits, and the largest power of ten: float64 ends at 308

_SEPARATORS = re.compile(r"[ \u00a0\u202f\u2009'_]|\{,\}|\\,")


@lru_cache(maxsize=4096)  # a page says the same numbers again and again
def numeral(text: str, decimal_comma: bool = False) -> tuple[int | float, float]:
    """Return the value of ``text`` and half a unit of its last digit, 0 for an integer.

    Raises `InputError` where it has more than `LONGEST` digits or as large a power.

    >>> numeral("1,360"), numeral("0.54"), numeral("0,604"), numeral("1.5e-3")
    ((1360, 0.0), (0.54, 0.005), (0.604, 0.0005), (0.0015, 5e-05))
    """
    if text.isdecimal() and len(text) <= LONGEST:
        return int(text), 0.0
    if len(text) > LONGEST:
        raise InputError(f"a number of {len(text):,} characters; up to {LONGEST} are read")
    whole, _, places = text.partition(".")
    if places.isdecimal() and (not whole or whole.isdecimal()) and not decimal_comma:
        return float(text), 0.5 * 10.0 ** -len(places)
    if len(text) == 1 and not text.isascii():  # ½
        return unicodedata.numeric(text), 0.0
    return _parts(_with_point(text, decimal_comma))


def _with_point(text: str, decimal_comma: bool) -> str:
    """The numeral with a point, and without what parts its thousands."""
    plain = _SEPARATORS.sub("", text.replace("−", "-"))
    if plain.count(".") > 1:  # 1.048.576, whatever the page's own sign is
        plain = plain.replace(".", "")
    elif decimal_comma:
        parts = re.fullmatch(r"\d{1,3}\.\d{3}(,\d+)?", plain)  # 0.5 is a half even here
        plain = plain.replace(".", "").replace(",", ".") if parts or "," in plain else plain
    elif plain.startswith("0,"):
        plain = plain.replace(",", ".")
    return plain.replace(",", "")


def _parts(plain: str) -> tuple[int | float, float]:
    digits, _, power = plain.lower().partition("e")
    if power and abs(int(power)) + len(digits) > LONGEST:
        raise InputError(f"a power of ten of {power[:20]}; up to {LONGEST} are read")
    whole, point, places = digits.partition(".")
    if not point and not power:
        return int(whole), 0.0
    if not point and not power.startswith("-"):  # 1e6 is typed exact, like 1000000
        return int(whole) * 10 ** int(power), 0.0
    exponent = int(power or 0) - len(places)
    exact = point and not places and not power  # "2." is 2
    return float(plain), 0.0 if exact else 0.5 * 10.0**exponent


def trailing_zeros(value: int) -> int:
    """Return how many zeros ``value`` ends in, 0 for 0.

    >>> trailing_zeros(6500), trailing_zeros(1024)
    (2, 0)
    """
    text = str(value)
    return len(text) - len(text.rstrip("0")) if value else 0
