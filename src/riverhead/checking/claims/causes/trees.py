"""Expressions as trees: their parts, their size, the one form that a table needs of each, and written out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial, reduce

from riverhead.checking.claims.reading.expression import Expression, Items, Name, Number, Operation

__all__ = [
    "children",
    "in_full",
    "number",
    "operation",
    "parts_of",
    "size",
    "spelled_out",
    "with_parts",
    "written",
]

MOST_SPELLED = 16  # products of a dot product that is written as their sum
MOST_WRITTEN = 32  # characters of an expression that is named
DEEPEST = 120  # what lies deeper is looked at no more


def children(expression: Expression) -> tuple[Expression, ...]:
    """Give the parts that an expression is made of, none of a number or a name."""
    match expression:
        case Items(items=parts) | Operation(args=parts):
            return parts
    return ()


def with_parts(parent: Expression, parts: tuple[Expression, ...]) -> Expression:
    """Put other parts into an expression."""
    if isinstance(parent, Operation):
        return Operation(parent.what, parts, parent.start, parent.end)
    return Items(parts, parent.start, parent.end)


def number(value: float) -> Number:
    """Make a number of an expression that stands nowhere in a text."""
    return Number(value, 0.0, f"{value:g}", 0, 0)


def operation(what: str, *args: Expression) -> Operation:
    """Make an operation that stands nowhere in a text."""
    return Operation(what, args, 0, 0)


def written(expression: Expression) -> str:
    """Write an expression out, cut off where it is long.

    >>> written(Operation("*", (number(2), Operation("+", (number(3), Name("k", 0, 1)), 0, 0)), 0, 0))
    '2 · (3 + k)'
    """
    text = in_full(expression)
    return text if len(text) <= MOST_WRITTEN else text[: MOST_WRITTEN - 1] + "…"


def in_full(expression: Expression) -> str:
    """Write an expression out, however long it is."""
    return "".join(_pieces(expression, 0))


_SIGNS = {"+": (" + ", 1), "-": (" − ", 1), "*": (" · ", 2), "@": (" · ", 2), "/": ("/", 3), "^": ("^", 4)}


def _pieces(expression: Expression, binding: int) -> Iterator[str]:
    match expression:
        case Number(text=text, unit=unit):
            yield text if text.endswith(unit) else f"{text}%" if unit == "%" else f"{text} {unit}"
        case Name(text=text):
            yield text
        case Items(items=items):
            yield f"[{', '.join(''.join(_pieces(item, 0)) for item in items)}]"
        case Operation(what="neg", args=(inner,)):
            yield "−"
            yield from _pieces(inner, 3)
        case Operation(what=what, args=args) if what in _SIGNS and len(args) > 1:
            sign, own = _SIGNS[what]
            yield "(" if own < binding else ""
            for place, arg in enumerate(args):
                yield sign if place else ""
                yield from _pieces(arg, own + (place > 0 and what in "-/"))
            yield ")" if own < binding else ""
        case Operation(what="sqrt" | "exp" as what, args=(Number() | Name() as inner,)):
            yield "√" if what == "sqrt" else "e^"
            yield from _pieces(inner, 0)
        case Operation(what=what, args=args):
            yield f"{what}({', '.join(''.join(_pieces(arg, 0)) for arg in args)})"


def size(expression: Expression, most: int) -> int:
    """Count the parts of an expression; anything above ``most`` where it is larger, or too deep.

    >>> size(Operation("neg", (Name("q", 0, 1),), 0, 1), 10)
    2
    """
    count, stack = 0, [(expression, 0)]
    while stack and count <= most:
        part, depth = stack.pop()
        count += most + 1 if depth > DEEPEST else 1
        stack += [(child, depth + 1) for child in children(part)]
    return count


def parts_of(expression: Expression) -> Iterator[Expression]:
    """Give an expression and all its parts, down to the deepest that are looked at."""
    stack = [(expression, 0)]
    while stack:
        part, depth = stack.pop()
        yield part
        if depth < DEEPEST:
            stack += [(child, depth + 1) for child in children(part)]


def spelled_out(expression: Expression, value_of: Callable[[Expression], object]) -> Expression:
    """Write e^x as exp(x), softmax(a, b) as softmax([a, b]), and a dot product as the sum that it is.

    Then the table needs one form of each. Raises ValueError as ``value_of`` does.
    """
    parts = tuple(spelled_out(part, value_of) for part in children(expression))
    match expression:
        case Operation(what="^", args=(Name(text="e"), _)) if value_of(expression.args[0]) == math.e:
            return operation("exp", parts[1])
        case Operation(what="*" | "@" | "dot", args=(_, _)):
            left, right = (_vector(part, value_of) for part in parts)
            if 1 < len(left) == len(right) <= MOST_SPELLED:
                return reduce(partial(operation, "+"), map(partial(operation, "*"), left, right))
        case Operation(what=what) if what in _OF_LISTS and len(parts) > 1:
            return operation(what, Items(parts, 0, 0))
    return with_parts(expression, parts) if parts else expression


def _vector(part: Expression, value_of: Callable[[Expression], object]) -> tuple[Expression, ...]:
    """Give the numbers of a vector, nothing of anything else."""
    value = value_of(part) if isinstance(part, Name) else None
    if isinstance(value, tuple) and not any(isinstance(item, tuple) for item in value):
        return tuple(map(number, value))
    if isinstance(part, Items) and not any(isinstance(item, Items) for item in part.items):
        return part.items
    return ()


_OF_LISTS = frozenset(
    ["softmax", "sum", "mean", "var", "std", "norm", "max", "min", "layernorm", "transpose"]
)
