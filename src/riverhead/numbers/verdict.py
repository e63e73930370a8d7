"""What a printed number may claim to be, beside the exact value."""

from __future__ import annotations

from enum import StrEnum

from riverhead.numbers.interval import Interval, slack
from riverhead.numbers.reading import read

__all__ = ["Verdict", "judge"]


class Verdict(StrEnum):
    """``exact``: equal. ``rounded``: the exact value rounded once. ``carried``: right only if rounded values
    are carried forward, which is said and not accused. ``false``: no rounding explains it.
    """

    EXACT = "exact"
    ROUNDED = "rounded"
    CARRIED = "carried"
    FALSE = "false"


def judge(printed: str, exact: float, carried: Interval | None = None) -> Verdict:
    """Judge a printed number by the exact value and, if given, by all that carried roundings can make of it.

    Half a unit of the last printed digit is the room rounding leaves; at a tie both neighbours are right.
    Raises `InputError` where ``printed`` is no number.

    >>> [judge(text, 0.604269, Interval(0.604269, 0.605)).value for text in ("0.60", "0.61", "0.62")]
    ['rounded', 'carried', 'false']
    >>> judge("1.000", 1.0).value
    'exact'
    """
    value = float(read(printed).value)
    if value == exact or abs(value - exact) <= slack(exact):
        return Verdict.EXACT
    room = Interval.printed(printed)
    if room.meets(Interval.point(exact)):
        return Verdict.ROUNDED
    return Verdict.CARRIED if carried is not None and room.meets(carried) else Verdict.FALSE
