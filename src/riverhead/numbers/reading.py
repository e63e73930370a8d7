"""A number as somebody printed it: its value, and how far its last digit reaches."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

from riverhead.errors import InputError

__all__ = ["Printed", "read"]

_NUMERAL = re.compile(r"([-+]?)(\d{1,40}(?:\.\d{0,40})?|\.\d{1,40})(?:[eE]([-+]?\d{1,3}))?\s*(%?)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Printed:
    """What was printed: ``value``, and ``unit``, one in its last digit (0.01 for 0.61)."""

    text: str
    value: Decimal
    unit: Decimal

    @property
    def decimals(self) -> int:
        """Places behind the point: 2 for 0.61, 0 for 1503."""
        return max(-self.unit.adjusted(), 0)

    @property
    def digits(self) -> int:
        """Significant digits: 2 for 0.61, 3 for 16.9 and for 0.600."""
        return max(self.value.adjusted() - self.unit.adjusted() + 1, 1) if self.value else self.decimals + 1


def read(text: str) -> Printed:
    """Read one printed decimal number; ``54%`` is 0.54, and the minus may be typographic.

    Raises `InputError` where ``text`` is anything else.

    >>> read("−0.61").value, read("54%").unit, read("16.9").digits
    (Decimal('-0.61'), Decimal('0.01'), 3)
    """
    ascii_text = text.strip().replace("−", "-")
    if ascii_text in ("∞", "-∞"):
        return Printed(text, Decimal(ascii_text.replace("∞", "Infinity")), Decimal(1))
    found = _NUMERAL.fullmatch(ascii_text)
    if found is None:
        raise InputError(f"{text[:60]!r} is not a printed number; write one as 0.61, −2, 1.5e-3 or 54%")
    sign, numeral, power, percent = found.groups()
    shift = int(power or 0) - (2 if percent else 0)
    value = Decimal(sign + numeral).scaleb(shift)
    return Printed(text, value, Decimal(1).scaleb(shift - len(numeral.partition(".")[2])))
