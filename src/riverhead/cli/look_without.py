"""``riverhead look without``: heads switched off, together or each in turn, and what moves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from riverhead.cli.models import say
from riverhead.cli.opening import bar, opened, working
from riverhead.cli.options import format_option, model_options, output_option, read_text, text_options
from riverhead.cli.output import Output, output_of

if TYPE_CHECKING:
    from riverhead.transformer import Model

__all__ = ["without"]

FORMATS = ("text", "markdown", "latex", "html", "svg", "png", "json", "csv")
LONG_TOKENS = 20_000  # of work, half a minute or so: said before it is done

EXAMPLES = """\b
Examples:
  riverhead look without "The river bank flooded" --head L9.H7
  riverhead look without "The river bank flooded" --head L9.H7 --head L4.H2 --mode mean
  riverhead look without "The river bank flooded" --all
  riverhead look without "The river bank flooded" --all --by loss -o heads.csv
"""


@click.command(epilog=EXAMPLES)
@text_options
@click.option("--head", "heads", multiple=True, metavar="L9.H7", help="Switch it off; several: all together.")
@click.option("--all", "every", is_flag=True, help="Switch off each head in turn, and rank them.")
@click.option(
    "--mode",
    type=click.Choice(["zero", "mean"]),
    default="zero",
    show_default=True,
    help="What a head that is off hands over: zeros, or its mean output over plain text.",
)
@click.option(
    "--by", type=click.Choice(["odds", "loss", "vectors"]), help="With --all: the effect to rank by."
)
@click.option("-n", "n", type=click.IntRange(1), help="With --all: how many heads to show (20).")
@model_options
@format_option(*FORMATS)
@output_option
def without(text: str | None, file: str | None, heads: tuple[str, ...], every: bool, **asked: Any) -> None:
    """Read TEXT with heads switched off, and with every head: what moves.

    Moved are the odds of the next token (KL, nats) and the text's loss (mean −ln p of its tokens, nats a
    token). With --all each head is switched off in turn and all are ranked; CSV and JSON hold every head. A
    model that predicts no next token has neither: there the tokens' final vectors move.
    """
    if every == bool(heads):
        raise click.UsageError("give the heads to switch off, --head L9.H7, or --all for each in turn")
    if heads and (asked["by"] or asked["n"]):
        raise click.UsageError("--by and -n rank heads: they go with --all")
    output = output_of(asked["format"], asked["output"], "riverhead.look.without/1", FORMATS)
    text = read_text(text, file)
    model = opened(asked["name"], yes=asked["yes"], offline=asked["offline"])
    if every:
        _rank(model, text, asked, output)
    else:
        _together(model, text, heads, asked["mode"], output)
    output.close()


def _together(model: Model, text: str, heads: tuple[str, ...], mode: Any, output: Output) -> None:
    from riverhead.inspection.ablation import without as read_without

    with working() as hear:
        effect = read_without(model, text, heads, mode=mode, say=hear)
    output.page("without", effect.scene(), effect.to_dict(), rows=effect.rows())


def _rank(model: Model, text: str, asked: dict[str, Any], output: Output) -> None:
    from riverhead.inspection.ablation import rank, rank_tokens
    from riverhead.inspection.ranking import chosen, measured

    n_tokens, n_heads = len(model.tokenize(text)), model.config.n_layers * model.config.n_heads
    by = chosen(asked["by"], measured(model.config.predicts, n_tokens), "--by")
    if (work := rank_tokens(model.config, n_tokens)) > LONG_TOKENS:
        say(f"{n_heads} heads, each off in turn: as much work as reading {work:,} tokens")
    with bar("each head off") as tell:
        ranking = rank(model, text, mode=asked["mode"], progress=tell)
    scene = ranking.scene(by=by) if asked["n"] is None else ranking.scene(asked["n"], by)
    output.page("ranking", scene, ranking.to_dict(), rows=ranking.rows(by))
