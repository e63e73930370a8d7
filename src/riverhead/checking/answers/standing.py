"""Where each answer stands before mistakes are looked for: right, following from one's own, or neither."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from riverhead.checking.answers.reading import Answer, State
from riverhead.checking.answers.sheet import Cell, Sheet
from riverhead.checking.answers.steps import follow
from riverhead.checking.answers.working import fits, kept, percentage, right, truth
from riverhead.numbers import Interval

__all__ = ["Standing", "group", "standings", "stock"]

TRIVIAL = (0.0, 1.0, -1.0)  # answers that make later steps easy, and that many mistakes share by chance


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known of a cell: whether it is ``right``, or ``follows`` from the learner's own cells.

    ``made`` is what those make it, None where nothing may follow from them; ``written`` all that rounds to
    what was written, ``carried`` what of it the learner can have without a slip. ``slipped``: a wrong number
    stands in it or behind it; ``barred``: nothing may follow from it.
    """

    right: bool
    follows: bool
    made: Interval | None
    written: Interval
    carried: Interval
    slipped: bool
    barred: bool

    @property
    def sound(self) -> bool:
        """Whether it earns its credit."""
        return self.right or self.follows


def standings(sheet: Sheet, answers: Mapping[str, Answer]) -> dict[str, Standing]:
    """Return the standing of every cell, in order.

    A learner carries on what is written, or the unrounded number behind it: all that a step can make of those
    is accepted, however roundings add up. From a wrong number others may follow, unless a parent is blank, or
    the wrong numbers are all the same (a stock answer makes every later step easy).
    """
    constant = stock(sheet, answers)
    found: dict[str, Standing] = {}
    for cell in sheet.cells:
        parents = [found[parent] for parent in cell.parents]
        answer = answers.get(cell.id)
        if cell.step == "given":
            found[cell.id] = Standing(True, False, None, truth(cell), truth(cell), False, False)
        elif answer is not None and answer.state is State.NUMBER:
            found[cell.id] = _written(cell, answer, parents, sheet, cell.id in constant)
        else:
            blank = cell.asked and (answer is None or answer.state is State.BLANK)
            found[cell.id] = _unwritten(cell, parents, blank)
    return found


def _written(cell: Cell, answer: Answer, parents: list[Standing], sheet: Sheet, constant: bool) -> Standing:
    slipped = any(parent.slipped for parent in parents)
    allowed = not (slipped and any(parent.barred for parent in parents))
    held = [parent.written if slipped else parent.carried for parent in parents]
    made = follow(cell.step, held) if allowed else None
    is_right = right(cell, answer.value)
    follows = not is_right and fits(cell, answer.value, made)
    if slipped and not is_right and not follows:  # the learner may have gone on from the right numbers
        originals = [
            kept(sheet.by_id[id], truth(sheet.by_id[id])) if parent.slipped else parent.carried
            for id, parent in zip(cell.parents, parents, strict=True)
        ]
        is_right = fits(cell, answer.value, follow(cell.step, originals))
    wrong = not is_right and not follows
    written = _written_out(cell, answer)
    short = answer.decimals is not None and answer.decimals < cell.decimals
    if wrong and short and percentage(cell, answer.value, made):
        written = written * Interval.point(0.01)  # 54 for 54 %: what is carried on is 0.54
    carried = written if wrong else _behind(answer.value, written, [made, truth(cell) if is_right else None])
    return Standing(
        is_right, follows, made, written, carried, not is_right and (slipped or wrong), wrong and constant
    )


def _unwritten(cell: Cell, parents: list[Standing], blank: bool) -> Standing:
    """A cell that is not asked for, blank or unreadable: it may have been worked out all the same."""
    slipped = any(parent.slipped for parent in parents)
    barred = blank or any(parent.barred for parent in parents)
    held = [parent.written if slipped else parent.carried for parent in parents]
    made = None if slipped and barred else follow(cell.step, held)
    written = kept(cell, made or truth(cell))
    return Standing(False, False, made, written, written, slipped, barred)


def _written_out(cell: Cell, answer: Answer) -> Interval:
    """All that rounds to the number written; a whole number, a fraction or a root stands as it is."""
    value, stated = answer.value, answer.decimals
    if stated is None or (cell.exact and not stated):
        return Interval.point(value)
    half = 10.0 ** -max(stated, cell.decimals) / 2
    return Interval(value - half, value + half)


def _behind(value: float, written: Interval, sources: list[Interval | None]) -> Interval:
    """The number written, and what of its ``sources`` rounds to it."""
    ends = [value]
    for source in sources:
        if source is not None and source.meets(written):
            ends += [max(source.lo, written.lo), min(source.hi, written.hi)]
    return Interval(min(ends), max(ends))


def group(sheet: Sheet, answers: Mapping[str, Answer], cell: Cell, whole: bool = False) -> list[Cell]:
    """Return the cells with a number in the row of ``cell``; in its grid if ``whole`` or rows are single."""
    grid = [
        other
        for other in sheet.cells
        if (other.grid, other.head) == (cell.grid, cell.head)
        and other.id in answers
        and answers[other.id].state is State.NUMBER
    ]
    row = [other for other in grid if len(cell.at) > 1 and other.at[0] == cell.at[0]]
    return row if len(row) > 1 and not whole else grid


def stock(sheet: Sheet, answers: Mapping[str, Answer]) -> set[str]:
    """Return the cells of a stock answer: one number, wrongly, over a sheet or a grid, or 0 along a row."""
    groups: dict[tuple[object, ...], list[Cell]] = defaultdict(list)
    for cell in sheet.asked:
        if cell.id in answers and answers[cell.id].state is State.NUMBER:
            groups[()].append(cell)
            groups[cell.grid, cell.head].append(cell)
            if len(cell.at) > 1:
                groups[cell.grid, cell.head, cell.at[0]].append(cell)
    found: set[str] = set()
    for key, cells in groups.items():
        values = {answers[cell.id].value for cell in cells}
        wrong = sum(not right(cell, answers[cell.id].value) for cell in cells)
        if len(values) == 1 and wrong and STOCK[len(key)](cells, values.pop(), wrong):
            found |= {cell.id for cell in cells}
    return found


def _over_a_grid(cells: list[Cell], value: float, wrong: int) -> bool:
    """One number where the truths differ; where they do not, or there is one cell only, a trivial one."""
    return value in TRIVIAL or len({round(cell.truth, cell.decimals) for cell in cells}) > 1


# by the parts that name the group (the sheet, a grid, a row of it); it has one number, ``wrong`` times wrong
STOCK: dict[int, Callable[[list[Cell], float, int], bool]] = {
    0: lambda cells, value, wrong: wrong > 2,
    2: _over_a_grid,
    3: lambda cells, value, wrong: value == 0 and wrong > 1,
}
