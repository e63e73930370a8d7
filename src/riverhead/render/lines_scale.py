"""An axis of a line chart: where a number stands on it, and which round numbers stand beside it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal

from riverhead.numbers import plain

__all__ = ["HUGE", "Scale", "scale"]

HUGE = 1e300  # from here on differences overflow
EQUAL = 1e-12  # a range this small, beside its numbers, is one number
LONG = 6  # characters of a number that is not written with a power of ten
STEPS = (1, 2, 5)  # times a power of ten


@dataclass(frozen=True, slots=True)
class Scale:
    """From ``low`` to ``high``, or on a log axis from 10^low to 10^high."""

    low: float
    high: float
    log: bool = False

    def share(self, value: float) -> float:
        """Return where ``value`` stands: 0 at the low end, 1 at the high one.

        >>> Scale(0, 4).share(1), Scale(0, 4, log=True).share(100)
        (0.25, 0.5)
        """
        return ((math.log10(value) if self.log else value) - self.low) / (self.high - self.low)

    def ticks(self, most: int) -> list[tuple[float, str]]:
        """Return at most ``most`` round numbers, each as its share and its text.

        >>> Scale(0, 1).ticks(6)
        [(0.0, '0'), (0.2, '0.2'), (0.4, '0.4'), (0.6, '0.6'), (0.8, '0.8'), (1.0, '1')]
        >>> Scale(0, 6, log=True).ticks(4)
        [(0.0, '1'), (0.3333333333333333, '100'), (0.6666666666666666, '1e4'), (1.0, '1e6')]
        """
        values = list(self._powers(most) if self.log else _multiples(self.low, self.high, most))
        return list(zip(map(self.share, values), _texts(values), strict=True))

    def _powers(self, most: int) -> Iterable[float]:
        """Powers of ten, every so many; 1, 2, 5, 10 where those are few; usual steps where these are too."""
        powers = range(math.ceil(self.low - 1e-9), math.floor(self.high + 1e-9) + 1)
        if len(powers) > 2:
            every = -(-len(powers) // most)
            return [float(f"1e{k}") for k in powers if k % every == 0 and abs(k) <= 300]
        exponents = range(math.floor(self.low), math.ceil(self.high) + 1)
        between = [
            value for value in (float(f"{m}e{k}") for k in exponents for m in STEPS) if self._holds(value)
        ]
        if len(between) > most:
            return (
                [float(f"1e{k}") for k in powers] if len(powers) > 1 else between[:: -(-len(between) // most)]
            )
        few = len(between) < 2 and self.low > -280
        return _multiples(10**self.low, 10**self.high, most) if few else between

    def _holds(self, value: float) -> bool:
        return value > 0 and -1e-9 <= self.share(value) <= 1 + 1e-9


def scale(values: Iterable[float], log: bool, whole: bool = False) -> Scale:
    """Return an axis that holds ``values``: if ``whole``, from one round number to another.

    >>> scale([0.3, 9.2], log=False, whole=True), scale([1, 1000], log=True)
    (Scale(low=0.0, high=10.0, log=False), Scale(low=0.0, high=3.0, log=True))
    """
    found = [math.log10(value) for value in values] if log else list(values)
    low, high = min(found, default=0.0), max(found, default=1.0)
    reach = max(abs(low), abs(high))
    if high - low <= max(EQUAL * reach, 1e-290):  # one number
        half = 0.5 if log else reach / 2 if reach > 1e-280 else 1.0
        low, high = low - half, high + half
    if not whole:
        return Scale(low, high, log)
    if log:
        room = (high - low) / 25
        return Scale(low - room, high + room, log)
    if 0 < low <= 0.3 * high:  # nothing is said by a zero that is only just out of sight
        low = 0.0
    step = _step(low, high, 8)
    first, last = math.floor(low / float(step) + 1e-9), math.ceil(high / float(step) - 1e-9)
    return Scale(float(first * step), float(last * step))


def _step(low: float, high: float, most: int) -> Decimal:
    """The smallest round step that has at most ``most`` multiples from ``low`` to ``high``."""
    power = math.floor(math.log10(high - low)) - 1
    steps = (Decimal(m).scaleb(power + k) for k in range(4) for m in STEPS)
    return next(step for step in steps if len(_inside(low, high, step)) <= most)


def _inside(low: float, high: float, step: Decimal) -> range:
    """Which multiples of ``step`` lie between."""
    return range(math.ceil(low / float(step) - 1e-9), math.floor(high / float(step) + 1e-9) + 1)


def _multiples(low: float, high: float, most: int) -> Iterator[float]:
    step = _step(low, high, most)
    return (float(k * step) for k in _inside(low, high, step))


def _texts(values: list[float]) -> list[str]:
    """All as decimals, or all with a power of ten where that is shorter."""
    usual = [plain(value).text for value in values]
    if max(map(len, usual), default=0) <= LONG and not any("e" in text for text in usual):
        return usual
    return min(usual, list(map(_with_power, values)), key=lambda texts: max(map(len, texts)))


def _with_power(value: float) -> str:
    mantissa, _, power = f"{Decimal(repr(value)).normalize():e}".partition("e")
    short = 0 <= int(power) < 3  # 1, 20, 500
    return plain(value).text if short else f"{mantissa}e{int(power)}".replace("-", "−", value < 0)
