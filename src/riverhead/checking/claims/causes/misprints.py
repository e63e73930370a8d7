"""Slips that show in the printed numbers beside the right ones: last digits, signs, points, order."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from riverhead.numbers.interval import slack

__all__ = [
    "Pair",
    "Pairs",
    "chance",
    "digit_slips",
    "last_digit",
    "other_row",
    "out_of_order",
    "reordered",
    "unnormalised",
    "whole",
]

MOST_DIGITS = 15  # float64 holds no more
UNLIKELY = 0.01
UNLIKELY_DIGITS = 0.03  # one digit of three: 27 numbers of 1000 differ in one

# a factor, how likely a coincidence may be with it, what it tells
FACTORS = (
    (2, 0.2, "a factor 2 too {way}"),
    (10, 0.2, "the decimal point: a factor 10 too {way}"),
    (100, 0.2, "the decimal point: a factor 100 too {way}"),
    (1000, 0.05, "a factor 1000 too {way}"),
    (3, 0.02, "a factor 3 too {way}"),
    (4, 0.02, "a factor 4 too {way}"),
    (1e6, 0.02, "a factor 1,000,000 too {way}"),
)
UNIT_FACTORS = (
    (8, 0.05, "bits and bytes mixed up: a factor 8 too {way}"),
    (1000, 0.2, "the unit: a factor 1000 too {way}"),
    (1024, 0.05, "the unit: a factor 1024 too {way}"),
    (1e6, 0.2, "the unit: a factor 1,000,000 too {way}"),
    (2**20, 0.05, "the unit: a factor 1024² too {way}"),
    (1e9, 0.2, "bytes and billions mixed up: a factor 10⁹ too {way}"),
    (1.024, 0.02, "units of 1000 and of 1024 mixed: 2.4 % too {way}"),
    (1.024**2, 0.02, "units of 1000² and of 1024² mixed: 4.9 % too {way}"),
    (1.024**3, 0.02, "units of 1000³ and of 1024³ mixed: 7.4 % too {way}"),
)


@dataclass(frozen=True, slots=True)
class Pair:
    """A printed number and the right one; ``half`` a unit of its last digit that counts, its ``text``."""

    printed: float
    half: float
    text: str
    exact: float

    def fits(self, value: float) -> bool:
        """Say whether the print rounds from ``value``; at a tie both neighbours do."""
        return abs(value - self.printed) <= self.half + slack(value)

    @property
    def wrong(self) -> bool:
        return not self.fits(self.exact)

    @property
    def units(self) -> int:
        """The print, counted in its last digit: 34 for 0.34."""
        return round(self.printed / (2 * self.half))

    @property
    def exact_units(self) -> float:
        return self.exact / (2 * self.half)

    def show(self, units: int) -> str:
        """Write a number of the print's last digits as the print is written."""
        return f"{units * 2 * self.half:.{self.decimals}f}"

    @property
    def decimals(self) -> int:
        """Places behind the point that are printed: 2 for 0.34, 0 for 34 and 3400."""
        return max(-math.floor(math.log10(2 * self.half) + 0.01), 0)


Pairs = Sequence[Pair]


def chance(pairs: Pairs, values: Sequence[float]) -> float:
    """Return how likely it is that ``values``, which fit the prints, do so by chance.

    Only numbers that a change moves are evidence, and the last of some that sum to 1 is none.

    >>> pair = Pair(0.34, 0.005, "0.34", 0.28)
    >>> round(chance([pair], [0.341]), 3), chance([pair], [0.28])
    (0.029, 1.0)
    """
    odds = [
        min(1.0, 2 * pair.half / max(abs(pair.printed), abs(pair.exact), 2 * pair.half))
        for pair, value in zip(pairs, values, strict=True)
        if not math.isclose(value, pair.exact, rel_tol=1e-9, abs_tol=pair.half / 10)
    ]
    if len(odds) > 1 and len(odds) == len(pairs) and abs(math.fsum(values) - 1) < 1e-9:
        odds.remove(max(odds))
    return math.prod(odds, start=1.0)


def last_digit(pairs: Pairs, weights: bool) -> str:
    """Explain numbers that are wrong by less than one in their last digit, or say nothing."""
    wrong = [pair for pair in pairs if pair.wrong]
    if any(abs(pair.units - pair.exact_units) >= 1 for pair in wrong):
        return ""
    if weights and (words := _made_to_sum(pairs)):
        return words
    if all(pair.units == math.trunc(pair.exact_units) for pair in wrong):
        return "truncated, not rounded"
    twice = [_rounded_twice(pair) for pair in wrong]
    if all(twice):
        return f"rounded twice: {twice[0]}"
    if all(abs(pair.units) == math.ceil(abs(pair.exact_units)) for pair in wrong):
        return "rounded up, not to the nearest"
    return "one too many or too few in the last digit"


def _made_to_sum(pairs: Pairs) -> str:
    rounded = sum(round(pair.exact_units) for pair in pairs)
    total = sum(pair.units for pair in pairs)
    one = round(1 / (2 * pairs[0].half))
    if len({pair.half for pair in pairs}) > 1 or total != one or rounded == one:
        return ""
    return f"made to sum to 1: rounded one by one they sum to {pairs[0].show(rounded)}"


def _rounded_twice(pair: Pair) -> str:
    """0.2846 → 0.285 → 0.29: every rounding is right, the second is of a rounded number."""
    exact = Fraction(abs(pair.exact)) / Fraction(2 * pair.half).limit_denominator(10**MOST_DIGITS)
    for more in (1, 2):
        first = math.floor(exact * 10**more + Fraction(1, 2))
        if math.floor(Fraction(first, 10**more) + Fraction(1, 2)) == abs(pair.units):
            sign = "−" if pair.exact < 0 else ""
            finer = Pair(0.0, pair.half / 10**more, "", 0.0).show(first)
            return f"{sign}{finer} from {sign}{abs(pair.exact):.6g}, then {pair.text}"
    return ""


def whole(pairs: Pairs, units: bool) -> Iterator[str]:
    """Name what all the numbers are wrong by alike: their sign, a factor, the unit."""
    exact = [pair.exact for pair in pairs]
    tries = [("the sign", 1.0, [-value for value in exact])]
    for factor, at_most, words in _factors(units):
        tries.append((words.format(way="large"), at_most, [value * factor for value in exact]))
        tries.append((words.format(way="small"), at_most, [value / factor for value in exact]))
    if len(exact) == 1 and exact[0]:
        tries.append(("1 minus the right number", UNLIKELY, [1 - exact[0]]))
        tries.append(("upside down: 1 divided by the right number", UNLIKELY, [1 / exact[0]]))
    for words, at_most, values in tries:
        if _is(pairs, values) and chance(pairs, values) <= at_most:
            yield words


def _factors(units: bool) -> list[tuple[float, float, str]]:
    told = {each[0] for each in UNIT_FACTORS} if units else set()
    return [*(UNIT_FACTORS if units else ()), *(each for each in FACTORS if each[0] not in told)]


def reordered(pairs: Pairs, n_columns: int) -> str:
    """Say whether the right numbers stand in another order."""
    exact = [pair.exact for pair in pairs]
    rows = [exact[start : start + n_columns] for start in range(0, len(exact), n_columns)]
    by_size = iter(sorted(exact))
    placed = dict(zip(sorted(range(len(pairs)), key=lambda at: pairs[at].printed), by_size, strict=True))
    orders = [
        ("in reversed order", exact[::-1]),
        ("rows and columns exchanged", [value for column in zip(*rows, strict=True) for value in column]),
        ("the right numbers in another order", [placed[at] for at in range(len(pairs))]),
    ]
    for words, order in orders:
        if _is(pairs, order):
            return words if chance(pairs, order) <= UNLIKELY else ""
    return ""


def other_row(pairs: Pairs, n_columns: int) -> str:
    """Say which row of a matrix has the numbers of another, where that explains all that is wrong."""
    rows = [pairs[start : start + n_columns] for start in range(0, len(pairs), n_columns)]
    exacts = [[pair.exact for pair in row] for row in rows]
    words = ""
    for at, row in enumerate(rows):
        if not any(pair.wrong for pair in row):
            continue
        taken = [
            other for other, exact in enumerate(exacts) if _is(row, exact) and chance(row, exact) <= UNLIKELY
        ]
        if not taken:
            return ""
        words = words or f"row {at + 1} has the numbers of row {taken[0] + 1}"
    return words


def _is(pairs: Pairs, values: Sequence[float]) -> bool:
    return all(pair.fits(value) for pair, value in zip(pairs, values, strict=True))


def unnormalised(pairs: Pairs) -> str:
    """Say what weights that ought to sum to 1 (or 100 %) sum to, where their rounding does not explain it."""
    total = math.fsum(pair.printed for pair in pairs)
    room = math.fsum(pair.half for pair in pairs)
    if len(pairs) < 2 or abs(total - math.fsum(pair.exact for pair in pairs)) <= room + slack(total):
        return ""
    finest = min(pairs, key=lambda pair: pair.half)
    return f"not normalised: they sum to {finest.show(round(total / (2 * finest.half)))}"


def out_of_order(pairs: Pairs) -> str:
    """Name two numbers printed the other way round than they are, or unequal where they are equal."""
    by_size = sorted(pairs, key=lambda pair: (pair.exact, pair.printed))
    for low, high in pairwise(by_size):
        if math.isclose(low.exact, high.exact, rel_tol=1e-12) and low.printed != high.printed:
            return f"equal scores, unequal weights: {low.text} and {high.text}"
        if low.printed > high.printed:
            return f"the larger score has the smaller weight: {high.text} and {low.text}"
    return ""


def digit_slips(pairs: Pairs) -> str:
    """Name the digit that every wrong number is wrong by: another one, two swapped, one lost or doubled."""
    said = []
    for pair in (pair for pair in pairs if pair.wrong):
        printed, exact = str(abs(pair.units)), str(abs(round(pair.exact_units)))
        same_sign = (pair.units < 0) == (pair.exact < 0)
        words, ways = _digit_slip(printed, exact)
        unlikely = ways / 10 ** len(printed) <= UNLIKELY_DIGITS
        if not (words and same_sign and unlikely and len(exact) <= MOST_DIGITS):
            return ""
        said.append(f"{words}: {pair.show(round(pair.exact_units))}, not {pair.show(pair.units)}")
    return "; ".join(said[:2])


def _digit_slip(printed: str, exact: str) -> tuple[str, int]:
    """Say how one string of digits becomes the other, and of how many as near this is one."""
    if len(printed) == len(exact):
        differ = [at for at in range(len(exact)) if printed[at] != exact[at]]
        if len(differ) == 1:
            return "one digit", 9 * len(exact)
        if len(differ) == 2 and differ[1] - differ[0] == 1 and _swapped(exact, differ[0]) == printed:
            return "two digits swapped", len(exact)
    if len(printed) + 1 == len(exact) and printed in _one_less(exact):
        return "a digit lost", len(exact)
    if len(exact) + 1 == len(printed) and exact in _one_less(printed):
        return "a digit too many", 10 * len(printed)
    return "", 0


def _swapped(digits: str, at: int) -> str:
    return digits[:at] + digits[at + 1] + digits[at] + digits[at + 2 :]


def _one_less(digits: str) -> set[str]:
    return {digits[:at] + digits[at + 1 :] for at in range(len(digits))}
