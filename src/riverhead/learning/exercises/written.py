"""A step written out as a formula: of numbers, or of what its parents are called."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from riverhead.checking.answers import Cell, Sheet
from riverhead.derivation.notation import Digits, fenced, maths
from riverhead.numbers import Number, plain
from riverhead.scene import Call, Math, Operator, Power, Root, Row, Sub, Symbol, Vector, Word

__all__ = ["given", "names", "written"]

LONGEST = 60  # characters of all names together; where they are longer, symbols stand for them
SYMBOLS = {
    "dots": "q·k", "scores": "score", "exp": "e^score", "weights": "weight", "gain": "γ", "shift": "β",
    "epsilon": "ε", "two": "2", "even": "x", "odd": "y", "turned_even": "x′", "turned_odd": "y′",
}  # fmt: skip

Write = Callable[[Sequence[Math]], Math]


def written(step: str, of: Sequence[Math]) -> Math | None:
    """Return what a step does with its parents, without the outcome; None where no formula says it.

    >>> from riverhead.numbers import plain
    >>> print(written("dot", [plain(2), plain(-1), plain(3), plain(4)]))
    2·3 + (−1)·4
    """
    return WRITTEN[step](of) if step in WRITTEN else None


def given(sheet: Sheet, cell: Cell) -> Math:
    """Return the number of a given cell; what divides as √d_k is shown as that root."""
    if cell.grid == "divisor" and "d_k" in sheet.by_id:
        d_k = sheet["d_k"].truth
        if math.isclose(math.sqrt(d_k), cell.truth):
            return Root(plain(d_k))
    return Digits(4).operand(cell.truth)


def names(sheet: Sheet, cell: Cell) -> list[Math]:
    """Return what the parents of a cell are called: by their words while they are short, else by symbols."""
    parents = [sheet[id] for id in cell.parents]
    short = sum(len(parent.label) for parent in parents) <= LONGEST
    return [Word(p.label) if p.label and short else _symbol(p, parents) for p in parents]


def _symbol(cell: Cell, among: Sequence[Cell]) -> Math:
    """The name of a cell's grid, numbered from 1 where several of its cells are among the parents."""
    if cell.grid == "divisor":
        return Root(Sub(Symbol("d"), Symbol("k")))
    name, _, index = SYMBOLS.get(cell.grid, cell.grid).partition("_")
    single = len(name) == 1 and index
    symbol: Math = Sub(Symbol(name), Symbol(index)) if single else Word(f"{name} {index}".strip())
    kin = [other.at for other in among if (other.grid, other.head) == (cell.grid, cell.head)]
    axes = [axis for axis in range(len(cell.at)) if len({at[axis] for at in kin}) > 1]
    return Sub(symbol, plain(cell.at[axes[-1]] + 1)) if axes else symbol


def _apart(node: Math) -> Math:
    """In parentheses what would run into a sign beside it: a negative number, a difference, a sum."""
    runs = node.items if isinstance(node, Row) else ()
    if Operator("+") in runs or Operator("−") in runs or (isinstance(node, Word) and " − " in node.text):
        return Vector((node,))
    return fenced(node)


def _factor(node: Math) -> Math:
    """In parentheses several words, too."""
    return Vector((node,)) if isinstance(node, Word) and " " in node.text else _apart(node)


def _first(node: Math) -> Math:
    """A number at the beginning runs into nothing."""
    return node if isinstance(node, Number) else _apart(node)


def _joined(sign: str, first: Callable[[Math], Math], then: Callable[[Math], Math]) -> Write:
    def write(of: Sequence[Math]) -> Math:
        items: list[Math] = [first(of[0])]
        for node in of[1:]:
            items += [Operator(sign), then(node)]
        return Row(tuple(items))

    return write


_sum, _difference = _joined("+", _first, _apart), _joined("−", _first, _apart)
_product, _over = _joined("·", _factor, _factor), _joined("÷", _first, _apart)


def _dot(of: Sequence[Math]) -> Math:
    half = len(of) // 2
    return _sum([_product(pair) for pair in zip(of[:half], of[half:], strict=True)])


def _mean(of: Sequence[Math]) -> Math:
    return _over([_sum(of), plain(len(of))])


WRITTEN: Mapping[str, Write] = {
    "same": lambda of: of[0],
    "total": _sum,
    "difference": _difference,
    "product": _product,
    "divide": _over,
    "divide, rounded down": lambda of: maths(_over(of), Word("rounded down")),
    "mean": _mean,
    "dot": _dot,
    "exp": lambda of: Power(Symbol("e"), of[0] if isinstance(of[0], Number) else _factor(of[0])),
    "mean of squares": lambda of: _mean([Power(_apart(node), plain(2)) for node in of]),
    "root": lambda of: Root(_sum(of)),
    "times and plus": lambda of: _sum([_product(of[:2]), of[2]]),
    "sin": lambda of: Call("sin", of[0]),
    "cos": lambda of: Call("cos", of[0]),
    "turned": lambda of: _difference([_product([of[0], of[2]]), _product([of[1], of[3]])]),
    "base to the 2i/d": lambda of: Power(of[0], maths(plain(2), "·", of[1], "÷", of[2])),
}
