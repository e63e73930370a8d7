"""Answers graded cell by cell: the truth, what follows from the learner's own cells, the mistake made."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from riverhead.checking.answers.diagnosis import Cause, Diagnosis
from riverhead.checking.answers.reading import Answer, State, read
from riverhead.checking.answers.report import Kind, Mark, Report
from riverhead.checking.answers.sheet import Cell, Sheet
from riverhead.checking.answers.standing import Standing, standings
from riverhead.checking.answers.telling import shown
from riverhead.checking.answers.wiring import Layout, two
from riverhead.checking.answers.working import fits, percentage, right, truth
from riverhead.errors import InputError
from riverhead.numbers import fixed

__all__ = ["accepted", "grade"]

COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
UNREADABLE = "Can't read that; write one number, as 0.54, 54 %, 27/50 or √2/2."
MOST_NAMED = 4  # of mistakes that fit alike


def grade(sheet: Sheet, answers: Mapping[str, str]) -> Report:
    """Grade what was written into the cells of ``sheet``, by id.

    Each cell is tried in this order: the truth; what follows from the learner's own cells; a known mistake,
    on the learner's cells and then on the true ones; the number of a neighbour or of the transposed cell; its
    sign, its percent; else how far off it is. What cannot be read is said and does not count.
    Raises `InputError` for a cell that is not asked for.

    >>> from riverhead.checking.answers import softmax_sheet
    >>> sheet = softmax_sheet([[1.0, 3.0]], exponentials=False)
    >>> report = grade(sheet, {"weights.0.0": "0.25", "weights.0.1": "75 %"})
    >>> report.score, report.mistakes
    (0.0, {'no-exponential': 2})
    """
    unknown = [id for id in answers if id not in sheet.by_id or not sheet.by_id[id].asked]
    if unknown:
        sheet[str(unknown[0])]  # says which there are
        raise InputError(f"cell {unknown[0]} stands on the sheet; it is not asked for")
    texts = [id for id, text in answers.items() if not isinstance(text, str)]
    if texts:
        raise InputError(
            f"the answer to {texts[0]} is {answers[texts[0]]!r:.40}; it takes the text as written"
        )
    found = {
        cell.id: read(answers.get(cell.id, ""), cell.unit, whole=cell.decimals == 0) for cell in sheet.asked
    }
    return Report(sheet.title, tuple(_Grader(sheet, found).marks()))


def accepted(cell: Cell) -> str:
    """Say which numbers are accepted for the truth.

    >>> accepted(Cell("weights", (0, 1), 0.538776)), accepted(Cell("dots", (0, 1), 4.0, exact=True))
    ('two decimals: 0.53 to 0.55 accepted', 'exactly 4')
    """
    if cell.exact or not math.isfinite(cell.truth):
        return f"exactly {shown(cell, cell.truth)}"
    middle, unit = round(cell.truth, cell.decimals), 10.0**-cell.decimals
    low, high = (fixed(middle + side * unit, cell.decimals).text for side in (-1, 1))
    return f"{_decimals(cell.decimals)}: {low} to {high} accepted"


def _decimals(count: int) -> str:
    return "a whole number" if not count else f"{COUNTS[count]} decimal{'s' * (count > 1)}"


@dataclass(frozen=True, slots=True)
class _Verdict:
    kind: Kind
    words: str
    mistakes: tuple[str, ...] = ()


class _Grader:
    def __init__(self, sheet: Sheet, answers: Mapping[str, Answer]) -> None:
        self.sheet, self.answers = sheet, answers
        self.standings = standings(sheet, answers)
        self._diagnosis: Diagnosis | None = None
        self._layout = Layout(sheet)

    def marks(self) -> list[Mark]:
        """Return the mark of every cell that is asked for."""
        return [self._mark(cell) for cell in self.sheet.asked]

    def _mark(self, cell: Cell) -> Mark:
        answer, standing = self.answers[cell.id], self.standings[cell.id]
        found = self._verdict(cell, answer, standing)
        credit = None if found.kind is Kind.UNREADABLE else float(standing.sound)
        told = shown(cell, cell.truth), accepted(cell)
        return Mark(
            cell.id, cell.name, found.kind, credit, found.words, cell.truth, *told, answer, found.mistakes
        )

    def _verdict(self, cell: Cell, answer: Answer, standing: Standing) -> _Verdict:
        if answer.state is State.BLANK:
            return _Verdict(Kind.BLANK, "Blank.")
        if answer.state is State.UNREADABLE:
            return _Verdict(Kind.UNREADABLE, UNREADABLE)
        if standing.right:
            return _Verdict(Kind.RIGHT, "Right.")
        if standing.follows:
            own = "numbers as you wrote them" if standing.slipped else "rounded numbers"
            return _Verdict(Kind.FOLLOWS, f"Right: it follows from your own {own}.")
        if self._diagnosis is None:
            self._diagnosis = Diagnosis(self.sheet, self.answers, self.standings)
        cause = self._diagnosis.of(cell)
        return _named(cause) if cause else self._slip(cell, answer)

    def _slip(self, cell: Cell, answer: Answer) -> _Verdict:
        """What is no known mistake: a slip of the pen, or a number that is off."""
        for kind, slipped in SLIPS.items():
            words = slipped(self, cell, answer.value)
            if words:
                return _Verdict(kind, words)
        return _Verdict(Kind.OFF, _off(cell, answer))

    def accepts(self, cell: Cell, value: float) -> bool:
        """Say whether ``value`` would have been right, or have followed."""
        return right(cell, value) or fits(cell, value, self.standings[cell.id].made)

    def at(self, cell: Cell, i: int, j: int) -> Cell | None:
        """Return the cell at another place of the same grid."""
        return self._layout.cells[cell.grid, cell.head or 0].get((i, j)[: len(cell.at)])


def _neighbour(grader: _Grader, cell: Cell, value: float) -> str:
    i, j = two(cell.at)
    for place in ((i, j - 1), (i, j + 1), (i - 1, j), (i + 1, j)):
        other = grader.at(cell, *place) if len(cell.at) > 1 or place[1] == j else None
        if other and value and fits(cell, value, truth(other)):
            return f"That is the number of the cell beside it: {other.name}."
    return ""


def _transposed(grader: _Grader, cell: Cell, value: float) -> str:
    i, j = two(cell.at)
    other = grader.at(cell, j, i) if len(cell.at) > 1 and i != j else None
    if other and value and fits(cell, value, truth(other)):
        return f"Row and column are swapped: that is {other.name}."
    return ""


def _sign(grader: _Grader, cell: Cell, value: float) -> str:
    return "The number is right, its sign is not." if value and grader.accepts(cell, -value) else ""


def _percent(grader: _Grader, cell: Cell, value: float) -> str:
    if percentage(cell, value, grader.standings[cell.id].made):
        return "A hundred times too large: a percentage needs its %."
    if value and grader.accepts(cell, value * 100):
        return "A hundred times too small: with a %, or divided by 100, once too often."
    return ""


SLIPS: dict[Kind, Callable[[_Grader, Cell, float], str]] = {
    Kind.NEIGHBOUR: _neighbour,
    Kind.TRANSPOSED: _transposed,
    Kind.SIGN: _sign,
    Kind.PERCENT: _percent,
}


def _named(cause: Cause) -> _Verdict:
    """The words of one mistake, or of all that fit alike."""
    ids = tuple(mistake.id for mistake in cause.mistakes)
    if len(ids) == 1:
        only = cause.mistakes[0]
        looks = "" if cause.whole else "In this cell, it looks so: "
        return _Verdict(Kind.MISTAKE, f"{looks}{only.did} {only.right}", ids)
    names = [mistake.name for mistake in cause.mistakes[:MOST_NAMED]]
    more = f", or {len(ids) - MOST_NAMED} more" if len(ids) > MOST_NAMED else ""
    count = COUNTS[len(ids)] if len(ids) < len(COUNTS) else str(len(ids))
    fits_all = f"This fits {count} mistakes, which these numbers cannot tell apart: "
    return _Verdict(Kind.MISTAKE, fits_all + "; or ".join(names) + more + ".", ids)


def _off(cell: Cell, answer: Answer) -> str:
    """How far off, or that it was rounded too far."""
    if math.isinf(cell.truth) or math.isinf(answer.value):
        return (
            "This one is hidden: −∞."
            if math.isinf(cell.truth)
            else "This one is not hidden: it has a number."
        )
    gap = answer.value - cell.truth
    stated = answer.decimals
    if stated is not None and stated < cell.decimals and not cell.exact and abs(gap) <= 10.0**-stated / 2:
        return f"Right to {_decimals(stated)}; {_decimals(cell.decimals)} are asked for."
    return f"Too {'large' if gap > 0 else 'small'}."  # by how much would be the answer
