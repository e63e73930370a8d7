"""An exercise worked in a terminal: the task, the cells, what was right, again, and what was learned kept."""

from __future__ import annotations

import os
import shutil
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from riverhead.cli.learn_data import keeping
from riverhead.cli.learn_sheet import ROLES, sheet
from riverhead.cli.screen import Screen
from riverhead.learning.exercises import Exercise
from riverhead.learning.exercises.attempt import NOTHING, Attempt
from riverhead.learning.exercises.hints import Hint
from riverhead.learning.exercises.layout import blocks
from riverhead.learning.exercises.solution import solution
from riverhead.scene import Part, Text

if TYPE_CHECKING:
    from riverhead.learning.progress import Progress

__all__ = ["keep", "told", "work"]

FEWEST_COLUMNS, FEWEST_ROWS = 20, 6  # of a window that has room for a grid


def work(
    exercise: Exercise,
    progress: Progress,
    screen: Screen | None = None,
    *,
    lines: bool = False,
    why: str = "",
) -> bool:
    """Let ``exercise`` be worked to its end, or left; return whether it was solved.

    The attempt is kept at its first graded check, or where none was however it ends.
    ``why`` says why it is this one; without ``lines`` it is a grid, where the terminal has room for one.
    """
    attempt, screen = Attempt(exercise), screen or Screen()
    screen.show(*[Text((why,), "note")] * bool(why), *exercise.task, title=exercise.title)
    try:
        _tries(attempt, screen, progress, lines)
    finally:
        keep(attempt, progress)
    again = f"riverhead learn exercise {exercise.id} gives this one again; without an id comes what is due."
    screen.show(Text((again,), "note"))
    return attempt.solved


def keep(attempt: Attempt, progress: Progress) -> None:
    """Record what was tried, once."""
    if attempt.begun and not attempt.kept:
        kind = attempt.exercise.kind
        with keeping():
            progress.record(
                attempt.exercise.id, kind.name, kind.lesson, kind.skills,
                attempt.score, attempt.mistakes, attempt.hints, datetime.now(UTC),
            )  # fmt: skip
            attempt.kept = True


def told(hint: Hint) -> tuple[Part, ...]:
    """A hint as parts, under its title."""
    return Text((hint.title,), "heading"), *hint.parts


def _tries(attempt: Attempt, screen: Screen, progress: Progress, lines: bool) -> None:
    """Fill in and check, until all is right, the solution is wanted, or nobody goes on."""
    at: str | None = None
    lines = lines or not _room(screen)
    while True:
        asked, at = _filled(attempt, screen, lines, at)
        if asked == "leave":
            return
        if asked == "hint":
            screen.show(*told(attempt.hint(at)))
        elif asked == "task":
            screen.show(*attempt.exercise.task)
        elif not any(attempt.answers.values()):
            screen.show(Text((NOTHING,), "note"))
            at = None
        elif _checked(attempt, screen, progress):
            return
        else:
            at = None


def _room(screen: Screen) -> bool:
    """Whether the terminal can show a grid; that its window is too small for one is said."""
    if os.environ.get("TERM", "") in ("", "dumb", "unknown"):
        return False
    columns, rows = shutil.get_terminal_size()
    if fits := columns >= FEWEST_COLUMNS and rows >= FEWEST_ROWS:
        return fits
    words = f"The window is {columns} by {rows}; a grid needs {FEWEST_COLUMNS} by {FEWEST_ROWS}: by line."
    screen.show(Text((words,), "note"))
    return False


def _filled(attempt: Attempt, screen: Screen, lines: bool, at: str | None) -> tuple[str, str]:
    """Let the cells be filled in: in a grid; by line where that is wanted, or all there is room for."""
    if lines:
        from riverhead.cli.learn_lines import by_line

        return by_line(attempt, screen, at)
    from riverhead.cli.learn_fill import fill

    asked = fill(attempt, at)
    screen.turn()
    return asked


def _checked(attempt: Attempt, screen: Screen, progress: Progress) -> bool:
    """Grade what was written and say what came of it; return whether the work ends here."""
    report = attempt.check()
    if attempt.score is not None:
        keep(attempt, progress)  # before anything is waited for: the terminal may be closed meanwhile
    if attempt.solved:
        width = shutil.get_terminal_size().columns
        lines, _ = sheet(attempt, blocks(attempt.exercise.sheet), "", width)
        screen.draw([[(text, ROLES[role][1]) for role, text in line] for line in lines])
    screen.show(*report.scene(reveal=False).parts)
    typed: str | None = "s"
    if not attempt.solved:
        typed = _asked(attempt, screen)
        if typed == "s":
            attempt.give_up()
    if typed == "s":
        screen.show(Text(("How every number comes about",), "heading"), *solution(attempt.exercise))
    return typed in ("s", "q", None)


def _asked(attempt: Attempt, screen: Screen) -> str | None:
    """What is wanted after a check, in small letters; hints are given here."""
    while (typed := screen.ask("Enter: the open cells again · ? hint · s the solution · q leaves")) == "?":
        screen.show(*told(attempt.hint()))
    return typed and typed.lower()
