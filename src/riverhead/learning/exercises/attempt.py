"""One learner at one exercise: what stands in its cells, what has been checked, which hints were given."""

from __future__ import annotations

from dataclasses import dataclass, field

from riverhead.checking.answers import Kind as Marked
from riverhead.checking.answers import Report, grade
from riverhead.learning.exercises.catalogue import Exercise
from riverhead.learning.exercises.hints import Hint, hints, stuck

__all__ = ["LONGEST", "NOTHING", "Attempt"]

LONGEST = 60  # characters of an answer
SOLUTION = 5  # the last hint
NOTHING = "Nothing is written yet."


@dataclass(slots=True)
class Attempt:
    """The state of an attempt; whoever draws it reads keys and calls `write`, `hint` and `check`.

    >>> from riverhead.checking.answers import solved
    >>> from riverhead.learning.exercises import exercise
    >>> attempt = Attempt(exercise("softmax-1-k3m9q2"))
    >>> for id, text in solved(attempt.exercise.sheet).items():
    ...     attempt.write(id, text)
    >>> attempt.check().score, attempt.solved, attempt.open
    (1.0, True, ())
    """

    exercise: Exercise
    answers: dict[str, str] = field(default_factory=dict)  # by cell, as written
    report: Report | None = None  # of the last check
    tries: int = 0
    score: float | None = None  # of the first check in which anything counted
    mistakes: dict[str, int] = field(default_factory=dict)  # cells of each, the most in any check
    hints: int = 0  # the highest that was looked at, 1 to 5
    kept: bool = False  # in the learner's progress
    _given: dict[str, int] = field(default_factory=dict)  # the same by cell

    @property
    def open(self) -> tuple[str, ...]:
        """The cells to fill in: all at first, those not right after a check, none once it is solved.

        What only follows from the learner's own numbers stays open while one of those is wrong.
        """
        if self.solved:
            return ()
        return tuple(
            cell.id for cell in self.exercise.sheet.asked if self.marked(cell.id) is not Marked.RIGHT
        )

    @property
    def solved(self) -> bool:
        """Whether every cell earned its credit at the last check."""
        return self.report is not None and all(mark.credit == 1 for mark in self.report.marks)

    @property
    def begun(self) -> bool:
        """Whether there is anything to keep: a check, or the solution looked at."""
        return self.tries > 0 or self.hints == SOLUTION

    def marked(self, cell: str) -> Marked | None:
        """Return what a cell was at the last check, unless it was written to since."""
        mark = None if self.report is None else self.report[cell]
        return mark.kind if mark and mark.answer.text == self.answers.get(cell, "").strip() else None

    def write(self, cell: str, text: str) -> None:
        """Put ``text`` into a cell that is open, as far as an answer may reach."""
        if cell in self.open:
            self.answers[cell] = "".join(filter(str.isprintable, text))[:LONGEST]

    def check(self) -> Report:
        """Grade what stands there."""
        self.report = grade(self.exercise.sheet, self.answers)
        self.tries += 1
        if self.score is None:
            self.score = self.report.score
        for mistake, cells in self.report.mistakes.items():
            self.mistakes[mistake] = max(cells, self.mistakes.get(mistake, 0))
        return self.report

    def hint(self, cell: str | None = None) -> Hint:
        """Return the next hint for ``cell``, or else for the first cell that is blank or wrong."""
        target = cell or stuck(self.exercise, self.answers)
        climb = hints(self.exercise, self.answers, target)
        level = min(self._given.get(target, 0) + 1, len(climb))
        self._given[target] = level
        self.hints = max(self.hints, level)
        return climb[level - 1]

    def give_up(self) -> None:
        """Look at the solution: all hints at once; without a check before, nothing was right."""
        self.hints = SOLUTION
        if self.score is None:
            self.score = 0.0
