"""Which mistake a wrong number comes from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from riverhead.checking.answers.mistakes import Mistake, Rewiring, mistakes
from riverhead.checking.answers.reading import Answer, State
from riverhead.checking.answers.sheet import Cell, Sheet
from riverhead.checking.answers.standing import TRIVIAL, Standing, group
from riverhead.checking.answers.wiring import Layout
from riverhead.checking.answers.working import Known, Working, fits, right, truth
from riverhead.numbers import Interval

__all__ = ["Cause", "Diagnosis", "Trail", "trails"]


WIDEST = 10  # of the last decimal: a mistake that could have made more numbers than that is no evidence


class Trail:
    """One way (of several, counted) to make one mistake, worked out from one set of numbers."""

    def __init__(self, mistake: Mistake, way: int, working: Working) -> None:
        self.mistake, self.way, self._working = mistake, way, working

    def makes(self, cell: Cell) -> Interval | None:
        """Return what the mistake makes of ``cell``; None where it has no part in it or goes unnamed."""
        if self.mistake.named and cell.grid not in self.mistake.named:
            return None
        made, mistaken = self._working.made(cell)
        if mistaken and made and made.hi - made.lo > WIDEST * 10.0**-cell.decimals:
            made = self._working.exactly(cell)
        return made if mistaken else None


def trails(sheet: Sheet, known: Known, rounded: bool = True) -> list[Trail]:
    """Return every way to make a mistake that changes ``sheet``, worked out from what is ``known``."""
    layout, plain, found = Layout(sheet), Working(sheet, known, rounded=rounded), list[Trail]()
    grids: dict[str, list[Cell]] = defaultdict(list)
    for cell in sheet.cells:
        grids[cell.grid].append(cell)
    for mistake in mistakes().values():
        for n, way in enumerate(mistake.ways):
            rewiring = Rewiring(layout, way)
            changed = {rule.grid for rule in way}.intersection(grids)
            if any(rewiring(cell) for grid in changed for cell in grids[grid]):
                found.append(Trail(mistake, n, Working(sheet, known, rewiring, rounded, plain)))
    return found


@dataclass(frozen=True, slots=True)
class Cause:
    """The mistakes that a number fits equally well; ``whole`` where they fit most of its row, too."""

    mistakes: tuple[Mistake, ...]
    whole: bool


class Diagnosis:
    """Looks for the mistake behind a wrong number: made from the learner's cells, then from the true ones."""

    def __init__(
        self, sheet: Sheet, answers: Mapping[str, Answer], standings: Mapping[str, Standing]
    ) -> None:
        self._sheet, self._answers, self._standings = sheet, answers, standings
        self._bases: list[tuple[Working, list[Trail]]] = [
            (Working(sheet, known), trails(sheet, known)) for known in (self._mine, self._true)
        ]

    def of(self, cell: Cell) -> Cause | None:
        """Return what a wrong number comes from; None where no known mistake makes it."""
        value = self._answers[cell.id].value
        for plain, found in self._bases:
            if not fits(cell, value, plain.made(cell)[0]):
                cause = self._among(cell, [trail for trail in found if fits(cell, value, trail.makes(cell))])
                if cause:
                    return cause
        return None

    def _mine(self, cell: Cell) -> Interval | None:
        if not self._is_number(cell):
            return None
        standing = self._standings[cell.id]
        return truth(cell) if standing.barred else standing.written

    def _true(self, cell: Cell) -> Interval | None:
        return truth(cell) if self._is_number(cell) else None

    def _is_number(self, cell: Cell) -> bool:
        return cell.id in self._answers and self._answers[cell.id].state is State.NUMBER

    def _among(self, cell: Cell, fitting: Sequence[Trail]) -> Cause | None:
        """Keep those that explain most of the row, then of the grid.

        A number that many mistakes make by chance (0, 1, one all over) has to come with the whole row.
        """
        if not fitting:
            return None
        row, grid = (group(self._sheet, self._answers, cell, whole) for whole in (False, True))
        chancy = self._answers[cell.id].value in TRIVIAL or self._standings[cell.id].barred
        ranked = [
            (self._explained(trail, row), self._explained(trail, grid), trail)
            for trail in fitting
            if not chancy or self._explained(trail, row) == len(row)
        ]
        if not ranked:
            return None
        best = max(rank[:2] for rank in ranked)
        kept_trails = [trail for *rank, trail in ranked if tuple(rank) == best]
        names = {trail.mistake.id: trail.mistake for trail in kept_trails}
        return Cause(tuple(names.values()), self._is_whole(kept_trails[0], row))

    def _explained(self, trail: Trail, cells: Sequence[Cell]) -> int:
        return sum(self._explains(trail, cell) for cell in cells)

    def _explains(self, trail: Trail, cell: Cell) -> bool:
        made = trail.makes(cell)
        if made is None:
            return self._standings[cell.id].sound
        return fits(cell, self._answers[cell.id].value, made)

    def _is_whole(self, trail: Trail, row: Sequence[Cell]) -> bool:
        changed = [cell for cell in row if (made := trail.makes(cell)) and not right(cell, made.lo)]
        return 2 * self._explained(trail, changed) > len(changed)
