"""``riverhead check article``: every arithmetic claim of some files, and what is true of it."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from riverhead.cli.escapes import as_json, in_words, printable
from riverhead.cli.models import say
from riverhead.cli.opening import bar
from riverhead.cli.options import format_option, output_option
from riverhead.cli.output import Output, output_of, write
from riverhead.errors import InputError, RiverheadError

if TYPE_CHECKING:
    from riverhead.checking.claims.reports.report import Report

__all__ = ["article"]

FORMATS = ("text", "json", "markdown", "sarif", "html", "latex", "svg", "png")
KINDS = ("markdown", "html", "latex", "notebook", "text")
MAX_BYTES = 10 * 2**20  # of a file; a book has one or two million
STDIN = "-"

EXAMPLES = """\b
Examples:
  riverhead check article post.md
  riverhead check article README.md docs/*.md --format sarif -o claims.sarif
  riverhead check article lecture.tex --all
  riverhead check article - --kind markdown < answer.txt
  riverhead check article post.md --json
"""


@click.command(epilog=EXAMPLES)
@click.argument("files", nargs=-1, required=True, metavar="FILE… | -")
@click.option("--kind", type=click.Choice(KINDS), help="What the files are; their names say it otherwise.")
@click.option("--all", "everything", is_flag=True, help="Show the true claims, and those not checkable, too.")
@click.option("--stdin-name", metavar="NAME", help="What to call standard input; its ending says the kind.")
@format_option(*FORMATS)
@output_option
def article(
    files: tuple[str, ...],
    kind: str | None,
    everything: bool,
    stdin_name: str | None,
    format: str,
    output: Path | None,
) -> None:
    """Check every number of some files: Markdown, HTML, LaTeX, notebooks or plain text; - is standard input.

    A claim says that two things are equal: 2·1 + 1·2 = 4, or softmax([2, 1]) ≈ (0.73, 0.27). It is exact,
    rounded, carried (right only if rounded numbers are carried forward), false, or not checkable.

    The false ones are shown in full, the others counted; JSON has every one. A comment `riverhead: ignore` on
    the line of a claim, or alone on the line above, accepts it. Exit status 1 says that a claim is false, 3
    that a file could not be read; the other files are checked all the same.
    """
    if files.count(STDIN) > 1:
        raise click.UsageError("standard input can be read once: give - once")
    if stdin_name is not None and STDIN not in files:
        raise click.UsageError("--stdin-name names standard input: give - as well")
    out = output_of(format, output, "riverhead.check.article/1", FORMATS)
    reports = []
    with bar("checking") as tell:
        for number, file in enumerate(files):
            name = (stdin_name or "<stdin>") if file == STDIN else file
            tell(number, len(files), name)
            reports.append(_report(file, name, kind))
    _show(out, reports, everything)
    for each in reports:
        if each.problem:
            say(printable(f"riverhead: error: {each.name}: {each.problem}"))
    status = 3 if any(each.problem for each in reports) else int(any(each.of("false") for each in reports))
    if status:
        raise click.exceptions.Exit(status)


def _report(file: str, name: str, kind: str | None) -> Report:
    """Return what was found in a file, or why it could not be read: others may be."""
    from riverhead.checking.claims.reports.report import Report

    try:
        return _checked(name, _read(file), kind)
    except (RiverheadError, OSError) as failed:
        said = in_words(OSError(failed.errno, failed.strerror) if isinstance(failed, OSError) else failed)
        return Report(name, problem=said)


def _checked(name: str, source: str, kind: str | None) -> Report:
    from riverhead.checking.claims.checked import claims_on, page_of
    from riverhead.checking.claims.documents import kind_of
    from riverhead.checking.claims.reports.report import report

    page = page_of(source, kind or kind_of(name))
    return report(name, claims_on(page), page.source_line)


def _read(file: str) -> str:
    """Return the text of a file; how long it is, is known before it is read."""
    if file == STDIN:
        data = sys.stdin.buffer.read(MAX_BYTES + 1)
    else:
        with open(file, "rb") as stream:
            status = os.fstat(stream.fileno())
            if stat.S_ISREG(status.st_mode) and status.st_size > MAX_BYTES:
                raise InputError(_too_long(f"{status.st_size:,}"))
            data = stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise InputError(_too_long(f"more than {MAX_BYTES:,}"))
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as wrong:
        raise InputError(f"is not UTF-8: byte {wrong.start} is {data[wrong.start]:#04x}") from None


def _too_long(size: str) -> str:
    return f"has {size} bytes; at most {MAX_BYTES:,} are read: split it"


def _show(out: Output, reports: list[Report], everything: bool) -> None:
    from riverhead.checking.claims.reports.report import counts
    from riverhead.checking.claims.reports.sarif import sarif
    from riverhead.checking.claims.reports.scene import TITLE, scene, table

    if out.format == "sarif":
        return write(as_json(sarif(reports, everything)) + "\n", out.path)
    if out.format == "markdown":
        shown = table(reports, everything)
    else:
        shown = scene(reports, everything, "" if out.at_once else TITLE)
    data = {"counts": counts(reports), "files": [each.to_dict() for each in reports]}
    out.page("article", shown, data)
    return out.close()
