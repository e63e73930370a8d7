"""``riverhead learn ask``: a question, answered by the engine from its numbers, or from the lessons."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from riverhead.cli.escapes import as_json, in_words, printable
from riverhead.cli.opening import opened
from riverhead.cli.options import format_option, model_options, output_option, read_text
from riverhead.cli.output import Output, output_of, write
from riverhead.cli.show import head_name
from riverhead.errors import InputError

if TYPE_CHECKING:
    from riverhead.learning.tutor.at_hand import AtHand
    from riverhead.learning.tutor.endpoint import Endpoint

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
  riverhead learn ask --chat
  RIVERHEAD_LLM_URL=http://localhost:8080/v1 RIVERHEAD_LLM_MODEL=qwen riverhead learn ask --chat
"""


@click.command(epilog=EXAMPLES)
@click.argument("question", required=False)
@click.option(
    "--about", metavar="SENTENCE", help="The sentence at hand; one with toy vectors, unless --head."
)
@click.option("--vectors", type=click.Path(path_type=Path), help="Toy vectors of your own: JSON or TOML.")
@click.option("--head", metavar="L9.H7", callback=head_name, help="Ask about this head of a real model.")
@click.option("--focus", metavar="WORD", help="The word whose row is meant where none is named.")
@click.option("--chat", is_flag=True, help="Go on asking; an empty line ends it.")
@model_options
@format_option(*FORMATS)
@output_option
def ask(
    question: str | None,
    about: str | None,
    vectors: Path | None,
    head: str | None,
    focus: str | None,
    chat: bool,
    name: str,
    yes: bool,
    offline: bool,
    format: str,
    output: Path | None,
) -> None:
    """Ask about a number of the sentence at hand, a sum, or an idea; alone it lists questions to try.

    A number is answered by the engine: which cell it is, its arithmetic, what would change it. An idea is
    answered by the passages of the lessons that fit best, or by "I don't know".

    RIVERHEAD_LLM_URL and _MODEL (and _KEY) name a model at an OpenAI-compatible address. Then it answers,
    with the passages and the engine's tools in hand, and every sum in its reply is checked as it comes:
    ✓ right, ✗ wrong, with the exact value. With --offline it is not asked.
    """
    out = output_of(format, output, "riverhead.ask/1", FORMATS)
    if chat and not out.at_once:
        raise click.UsageError("--chat goes on in the terminal: leave out --format and -o")
    if question is None and not chat:
        return _list(out)
    first = None if question is None else read_text(question, None)
    endpoint = None if offline else _endpoint(out)
    reply = _replies(_at_hand(about, vectors, head, focus, name, yes, offline), endpoint, out)
    if first is not None:
        reply(first)
    while chat and (question := _next_question()):
        try:
            reply(question)
        except InputError as wrong:  # of this question; the next one may be better
            click.echo(f"riverhead: error: {printable(in_words(wrong))}", err=True)
    return None if chat else out.close()


def _next_question() -> str:
    """Return what is typed; nothing at an empty line and at the end of input."""
    try:
        return click.prompt("\nask", default="", show_default=False, prompt_suffix=" > ").strip()
    except click.Abort:
        if sys.stdin.isatty():  # Ctrl-C, or Ctrl-D
            raise
        return ""


def _endpoint(out: Output) -> Endpoint | None:
    """Return where a model answers, if one is named."""
    from riverhead.learning.tutor.endpoint import Endpoint

    found = Endpoint.found(os.environ)
    if found is not None and not out.at_once and out.format != "json":
        raise click.UsageError(
            "a model's answer streams to the terminal, or goes to --format json; the lessons' own answer, "
            "with --offline, to any format"
        )
    return found


def _replies(at_hand: AtHand, endpoint: Endpoint | None, out: Output) -> Callable[[str], None]:
    """Return what answers one question after the other: the model that is named, or the engine."""
    from riverhead.learning.tutor.offline import answer

    if endpoint is None:

        def reply(question: str) -> None:
            found = answer(question, at_hand)
            out.page("answer", found.scene(), found.to_dict())

        return reply
    from riverhead.cli.learn_ask_model import collect, draw
    from riverhead.learning.tutor.conversation import Conversation

    talk = Conversation(endpoint, answer, at_hand)

    def reply_by_model(question: str) -> None:
        if out.at_once:
            draw(talk.ask(question), f"{endpoint.model} at {endpoint.host}")
        else:
            out.page("answer", answer(question, at_hand).scene(), collect(talk.ask(question)))

    return reply_by_model


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
