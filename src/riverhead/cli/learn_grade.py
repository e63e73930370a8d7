"""``riverhead learn grade``: a class's answers from a CSV, by student, by mistake, by step."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from riverhead.cli.escapes import as_json
from riverhead.cli.opening import bar
from riverhead.cli.options import format_option, output_option
from riverhead.cli.output import SUFFIXES, check, output_of, write
from riverhead.errors import InputError

if TYPE_CHECKING:
    from riverhead.learning.worksheets import ClassReport

__all__ = ["grade"]

FORMATS = ("text", "json", "csv", "markdown", "html", "latex", "svg", "png")
FEEDBACK = ("pdf", "markdown", "latex", "text")

EXAMPLES = """\b
Examples:
  riverhead learn grade L2x8-1-k3m9q2 answers.csv
  riverhead learn grade L2x8-1-k3m9q2 answers.csv -o class.html
  riverhead learn grade L2x8-1-k3m9q2 answers.csv --format csv -o scores.csv
  riverhead learn grade L2x8-1-k3m9q2 answers.csv --feedback feedback.pdf
  riverhead learn grade L2x8-1-k3m9q2 - --json < answers.csv
"""


@click.command(epilog=EXAMPLES)
@click.argument("id", metavar="ID")
@click.argument("answers", metavar="CSV | -")
@click.option(
    "--feedback",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write each student's own report, to hand back: .pdf, .md, .tex or .txt.",
)
@format_option(*FORMATS)
@output_option
def grade(id: str, answers: str, feedback: Path | None, format: str, output: Path | None) -> None:
    """Grade a class: the answers to the worksheet ID, filled into the CSV that came with it.

    (riverhead learn worksheet ID --students 30 --csv answers.csv writes one to fill in.)

    Commas, semicolons or tabs part the cells; 0.54, "0,54", 54 % and 27/50 are all read. A blank earns
    nothing; what cannot be read does not count. Whatever is not graded is said with its line. The exit status
    is 0 however the class did.
    """
    out = output_of(format, output, "riverhead.class/1", FORMATS)
    handed = None if feedback is None else _feedback_format(feedback)
    from riverhead.cli.learn_worksheet import read_file
    from riverhead.learning.worksheets import Worksheet, grade_class
    from riverhead.learning.worksheets.form import MOST_BYTES

    worksheet = Worksheet.parse(id)
    text = read_file(answers, "the file", MOST_BYTES)
    with bar("grading") as tell:
        report = grade_class(worksheet, text, tell)
    if feedback is not None and handed is not None:
        _hand_back(report, handed, feedback)
    if out.format == "json":
        return write(as_json(report.to_dict()) + "\n", out.path)
    out.page("class", report.scene(), None, rows=report.rows())
    return out.close()


def _feedback_format(path: Path) -> str:
    """What a file's ending says, checked before any work."""
    format = SUFFIXES.get(path.suffix.lower(), "")
    if format not in FEEDBACK:
        raise InputError(f"--feedback {path}: its ending has to be .pdf, .md, .tex or .txt")
    check(path, format)
    if format == "pdf":
        from riverhead.learning.worksheets.typeset import check_typst

        check_typst()
    return format


def _hand_back(report: ClassReport, format: str, path: Path) -> None:
    from riverhead.cli.learn_worksheet import say_lacking
    from riverhead.learning.worksheets.pages import bound
    from riverhead.learning.worksheets.typeset import reports_pdf

    scenes = [(f"student {each.student}", each.scene(report.worksheet)) for each in report.students]
    if format == "pdf":
        write(reports_pdf(report.worksheet, scenes), path)
        return say_lacking("".join(str(scene) for _, scene in scenes))
    return write(bound([scene for _, scene in scenes], format), path)
