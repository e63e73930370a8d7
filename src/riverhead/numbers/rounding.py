"""How many digits are kept, in Python's own notation: ``.2f`` decimals, ``.3g`` significant digits."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from riverhead.errors import InputError
from riverhead.numbers.shown import Number, fixed, significant

__all__ = ["Rounding"]


@dataclass(frozen=True, slots=True)
class Rounding:
    """Keep ``digits`` decimals, or as many significant digits.

    >>> Rounding.parse(".3g").nearest(16.918829), Rounding(2).show(0.604269).text
    (16.9, '0.60')
    """

    digits: int
    significant: bool = False

    @classmethod
    def parse(cls, spec: str) -> Rounding:
        """Read ``.2f`` or ``.3g``; raises `InputError` for anything else."""
        found = re.fullmatch(r"\.(\d\d?)([fg])", spec, re.ASCII)
        if found is None or found.groups() == ("0", "g"):
            raise InputError(
                f"{spec[:20]!r} says no digits; write .2f (decimals) or .3g (significant digits)"
            )
        return cls(int(found[1]), found[2] == "g")

    def __str__(self) -> str:
        return f".{self.digits}{'g' if self.significant else 'f'}"

    def nearest(self, value: float) -> float:
        """Return the number with these digits that is nearest to ``value``."""
        if not self.significant:
            return round(value, self.digits)
        if value == 0 or not math.isfinite(value):
            return value
        return round(value, self.digits - 1 - math.floor(math.log10(abs(value))))

    def show(self, value: float) -> Number:
        """Show ``value`` with these digits, rounded once."""
        return significant(value, self.digits) if self.significant else fixed(value, self.digits)
