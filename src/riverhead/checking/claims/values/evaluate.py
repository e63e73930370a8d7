"""The value of an expression: a number, a vector or a matrix, by one of the readings its writing allows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from riverhead.checking.claims.reading.expression import Expression, Name, Number, Operation
from riverhead.checking.claims.reading.notation import UNITS
from riverhead.checking.claims.values import scalars
from riverhead.checking.claims.values.readings import USUAL, Reading, swapped
from riverhead.checking.claims.values.scalars import Scalar, Unreadable

__all__ = ["Evaluator", "Reading", "Value", "value"]

Value: TypeAlias = Scalar | tuple["Value", ...]

MAX_CELLS = 40_000  # of one value: a matrix of 200 × 200, more than any page prints
LEAST_DEGREES = 6  # 2π and less are radians
_BASES = {"log2": 2.0, "log10": 10.0}
_PERCENT = ("%", "％", "percent", "per cent")
_PARTS = (*_PERCENT, "°")
_CONSTANTS = {"e": math.e, "π": math.pi, "pi": math.pi, "∞": math.inf, "inf": math.inf, "infty": math.inf}


def _as_float(number: Number) -> Scalar:
    return number.value


@dataclass(slots=True)
class Evaluator:
    """Evaluates with the text's ``names``; ``choices`` collects what could have been read otherwise."""

    names: Mapping[str, Expression]
    reading: Reading = USUAL
    number: Callable[[Number], Scalar] = _as_float
    choices: set[str] = field(default_factory=set)
    unknown: set[str] = field(default_factory=set)
    cells: int = 0

    def value(self, expression: Expression) -> Value:
        """Return the value, or raise `Unreadable`."""
        if isinstance(expression, Number):
            expression = self.meant(expression)
            return self._scaled(expression) if expression.unit else self.number(expression)
        if isinstance(expression, Operation):
            return self._operation(expression)
        if isinstance(expression, Name):
            return self._named(expression)
        self._count(len(expression.items))
        return tuple([self.value(item) for item in expression.items if not _open_end(item)])

    def meant(self, number: Number) -> Number:
        """Return a number as it is read: 2,718 may be thousands or have a decimal comma."""
        if len(number.text) < 5 or number.text[-4] not in ",.":
            return number
        other = swapped(number)
        if other is None:
            return number
        self.choices.add("swapped")
        return other if self.reading.swapped else number

    def _count(self, cells: int) -> None:
        self.cells += cells
        if self.cells > MAX_CELLS:
            raise Unreadable("too many numbers")

    def _scaled(self, number: Number) -> Scalar:
        bound = self.names.get(number.unit)
        if isinstance(bound, Number):
            self.choices.add("symbol")
            if self.reading.symbol:
                factor = scalars.multiply(self.number(bound), self.factor(bound.unit))
                return scalars.multiply(self.number(number), factor)
        return scalars.multiply(self.number(number), self.factor(number.unit))

    def factor(self, unit: str, result: bool = False) -> int | float:
        """Return what a unit multiplies by, as it is read; that of a ``result`` may be only its name."""
        decimal, binary = UNITS.get(unit, (1, 1))
        if unit in ("bit", "bits"):
            self.choices.add("counted")
            if self.reading.counted:
                return 1
        if decimal != 1 and unit not in _PARTS and not result:
            self.choices.add("unitless")
            if self.reading.unitless:
                return 1
        if result and binary > 1:
            self.choices.add("bare")
            if self.reading.bare:
                return 1
        if decimal == binary:
            return decimal
        if unit == "B":
            self.choices.add("billions")
            return 10**9 if self.reading.billions else 1
        self.choices.add("binary")
        return int(binary) if self.reading.binary else int(decimal)

    def _named(self, name: Name) -> Value:
        bound = self.names.get(name.text)
        if bound is None:
            constant = _CONSTANTS.get(name.text)
            if constant is None:
                self.unknown.add(name.text)
                raise Unreadable(f"{name.text} has no number")
            return constant
        return self.value(bound)

    def _operation(self, operation: Operation) -> Value:
        what, args = operation.what, operation.args
        if what in _TWO:
            return self._spine(operation)
        values = tuple(self.value(arg) for arg in args)
        if what in ("sin", "cos", "tan"):
            return self._angle(what, values)
        if what in _BASES:
            natural = each(scalars.log, values[0] if len(values) == 1 else values)
            return each(lambda x: scalars.divide(x, math.log(_BASES[what])), natural)
        if what == "log":
            self.choices.add("base")
            natural = each(scalars.log, values[0] if len(values) == 1 else values)
            base = self.reading.base
            return natural if base == math.e else each(lambda x: scalars.divide(x, math.log(base)), natural)
        if what in scalars.FUNCTIONS:
            return each(scalars.FUNCTIONS[what], values[0] if len(values) == 1 else values)
        if what in ("var", "std", "layernorm"):
            self.choices.add("sample")
        listed = values[0] if len(values) == 1 and isinstance(values[0], tuple) else values
        if what not in _LISTED:
            raise Unreadable(f"{what} is not worked out")
        return _LISTED[what](listed, self.reading)

    def _spine(self, operation: Operation) -> Value:
        """The value of operations whose first operand is again one: a sum of a thousand terms is as deep."""
        spine, first = [operation], operation.args[0]
        while isinstance(first, Operation) and first.what in _TWO:
            spine.append(first)
            first = first.args[0]
        raised = (
            isinstance(first, Name) and first.text == "e" and spine[-1].what == "^" and "e" not in self.names
        )
        left = each(scalars.exp, self.value(spine.pop().args[1])) if raised else self.value(first)
        for step in reversed(spine):
            right = self._exponent(step.args[1]) if step.what == "^" else self.value(step.args[1])
            if step.what in ("+", "-") and self._of_itself(step.args[1]):
                right = together(scalars.multiply, left, right)  # 100 + 10% is 110
            left = self._two(step.what, left, right)
        return left

    def _exponent(self, exponent: Expression) -> Value:
        """A power's exponent; one that is a number is meant exactly: 64^−0.5."""
        number = exponent.args[0] if isinstance(exponent, Operation) and exponent.what == "neg" else exponent
        if not isinstance(number, Number) or number.unit:
            return self.value(exponent)
        return number.value if number is exponent else -number.value

    def _of_itself(self, added: Expression) -> bool:
        """Whether a percentage is added that is one of what it is added to."""
        if not isinstance(added, Number) or added.unit not in _PERCENT:
            return False
        self.choices.add("of_itself")
        return self.reading.of_itself

    def _angle(self, what: str, values: tuple[Value, ...]) -> Value:
        """A sine of radians, of degrees where a whole number may be meant so; cos of two vectors."""
        if what == "cos" and len(values) == 2 and isinstance(values[0], tuple):
            return _LISTED["cosine"](values, self.reading)
        angle = values[0] if len(values) == 1 else values
        if isinstance(angle, int) and abs(angle) >= LEAST_DEGREES:
            self.choices.add("degrees")
            if self.reading.degrees:
                angle = math.radians(angle)
        return each(scalars.FUNCTIONS[what], angle)

    def _two(self, what: str, left: Value, right: Value) -> Value:
        if what == "⊙":
            return together(scalars.multiply, left, right)
        if what in ("@", "*"):
            if isinstance(left, tuple) and isinstance(right, tuple):
                self._count(len(left) * len(right))
                return self._product(what, left, right)
            what = "*"
        return together(_TWO[what], left, right)

    def _product(self, what: str, left: tuple[Value, ...], right: tuple[Value, ...]) -> Value:
        ranks = rank(left), rank(right)
        if what == "*" and shape(left) == shape(right):
            self.choices.add("dot")
            if not self.reading.dot:
                return together(scalars.multiply, left, right)
        if ranks == (1, 1):
            return dot(left, right)
        if ranks == (2, 1):
            return tuple(dot(row, right) for row in left)
        columns = transposed(right)
        if ranks == (1, 2):
            return tuple(dot(left, column) for column in columns)
        self._count(len(left) * len(columns) * len(right))
        return tuple(tuple(dot(row, column) for column in columns) for row in left)


def _open_end(item: Expression) -> bool:
    return item.__class__ is Name and item.text == "…"


def value(expression: Expression, names: Mapping[str, Expression], reading: Reading = USUAL) -> Value:
    """Return the value of ``expression`` by one reading; raises `Unreadable` where it has none.

    >>> from riverhead.checking.claims.reading.parse import expression
    >>> value(expression("(2, 1) · (2, 0)"), {}), value(expression("softmax(1, 1)"), {})
    (4, (0.5, 0.5))
    """
    return Evaluator(names, reading).value(expression)


def rank(item: Value) -> int:
    """Return 0 for a number, 1 for a vector, 2 for a matrix."""
    depth = 0
    while isinstance(item, tuple):
        depth, item = depth + 1, item[0] if item else 0
    return depth


def shape(item: Value) -> tuple[int, ...]:
    """Return the lengths of the axes, by the first item of each; raises `Unreadable` for ragged rows."""
    if not isinstance(item, tuple):
        return ()
    inner = {shape(part) for part in item}
    if len(inner) > 1:
        raise Unreadable("rows of unequal length")
    return (len(item), *(inner.pop() if inner else ()))


def each(step: Callable[[Scalar], Scalar], item: Value) -> Value:
    """Return ``step`` of every number of a value."""
    return tuple(each(step, part) for part in item) if isinstance(item, tuple) else step(item)


def together(step: Callable[[Scalar, Scalar], Scalar], left: Value, right: Value) -> Value:
    """Return ``step`` of the numbers of two values, pair by pair; a lone number goes with every other."""
    if isinstance(left, tuple):
        if not isinstance(right, tuple):
            return tuple([together(step, a, right) for a in left])
        if len(left) != len(right):
            raise Unreadable(f"{len(left)} numbers with {len(right)}")
        return tuple([together(step, a, b) for a, b in zip(left, right, strict=True)])
    if isinstance(right, tuple):
        return tuple([together(step, left, b) for b in right])
    return step(left, right)


def dot(left: Value, right: Value) -> Scalar:
    """Return the dot product of two vectors."""
    product = together(scalars.multiply, left, right)
    if rank(left) != 1 or rank(right) != 1:
        raise Unreadable("a product of other shapes")
    return scalars.total(product)  # type: ignore[arg-type]  # rank 1: a tuple of scalars


def transposed(item: Value) -> tuple[tuple[Value, ...], ...]:
    """Return the rows of a matrix as columns."""
    if not isinstance(item, tuple) or len(shape(item)) != 2:
        raise Unreadable("no matrix to transpose")
    return tuple(zip(*[row for row in item if isinstance(row, tuple)], strict=True))


def _vectors(step: Callable[[tuple[Scalar, ...], Reading], Value]) -> Callable[[Value, Reading], Value]:
    """Make ``step`` work on a vector, and on every row of a matrix."""

    def apply(item: Value, reading: Reading) -> Value:
        if not isinstance(item, tuple) or not item:
            raise Unreadable("no list")
        if any(isinstance(part, tuple) for part in item):
            return tuple(apply(part, reading) for part in item)
        return step(item, reading)  # type: ignore[arg-type]  # no part is a tuple: scalars

    return apply


def _softmax(scores: tuple[Scalar, ...], _: Reading) -> Value:
    if len(scores) < 2:
        raise Unreadable("a softmax of one score")
    largest = max((scalars.center(score) for score in scores), default=0.0)
    shift = largest if -math.inf < largest < math.inf else 0.0
    exps = [scalars.exp(scalars.subtract(score, shift)) for score in scores]
    total = scalars.total(exps)
    return tuple(scalars.divide(item, total) for item in exps)


def _mean(items: tuple[Scalar, ...], _: Reading) -> Scalar:
    return scalars.divide(scalars.total(items), len(items))


def _variance(items: tuple[Scalar, ...], reading: Reading) -> Scalar:
    mean = _mean(items, reading)
    squares = [scalars.power(scalars.subtract(item, mean), 2) for item in items]
    return scalars.divide(scalars.total(squares), len(items) - 1 if reading.sample else len(items))


def _layer_norm(items: tuple[Scalar, ...], reading: Reading) -> Value:
    mean, spread = _mean(items, reading), scalars.sqrt(_variance(items, reading))
    return tuple(scalars.divide(scalars.subtract(item, mean), spread) for item in items)


def _norm(items: tuple[Scalar, ...], _: Reading) -> Scalar:
    return scalars.sqrt(scalars.total([scalars.multiply(item, item) for item in items]))


def _pair(step: Callable[[Value, Value], Value]) -> Callable[[Value, Reading], Value]:
    def apply(item: Value, _: Reading) -> Value:
        if not isinstance(item, tuple) or len(item) != 2:
            raise Unreadable("not two vectors")
        return step(item[0], item[1])

    return apply


def _cosine(left: Value, right: Value) -> Scalar:
    lengths = scalars.multiply(scalars.sqrt(dot(left, left)), scalars.sqrt(dot(right, right)))
    return scalars.divide(dot(left, right), lengths)


def _extreme(step: Callable[[Scalar, Scalar], Scalar]) -> Callable[[tuple[Scalar, ...], Reading], Scalar]:
    def apply(items: tuple[Scalar, ...], _: Reading) -> Scalar:
        found = items[0]
        for item in items[1:]:
            found = step(found, item)
        return found

    return apply


_TWO: dict[str, Callable[[Scalar, Scalar], Scalar]] = {
    "+": scalars.add, "-": scalars.subtract,
    "*": scalars.multiply, "⊙": scalars.multiply, "@": scalars.multiply,
    "/": scalars.divide, "^": scalars.power,
}  # fmt: skip
_LISTED: dict[str, Callable[[Value, Reading], Value]] = {
    "softmax": _vectors(_softmax),
    "sum": _vectors(lambda items, _: scalars.total(items)),
    "mean": _vectors(_mean),
    "var": _vectors(_variance),
    "std": _vectors(lambda items, reading: scalars.sqrt(_variance(items, reading))),
    "layernorm": _vectors(_layer_norm),
    "norm": lambda item, reading: _vectors(_norm)(item if isinstance(item, tuple) else (item,), reading),
    "max": _vectors(_extreme(scalars.maximum)),
    "min": _vectors(_extreme(scalars.minimum)),
    "dot": _pair(dot),
    "cosine": _pair(_cosine),
    "transpose": lambda item, _: transposed(item) if rank(item) == 2 else item,
    "array": lambda item, _: item,
}
