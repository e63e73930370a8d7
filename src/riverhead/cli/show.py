"""``riverhead show``: the whiteboard for a sentence that has toy vectors, then the heads of a real model."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click

from riverhead.cli.options import (
    format_option,
    model_options,
    output_option,
    read_text,
    text_options,
    was_given,
)
from riverhead.cli.output import output_of

__all__ = ["show"]

FORMATS = ("text", "markdown", "latex", "html", "svg", "png", "json", "python")

EXAMPLES = """\b
Examples:
  riverhead show "The river bank flooded" --yes
  riverhead show "The river bank flooded" --causal
  riverhead show "The river bank flooded" --set k.river=0,2
  riverhead show "The river bank flooded" --control "The money bank flooded"
  riverhead show "money bank grows" --beside "river bank flows"
  riverhead show "a: 1, b: 2, c: 4" --temperature 1,0.1,0.01
  riverhead show --vectors mine.toml -o mine.html
  riverhead show "She sat on the bank" --head L9.H7 --focus bank
"""


def temperatures(ctx: click.Context, option: click.Parameter, value: str | None) -> tuple[float, ...]:
    """Read one temperature, or several separated by commas."""
    if value is None:
        return ()
    try:
        return tuple(float(part) for part in value.split(","))
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a number, nor numbers separated by commas") from None


def head_name(ctx: click.Context, option: click.Parameter, value: str | None) -> str | None:
    """Refuse what is no head's name before anything is printed."""
    if value is not None and not re.fullmatch(r"L\d+\.H\d+", value):
        raise click.BadParameter(f"{value!r} is no head; they are named like L9.H7, layer and head from 0")
    return value


@click.command(epilog=EXAMPLES)
@text_options
@click.option("--vectors", type=click.Path(path_type=Path), help="Toy vectors of your own: JSON or TOML.")
@click.option("--focus", metavar="WORD", help="The word to follow; WORD#2 is its second appearance.")
@click.option("--digits", type=click.IntRange(0, 15), help="Decimals of weights and outputs (3).")
@click.option("--full", is_flag=True, help="Every cell with its arithmetic, every symbol explained.")
@click.option("--no-scale", is_flag=True, help="What changes without ÷ √d_k.")
@click.option("--causal", is_flag=True, help="What changes when no word sees a later one.")
@click.option("--temperature", metavar="T[,T…]", callback=temperatures, help="What changes at temperature T.")
@click.option("--set", "settings", multiple=True, metavar="k.WORD=0,2", help="What changes with this vector.")
@click.option("--beside", metavar="SENTENCE", help="A second toy sentence: where the shared word ends up.")
@model_options
@click.option(
    "--head",
    metavar="L9.H7",
    callback=head_name,
    help="The head to derive; the default is the most telling one.",
)
@click.option("--control", metavar="TEXT", help="The same heads on a second sentence.")
@click.option(
    "--block", type=click.IntRange(0), help="One block of the model: shapes, and what each part added."
)
@click.option("--no-model", is_flag=True, help="The whiteboard alone.")
@format_option(*FORMATS)
@output_option
def show(text: str | None, file: str | None, vectors: Path | None, **asked: Any) -> None:
    """Attention worked by hand for TEXT, then the heads of a real model that reads it.

    A sentence with toy vectors gets the whiteboard; --causal, --no-scale, --temperature and --set print only
    what they change there. Then the five most telling heads of the model: weight, habit, swap, and what
    happens without the head. A sentence without toy vectors goes straight to the model.
    """
    from riverhead.cli import pages

    given = {name for name in asked if was_given(name)}
    _refuse_what_would_be_ignored(given | ({"vectors"} if vectors else set()))
    output = output_of(asked["format"], asked["output"], "riverhead.show/1", FORMATS)
    if vectors is None or text is not None or file is not None:
        text = read_text(text, file)
    pages.make(text, vectors, SimpleNamespace(**asked, asks_model=bool(given & MODEL)), output)
    output.close()


# what is asked of the whiteboard, of the model, and of neither together
SWITCHES = {"no_scale", "causal", "temperature", "settings"}
MODEL = {"name", "head", "control", "block"}


def _refuse_what_would_be_ignored(given: set[str]) -> None:
    """No option is ever dropped in silence: two that cannot both be met are a usage error."""
    for some, others in (
        (SWITCHES | {"beside"}, MODEL),
        ({"no_model"}, MODEL | {"yes"}),
        ({"beside"}, SWITCHES | {"vectors"}),
        ({"block"}, {"head", "control", "full"}),
    ):
        if given & some and given & others:
            one, other = (
                FLAGS.get(min(given & group), f"--{min(given & group)}") for group in (some, others)
            )
            raise click.UsageError(f"{one} and {other} cannot both be met: ask for one at a time")


FLAGS = {"name": "--model", "no_scale": "--no-scale", "no_model": "--no-model", "settings": "--set"}
