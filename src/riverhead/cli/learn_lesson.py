"""``riverhead learn N``: a lesson read and worked in a terminal, or whole, as a document."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from riverhead.cli.escapes import as_json
from riverhead.cli.models import say
from riverhead.cli.opening import opened, working
from riverhead.cli.options import format_option, model_options, output_option, was_given
from riverhead.cli.output import Output, output_of, write
from riverhead.cli.screen import is_terminal
from riverhead.errors import InputError, NotFetchedError

if TYPE_CHECKING:
    from riverhead.learning.lessons import Bench, Lesson
    from riverhead.transformer import Model

__all__ = ["lesson"]

FORMATS = ("text", "json", "markdown", "html", "latex", "svg", "png")

EXAMPLES = """\b
Examples:
  riverhead learn 1
  riverhead learn 2 --again
  riverhead learn 1 --from static-embeddings
  riverhead learn 3 -o lesson3.html
"""


@click.command(epilog=EXAMPLES)
@click.option("--from", "start", metavar="SECTION", help="Begin at this section: its number or its id.")
@click.option("--again", is_flag=True, help="From the first section, wherever you stopped.")
@click.option("--no-model", is_flag=True, help="Without the real model at the end.")
@model_options
@format_option(*FORMATS)
@output_option
def lesson(
    start: str | None,
    again: bool,
    no_model: bool,
    name: str,
    yes: bool,
    offline: bool,
    format: str,
    output: Path | None,
) -> None:
    """Read and work a lesson, section by section, from where you stopped.

    Enter goes on, b goes back, ? lists the sections, q leaves; where you are is kept. Exercises are worked
    where they stand. Into a pipe, with -o or --format, the lesson comes whole, its exercises as tasks.

    The last section shows a real head. Its model is fetched if you agree.
    """
    if start is not None and again:
        raise click.UsageError("--from and --again cannot both be met: ask for one at a time")
    if no_model and (yes or was_given("name")):
        raise click.UsageError("--no-model leaves out what --model and --yes are for")
    out = output_of(format, output, "riverhead.lesson/1", FORMATS)

    from riverhead.learning.lessons import Bench
    from riverhead.learning.lessons import lesson as lesson_of

    found = lesson_of(int(str(click.get_current_context().info_name)))
    bench = Bench(None if no_model else _opener(name, yes, offline))
    if is_terminal() and out.at_once and not was_given("format"):
        from riverhead.cli.learn_reader import read

        return read(found, bench, _place(found, start), again)
    if start is not None or again:
        raise click.UsageError("--from and --again are for reading in a terminal; a document is whole")
    return _write(found, bench, out)


def _opener(name: str, yes: bool, offline: bool) -> Callable[[], Model | None]:
    """What opens the model at its first use; None where it is not here and nobody agrees to fetch it."""

    def open_it() -> Model | None:
        try:
            return opened(name, yes=yes, offline=offline)
        except NotFetchedError as absent:
            if was_given("name") or yes:
                raise
            say(f"{absent}")
            return None

    return open_it


def _place(lesson: Lesson, start: str | None) -> int | None:
    """The index of the section that ``--from`` names."""
    if start is None:
        return None
    if start.isascii() and start.isdigit():
        if len(start) < 4 and 1 <= int(start) <= len(lesson.sections):
            return int(start) - 1
        last = len(lesson.sections)
        raise InputError(f"--from {start:.12}: lesson {lesson.number} has sections 1 to {last}")
    return lesson.sections.index(lesson[start])


def _write(lesson: Lesson, bench: Bench, out: Output) -> None:
    from riverhead.learning.lessons.document import document, to_dict

    bench.model  # noqa: B018 - asked about now, before anything draws on the terminal
    with working():
        if out.format == "json":
            data = to_dict(lesson, bench)
        else:
            scene = document(lesson, bench)
    if out.format == "json":
        return write(as_json(data) + "\n", out.path)
    out.page("lesson", scene, None)
    return out.close()
