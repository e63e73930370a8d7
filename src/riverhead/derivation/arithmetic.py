"""The arithmetic of any cell of any step, made on demand from the operands the steps hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from riverhead.derivation.notation import Digits, divided, fenced, maths, of, products, vector
from riverhead.derivation.scaling import shift
from riverhead.errors import InputError
from riverhead.numbers import Number, plain
from riverhead.scene import Math, Power, Row, Sub, Symbol, Word

if TYPE_CHECKING:
    from riverhead.derivation.derivation import Derivation

__all__ = ["FIRST_TERMS", "Cell", "arithmetic"]

FIRST_TERMS = 8  # of a long sum, unless more are asked for: what fits on a line


class Cell:
    """One cell of one step, and what its arithmetic needs to know."""

    def __init__(
        self, derivation: Derivation, step: str, i: int, j: int, head: int, terms: int | None, digits: Digits
    ) -> None:
        self.derivation, self.given, self.step = derivation, derivation.given, step
        self.i, self.j, self.head, self.terms, self.digits = i, j, head, terms, digits
        derivation.check(step, i, j, head)
        self.value = derivation[step].values[head][i][j]

    def row(self, step: str, i: int | None = None, head: int | None = None) -> tuple[float, ...]:
        """Row ``i`` of another step, by default this cell's row and head."""
        return self.derivation[step].values[self.head if head is None else head][self.i if i is None else i]

    def column(self, step: str, head: int | None = None) -> tuple[float, ...]:
        """Column j of another step."""
        return tuple(row[self.j] for row in self.derivation[step].values[self.head if head is None else head])

    @property
    def kv_head(self) -> int:
        """The head whose keys and values this head reads."""
        return self.head // (self.given.n_heads // self.given.n_kv_heads)

    @property
    def shown(self) -> Number:
        """This cell's own number."""
        return self.digits.show(self.step, self.value)

    def show(self, step: str, value: float) -> Number:
        """A number of another step."""
        return self.digits.show(step, value)

    def sum(self, left: Sequence[float], right: Sequence[float], step: str = "") -> Row:
        """``2·2 + 1·0``; ``step`` says which digits the left factors have."""
        few = len(left) if self.terms is None else self.terms
        show = self.digits.show if step else lambda _, value: self.digits.operand(value)
        pairs = [
            (show(step, a), self.digits.operand(b)) for a, b in zip(left[:few], right[:few], strict=False)
        ]
        return products(pairs, len(left))


def arithmetic(
    derivation: Derivation,
    step: str,
    i: int,
    j: int,
    head: int = 0,
    *,
    terms: int | None = FIRST_TERMS,
    digits: int | None = None,
) -> Row:
    """Return how the number in row ``i``, column ``j`` of ``step`` is made, and what it is.

    A sum of more than ``terms`` terms shows the first of them, their count and the total; ``terms=None``
    shows every one. Raises `InputError` where there is no such cell.
    """
    if terms is not None and terms < 1:
        raise InputError(f"terms is {terms}; it takes 1 or more, or None for every term")
    cell = Cell(derivation, step, i, j, head, terms, Digits.of(digits))
    return HOW[step](cell)


def _given(cell: Cell) -> Row:
    """``k_river = (2, 0)``."""
    name = of(cell.step[0], cell.derivation.rows(cell.step)[cell.i])
    return maths(name, "=", vector([cell.digits.operand(n) for n in cell.row(cell.step)], cell.terms))


def _projected(cell: Cell) -> Row:
    """A component of q, k or v: given, or a row of x times a column of W."""
    given = cell.given
    matrix = {"q": given.W_q, "k": given.W_k, "v": given.W_v}[cell.step]
    if matrix is None:
        return _given(cell)
    source = "x_k" if cell.step != "q" and given.x_k is not None else "x"
    width = len(matrix[0]) // len(cell.derivation[cell.step].values)
    column = [row[cell.head * width + cell.j] for row in matrix]
    token = cell.derivation.rows(cell.step)[cell.i]
    name = Sub(Symbol(cell.step), maths(Word(token), ",", plain(cell.j + 1)))
    return maths(name, "=", cell.sum(cell.row(source, head=0), column), "=", cell.shown)


def _dot(cell: Cell) -> Row:
    """``q_bank · k_river = 2·2 + 1·0 = 4``."""
    key = cell.row("k", cell.j, cell.kv_head)
    names = maths(of("q", cell.given.asking[cell.i]), "·", of("k", cell.given.answering[cell.j]))
    return maths(names, "=", cell.sum(cell.row("q"), key), "=", cell.shown)


def _score(cell: Cell) -> Row:
    """``4 ÷ √2 = 2.828``."""
    dot = cell.show("dots", cell.row("dots")[cell.j])
    return maths(dot, divided(cell.given, cell.digits), "=", cell.shown)


def _masked(cell: Cell) -> Row:
    """``2.121 → −∞`` where the key is hidden, the score itself where it is seen."""
    score = cell.show("scores", cell.row("scores")[cell.j])
    return maths(score, "→", cell.shown) if cell.shown.text != score.text else maths(score)


def _exp(cell: Cell) -> Row:
    """``e^2.828 = 16.92``; a row whose exponentials would overflow is moved first."""
    scores = cell.row(cell.derivation.exponents)
    moved = float(shift(np.array(scores))[0])
    exponent: Math = cell.show("scores", scores[cell.j])
    if moved:
        exponent = maths(exponent, "−", fenced(cell.show("scores", moved)))
    return maths(Power(Symbol("e"), exponent), "=", cell.shown)


def _sum(cell: Cell) -> Row:
    """``2.028 + 16.92 + 8.342 + 4.113 = 31.40``."""
    exps = cell.row("exp")
    few = exps if cell.terms is None else exps[: cell.terms]
    items: list[Math | str] = []
    for exp in few:
        items += ["+"] * bool(items) + [cell.show("exp", exp)]
    if len(few) < len(exps):
        items += ["+", "…", Word(f"{len(exps)} terms")]
    return maths(*items, "=", cell.shown)


def _weight(cell: Cell) -> Row:
    """``16.92 ÷ 31.40 = 0.539``; 0 without a division where the row is empty."""
    total = cell.row("sum")[0]
    if total == 0:
        return maths(plain(0))
    return maths(cell.show("exp", cell.row("exp")[cell.j]), "÷", cell.show("sum", total), "=", cell.shown)


def _out(cell: Cell) -> Row:
    """``0.065·0 + 0.539·1 + 0.266·0 + 0.131·0.5 = 0.604``."""
    return maths(cell.sum(cell.row("weights"), cell.column("v", cell.kv_head), "weights"), "=", cell.shown)


def _merged(cell: Cell) -> Row:
    """Component j is a component of one head's output."""
    head, component = divmod(cell.j, cell.given.d_v)
    token = cell.given.asking[cell.i]
    source = Sub(Symbol("out"), maths(Word(token), ",", plain(component + 1)))
    return maths(Word(f"head {head}:"), source, "=", cell.shown)


def _mixed(cell: Cell) -> Row:
    """A row of the outputs side by side times a column of W_o."""
    side_by_side = "merged" if cell.given.n_heads > 1 else "out"
    column = [row[cell.j] for row in cell.given.W_o or ()]
    name = Sub(Symbol("y"), maths(Word(cell.given.asking[cell.i]), ",", plain(cell.j + 1)))
    return maths(name, "=", cell.sum(cell.row(side_by_side, head=0), column, side_by_side), "=", cell.shown)


HOW: dict[str, Callable[[Cell], Row]] = {
    "x": _given,
    "x_k": _given,
    "q": _projected,
    "k": _projected,
    "v": _projected,
    "dots": _dot,
    "scores": _score,
    "masked": _masked,
    "exp": _exp,
    "sum": _sum,
    "weights": _weight,
    "out": _out,
    "merged": _merged,
    "y": _mixed,
}
