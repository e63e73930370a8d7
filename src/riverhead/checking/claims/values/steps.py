"""Every step a calculation can take: its value, its slopes, and all the values it has over intervals."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

__all__ = [
    "ABSOLUTE",
    "ADD",
    "COS",
    "DIVIDE",
    "EXP",
    "LOG",
    "MAXIMUM",
    "MINIMUM",
    "MULTIPLY",
    "NEGATE",
    "POWER",
    "SIN",
    "SQRT",
    "SUBTRACT",
    "TAN",
    "TANH",
    "Bounds",
    "Step",
]

Bounds: TypeAlias = tuple[float, float]

ANYTHING: Bounds = (-math.inf, math.inf)
_FAR = 1e8  # angles from here on are too coarse in float64 to be placed between two turns
_HINT = 1e-12  # for the slope of a maximum by its lesser operand, 0: a search must see where that counts


@dataclass(frozen=True, slots=True)
class Step:
    """One kind of step, of one operand or of two.

    ``value(*operands)`` may raise `ArithmeticError` or `ValueError`; so may ``slopes(*operands, value)``, the
    derivative by the one operand or the pair by the two. ``bounds(*intervals)`` holds every value, up to the
    last bit of float64, and never raises.
    """

    value: Callable[..., float]
    slopes: Callable[..., Any]
    bounds: Callable[..., Bounds]

    def over(self, *intervals: Bounds) -> Bounds:
        """Return an interval that holds every value over ``intervals``, float64's own errors included."""
        try:
            low, high = self.bounds(*intervals)
        except (ArithmeticError, ValueError):
            return ANYTHING
        if not low <= high:  # NaN
            return ANYTHING
        return math.nextafter(low, -math.inf), math.nextafter(high, math.inf)


def _corners(value: Callable[[float, float], float]) -> Callable[[Bounds, Bounds], Bounds]:
    """Bounds of what is monotone in each operand while the other one stands."""

    def bounds(a: Bounds, b: Bounds) -> Bounds:
        values = [value(x, y) for x in a for y in b]
        return min(values), max(values)

    return bounds


def _rising(value: Callable[[float], float]) -> Callable[[Bounds], Bounds]:
    """Bounds of what only rises; infinity in, infinity out."""
    return lambda a: (value(a[0]), value(a[1]))


def _quotient_bounds(a: Bounds, b: Bounds) -> Bounds:
    return ANYTHING if b[0] <= 0 <= b[1] else _corners(operator.truediv)(a, b)


def _power_bounds(base: Bounds, exponent: Bounds) -> Bounds:
    corners = _corners(_raised)(base, exponent)
    if base[0] > 0:
        return corners
    n = exponent[0]
    if exponent[1] != n or (n < 0 and base[1] >= 0):
        return ANYTHING if exponent[0] <= 0 or base[0] < 0 else (0.0, corners[1])
    return (min(corners[0], 0.0), corners[1]) if base[1] >= 0 else corners


def _raised(base: float, exponent: float) -> float:
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return -math.inf if base < 0 and exponent % 2 else math.inf


def _power_slopes(base: float, exponent: float, value: float) -> tuple[float, float]:
    by_base = exponent * math.pow(base, exponent - 1) if base or exponent >= 1 else 0.0
    return by_base, value * math.log(base) if base > 0 else 0.0


def _exp(x: float) -> float:
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


def _log_bounds(a: Bounds) -> Bounds:
    return math.log(a[0]) if a[0] > 0 else -math.inf, math.log(a[1])


def _root_bounds(a: Bounds) -> Bounds:
    return math.sqrt(max(a[0], 0.0)), math.sqrt(a[1])


def _absolute_bounds(a: Bounds) -> Bounds:
    low, high = sorted(map(abs, a))
    return (0.0 if a[0] <= 0 <= a[1] else low), high


def _holds(a: Bounds, first: float, every: float) -> bool:
    """Say whether one of ``first`` + n · ``every`` lies in ``a``."""
    return math.floor((a[1] - first) / every) > math.floor(math.nextafter((a[0] - first) / every, -math.inf))


def _wave_bounds(value: Callable[[float], float], crest: float) -> Callable[[Bounds], Bounds]:
    """Bounds of a wave between −1 and 1 that is 1 at ``crest`` and turns every π."""

    def bounds(a: Bounds) -> Bounds:
        if max(map(abs, a)) > _FAR:
            return -1.0, 1.0
        low, high = sorted(map(value, a))
        if _holds(a, crest, math.tau):
            high = 1.0
        if _holds(a, crest + math.pi, math.tau):
            low = -1.0
        return low, high

    return bounds


def _tan_bounds(a: Bounds) -> Bounds:
    if max(map(abs, a)) > _FAR or _holds(a, math.pi / 2, math.pi):
        return ANYTHING
    return math.tan(a[0]), math.tan(a[1])


ADD = Step(operator.add, lambda a, b, v: (1.0, 1.0), lambda a, b: (a[0] + b[0], a[1] + b[1]))
SUBTRACT = Step(operator.sub, lambda a, b, v: (1.0, -1.0), lambda a, b: (a[0] - b[1], a[1] - b[0]))
MULTIPLY = Step(operator.mul, lambda a, b, v: (b, a), _corners(operator.mul))
DIVIDE = Step(operator.truediv, lambda a, b, v: (1 / b, -v / b), _quotient_bounds)
POWER = Step(math.pow, _power_slopes, _power_bounds)
MAXIMUM = Step(max, lambda a, b, v: (1.0, _HINT) if a >= b else (_HINT, 1.0), _corners(max))
MINIMUM = Step(min, lambda a, b, v: (1.0, _HINT) if a <= b else (_HINT, 1.0), _corners(min))

NEGATE = Step(operator.neg, lambda a, v: -1.0, lambda a: (-a[1], -a[0]))
ABSOLUTE = Step(operator.abs, lambda a, v: math.copysign(1.0, a) if a else 0.0, _absolute_bounds)
EXP = Step(math.exp, lambda a, v: v, _rising(_exp))
LOG = Step(math.log, lambda a, v: 1 / a, _log_bounds)
SQRT = Step(math.sqrt, lambda a, v: 0.5 / v if v else 0.0, _root_bounds)
SIN = Step(math.sin, lambda a, v: math.cos(a), _wave_bounds(math.sin, math.pi / 2))
COS = Step(math.cos, lambda a, v: -math.sin(a), _wave_bounds(math.cos, 0.0))
TAN = Step(math.tan, lambda a, v: 1 + v * v, _tan_bounds)
TANH = Step(math.tanh, lambda a, v: 1 - v * v, _rising(math.tanh))
