"""``riverhead learn progress``: what was reached and tried, what is due; exported, deleted."""

from __future__ import annotations

import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from riverhead.cli.escapes import as_json, printable
from riverhead.cli.learn_data import kept_file, progress_file
from riverhead.cli.options import format_option
from riverhead.cli.output import Output, output_of, write
from riverhead.errors import InputError

__all__ = ["progress"]

FORMATS = ("text", "markdown", "latex", "html", "svg", "png", "json", "csv")

EXAMPLES = """\b
Examples:
  riverhead learn progress
  riverhead learn progress --export progress.json
  riverhead learn progress --export attempts.csv
  riverhead learn progress --delete
"""


@click.command(epilog=EXAMPLES)
@click.option("--delete", is_flag=True, help="Delete all of it; asks first.")
@click.option("--yes", is_flag=True, help="Delete without asking.")
@format_option(*FORMATS)
@click.option(
    "-o",
    "--export",
    "--output",
    "output",
    type=click.Path(path_type=Path),
    help="Write to a file; its ending says how.",
)
def progress(format: str, output: Path | None, delete: bool, yes: bool) -> None:
    """Show what you reached and tried, which skills are due, and the mistakes you make most.

    JSON holds everything that is kept, CSV a row for each exercise tried. It lies in your data folder, on
    this machine alone; RIVERHEAD_DATA names another folder.
    """
    to = output_of(format, output, "riverhead.progress/1", FORMATS)
    if delete:
        if output is not None:
            raise click.UsageError("--delete stands alone: export first, look at the file, then delete")
        _delete(yes)
    else:
        _show(to)


def _show(to: Output) -> None:
    from riverhead.learning.progress import Progress

    with Progress(kept_file()) as kept:  # a look makes no file
        if to.format == "json":
            write(as_json(kept.export()) + "\n", to.path)
            return
        rows = [_row(attempt) for attempt in kept.export()["attempts"]] if to.format == "csv" else []
        if to.format == "csv" and not rows:
            raise InputError(
                "no exercise was tried yet, so there is no row; riverhead learn exercise gives one"
            )
        overview = replace(kept.overview(datetime.now(UTC)), where=str(progress_file()))
        to.page("progress", overview.scene(), None, rows=rows)
    to.close()


def _row(attempt: dict[str, Any]) -> dict[str, Any]:
    mistakes = "; ".join(f"{mistake} ×{cells}" for mistake, cells in attempt["mistakes"].items())
    return {**attempt, "skills": "; ".join(attempt["skills"]), "mistakes": mistakes}


def _delete(yes: bool) -> None:
    from riverhead.learning.progress import Progress

    if (path := kept_file()) is None:
        click.echo(printable(f"nothing is kept in {progress_file()}"), err=True)
        return
    if not yes and not sys.stdin.isatty():
        raise click.UsageError("--delete asks first, and nobody is there to answer; give --yes")
    with Progress(path) as kept:
        held = kept.export()
        what = (
            f"{_counted(held['attempts'], 'exercise')} tried and {_counted(held['lessons'], 'lesson')} begun"
        )
        question = printable(f"Delete {what}, in {path}? There is no way back.")
        if not yes and not click.confirm(question, err=True):
            click.echo("it stays", err=True)
            return
        kept.delete()
    click.echo(printable(f"{path} deleted: {what}"), err=True)


def _counted(of: list[Any], noun: str) -> str:
    return f"{len(of)} {noun}{'s' * (len(of) != 1)}"
