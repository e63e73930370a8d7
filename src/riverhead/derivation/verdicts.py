"""What rounding on the way can make of any number of a derivation, and so what a printed number may claim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from riverhead.derivation.scaling import multiplier, shift
from riverhead.derivation.steps import KINDS
from riverhead.errors import InputError
from riverhead.numbers import Interval, Rounding, Verdict, judge, read

if TYPE_CHECKING:
    from riverhead.derivation.derivation import Derivation

__all__ = ["Carried", "judge_cell"]


class Carried:
    """Every step worked in intervals: each number is carried on as it is, or as ``digits`` round it.

    ``digits`` gives the rounding of each step; a step it does not name is carried on as it is.
    """

    def __init__(self, derivation: Derivation, digits: Mapping[str, Rounding]) -> None:
        self.derivation, self.given, self.digits = derivation, derivation.given, digits
        self.cell = cache(self._cell)

    def kept(self, step: str, head: int, i: int, j: int) -> Interval:
        """Return what the next step is given."""
        return self.cell(step, head, i, j).rounded(self.digits.get(step))

    def _cell(self, step: str, head: int, i: int, j: int) -> Interval:
        """Return what a cell of ``step`` can be before it is rounded itself."""
        how = getattr(self, f"_{step}", None)
        return how(head, i, j) if how else Interval.point(self.derivation[step].values[head][i][j])

    def _kv(self, head: int) -> int:
        return head // (self.given.n_heads // self.given.n_kv_heads)

    def _dot(self, left: Sequence[Interval], right: Sequence[Interval]) -> Interval:
        return Interval.sum(a * b for a, b in zip(left, right, strict=True))

    def _dots(self, head: int, i: int, j: int) -> Interval:
        d = range(self.given.d_k)
        key = [self.kept("k", self._kv(head), j, c) for c in d]
        return self._dot([self.kept("q", head, i, c) for c in d], key)

    def _scores(self, head: int, i: int, j: int) -> Interval:
        return self.kept("dots", head, i, j) * Interval.point(multiplier(self.given))

    def _masked(self, head: int, i: int, j: int) -> Interval:
        hidden = np.isneginf(self.derivation["masked"].values[head][i][j])
        return Interval.point(-np.inf) if hidden else self.kept("scores", head, i, j)

    def _exp(self, head: int, i: int, j: int) -> Interval:
        step = self.derivation.exponents
        moved = float(shift(np.array(self.derivation[step].values[head][i]))[0])
        return (self.kept(step, head, i, j) + Interval.point(-moved)).exp()

    def _sum(self, head: int, i: int, j: int) -> Interval:
        return Interval.sum(self.kept("exp", head, i, n) for n in range(self.given.T_k))

    def _weights(self, head: int, i: int, j: int) -> Interval:
        if self.derivation["sum"].values[head][i][0] == 0:
            return Interval.point(0.0)
        return self.kept("exp", head, i, j) / self.kept("sum", head, i, 0)

    def _out(self, head: int, i: int, j: int) -> Interval:
        keys = range(self.given.T_k)
        values = [self.kept("v", self._kv(head), n, j) for n in keys]
        return self._dot([self.kept("weights", head, i, n) for n in keys], values)

    def _merged(self, head: int, i: int, j: int) -> Interval:
        return self.kept("out", j // self.given.d_v, i, j % self.given.d_v)

    def _y(self, head: int, i: int, j: int) -> Interval:
        side_by_side = "merged" if self.given.n_heads > 1 else "out"
        column = [Interval.point(row[j]) for row in self.given.W_o or ()]
        return self._dot([self.kept(side_by_side, 0, i, n) for n in range(len(column))], column)


def judge_cell(
    derivation: Derivation,
    step: str,
    i: int,
    j: int | None,
    printed: str,
    head: int = 0,
    digits: Mapping[str, Rounding | str] | None = None,
) -> Verdict:
    """Say whether ``printed`` is exact, rounded, carried or false for a cell; ``j=None`` is its row's sum.

    ``digits`` says how the source rounds each step (``{"weights": ".2f", "exp": ".3g"}``); without it every
    step is taken to be rounded to as many decimals as ``printed`` shows digits.
    """
    derivation.check(step, i, j or 0, head)
    row = derivation[step].values[head][i]
    if digits is None:
        number = read(printed)
        same = Rounding(max(number.decimals, number.digits - 1))  # 16.9 stands beside 2.83, 6% beside 0.71
        digits = dict.fromkeys(derivation.names, same)
    unknown = [name for name in digits if name not in KINDS]
    if unknown:
        raise InputError(f"digits names {unknown[0]!r:.60}; the steps are {', '.join(KINDS)}")
    parsed = {name: Rounding.parse(d) if isinstance(d, str) else d for name, d in digits.items()}
    carried = Carried(derivation, parsed)
    if j is not None:
        return judge(printed, row[j], carried.kept(step, head, i, j))
    total = Interval.sum(carried.kept(step, head, i, n) for n in range(len(row)))
    return judge(printed, float(np.sum(row)), total)
