"""Parts and formulas as plain data for the typst template: texts stay texts there, never markup."""

from __future__ import annotations

import re
from typing import Any, TypeAlias

from riverhead.numbers import Number
from riverhead.render.grid import Grid, grid
from riverhead.render.letters import visible
from riverhead.render.plain import PRIME, flat, loose, spaced
from riverhead.render.walk import Walker
from riverhead.scene import (
    Bar,
    Call,
    Cell,
    Formula,
    Fraction,
    Math,
    Matrix,
    Operator,
    Power,
    Root,
    Row,
    Sub,
    Symbol,
    Table,
    Text,
    Vector,
    Word,
)

__all__ = ["Node", "Nodes", "runs"]

Node: TypeAlias = dict[str, Any]

_SYMBOL = re.compile(r"(√?)\b(?:([A-Za-z])_([A-Za-z0-9]+)\b|(e)\^(\w+))")


def runs(text: str) -> tuple[str | Math, ...]:
    """Return words of ours whose x_1, √d_k and e^score are formulas.

    >>> [str(run) for run in runs("the score over √d_k")], runs("x_1")[0].base
    (['the score over ', '√d_k'], Symbol(name='x', primes=0))
    """
    found: list[str | Math] = []
    at = 0
    for match in _SYMBOL.finditer(text):
        root, base, index, e, power = match.groups()
        low = Symbol(index or "") if (index or "").isalpha() else Word(index or "")
        node: Math = Power(Symbol(e), Word(power)) if e else Sub(Symbol(base), low)
        found += [text[at : match.start()], Root(node) if root else node]
        at = match.end()
    return tuple(run for run in (*found, text[at:]) if run != "")


class Nodes(Walker[Node]):
    """A dictionary a part or a node; ``is`` says to the template what it is."""

    def __init__(self, *, ours: bool = True) -> None:
        self.ours = ours  # whether the words are ours, with symbols among them, or a learner's

    def words(self, text: str) -> Node:
        """Words, with their symbols."""
        pieces = runs(text) if self.ours else (text,)
        return {"is": "runs", "items": [self.run(piece) for piece in pieces]}

    def run(self, piece: str | Math) -> Node:
        """Words or a formula within a line."""
        if isinstance(piece, str):
            return {"is": "plain", "text": visible(piece)}
        return {"is": "math", "of": self.walk(piece)}

    def text(self, part: Text) -> Node:
        """A heading or a paragraph."""
        items = [self.words(run) if isinstance(run, str) else self.run(run) for run in part.runs]
        return {"is": part.role, "items": items}

    def formula(self, part: Formula) -> Node:
        """A formula on its own line."""
        return {"is": "formula", "of": self.walk(part.math)}

    def table(self, part: Table) -> Node:
        """Rows under a header."""
        return self._grid(grid(part))

    def matrix(self, part: Matrix) -> Node:
        """A grid with its name in the corner."""
        return {**self._grid(grid(part)), "matrix": True}

    def _grid(self, shown: Grid) -> Node:
        return {
            "is": "grid",
            "matrix": False,
            "caption": visible(shown.caption),
            "right": list(shown.right),
            "head": [self.cell(cell) for cell in shown.head],
            "rows": [[self.cell(cell) for cell in row] for row in shown.rows],
        }

    def cell(self, cell: Cell) -> Node | None:
        """What stands in a cell of a table."""
        if cell is None or isinstance(cell, Bar):
            return None
        return self.words(cell) if isinstance(cell, str) else self.run(cell)

    def symbol(self, node: Symbol) -> Node:
        """A variable: one letter in italics."""
        return {"is": "symbol", "text": visible(node.name) + PRIME * node.primes}

    def word(self, node: Word) -> Node:
        """Upright text."""
        inside = runs(node.text) if self.ours and not node.primes else (node.text,)
        if inside == (node.text,):
            return {"is": "word", "text": visible(node.text) + PRIME * node.primes}
        return self._row([Word(run) if isinstance(run, str) else run for run in inside])

    def number(self, node: Number) -> Node:
        """A number, its minus its own."""
        return {"is": "word", "text": visible(node.text)}

    def operator(self, node: Operator) -> Node:
        """A sign between two."""
        return {"is": "operator", "text": visible(node.sign)}

    def row(self, node: Row) -> Node:
        """Nodes in a row, with a space where words would run together."""
        items: list[Math] = []
        for at, item in enumerate(flat(node)):
            before = flat(node)[at - 1]
            signs = isinstance(item, Operator) or isinstance(before, Operator)
            items += [Word(" ")] * (at > 0 and not signs and spaced(flat(node), at))
            items.append(item)
        return self._row(items)

    def _row(self, items: list[Math]) -> Node:
        return {"is": "row", "items": [self.walk(item) for item in items]}

    def sub(self, node: Sub) -> Node:
        """An index."""
        return {"is": "sub", "base": self._base(node.base), "index": self.walk(node.index)}

    def power(self, node: Power) -> Node:
        """An exponent."""
        return {"is": "power", "base": self._base(node.base), "exponent": self.walk(node.exponent)}

    def _base(self, node: Math) -> Node:
        return self.walk(Vector((node,)) if loose(node) else node)

    def fraction(self, node: Fraction) -> Node:
        """A fraction."""
        return {"is": "fraction", "top": self.walk(node.top), "bottom": self.walk(node.bottom)}

    def root(self, node: Root) -> Node:
        """A square root."""
        return {"is": "root", "of": self.walk(node.of)}

    def vector(self, node: Vector) -> Node:
        """Components in parentheses."""
        return {"is": "vector", "items": [self.walk(item) for item in node.items]}

    def call(self, node: Call) -> Node:
        """A function of one argument."""
        return {"is": "call", "name": visible(node.name), "of": self.walk(node.argument)}
