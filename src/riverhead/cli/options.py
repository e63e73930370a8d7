"""Options that several verbs share: the text, the format, the file to write, and how output leaves."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from riverhead.errors import InputError

F = TypeVar("F", bound=Callable[..., Any])

MAX_TEXT_BYTES = 64 * 2**20  # no model reads more; a larger file is a mistake, said before memory is taken


def format_option(*formats: str) -> Callable[[F], F]:
    """Add ``--format`` (the first is the default) and ``--json``, its alias."""

    def add(command: F) -> F:
        command = click.option("--json", "format", flag_value="json", help="Short for --format json.")(command)
        return click.option(
            "--format", type=click.Choice(formats), default=formats[0], show_default=True, help="How to print."
        )(command)

    return add


def text_options(command: F) -> F:
    """Add the text: an argument, ``-`` for standard input, or ``--file``."""
    command = click.option(
        "--file", "file", type=click.Path(dir_okay=False), help="Read the text from a file; - is standard input."
    )(command)
    return click.argument("text", required=False)(command)


def read_text(text: str | None, file: str | None) -> str:
    """Return the text from wherever it was given; exactly one place is allowed."""
    if (text is None) == (file is None):
        raise click.UsageError("give the text once: as an argument, as - for standard input, or with --file")
    if text is not None and text != "-":
        return text
    with click.open_file(file or "-", "rb") as stream:
        data: bytes = stream.read(MAX_TEXT_BYTES + 1)
    if len(data) > MAX_TEXT_BYTES:
        raise InputError(f"the text is larger than {MAX_TEXT_BYTES:,} bytes, which is more than any model reads")
    try:
        return data.decode("utf-8").removesuffix("\n")
    except UnicodeDecodeError as wrong:
        raise InputError(f"the text is not UTF-8: byte {wrong.start} is {data[wrong.start]:#04x}") from None


def write(output: str | bytes, path: Path | None) -> None:
    """Send ``output`` to standard output, or to ``path``: whole or not at all."""
    data = output if isinstance(output, bytes) else output.encode("utf-8")
    if path is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(handle, "wb") as stream:
            stream.write(data)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)  # mkstemp makes files only their owner can read
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
