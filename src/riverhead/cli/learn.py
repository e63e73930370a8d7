"""``riverhead learn``: a taste, the lessons with their outcomes, where one stopped, what to type next."""

from __future__ import annotations

import re
from pathlib import Path

import click

from riverhead.cli.escapes import as_json
from riverhead.cli.options import format_option, output_option, was_given
from riverhead.cli.output import output_of, write
from riverhead.cli.verbs import Verbs

__all__ = ["learn"]

FORMATS = ("text", "json", "markdown", "html", "latex", "svg", "png")
NUMBER = re.compile("[0-9]{1,4}")

VERBS = {
    "exercise": ("riverhead.cli.learn_exercise", "An exercise, fresh: graded number by number, with hints."),
    "worksheet": ("riverhead.cli.learn_worksheet", "Exercises on paper for a class, with their key."),
    "grade": ("riverhead.cli.learn_grade", "A class's answers from a CSV: by student, by mistake."),
    "progress": ("riverhead.cli.learn_progress", "What you reached and tried, and what is due."),
    "ask": ("riverhead.cli.learn_ask", "A question, answered from the lessons and by the engine."),
}

EXAMPLES = """\b
Examples:
  riverhead learn
  riverhead learn 1
  riverhead learn 5 --from kv-cache
  riverhead learn 2 -o lesson2.html
  riverhead learn exercise
  riverhead learn worksheet --lesson 2 --count 8 --students 30 --key
  riverhead learn ask "why is the weight on river 0.54?"
"""


class Course(Verbs):
    """The verbs, and the lessons by their numbers."""

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if NUMBER.fullmatch(name):
            from riverhead.cli.learn_lesson import lesson

            return lesson
        return super().get_command(ctx, name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from riverhead.learning.lessons import lessons

        with formatter.section("Lessons"):
            formatter.write_dl([(str(each.number), each.title) for each in lessons()])
        super().format_commands(ctx, formatter)


@click.command(
    cls=Course,
    verbs=VERBS,
    epilog=EXAMPLES,
    invoke_without_command=True,
    subcommand_metavar="[LESSON | COMMAND] [ARGS]...",
)
@format_option(*FORMATS)
@output_option
@click.pass_context
def learn(ctx: click.Context, format: str, output: Path | None) -> None:
    """Learn attention by hand: six lessons, exercises graded number by number, and a tutor.

    Alone it shows a taste, the lessons with their outcomes, where you stopped and what to type next. A number
    reads and works that lesson, from where you stopped.
    """
    if ctx.invoked_subcommand is not None:
        if was_given("format") or output is not None:
            raise click.UsageError(
                f"--format and -o stand behind what they are for: riverhead learn {ctx.invoked_subcommand} …"
            )
        return None
    out = output_of(format, output, "riverhead.learn/1", FORMATS)
    from datetime import UTC, datetime

    from riverhead.cli.learn_data import looked_at
    from riverhead.learning.course import course

    found = course(looked_at(), datetime.now(UTC))
    if out.format == "json":
        return write(as_json(found.to_dict()) + "\n", out.path)
    out.page("course", found.scene(), None)
    return out.close()
