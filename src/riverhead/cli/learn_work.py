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
from riverhead.learning.exercises.attempt import Attempt
from riverhead.learning.exercises.hints import Hint
from riverhead.learning.exercises.layout import blocks
from riverhead.learning.exercises.solution import solution
from riverhead.scene import Part, Text

if TYPE_CHECKING:
    from riverhead.learning.progress import Progress

__all__ = ["keep", "told", "work"]


def work(
    exercise: Exercise,
    progress: Progress,
    screen: Screen | None = None,
    *,
    lines: bool = False,
    why: str = "",
) -> None:
    """Let ``exercise`` be worked to its end, or left; the attempt is kept however it ends.

    ``why`` says why it is this one; without ``lines`` it is a grid, where the terminal can show one.
    """
    attempt, screen = Attempt(exercise), screen or Screen()
    screen.show(*[Text((why,), "note")] * bool(why), *exercise.task, title=exercise.title)
    try:
        _tries(attempt, screen, lines)
    finally:
        keep(attempt, progress)
    again = f"riverhead learn exercise {exercise.id} gives this one again; without an id comes what is due."
    screen.show(Text((again,), "note"))


def keep(attempt: Attempt, progress: Progress) -> None:
    """Record what was tried."""
    if attempt.begun:
        kind = attempt.exercise.kind
        with keeping():
            progress.record(
                attempt.exercise.id, kind.name, kind.lesson, kind.skills,
                attempt.score, attempt.mistakes, attempt.hints, datetime.now(UTC),
            )  # fmt: skip


def told(hint: Hint) -> tuple[Part, ...]:
    """A hint as parts, under its title."""
    return Text((hint.title,), "heading"), *hint.parts


def _tries(attempt: Attempt, screen: Screen, lines: bool) -> None:
    """Fill in and check, until all is right, the solution is wanted, or nobody goes on."""
    at: str | None = None
    while True:
        asked, at = _filled(attempt, screen, lines, at)
        if asked == "leave":
            return
        if asked == "hint":
            screen.show(*told(attempt.hint(at)))
        elif asked == "task":
            screen.show(*attempt.exercise.task)
        elif not any(attempt.answers.values()):
            screen.show(Text(("Nothing is written yet.",), "note"))
        elif _checked(attempt, screen):
            return
        else:
            at = None


def _filled(attempt: Attempt, screen: Screen, lines: bool, at: str | None) -> tuple[str, str]:
    """Let the cells be filled in: in a grid; by line where that is wanted, or all that the terminal can."""
    if lines or os.environ.get("TERM", "") in ("", "dumb", "unknown"):
        from riverhead.cli.learn_lines import by_line

        return by_line(attempt, screen, at)
    from riverhead.cli.learn_fill import fill

    asked = fill(attempt, at)
    screen.turn()
    return asked


def _checked(attempt: Attempt, screen: Screen) -> bool:
    """Grade what was written and say what came of it; return whether the work ends here."""
    report = attempt.check()
    if attempt.solved:
        width = shutil.get_terminal_size().columns
        lines, _ = sheet(attempt, blocks(attempt.exercise.sheet), "", width)
        screen.draw([[(text, ROLES[role][1]) for role, text in line] for line in lines])
    screen.show(*report.scene(reveal=False).parts)
    typed: str | None = "s"
    if not attempt.solved:
        typed = screen.ask("Enter: the open cells again · s the solution · q leaves")
        if typed == "s":
            attempt.give_up()
    if typed == "s":
        screen.show(Text(("How every number comes about",), "heading"), *solution(attempt.exercise))
    return typed in ("s", "q", None)
