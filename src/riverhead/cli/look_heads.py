"""``riverhead look heads``: a row for every head of a model, from one reading of a text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from riverhead.cli.opening import bar, opened
from riverhead.cli.options import format_option, model_options, output_option, read_text, text_options
from riverhead.cli.output import output_of
from riverhead.errors import InputError

if TYPE_CHECKING:
    from riverhead.inspection.every_head import Heads

__all__ = ["heads"]

FORMATS = ("text", "csv", "json", "markdown", "latex", "html", "svg", "png")
WHOLE = ("csv", "json")  # formats that hold every row unless --top says how many

EXAMPLES = """\b
Examples:
  riverhead look heads "The river bank flooded"
  riverhead look heads --file book.txt --sort induction --top 20
  riverhead look heads --file book.txt --label induction --label duplicate
  riverhead look heads --file book.txt --where "previous>=0.5" --where "layer<10"
  riverhead look heads --file book.txt --map first -o sinks.svg
  riverhead look heads --file book.txt -o heads.csv
"""


@click.command(epilog=EXAMPLES)
@text_options
@click.option(
    "--sort",
    default="surprise",
    show_default=True,
    metavar="COLUMN",
    help="Largest first by this column; -COLUMN is smallest first, head is the model's order.",
)
@click.option("--where", multiple=True, metavar="CONDITION", help="Keep rows like previous>=0.5 or layer=9.")
@click.option("--label", multiple=True, help="Keep the heads with this label; several may be given.")
@click.option("--top", type=click.IntRange(1), help="How many rows; of all heads a page has 12.")
@click.option("--all", "every", is_flag=True, help="Every row.")
@click.option("--map", "column", metavar="COLUMN", help="A column as a heat map, layers × heads.")
@model_options
@format_option(*FORMATS)
@output_option
def heads(
    text: str | None,
    file: str | None,
    sort: str,
    where: tuple[str, ...],
    label: tuple[str, ...],
    top: int | None,
    every: bool,
    column: str | None,
    name: str,
    yes: bool,
    offline: bool,
    format: str,
    output: Path | None,
) -> None:
    """What every head of a model does with TEXT, a row each, however long the text is.

    Columns: entropy, entropy_share (of the most it could be), distance, and mean weights: first, previous,
    self, near (within 4 tokens), duplicate (on earlier copies of the token), induction (on what followed
    those); next and last where the model sees later tokens; surprise, the largest weight beyond habit.

    A label says what a head does in plain text, by thresholds that the first table and JSON name; the numbers
    are of TEXT. CSV and JSON hold every row.
    """
    if top is not None and every:
        raise click.UsageError("--top and --all cannot both be met: ask for one at a time")
    out = output_of(format, output, "riverhead.look.heads/1", FORMATS)
    text = read_text(text, file)

    from riverhead.inspection.every_head import SHOWN
    from riverhead.inspection.every_head import heads as look

    choose = _chooser(sort, where, label, column)
    model = opened(name, yes=yes, offline=offline)
    with bar("reading") as tell:
        found = look(model, text, say=lambda words: tell(words=words), progress=tell)
    heatmap = None if column is None else found.heatmap(column)
    n = top or (None if every or where or label or out.format in WHOLE else SHOWN)
    shown = choose(found)
    kept = replace(shown, rows=shown.rows[:n])
    out.page("heads", shown.scene(n, heatmap), asdict(kept), rows=[asdict(row) for row in kept.rows])
    out.close()


def _chooser(
    sort: str, where: tuple[str, ...], labels: tuple[str, ...], column: str | None
) -> Callable[[Heads], Heads]:
    """Return what chooses and orders the rows, its words checked before any model is read."""
    from riverhead.inspection.head_row import column_of, condition

    tests = [condition(written) for written in where]
    named = [condition(f"label={label}") for label in labels]
    for asked in {sort.removeprefix("-"), column} - {"head", None}:
        column_of(str(asked))

    def choose(heads: Heads) -> Heads:
        rows = [row for row in heads.rows if all(test(row) for test in tests)]
        rows = [row for row in rows if not named or any(test(row) for test in named)]
        if not rows:
            asked = ", ".join([*where, *(f"label={label}" for label in labels)])
            raise InputError(f"none of the {len(heads.rows)} heads meets {asked:.200}")
        return replace(heads, rows=tuple(rows)).sorted(sort)

    return choose
