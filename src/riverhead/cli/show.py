"""``riverhead show``: the whiteboard for a sentence that has toy vectors, then the heads of a real model."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click

from riverhead.cli.options import format_option, read_text, text_options
from riverhead.cli.output import SUFFIXES, Output

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
    try:
        return tuple(float(part) for part in value.split(",")) if value else ()
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a number, nor numbers separated by commas") from None


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
@click.option("--model", "name", default="smollm2", show_default=True, help="A model's name, or a GGUF file.")
@click.option("--head", metavar="L9.H7", help="The head to derive; the default is the most telling one.")
@click.option("--control", metavar="TEXT", help="The same heads on a second sentence.")
@click.option("--block", type=int, help="One block of the model: shapes, and what each part added.")
@click.option("--no-model", is_flag=True, help="The whiteboard alone.")
@click.option("--yes", is_flag=True, help="Fetch the model without asking.")
@click.option("--offline", is_flag=True, help="Never touch the network.")
@format_option(*FORMATS)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write to a file; its ending says how.")
def show(text: str | None, file: str | None, vectors: Path | None, **asked: Any) -> None:
    """Attention worked by hand for TEXT, then the heads of a real model that reads it.

    A sentence with toy vectors gets the whiteboard; --causal, --no-scale, --temperature and --set print only
    what they change there. Then the five most telling heads of the model: weight, habit, swap, and what
    happens without the head. A sentence without toy vectors goes straight to the model.
    """
    from riverhead.cli import pages

    path: Path | None = asked["output"]
    if (
        path is not None
        and click.get_current_context().get_parameter_source("format") is click.core.ParameterSource.DEFAULT
    ):
        asked["format"] = SUFFIXES.get(path.suffix.lower(), asked["format"])
    output = Output(asked["format"], path, "riverhead.show/1")
    if vectors is None or text is not None or file is not None:
        text = read_text(text, file)
    pages.make(text, vectors, SimpleNamespace(**asked), output)
    output.close()
