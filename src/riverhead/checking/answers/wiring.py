"""Cells named by a pattern, as in ``exp[:, j]``: how a mistake says what it works a cell out from."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product

from riverhead.checking.answers.sheet import Cell, Sheet
from riverhead.errors import InputError

__all__ = ["WHERE", "Layout", "Pattern", "two"]

_PATTERN = re.compile(r"([\w|]+)(?:@([*%=])|~(\w+))?(?:\[([^\]]*)\])?")
_PLACES = {"i", "j", "J", "J before", ":", "seen"}

# Heads cut out of rows or put together again by another order than row, head, column.
ORDERS: dict[str, Callable[[int, int, int], tuple[int, int, int]]] = {
    "flat": lambda head, i, j: (head, i, j),  # as a computer's memory lies, rows and heads not swapped
    "dealt": lambda head, i, j: (i, j, head),  # column by column, to the heads in turn
}


@dataclass(frozen=True, slots=True)
class Pattern:
    """Cells in terms of a cell at row ``i``, column ``j``: the first of ``grids`` that the sheet has.

    An index is i, j, J for column j counted over all heads side by side, J before for the same column of the
    head before, ``:`` for all, or ``seen`` for the keys that query i may attend to. Of several heads it is
    that of the cell, or the kv head it reads; ``@*`` all of them, ``@%`` the kv head h mod G. ``grid~flat``
    and ``grid~dealt`` are one cell, as late in its grid as the cell in its own, in that order of `ORDERS`.

    >>> Pattern.parse("masked|scores[i, seen]")
    Pattern(grids=('masked', 'scores'), heads='=', at=('i', 'seen'))
    """

    grids: tuple[str, ...]
    heads: str
    at: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Pattern:
        """Read a pattern; raises `InputError`."""
        found = _PATTERN.fullmatch(text)
        at = tuple(index.strip() for index in found[4].split(",")) if found and found[4] else ()
        if found is None or not _PLACES.issuperset(at) or (found[3] or "flat") not in ORDERS:
            raise InputError(
                f"{text[:60]!r} names no cells; write grid, grid[i, j], grid[:, j], grid@*[i, seen] "
                "or grid~flat"
            )
        return cls(tuple(found[1].split("|")), found[3] or found[2] or "=", at)


class Layout:
    """Where the cells of a sheet stand."""

    def __init__(self, sheet: Sheet) -> None:
        self.cells: dict[tuple[str, int], dict[tuple[int, ...], Cell]] = defaultdict(dict)
        self.heads: dict[str, int] = {}
        for cell in sheet.cells:
            head = cell.head or 0
            self.cells[cell.grid, head][cell.at] = cell
            self.heads[cell.grid] = max(self.heads.get(cell.grid, 0), head + 1)
        self.n_heads = max(self.heads.values(), default=1)
        self._sizes = {
            grid: tuple(map(_end, zip(*places, strict=True))) for grid, places in self.cells.items()
        }

    def size(self, cell: Cell) -> tuple[int, int]:
        """Return the rows and columns of the grid of ``cell``."""
        return (*self._sizes[cell.grid, cell.head or 0], 1, 1)[:2]  # type: ignore[return-value]  # two of them

    def hidden(self, cell: Cell) -> bool:
        """Say whether the mask hides the key in the column of ``cell`` from the query in its row."""
        masked = self.cells.get(("masked", cell.head or 0), {}).get(cell.at)
        return masked is not None and masked.step == "hidden"

    def masks(self, cell: Cell) -> bool:
        """Say whether the query in the row of ``cell`` may not see every key."""
        seen = self._seen(cell.head or 0, two(cell.at)[0])
        return seen is not None and len(seen) < self._sizes["masked", cell.head or 0][1]

    def find(self, pattern: Pattern, cell: Cell) -> list[str] | None:
        """Return the ids of the cells meant, in order; None where the sheet has none of them."""
        grid = next((name for name in pattern.grids if name in self.heads), None)
        if grid is None:
            return None
        if pattern.heads in ORDERS:
            return self._as_late(ORDERS[pattern.heads], grid, cell)
        found: list[str] = []
        for head in self._heads(pattern.heads, grid, cell.head or 0):
            places = self.cells.get((grid, head), {})
            ids = [places[at].id for at in self._places(pattern.at, (grid, head), cell) if at in places]
            if not ids:
                return None
            found += ids
        return found

    def _as_late(
        self, order: Callable[[int, int, int], tuple[int, int, int]], grid: str, cell: Cell
    ) -> list[str] | None:
        def ordered(name: str) -> list[str]:
            cells = [c for (other, _), places in self.cells.items() if other == name for c in places.values()]
            return [c.id for c in sorted(cells, key=lambda c: order(c.head or 0, *two(c.at)))]

        mine, theirs = ordered(cell.grid), ordered(grid)
        return [theirs[mine.index(cell.id)]] if len(mine) == len(theirs) else None

    def _heads(self, which: str, grid: str, head: int) -> list[int]:
        count = self.heads[grid]
        if which == "*":
            return list(range(count))
        return [head % count if which == "%" else head * count // self.n_heads]

    def _places(
        self, pattern: tuple[str, ...], grid: tuple[str, int], cell: Cell
    ) -> Iterable[tuple[int, ...]]:
        i, j = two(cell.at)
        size = self._sizes.get(grid, ())
        if len(size) != len(pattern):
            return ()
        seen = self._seen(cell.head or 0, i) if "seen" in pattern else None
        width = self.size(cell)[1]
        wide = (cell.head or 0) * width + j
        fixed = {"i": i, "j": j, "J": wide, "J before": wide - width}
        axes: list[Iterable[int]] = []
        for index, count in zip(pattern, size, strict=True):
            every = seen if index == "seen" and seen is not None else range(count)
            axes.append([fixed[index]] if index in fixed else every)
        return product(*axes)

    def _seen(self, head: int, i: int) -> list[int] | None:
        """The keys that query i may attend to; None where no mask hides any."""
        masked = self.cells.get(("masked", head))
        return (
            None if not masked else [at[1] for at, c in masked.items() if at[0] == i and c.step != "hidden"]
        )


def _end(indices: tuple[int, ...]) -> int:
    return max(indices) + 1


def two(at: tuple[int, ...]) -> tuple[int, int]:
    """Row and column; what has none stands at 0."""
    return (*at, 0, 0)[:2]  # type: ignore[return-value]  # two of them


def _offset(layout: Layout, cell: Cell) -> int:
    """How far to the right of its query's own key a cell stands, the last query at the last key."""
    (rows, columns), (i, j) = layout.size(cell), two(cell.at)
    return j - i - (columns - rows)


# Where on the sheet a rule of a mistake holds.
WHERE: dict[str, Callable[[Layout, Cell], bool]] = {
    "everywhere": lambda layout, cell: True,
    "hidden": lambda layout, cell: layout.hidden(cell),
    "seen": lambda layout, cell: not layout.hidden(cell),
    "masked row": lambda layout, cell: layout.masks(cell),
    "seen in masked row": lambda layout, cell: layout.masks(cell) and not layout.hidden(cell),
    "own": lambda layout, cell: _offset(layout, cell) == 0,
    "others": lambda layout, cell: _offset(layout, cell) != 0,
    "before": lambda layout, cell: _offset(layout, cell) < 0,
    "behind": lambda layout, cell: _offset(layout, cell) > 0,
    "next": lambda layout, cell: _offset(layout, cell) == 1,
    "heads": lambda layout, cell: layout.n_heads > 1,
}
