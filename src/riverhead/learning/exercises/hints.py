"""Hints that climb: which step, which formula, with your numbers, one cell worked, the solution."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import cycle

from riverhead.checking.answers import Cell, Sheet, State, grade
from riverhead.checking.answers.steps import follow
from riverhead.checking.answers.telling import shown
from riverhead.checking.answers.working import right
from riverhead.derivation.notation import Digits, maths, prose
from riverhead.errors import InputError
from riverhead.learning.exercises.catalogue import Exercise
from riverhead.learning.exercises.written import given, names, written
from riverhead.numbers import Interval, Number, fixed
from riverhead.scene import Formula, Math, Part, Text, Word

__all__ = ["Hint", "Saying", "hints", "saying", "stuck"]

TITLES = ("Which step", "Which formula", "With your numbers", "One cell worked", "The solution")
SMALL = (3.0, 2.0, 5.0, 4.0)  # what stands in an example of ours


@dataclass(frozen=True, slots=True)
class Hint:
    """One of five, ``level`` 1 to 5, each saying more than the one before; only the last has the answer."""

    level: int
    title: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Saying:
    """What is said of a step: ``which`` it is, and its ``formula``.

    Where the formula with its numbers would be the answer, ``numbers`` says what to do with them; where no
    other cell can be worked, ``worked`` tells of an example.
    """

    which: str
    formula: str
    numbers: str = ""
    worked: str = ""


@cache
def _sayings() -> Mapping[str, Mapping[str, Saying]]:
    text = (files("riverhead.learning.exercises") / "hints.toml").read_text("utf-8")
    return {
        grid: {step: Saying(**said) for step, said in steps.items()}
        for grid, steps in tomllib.loads(text).items()
    }


def saying(cell: Cell) -> Saying:
    """Return what is said of a cell's step: in its grid, or else anywhere. Raises `InputError`.

    >>> saying(Cell("weights", (0, 1), 0.54, "divide")).formula
    "weight = the exponential of the key's score ÷ the sum of the row's exponentials."
    """
    for grid in (cell.grid, "any"):
        if cell.step in _sayings().get(grid, {}):
            return _sayings()[grid][cell.step]
    raise InputError(f"there is no hint for {cell.id}, which follows by {cell.step!r}")


def hints(
    exercise: Exercise, answers: Mapping[str, str] | None = None, cell: str | None = None
) -> tuple[Hint, ...]:
    """Return five hints for a cell, by default the first that is blank or wrong; the last has its number.

    ``answers`` are what the learner wrote so far, by cell: the third hint puts those in. Raises `InputError`.

    >>> from riverhead.learning.exercises import fresh
    >>> for hint in hints(fresh("scaling", "k3m9q2"))[1:3]:
    ...     print(hint.title)
    Which formula
    With your numbers
    """
    return _Helper(exercise.sheet, answers or {}).about(cell)


def stuck(exercise: Exercise, answers: Mapping[str, str]) -> str:
    """Return the cell that a hint is about where none is named: the first that is blank or wrong."""
    return _Helper(exercise.sheet, answers).stuck()


class _Helper:
    """What a learner has on paper, and the hints that follow from it."""

    def __init__(self, sheet: Sheet, answers: Mapping[str, str]) -> None:
        self.sheet = sheet
        self.marks = {mark.cell: mark for mark in grade(sheet, answers).marks}

    def stuck(self) -> str:
        """The first cell that is blank or wrong; the last where none is."""
        return next((id for id, mark in self.marks.items() if mark.credit != 1), list(self.marks)[-1])

    def about(self, id: str | None) -> tuple[Hint, ...]:
        """All five, for one cell."""
        cell = self.sheet[self.stuck() if id is None else id]
        if not cell.asked:
            raise InputError(f"cell {cell.id} is not asked for; there is no hint for it")
        said = saying(cell)
        levels: tuple[tuple[Part, ...], ...] = (
            (Text((f"Next: {cell.name}. {said.which}",)),),
            (Text(prose(said.formula)), *self._named(cell, said)),
            self._with_numbers(cell, said),
            self._worked(cell, said),
            _formula(cell, self._true(cell)),
        )
        return tuple(Hint(n + 1, TITLES[n], parts) for n, parts in enumerate(levels))

    def _named(self, cell: Cell, said: Saying) -> tuple[Part, ...]:
        """The formula of the very cell, in names."""
        return () if said.numbers else _formula(cell, [written(cell.step, names(self.sheet, cell))])

    def _with_numbers(self, cell: Cell, said: Saying) -> tuple[Part, ...]:
        """The learner's own numbers where they stand, and what is given; names for what is blank."""
        if said.numbers:
            return (Text((said.numbers,)),)
        return _formula(cell, [written(cell.step, self._operands(cell))])

    def _operands(self, cell: Cell) -> list[Math]:
        called = zip(cell.parents, names(self.sheet, cell), strict=True)
        return [self._mine(self.sheet[id]) or name for id, name in called]

    def _mine(self, cell: Cell) -> Math | None:
        """What the learner has: given, written, or on scratch paper (then how it is made); else None."""
        if cell.step == "given":
            return given(self.sheet, cell)
        if cell.id not in self.marks:
            return written(cell.step, self._operands(cell))
        answer = self.marks[cell.id].answer
        if answer.state is not State.NUMBER:
            return None
        return (
            _number(cell, answer.value) if answer.decimals is None else fixed(answer.value, answer.decimals)
        )

    def _true(self, cell: Cell) -> list[Math | None]:
        """What makes a cell, in right numbers, and what it makes; of a step that is no formula, only that."""
        outcome = _number(cell, cell.truth)
        if saying(cell).numbers:
            return [outcome]
        parents = [self.sheet[id] for id in cell.parents]
        operands = [given(self.sheet, p) if p.step == "given" else _finer(p) for p in parents]
        return [written(cell.step, operands), outcome]

    def _worked(self, cell: Cell, said: Saying) -> tuple[Part, ...]:
        """Another cell of the same step, where all it takes is known; else an example with other numbers."""
        if said.worked:
            return (Text((said.worked,)),)
        kin = sorted(filter(self._is_known, self._kin(cell)), key=lambda other: right(cell, other.truth))
        if kin:
            return _formula(kin[0], self._true(kin[0]))
        return (Text(("With other numbers:",)), *self._example(cell))

    def _kin(self, cell: Cell) -> Iterator[Cell]:
        """The other cells of the grid, then the others of the step, but for what follows from ``cell``."""
        after = {cell.id}
        for other in self.sheet.cells:
            if after.intersection(other.parents):
                after.add(other.id)
        left = [other for other in self.sheet.asked if other.id not in after]
        yield from (other for other in left if other.grid == cell.grid)
        yield from (other for other in left if other.grid != cell.grid and other.step == cell.step)

    def _is_known(self, cell: Cell) -> bool:
        """Whether all that a cell follows from is given, or rightly written."""
        parents = [self.sheet[id] for id in cell.parents]
        return all(p.step == "given" or (p.asked and self.marks[p.id].credit == 1) for p in parents)

    def _example(self, cell: Cell) -> tuple[Part, ...]:
        """The step with small numbers for what is worked out, or else for what is given; another outcome."""
        parents = [self.sheet[id] for id in cell.parents]
        free = [parent.id for parent in parents if parent.step != "given"] or list(cell.parents)
        for turn in range(len(SMALL)):
            small = dict(zip(free, cycle(SMALL[turn:] + SMALL[:turn]), strict=False))
            numbers = [small.get(parent.id, parent.truth) for parent in parents]
            made = follow(cell.step, list(map(Interval.point, numbers)))
            if made is not None and not right(cell, made.lo):
                step = written(cell.step, [Digits(4).operand(number) for number in numbers])
                return _formula(cell, [step, _number(cell, made.lo)])
        return ()


def _formula(cell: Cell, sides: Sequence[Math | None]) -> tuple[Part, ...]:
    """A chain of equals, from the name of the cell."""
    items: list[Math | str] = [Word(cell.name)]
    for side in sides:
        items += ["=", side] if side is not None else []
    return (Formula(maths(*items)),) if len(items) > 1 else ()


def _number(cell: Cell, value: float) -> Number:
    return Number(value, shown(cell, value))


def _finer(cell: Cell) -> Number:
    """A number on the way, with two digits more: what follows from it is rounded once."""
    short = _number(cell, cell.truth)
    return short if cell.exact or not math.isfinite(cell.truth) else fixed(cell.truth, cell.decimals + 2)
