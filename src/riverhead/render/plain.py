"""Formulas on one line of Unicode, and the rules of spacing and brackets that all formats share."""

from __future__ import annotations

from collections.abc import Callable

from riverhead.numbers import Number
from riverhead.render.letters import visible
from riverhead.render.walk import Walker
from riverhead.scene import (
    Call,
    Fraction,
    Math,
    Operator,
    Power,
    Root,
    Row,
    Sub,
    Symbol,
    Vector,
    Word,
)

__all__ = ["PRIME", "Plain", "flat", "loose", "pieces", "product", "spaced"]

PRIME = "′"
SPACED = frozenset("=≈≠<>≤≥+−÷×→←↦∈∝:…|")

_RAISED = dict(zip("0123456789+−=()nixyTjk", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱˣʸᵀʲᵏ", strict=True))


class Plain(Walker[str]):
    """A formula in one line of Unicode: ``q_bank·k_river = 2·2 + 1·0 = 4``; ``leaf`` spells its texts."""

    def __init__(self, leaf: Callable[[str], str] = visible) -> None:
        self.leaf = leaf

    def symbol(self, node: Symbol) -> str:
        """``q``, ``x′``."""
        return self.leaf(node.name) + PRIME * node.primes

    def word(self, node: Word) -> str:
        """``bank′``."""
        return self.leaf(node.text) + PRIME * node.primes

    def number(self, node: Number) -> str:
        """``0.539``."""
        return self.leaf(node.text)

    def operator(self, node: Operator) -> str:
        """``·``; `row` sets the space around it."""
        return self.leaf(node.sign)

    def row(self, node: Row) -> str:
        """Nodes in a row, with the spaces a reader expects."""
        items = flat(node)
        gaps = (" " if at and spaced(items, at) else "" for at in range(len(items)))
        return "".join(gap + self.walk(item) for gap, item in zip(gaps, items, strict=True))

    def sub(self, node: Sub) -> str:
        """``q_bank``, ``w_(i, j)``."""
        return f"{self.tight(node.base)}_{self.tight(node.index)}"

    def power(self, node: Power) -> str:
        """``Kᵀ``, ``x²``, ``e^2.12``."""
        exponent = self.walk(node.exponent)
        if exponent and all(char in _RAISED for char in exponent):
            return self.tight(node.base) + "".join(_RAISED[char] for char in exponent)
        return f"{self.tight(node.base)}^{self.tight(node.exponent)}"

    def fraction(self, node: Fraction) -> str:
        """``QKᵀ/√d_k``, ``(a + b)/2``."""
        top = self.walk(node.top) if product(node.top) else self.tight(node.top)
        return f"{top}/{self.tight(node.bottom)}"

    def root(self, node: Root) -> str:
        """``√d_k``, ``√(a + b)``."""
        return "√" + self.tight(node.of)

    def vector(self, node: Vector) -> str:
        """``(2, 1)``."""
        return f"({', '.join(map(self.walk, node.items))})"

    def call(self, node: Call) -> str:
        """``softmax(x)``."""
        return f"{self.leaf(node.name)}({self.walk(node.argument)})"

    def tight(self, node: Math) -> str:
        """``node`` as one piece."""
        return f"({self.walk(node)})" if loose(node) else self.walk(node)


def loose(node: Math) -> bool:
    """Whether ``node`` needs parentheses to stand as one piece."""
    return isinstance(node, Fraction) or (isinstance(node, Row) and len(node.items) > 1)


def pieces(node: Math, long: int = 60) -> list[Math]:
    """Return ``node`` in pieces that may stand on separate lines: cut before ``=`` and ``+``, if it is long.

    >>> from riverhead.numbers import plain
    >>> row = Row((Symbol("x"), Operator("="), plain(2), Operator("+"), plain(2)))
    >>> [Plain().walk(piece) for piece in pieces(row, long=4)]
    ['x', ' = 2', ' + 2']
    """
    if not isinstance(node, Row) or len(Plain().walk(node)) <= long:
        return [node]
    found: list[list[Math]] = [[]]
    for item in flat(node):
        if isinstance(item, Operator) and item.sign in SPACED and found[-1]:
            found.append([Row(())])  # something to its left: a sign between two, not a sign of one
        found[-1].append(item)
    return [Row(tuple(items)) for items in found]


def flat(row: Row) -> tuple[Math, ...]:
    """Return the items of ``row`` with those of the rows inside it; a sign as in −x stays with its x."""
    items: list[Math] = []
    for item in row.items:
        signed = isinstance(item, Row) and item.items[:1] in ((), (Operator("−"),), (Operator("+"),))
        items += flat(item) if isinstance(item, Row) and not signed else (item,)
    return tuple(items)


def product(node: Math) -> bool:
    """Whether a slash after ``node`` divides all of it: nothing in it is added or compared."""
    return isinstance(node, Row) and not any(
        isinstance(item, Operator) and item.sign in SPACED for item in node.items
    )


def spaced(items: tuple[Math, ...], at: int) -> bool:
    """Whether a space stands before item ``at``: around ``=`` and ``+``, after a comma, never in QKᵀ."""
    left, right = items[at - 1], items[at]
    if isinstance(right, Operator):
        return right.sign in SPACED
    if isinstance(left, Operator):
        sign_of_right = at == 1 and left.sign in "+−"
        return (left.sign in SPACED or left.sign == ",") and not sign_of_right
    return not (_letter(left) and _letter(right))


def _letter(node: Math) -> bool:
    """A single letter, dressed or not: such stand close together in a product."""
    if isinstance(node, Power):
        return _letter(node.base)
    return isinstance(node, Symbol) and len(node.name) == 1
