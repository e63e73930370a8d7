"""Arithmetic on one number of a claim: an exact integer, a float, or an uncertain one that remembers why."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, TypeAlias, cast

from riverhead.checking.claims.values import steps
from riverhead.checking.claims.values.ranges import Uncertain
from riverhead.checking.claims.values.steps import Step

__all__ = [
    "FUNCTIONS",
    "Scalar",
    "Unreadable",
    "absolute",
    "add",
    "center",
    "cos",
    "divide",
    "exp",
    "log",
    "maximum",
    "minimum",
    "multiply",
    "negate",
    "power",
    "relu",
    "sigmoid",
    "sin",
    "sqrt",
    "subtract",
    "tan",
    "tanh",
    "total",
]

Scalar: TypeAlias = int | float | Uncertain

MAX_BITS = 4000  # of an integer: four times what float64 holds, and cheap to multiply
_SMALL = 2**62  # integers up to here need no count of their bits


class Unreadable(ValueError):  # noqa: N818 - internal, and what a reader would call it
    """The expression has no value that can be worked out; says why."""


def center(x: Scalar) -> int | float:
    """Return the value of ``x`` with every unknown at its printed value."""
    return x.value if isinstance(x, Uncertain) else x


def _checked(result: Scalar, *operands: Scalar) -> Scalar:
    """Refuse what is too large or undefined; an infinity that was put in may come out."""
    value = center(result)
    if isinstance(value, int):
        if value.bit_length() > MAX_BITS:
            raise Unreadable("a number too large")
    elif value != value:
        raise Unreadable("an undefined value")
    elif math.isinf(value) and not any(abs(center(item)) == math.inf for item in operands):
        raise Unreadable("a number too large")
    return result


def _record(apply: Callable[..., Scalar], step: Step, *operands: Scalar) -> Scalar:
    """Record ``step`` on the tape of ``operands``, unless ``apply`` refuses their values at the center."""
    apply(*map(center, operands))
    tape = next(item.tape for item in operands if isinstance(item, Uncertain))
    return _checked(tape.record(step, *operands), *operands)


def _binary(plain: Callable[[Any, Any], int | float], step: Step) -> Callable[[Scalar, Scalar], Scalar]:
    """Make ``plain`` work on every scalar, recorded as ``step`` where one of the two is uncertain."""

    def apply(a: Scalar, b: Scalar) -> Scalar:
        try:
            result = plain(a, b)
        except TypeError:  # cheaper for plain numbers than to ask beforehand
            return _record(apply, step, a, b)
        except ZeroDivisionError:
            raise Unreadable("a division by zero") from None
        except (OverflowError, ValueError):
            raise Unreadable("a number too large") from None
        if -_SMALL < result < _SMALL:
            return result
        return _checked(result, a, b)

    return apply


def _unary(plain: Callable[[Any], int | float], step: Step) -> Callable[[Scalar], Scalar]:
    """Make ``plain`` work on every scalar, recorded as ``step`` where it is uncertain."""

    def apply(x: Scalar) -> Scalar:
        try:
            result = plain(x)
        except TypeError:
            return _record(apply, step, x)
        except OverflowError:
            raise Unreadable("a number too large") from None
        except ValueError:
            raise Unreadable("a function outside its domain") from None
        if -_SMALL < result < _SMALL:
            return result
        return _checked(result, x)

    return apply


def _quotient(a: int | float, b: int | float) -> int | float:
    """An integer where two integers divide without a rest."""
    if a.__class__ is int and b.__class__ is int and b and not a % b:
        return a // b
    return a / b


def _power(base: int | float, exponent: int | float) -> int | float:
    if not (isinstance(base, int) and isinstance(exponent, int)):
        return math.pow(base, exponent)
    if abs(base) == 1:
        return base if exponent % 2 else 1
    if (abs(base).bit_length() - 1) * abs(exponent) > MAX_BITS:  # a lower bound of the result's bits
        if exponent > 0:
            raise OverflowError
        return 0.0
    return int(base**exponent) if exponent >= 0 else 1 / int(base**-exponent)


def _root(x: int | float) -> int | float:
    """An integer where an integer is a square."""
    if isinstance(x, int) and x >= 0:
        root = math.isqrt(x)
        if root * root == x:
            return root
    return math.sqrt(x)


add = _binary(operator.add, steps.ADD)
subtract = _binary(operator.sub, steps.SUBTRACT)
multiply = _binary(operator.mul, steps.MULTIPLY)
divide = _binary(_quotient, steps.DIVIDE)
maximum = _binary(max, steps.MAXIMUM)
minimum = _binary(min, steps.MINIMUM)

negate = _unary(operator.neg, steps.NEGATE)
absolute = _unary(operator.abs, steps.ABSOLUTE)
exp = _unary(math.exp, steps.EXP)
log = _unary(math.log, steps.LOG)
sqrt = _unary(_root, steps.SQRT)
sin = _unary(math.sin, steps.SIN)
cos = _unary(math.cos, steps.COS)
tan = _unary(math.tan, steps.TAN)
tanh = _unary(math.tanh, steps.TANH)

_raise = _binary(_power, steps.POWER)


def power(base: Scalar, exponent: Scalar) -> Scalar:
    """Return ``base`` to the power of ``exponent``: exact of integers; 0⁰ and a negative's root are refused.

    >>> power(2, 10), power(2, -1), power(1024, 3)
    (1024, 0.5, 1073741824)
    """
    low, high = center(base), center(exponent)
    if low < 0 and high % 1:
        raise Unreadable("a root of a negative number")
    if not low and high <= 0:
        raise Unreadable("zero to a power that is not positive")
    return _raise(base, exponent)


def relu(x: Scalar) -> Scalar:
    """Return ``x``, and 0 where it is negative."""
    return maximum(x, 0)


def sigmoid(x: Scalar) -> Scalar:
    """Return 1 / (1 + e^−x), by the form that cannot overflow."""
    if center(x) < 0:
        raised = exp(x)
        return divide(raised, add(1, raised))
    return divide(1, add(1, exp(negate(x))))


def total(items: Sequence[Scalar]) -> Scalar:
    """Return the sum: exact of integers, rounded once of floats.

    >>> total([1, 2, 3]), total([0.1] * 10)
    (6, 1.0)
    """
    kinds = set(map(type, items))
    if Uncertain in kinds:
        return reduce(add, items)
    plain = cast("Sequence[int | float]", items)
    try:
        result = math.fsum(plain) if float in kinds else sum(plain)
    except OverflowError:
        raise Unreadable("a number too large") from None
    except ValueError:
        raise Unreadable("an undefined value") from None
    return result if -_SMALL < result < _SMALL else _checked(result, *items)


FUNCTIONS: dict[str, Callable[[Scalar], Scalar]] = {
    "abs": absolute,
    "cos": cos,
    "exp": exp,
    "log": log,
    "neg": negate,
    "relu": relu,
    "sigmoid": sigmoid,
    "sin": sin,
    "sqrt": sqrt,
    "tan": tan,
    "tanh": tanh,
}
