"""Options that several verbs share: the text, and the format."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from riverhead.errors import InputError

__all__ = ["format_option", "model_options", "output_option", "read_text", "text_options", "was_given"]

F = TypeVar("F", bound=Callable[..., Any])

BYTE_ORDER_MARK = "\ufeff"  # what some editors put before a text; it is none of it
MAX_TEXT_BYTES = 64 * 2**20  # more than any model reads: said before the memory is taken


def format_option(*formats: str, default: str | None = None) -> Callable[[F], F]:
    """Add ``--format`` and ``--json``, its alias; without ``default`` it is the first."""

    def add(command: F) -> F:
        alias = click.option("--json", "format", flag_value="json", help="Short for --format json.")
        choice = click.option(
            "--format",
            type=click.Choice(formats),
            default=default or formats[0],
            show_default=True,
            help="How to print.",
        )
        return choice(alias(command))

    return add


def text_options(command: F) -> F:
    """Add the text: an argument, ``-`` for standard input, or ``--file``."""
    file = click.option("--file", type=click.Path(), help="Read the text from a file; - is standard input.")
    return click.argument("text", required=False)(file(command))


def output_option(command: F) -> F:
    """Add ``-o``."""
    return click.option(
        "-o", "--output", type=click.Path(path_type=Path), help="Write to a file; its ending says how."
    )(command)


def model_options(command: F) -> F:
    """Add ``--model``, and whether it may be fetched: ``--yes``, ``--offline``."""
    name = click.option(
        "--model",
        "name",
        default="smollm2",
        show_default=True,
        help="A model's name, its folder (Hugging Face's too), or a GGUF file.",
    )
    yes = click.option("--yes", is_flag=True, help="Fetch the model without asking.")
    return name(yes(click.option("--offline", is_flag=True, help="Never touch the network.")(command)))


def was_given(name: str) -> bool:
    """Whether the command that runs was given this option, and did not take its default."""
    source = click.get_current_context().get_parameter_source(name)
    return source not in (None, click.core.ParameterSource.DEFAULT)


def read_text(text: str | None, file: str | None) -> str:
    """Return the text from wherever it was given; exactly one place is allowed."""
    if (text is None) == (file is None):
        raise click.UsageError(
            "give the text once: as an argument, as - for standard input, or with --file FILE"
        )
    if text is not None and text != "-":
        return _not_empty(text)
    with click.open_file(file or "-", "rb") as stream:
        data: bytes = stream.read(MAX_TEXT_BYTES + 1)
    if len(data) > MAX_TEXT_BYTES:
        raise InputError(f"the text has more than {MAX_TEXT_BYTES:,} bytes; no model reads as much")
    try:
        return _not_empty(data.decode("utf-8").removeprefix(BYTE_ORDER_MARK).removesuffix("\n"))
    except UnicodeDecodeError as wrong:
        raise InputError(f"the text is not UTF-8: byte {wrong.start} is {data[wrong.start]:#04x}") from None


def _not_empty(text: str) -> str:
    if not text.strip():
        raise InputError("the text is empty: give at least one word")
    return text
