"""``riverhead learn exercise``: what is due, one of a kind, or one by its id: worked, printed or graded."""

from __future__ import annotations

import json
import secrets
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from riverhead.cli.escapes import as_json
from riverhead.cli.options import format_option, output_option, was_given
from riverhead.cli.output import Output, output_of, write
from riverhead.cli.screen import is_terminal
from riverhead.errors import InputError

if TYPE_CHECKING:
    from riverhead.learning.exercises import Exercise
    from riverhead.learning.progress import Progress

__all__ = ["drawn", "exercise"]

FORMATS = ("text", "json", "markdown", "html", "latex", "svg", "png")
SEED = "abcdefghijklmnopqrstuvwxyz0123456789"
MAX_BYTES = 2**20  # of answers: thousands of numbers

EXAMPLES = """\b
Examples:
  riverhead learn exercise
  riverhead learn exercise softmax
  riverhead learn exercise softmax-1-k3m9q2
  riverhead learn exercise --list
  riverhead learn exercise softmax --json
  riverhead learn exercise softmax-1-k3m9q2 --answers mine.json --json
  echo '{"weights.0.0": "0.54"}' | riverhead learn exercise softmax-1-k3m9q2 --answers -
  riverhead learn exercise softmax-1-k3m9q2 --hint 3 --cell weights.0.1
"""


@click.command(epilog=EXAMPLES)
@click.argument("which", required=False, metavar="[KIND | ID]")
@click.option("--list", "listed", is_flag=True, help="Every kind, by lesson, with the skills it trains.")
@click.option("--lines", is_flag=True, help="Cell by cell instead of a grid, for a plain terminal.")
@click.option("--answers", metavar="FILE", help="Grade answers: JSON, {cell: text}; - is standard input.")
@click.option("--hint", type=click.IntRange(1, 5), help="A hint: 1 which step, to 5 the solution.")
@click.option("--cell", help="The cell that the hint is for.")
@click.option("--solution", is_flag=True, help="Every number, with its arithmetic.")
@format_option(*FORMATS)
@output_option
def exercise(
    which: str | None,
    listed: bool,
    lines: bool,
    answers: str | None,
    hint: int | None,
    cell: str | None,
    solution: bool,
    format: str,
    output: Path | None,
) -> None:
    """Work an exercise: what is due, a fresh one of a KIND, or the one of an ID again.

    In a terminal its cells are filled in, graded number by number, and tried again; each hint says more than
    the one before. Elsewhere, or with --format, the task is printed, and --answers grades: exit status 1 says
    that something is wrong. What was tried is kept (riverhead learn progress).
    """
    asked = {"answers": answers, "hint": hint, "cell": cell, "solution": solution}
    _refuse_what_would_be_ignored(which, listed, asked)
    out = output_of(format, output, "riverhead.exercise/1", FORMATS)
    if listed:
        return _list(out)
    found, why = _found(which)
    if solution:
        return _solve(found, out)
    written = {} if answers is None else _read(answers)
    if hint is not None:
        return _hint(found, hint, cell, written, out)
    if answers is not None:
        return _grade(found, written, out)
    if is_terminal() and out.at_once and not was_given("format"):
        from riverhead.cli.learn_data import opened
        from riverhead.cli.learn_work import work

        work(found, opened(), lines=lines, why=why)
        return None
    if lines:
        raise click.UsageError("--lines is for a terminal; elsewhere --answers grades what was written")
    return _print(found, out)


def drawn(kind: str) -> Exercise:
    """Return a fresh exercise of ``kind``."""
    from riverhead.learning.exercises import fresh

    return fresh(kind, "".join(secrets.choice(SEED) for _ in range(6)))


def _refuse_what_would_be_ignored(which: str | None, listed: bool, asked: dict[str, Any]) -> None:
    given = [name for name, value in asked.items() if value]
    if listed and (given or which):
        raise click.UsageError("--list stands alone")
    if asked["solution"] and len(given) > 1:
        raise click.UsageError("--solution stands alone: it has every number")
    if asked["cell"] and not asked["hint"]:
        raise click.UsageError("--cell says which cell a hint is for: give --hint as well")
    if given and (which is None or which.rpartition("-")[0] == ""):
        raise click.UsageError(f"--{given[0]} is for one exercise: give its id, as softmax-1-k3m9q2")


def _found(which: str | None) -> tuple[Exercise, str]:
    """The exercise that is meant, and why it is this one."""
    from riverhead.learning.exercises import exercise as again
    from riverhead.learning.exercises import kinds
    from riverhead.learning.exercises.catalogue import ID

    if which is None:
        from riverhead.cli.learn_data import opened

        name, why = _due(opened())
        return drawn(name), why
    if which not in kinds() and ID.fullmatch(which.lower()):
        return again(which.lower()), ""
    return drawn(which), ""


def _due(progress: Progress) -> tuple[str, str]:
    """The kind to practise now, and why."""
    from riverhead.learning.exercises import kinds

    now = datetime.now(UTC)
    name = progress.next_kind(now, kinds())
    kind = kinds()[name]
    due = [state.skill for state in progress.due(now) if state.skill in kind.skills]
    if due:
        return name, f"{' and '.join(due)} {'is' if len(due) == 1 else 'are'} due."
    return name, f"Nothing is due; this one belongs to lesson {kind.lesson}."


def _list(out: Output) -> None:
    from riverhead.learning.exercises import kinds
    from riverhead.numbers import plain
    from riverhead.scene import Scene, Table

    rows = tuple(
        (plain(kind.lesson), name, kind.title, ", ".join(kind.skills)) for name, kind in kinds().items()
    )
    data = [
        {"kind": name, "title": kind.title, "lesson": kind.lesson, "skills": list(kind.skills)}
        for name, kind in kinds().items()
    ]
    out.page("kinds", Scene("Exercises", (Table(("lesson", "kind", "", "skills"), rows),)), data)
    out.close()


def _print(found: Exercise, out: Output) -> None:
    if out.format == "json":
        return write(as_json(found.to_dict()) + "\n", out.path)
    out.page("exercise", found.scene(), None)
    return out.close()


def _grade(found: Exercise, answers: dict[str, str], out: Output) -> None:
    """Grade what was written, keep it, and say by the exit status whether all is right."""
    from riverhead.cli.learn_data import opened
    from riverhead.cli.learn_work import keep
    from riverhead.learning.exercises.attempt import Attempt

    attempt = Attempt(found, answers)
    report = attempt.check()
    keep(attempt, opened())
    if out.format == "json":
        write(as_json({**report.to_dict(), "id": found.id}) + "\n", out.path)
    else:
        out.page("graded", report.scene(), None)
        out.close()
    if not attempt.solved:
        raise click.exceptions.Exit(1)


def _hint(found: Exercise, level: int, cell: str | None, answers: dict[str, str], out: Output) -> None:
    from riverhead.cli.learn_work import told
    from riverhead.learning.exercises.hints import hints
    from riverhead.scene import Scene

    given = hints(found, answers, cell)[level - 1]
    text = str(Scene("", given.parts)).strip()
    data = {"id": found.id, "level": given.level, "title": given.title, "text": text}
    out.page("hint", Scene(found.title, told(given)), data)
    out.close()


def _solve(found: Exercise, out: Output) -> None:
    from riverhead.checking.answers import solved
    from riverhead.learning.exercises.solution import solution
    from riverhead.scene import Scene

    scene = Scene(found.title, (*found.task, *solution(found)))
    out.page("solution", scene, {"id": found.id, "answers": solved(found.sheet), "text": str(scene)})
    out.close()


def _read(file: str) -> dict[str, str]:
    """Answers by cell, from a JSON file."""
    with click.open_file(file, "rb") as stream:
        data: bytes = stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise InputError(f"--answers {file} has more than {MAX_BYTES:,} bytes; an exercise has a few numbers")
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as wrong:
        raise InputError(f"--answers {file} is no JSON: {wrong}") from None
    if not isinstance(found, dict):
        raise InputError(f'--answers {file}: give an object, {{"cell": "what was written", …}}')
    return found
