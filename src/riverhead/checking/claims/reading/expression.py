"""What stands on one side of a claim: numbers as printed, names, lists, and what is done with them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["Binding", "Expression", "Items", "Name", "Number", "Operation", "is_literal", "walk"]


@dataclass(frozen=True, slots=True)
class Number:
    """A number as printed: ``value`` without its unit, ``half`` a unit of its last digit.

    ``half`` is 0 for an integer, which is exact as an operand. ``unit`` is as written: "GB", "%", "K", "".
    """

    value: int | float
    half: float
    text: str
    start: int
    end: int
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Name:
    """A name, in the one spelling that q₁, q_1, q_{1} and \\mathbf{q}_1 share."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Items:
    """A vector, a matrix (items of items), or any list in brackets."""

    items: tuple[Expression, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Operation:
    """``what`` done with ``args``: + - * / ^ @ neg transpose, or a function's name (exp, softmax, …)."""

    what: str
    args: tuple[Expression, ...]
    start: int
    end: int


Expression: TypeAlias = Number | Name | Items | Operation


@dataclass(frozen=True, slots=True)
class Binding:
    """A name that the text gives a literal value, a `Number` or `Items` of them, at offsets of the text.

    ``label`` is the name as the text has it, words included ("Attention weights", "q_bank").
    """

    name: str
    label: str
    value: Number | Items
    start: int
    end: int


def is_literal(expression: Expression) -> bool:
    """Say whether an expression is only printed numbers: one, or a list of them."""
    if isinstance(expression, Number):
        return True
    if isinstance(expression, Items):
        return all(map(is_literal, expression.items))
    if isinstance(expression, Operation):
        return expression.what == "neg" and isinstance(expression.args[0], Number)
    return expression.text == "…"


def walk(expression: Expression) -> Iterator[Expression]:
    """Yield an expression and all its parts."""
    waiting: list[Expression] = [expression]
    while waiting:
        part = waiting.pop()
        yield part
        waiting += part.items if isinstance(part, Items) else part.args if isinstance(part, Operation) else ()
