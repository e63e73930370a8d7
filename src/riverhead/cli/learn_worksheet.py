"""``riverhead learn worksheet``: exercises on paper for a class, their key, the CSV to grade them from."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING

import click

from riverhead.cli.escapes import as_json, printable
from riverhead.cli.models import say
from riverhead.cli.opening import bar
from riverhead.cli.options import format_option, output_option, was_given
from riverhead.cli.output import Output, check, output_of, write
from riverhead.errors import InputError

if TYPE_CHECKING:
    from riverhead.learning.worksheets import Paper, Worksheet

__all__ = ["read_file", "say_lacking", "worksheet"]

FORMATS = ("text", "pdf", "markdown", "latex", "json")
COUNT = 8
MOST_NAMES_BYTES = 2**20

EXAMPLES = """\b
Examples:
  riverhead learn worksheet --lesson 2 --count 8 --students 30 --key -o sheets.pdf
  riverhead learn worksheet --kind softmax --kind values --count 4 -o sheets.md
  riverhead learn worksheet L2x8-1-k3m9q2 --student 7 --key
  riverhead learn worksheet L2x8-1-k3m9q2 --names class.txt -o sheets.pdf
  riverhead learn worksheet L2x8-1-k3m9q2 --students 30 --csv answers.csv
  riverhead learn grade L2x8-1-k3m9q2 answers.csv
"""


@click.command(epilog=EXAMPLES)
@click.argument("id", required=False, metavar="[ID]")
@click.option("--lesson", type=int, help="The lesson whose exercises take turns.")
@click.option("--kind", "kinds", multiple=True, help="A kind of exercise instead; repeat it for several.")
@click.option("--count", type=int, help=f"How many exercises a student has.  [default: {COUNT}]")
@click.option("--seed", help="Six letters or digits, to have the same sheets again; else drawn.")
@click.option("--students", type=click.IntRange(1), help="How many sheets.  [default: 1, or one a name]")
@click.option("--student", type=click.IntRange(1), help="The sheet of this student alone.")
@click.option("--names", metavar="FILE", help="Names for the sheets, one a line; - is standard input.")
@click.option("--key", is_flag=True, help="Add the answers with their arithmetic, behind all sheets.")
@click.option(
    "--csv",
    "form",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write the CSV to fill in the answers; sheets only with -o or --format as well.",
)
@click.option("--semicolons", is_flag=True, help="That CSV with semicolons, for decimal commas.")
@click.option("--paper", type=click.Choice(("a4", "letter")), help="The paper of a PDF.  [default: a4]")
@click.option("--duplex", is_flag=True, help="In a PDF, begin each sheet on the front of a leaf.")
@format_option(*FORMATS)
@output_option
def worksheet(
    id: str | None,
    lesson: int | None,
    kinds: tuple[str, ...],
    count: int | None,
    seed: str | None,
    students: int | None,
    student: int | None,
    names: str | None,
    key: bool,
    form: Path | None,
    semicolons: bool,
    paper: str | None,
    duplex: bool,
    format: str,
    output: Path | None,
) -> None:
    """Print fresh exercises for a class, or the sheets of an ID again.

    Every student has other numbers. The id, on each sheet, makes the same sheets on any machine: student 7
    has the same exercises however many students there are.

    Each box of a sheet has a letter. The CSV has a line for each exercise of each student; under a, b, c, …
    belongs what stands in the boxes. In a spreadsheet, format those columns as text first, or it makes dates
    of fractions.
    """
    from riverhead.learning.worksheets.worksheet import check_student

    sheets = _meant(id, lesson, kinds, count, seed)
    if student is not None and (students is not None or names is not None):
        raise click.UsageError("--student is one sheet alone: leave out --students and --names")
    if semicolons and form is None:
        raise click.UsageError("--semicolons is for the CSV: give --csv FILE as well")
    out = output_of(format, output, "riverhead.worksheet/1", FORMATS)
    if (paper or duplex) and out.format != "pdf":
        raise click.UsageError("--paper and --duplex are for a PDF: give -o FILE.pdf as well")
    if out.format == "pdf":
        from riverhead.learning.worksheets.typeset import check_typst

        check_typst()
    if form is not None:
        check(form, "csv")
    called = _names(names)
    numbers = [student] if student is not None else list(range(1, (students or len(called) or 1) + 1))
    check_student(numbers[-1])
    if len(called) > len(numbers):
        raise InputError(f"--names has {len(called)} names, and --students says {len(numbers)}: raise it")
    papers = _papers(sheets, numbers, called)
    if form is not None:
        from riverhead.learning.worksheets.form import form as blank

        write(blank(papers, ";" if semicolons else ","), form)
    if form is None or output is not None or was_given("format"):
        _show(papers, out, key, paper or "a4", duplex)
    _say_what(sheets, papers, form)


def read_file(file: str, what: str, most: int) -> str:
    """Return the text of a file that an editor or a spreadsheet wrote."""
    from riverhead.learning.worksheets.form import decoded

    with click.open_file(file, "rb") as stream:
        data: bytes = stream.read(most + 1)
    if len(data) > most:
        raise InputError(f"{what} {file} has more than {most:,} bytes, more than a class can have")
    return decoded(data)


def say_lacking(text: str) -> None:
    """Say which letters of a PDF are boxes, for want of a font."""
    from riverhead.learning.worksheets.typeset import lacking

    if letters := lacking(text):
        say(
            printable(f"no font here has {letters}: they are boxes in the PDF; install one, as Noto Sans CJK")
        )


def _meant(
    id: str | None, lesson: int | None, kinds: tuple[str, ...], count: int | None, seed: str | None
) -> Worksheet:
    """The worksheet of an id, or a new one."""
    from riverhead.learning.worksheets.worksheet import SEED, Worksheet

    if id is not None:
        if lesson is not None or kinds or count is not None or seed is not None:
            raise click.UsageError("an id says it all: leave out --lesson, --kind, --count and --seed")
        return Worksheet.parse(id)
    if (lesson is None) == (not kinds):
        raise click.UsageError(
            "say what to practise: --lesson N, or --kind KIND; or give the ID of a worksheet"
        )
    what = "+".join(kinds) if lesson is None else f"L{lesson}"
    drawn = "".join(secrets.choice(SEED) for _ in range(6))
    return Worksheet(what, COUNT if count is None else count, drawn if seed is None else seed)


def _names(file: str | None) -> list[str]:
    from riverhead.learning.worksheets.form import LONGEST_NAME

    if file is None:
        return []
    names = [name.strip() for name in read_file(file, "--names", MOST_NAMES_BYTES).split("\n")]
    found = [name for name in names if name]
    if not found:
        raise InputError(f"--names {file} has no name in it; write one a line")
    long = next((name for name in found if len(name) > LONGEST_NAME), None)
    if long is not None:
        raise InputError(
            f"--names {file}: {long[:20]!r}… is longer than {LONGEST_NAME} letters; one name a line"
        )
    return found


def _papers(sheets: Worksheet, numbers: list[int], names: list[str]) -> list[Paper]:
    found = []
    with bar("making the sheets") as tell:
        for done, number in enumerate(numbers):
            tell(done, len(numbers))
            found.append(sheets.paper(number, names[done] if done < len(names) else ""))
    return found


def _show(papers: list[Paper], out: Output, key: bool, paper: str, duplex: bool) -> None:
    from riverhead.learning.worksheets import pages

    if out.format == "pdf":
        from riverhead.learning.worksheets.typeset import sheets_pdf

        with bar("setting the sheets"):
            pdf = sheets_pdf(papers, with_key=key, paper=paper, double=duplex)
        write(pdf, out.path)
        return say_lacking("".join(each.name for each in papers))
    if out.format == "json":
        about = papers[0].worksheet
        data = {
            "schema": pages.SCHEMA,
            "worksheet": about.id,
            "title": about.title,
            "lesson": about.lesson,
            "kinds": list(about.kinds),
            "count": about.count,
            "students": [pages.as_data(each, with_key=key) for each in papers],
        }
        return write(as_json(data) + "\n", out.path)
    scenes = [pages.sheet(each) for each in papers] + [pages.key(each) for each in papers if key]
    if not out.at_once:
        return write(pages.bound(scenes, out.format), out.path)
    for number, scene in enumerate(scenes):
        out.page(str(number), scene, None)
    return out.close()


def _say_what(sheets: Worksheet, papers: list[Paper], form: Path | None) -> None:
    """Name the worksheet, and the next step."""
    count = len(papers)
    say(f"worksheet {sheets.id}: {count} sheet{'s' * (count != 1)} of {sheets.count}")
    if form is not None:
        say(printable(f"filled in, it is graded by: riverhead learn grade {sheets.id} {form}"))
