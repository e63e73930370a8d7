"""The right value of a claim, for a reader and for a program."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from riverhead.checking.claims.claim import Found
from riverhead.numbers import plain, significant

__all__ = ["as_data", "in_words"]

DIGITS, OF_A_LIST = 6, 4  # significant digits that are shown, more where the claim has more
MOST_DIGITS = 17  # that a float64 has
ITEMS = 12  # of a list that are shown
LARGEST = 10**300  # an integer that a float holds

_DIGITS = re.compile(r"[\d.,]{1,40}")


def in_words(exact: Found, claim: str) -> str:
    """Return the right value to as many digits as a number of ``claim`` has; a long list ends in ….

    >>> in_words(1.6604801234, "= 1.66082"), in_words(((1, 0.5), (0.25, 2 / 3)), "")
    ('1.66048', '((1, 0.5), (0.25, 0.6667))')
    """
    fewest = OF_A_LIST if isinstance(exact, tuple) else DIGITS
    printed = max(
        (len(re.sub(r"\D", "", number).lstrip("0")) for number in _DIGITS.findall(claim)), default=0
    )
    return _words(exact, min(max(fewest, printed), MOST_DIGITS))


def _words(exact: Found, digits: int) -> str:
    if not isinstance(exact, tuple):
        return _number(exact, digits)
    items = [_words(item, digits) for item in exact[:ITEMS]]
    if len(exact) > ITEMS:
        items.append(f"… {len(exact) - ITEMS:,} more")
    return f"({', '.join(items)})"


def _number(value: float, digits: int) -> str:
    if isinstance(value, int) and abs(value) > LARGEST:
        return f"{Decimal(value):.{digits - 1}e}".replace("e+", "e")
    return min(plain(float(value)).text, significant(float(value), digits).text, key=len)


def as_data(exact: Found | None) -> Any:
    """Return the right value as JSON holds it: lists for tuples, words for what is no finite number there.

    >>> as_data((0.5, float("inf"))), as_data(10**5000)
    ([0.5, '∞'], '1.00000e5000')
    """
    if isinstance(exact, tuple):
        return [as_data(item) for item in exact]
    if exact is None or abs(exact) <= LARGEST:  # which no NaN is
        return exact
    return _number(exact, DIGITS)
