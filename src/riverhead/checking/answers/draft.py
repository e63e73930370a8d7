"""A sheet in the making: grids of cells, given or worked out, one after the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

from riverhead.checking.answers.sheet import MOST_CELLS, Cell, Sheet
from riverhead.checking.answers.steps import EXACT, STEPS, follow
from riverhead.errors import InputError
from riverhead.numbers import Interval
from riverhead.numbers.interval import slack

__all__ = ["Draft", "Wired"]

Wired: TypeAlias = tuple[str, Sequence[str]]  # a step, and the ids of its parents
Numbers: TypeAlias = float | Sequence[float] | Sequence[Sequence[float]]


class Draft:
    """Cells put down in order; `sheet` makes them one.

    ``decimals`` are asked of a cell, unless exact parents and plain arithmetic make it a short number: that
    is asked for exactly.

    >>> draft = Draft("A mean", decimals=2)
    >>> x = draft.given("x", [3.0, 1.0, 4.0])
    >>> draft.cell("mean", "mean", x, label="the mean of x")
    'mean'
    >>> round(draft.sheet()["mean"].truth, 3), draft.sheet()["mean"].exact
    (2.667, False)
    """

    def __init__(self, title: str, decimals: int = 2) -> None:
        self.title, self.decimals = title, decimals
        self._cells: dict[str, Cell] = {}

    def given(self, grid: str, values: Numbers, head: int | None = None) -> list[str]:
        """Put down a number, a vector or a matrix that stands on the sheet, and return the ids in order."""
        return [self.put(Cell(grid, at, truth, head=head, asked=False)) for at, truth in _numbered(values)]

    def cell(
        self,
        grid: str,
        step: str,
        parents: Sequence[str],
        at: tuple[int, ...] = (),
        *,
        truth: float | None = None,
        head: int | None = None,
        exact: bool = False,
        asked: bool = True,
        label: str = "",
        unit: str = "",
    ) -> str:
        """Put down a cell that follows by ``step``; ``truth`` is worked out from it unless it is given."""
        if truth is None:
            truth = self._truth(grid, step, parents)
        exact = exact or self._exact(step, parents, truth)
        cell = Cell(grid, at, truth, step, tuple(parents), head, self.decimals, exact, asked, label, unit)
        return self.put(cell)

    def put(self, cell: Cell) -> str:
        """Put down a cell as it is, and return its id."""
        if len(self._cells) >= MOST_CELLS:
            raise InputError(f"a sheet takes up to {MOST_CELLS:,} cells; ask for fewer heads or tokens")
        if cell.id in self._cells:
            raise InputError(f"cell {cell.id} stands there twice")
        self._cells[cell.id] = cell
        return cell.id

    def sheet(self) -> Sheet:
        """Return the sheet."""
        return Sheet(self.title, tuple(self._cells.values()))

    def _truth(self, grid: str, step: str, parents: Sequence[str]) -> float:
        if step not in STEPS or not self._cells.keys() >= set(parents):
            raise InputError(f"{grid} follows by {step[:40]!r} from {list(parents)}; one of them is unknown")
        made = follow(step, [Interval.point(self._cells[parent].truth) for parent in parents])
        if made is None:
            raise InputError(f"{grid} follows by {step!r} from {list(parents)}, which make no number")
        return made.lo

    def _exact(self, step: str, parents: Sequence[str], truth: float) -> bool:
        """Whether a learner can write the number out whole."""
        known = all(
            self._cells[p].exact or self._cells[p].step == "given" for p in parents if p in self._cells
        )
        if not math.isfinite(truth):
            return True  # hidden
        return step in EXACT and known and abs(round(truth, self.decimals) - truth) <= slack(truth)


def _numbered(values: Any) -> list[tuple[tuple[int, ...], float]]:
    """Each number with its place."""
    if isinstance(values, int | float):
        return [((), float(values))]
    found: list[tuple[tuple[int, ...], float]] = []
    for n, item in enumerate(values):
        found += [((n, *at), number) for at, number in _numbered(item)]
    return found
