"""``riverhead look compare``: a word in two texts, or a text in two models."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from riverhead.cli.opening import opened, working
from riverhead.cli.options import format_option, model_options, output_option, read_text
from riverhead.cli.output import output_of

if TYPE_CHECKING:
    from riverhead.inspection.comparison import Comparison
    from riverhead.inspection.model_comparison import ModelComparison
    from riverhead.transformer import Model

__all__ = ["compare"]

FORMATS = ("text", "markdown", "latex", "html", "svg", "png", "json", "csv")

EXAMPLES = """\b
Examples:
  riverhead look compare "The money bank grows" "The river bank flows"
  riverhead look compare "He kicked the ball" "She danced at the ball" --word ball
  riverhead look compare --file before.txt --file after.txt --word tax -o heads.csv
  riverhead look compare "The river bank flooded" --beside-model my-tune.gguf

\b
By hand, with toy vectors:
  riverhead show "money bank grows" --beside "river bank flows"
"""


@click.command(epilog=EXAMPLES)
@click.argument("texts", nargs=-1, metavar="TEXT_A TEXT_B")
@click.option(
    "--file", "files", multiple=True, type=click.Path(), help="Read a text from a file; twice for both."
)
@click.option("--word", metavar="WORD", help="The word to follow; WORD#2 is its second appearance.")
@click.option("--beside-model", "beside", metavar="MODEL", help="A second model that reads the one text too.")
@click.option("--heads", "n", type=click.IntRange(1), default=8, show_default=True, help="Heads to show.")
@click.option(
    "--sort",
    type=click.Choice(("change", "-change", "alone", "layer")),
    default="change",
    show_default=True,
    help="Which heads come first.",
)
@model_options
@format_option(*FORMATS)
@output_option
def compare(texts: tuple[str, ...], files: tuple[str, ...], **asked: Any) -> None:
    """Follow a word that two texts share through every head and layer of a model.

    Which heads changed with the words and which only follow positions, the cosine of the word's two vectors
    after each layer, and the odds of the next token. With --beside-model it is one text in two models. JSON
    and CSV hold every head.
    """
    output = output_of(asked["format"], asked["output"], "riverhead.look.compare/1", FORMATS)
    read = [read_text(text, None) for text in texts] + [read_text(None, file) for file in files]
    wanted = 1 if asked["beside"] else 2
    if len(read) != wanted:
        raise click.UsageError(
            f"give {'one text with --beside-model' if wanted == 1 else 'two texts'}, as arguments or with "
            f"--file; here are {len(read)}"
        )
    models = [
        opened(name, yes=asked["yes"], offline=asked["offline"])
        for name in (asked["name"], asked["beside"])
        if name
    ]
    with working() as progress:
        found = _found(models, read, asked["word"], progress).sorted(asked["sort"])
    output.page("compare", found.scene(asked["n"]), found.to_dict(), rows=found.rows())
    output.close()


def _found(
    models: list[Model], texts: list[str], word: str | None, progress: Callable[[str], None]
) -> Comparison | ModelComparison:
    if len(models) == 1:
        from riverhead.inspection.comparing import compare as compare_texts

        return compare_texts(models[0], texts[0], texts[1], word=word, progress=progress)
    from riverhead.inspection.comparing_models import compare_models

    return compare_models(models[0], models[1], texts[0], word=word, progress=progress)
