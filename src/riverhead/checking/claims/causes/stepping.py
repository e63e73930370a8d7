"""A calculation worked with every step rounded, or cut off, before the next."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

from riverhead.checking.claims.causes.trees import number, operation
from riverhead.checking.claims.claim import Found
from riverhead.checking.claims.reading.expression import Expression, Items, Operation

__all__ = ["Keep", "cut", "stepwise"]

Keep: TypeAlias = Callable[[float, int], float]


def cut(value: float, places: int) -> float:
    """Cut ``value`` off at so many decimals.

    >>> cut(0.669762, 4), cut(-0.29, 2)
    (0.6697, -0.29)
    """
    return math.trunc(value * 10.0**places + math.copysign(1e-9, value)) / 10.0**places


def stepwise(
    part: Expression, value_of: Callable[[Expression], Found], keep: Keep, places: int, last: bool = True
) -> Expression:
    """Put in the place of whatever is worked out its value with few ``places``, all but the last step.

    A softmax has three steps: exponentials, their sum, the division. Raises ValueError as ``value_of`` does.
    """
    match part:
        case Operation(what="softmax", args=(scores,)):
            exps = operation("exp", scores)
            spelled = operation("/", exps, operation("sum", exps))
            return stepwise(spelled, value_of, keep, places, last)
        case Operation(what=what, args=args):
            worked = operation(what, *(stepwise(arg, value_of, keep, places, False) for arg in args))
            return worked if last else _literal(value_of(worked), keep, places)
        case Items(items=items):
            return Items(tuple(stepwise(item, value_of, keep, places, last) for item in items), 0, 0)
    return part


def _literal(value: Found, keep: Keep, places: int) -> Expression:
    if isinstance(value, tuple):
        return Items(tuple(_literal(item, keep, places) for item in value), 0, 0)
    return number(value if isinstance(value, int) else keep(value, places))
