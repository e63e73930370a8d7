"""What can be taken in two ways, and how it is taken."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from riverhead.checking.claims.reading.expression import Number

__all__ = ["USUAL", "Reading", "swapped"]

MOST_READINGS = 40  # of one claim: more choices than that do not meet in one line


@dataclass(frozen=True, slots=True)
class Reading:
    """How to take what can be taken in two ways."""

    binary: bool = False  # K is 1024
    billions: bool = False  # 7B is 7·10⁹, not 7 bytes
    dot: bool = True  # a product of two vectors is one number
    base: float = math.e  # of log
    sample: bool = False  # a variance is divided by n − 1
    degrees: bool = False  # of an angle that is a whole number
    unitless: bool = False  # the result is in the unit of its terms, and says none: 192 GB − 140 GB = 52
    counted: bool = False  # bits are a number of bits, not eighths of bytes
    swapped: bool = False  # 2,718 has a decimal comma, 57.344 a point between its thousands
    symbol: bool = False  # K is the text's own name: K = 3 makes 2K a product
    of_itself: bool = False  # 100 + 10% is 110
    bare: bool = False  # the unit of the result is not meant as a factor: 17.5 × 0.25 = 4.4 GB

    def others(self, choices: set[str]) -> list[Reading]:
        """Return the other readings of an expression with these ``choices``, the nearest first."""
        found: list[tuple[int, Reading]] = [(0, self)]
        for name, taken in _ALTERNATIVES.items():
            if name in choices:
                changes: list[dict[str, Any]] = [{name: other} for other in taken]
                found += [(n + 1, replace(reading, **change)) for n, reading in found for change in changes]
        found.sort(key=lambda reading: reading[0])
        return [reading for _, reading in found[1 : MOST_READINGS + 1]]


_ALTERNATIVES: dict[str, tuple[bool | float, ...]] = {
    "swapped": (True,), "dot": (False,), "binary": (True,), "billions": (True,), "bare": (True,),
    "base": (10.0, 2.0),
    "sample": (True,), "symbol": (True,),
    "counted": (True,), "degrees": (True,), "of_itself": (True,), "unitless": (True,),
}  # fmt: skip


USUAL = Reading()


def swapped(number: Number) -> Number | None:
    """Return what 2,718 or 57.344 is where the other sign parts the decimals; None where it cannot be."""
    if len(number.text) < 5 or number.text[-4] not in ",." or not number.text.isascii():
        return None
    whole, _, places = number.text.rpartition(number.text[-4])
    if not (whole.isdecimal() and places.isdecimal() and 0 < len(whole) <= 3) or whole.startswith("0"):
        return None
    digits = int(whole + places)
    if isinstance(number.value, int):
        return replace(number, value=digits / 1000, half=0.0005)
    return replace(number, value=digits, half=0.0)
