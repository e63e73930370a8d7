"""``riverhead learn ask``: a question, answered by the engine from its numbers, or from the lessons."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from riverhead.cli.escapes import as_json
from riverhead.cli.opening import opened
from riverhead.cli.options import format_option, model_options, output_option, read_text
from riverhead.cli.output import Output, output_of, write
from riverhead.cli.show import head_name

if TYPE_CHECKING:
    from riverhead.learning.tutor.at_hand import AtHand

__all__ = ["ask"]

FORMATS = ("text", "json", "markdown", "html", "latex", "svg", "png")

EXAMPLES = """\b
Examples:
  riverhead learn ask
  riverhead learn ask "why is the weight on river 0.54?"
  riverhead learn ask "what would it be without scaling, the weight on river?"
  riverhead learn ask "why is money's weight 0.45?" --about "money bank grows"
  riverhead learn ask "why is the weight on river 0.634?" --head L9.H7
  riverhead learn ask "why not one matrix for everything?"
"""


@click.command(epilog=EXAMPLES)
@click.argument("question", required=False)
@click.option(
    "--about", metavar="SENTENCE", help="The sentence at hand; one with toy vectors, unless --head."
)
@click.option("--vectors", type=click.Path(path_type=Path), help="Toy vectors of your own: JSON or TOML.")
@click.option("--head", metavar="L9.H7", callback=head_name, help="Ask about this head of a real model.")
@click.option("--focus", metavar="WORD", help="The word whose row is meant where none is named.")
@model_options
@format_option(*FORMATS)
@output_option
def ask(
    question: str | None,
    about: str | None,
    vectors: Path | None,
    head: str | None,
    focus: str | None,
    name: str,
    yes: bool,
    offline: bool,
    format: str,
    output: Path | None,
) -> None:
    """Ask about a number of the sentence at hand, a sum, or an idea; alone it lists questions to try.

    A number is answered by the engine: which cell it is, its arithmetic, what would change it. An idea is
    answered by the passages of the lessons that fit best, or by "I don't know".
    """
    out = output_of(format, output, "riverhead.ask/1", FORMATS)
    if question is None:
        return _list(out)
    from riverhead.learning.tutor.offline import answer

    found = answer(read_text(question, None), _at_hand(about, vectors, head, focus, name, yes, offline))
    if out.format == "json":
        return write(as_json(found.to_dict()) + "\n", out.path)
    out.page("answer", found.scene(), None)
    return out.close()


def _list(out: Output) -> None:
    """Questions to try."""
    from riverhead.learning.tutor.at_hand import of_sentence, to_try
    from riverhead.scene import Scene, Text

    at_hand, questions = of_sentence(), to_try()
    if out.format == "json":
        found = {"schema": out.schema, "sentence": at_hand.text, "questions": list(questions)}
        return write(as_json(found) + "\n", out.path)
    lines = [Text((f'riverhead learn ask "{question}"',)) for question in questions]
    said = Text(
        (f"Questions to try; the sentence at hand is {at_hand.text!r}, or another one with --about.",)
    )
    out.page("questions", Scene("Ask", (said, *lines)), None)
    return out.close()


def _at_hand(
    about: str | None,
    vectors: Path | None,
    head: str | None,
    focus: str | None,
    model: str,
    yes: bool,
    offline: bool,
) -> AtHand:
    """Return the sentence at hand: toy vectors, or one head's of a real model."""
    from riverhead.learning.tutor import at_hand

    if vectors is not None and (about is not None or head is not None):
        raise click.UsageError("--vectors is the sentence at hand: leave out --about and --head")
    if vectors is not None:
        from riverhead.derivation import read_vectors

        return at_hand.of_example(read_vectors(vectors), focus)
    if head is None:
        return at_hand.of_sentence(about, focus)
    return at_hand.of_head(opened(model, yes=yes, offline=offline), about, head, focus)
