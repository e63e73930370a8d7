"""The model a verb works on: here already, or fetched if the user agrees."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from riverhead.cli.escapes import printable
from riverhead.cli.models import conversion_bar, say
from riverhead.errors import NotFetchedError

if TYPE_CHECKING:
    from riverhead.transformer import Model

__all__ = ["bar", "opened", "working"]


def opened(name: str, *, yes: bool = False, offline: bool = False) -> Model:
    """Return the model; raise `NotFetchedError` where it is not here and nobody agrees to fetch it."""
    from riverhead.transformer import load

    try:
        with conversion_bar() as progress:
            return load(name, say=say, progress=progress)
    except NotFetchedError:
        if offline or not (yes or _agrees(name)):
            raise
    from riverhead.transformer import store

    with conversion_bar() as progress:
        store.fetch(name, say=say, progress=progress)
    return load(name)


def _agrees(name: str) -> bool:
    from riverhead.transformer.known import KNOWN

    if name not in KNOWN or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    say(f"\nA real model reads it too. {KNOWN[name].terms}.")
    return click.confirm("Fetch it now?", default=True, err=True)


@contextmanager
def bar(words: str) -> Iterator[Callable[..., None]]:
    """Draw a bar on standard error that goes away; give ``tell(done, total, words)``, each as it is known."""
    if not sys.stderr.isatty():
        yield lambda *told, **by_name: None
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as drawn:
        task = drawn.add_task(escape(words), total=None)

        def tell(done: float | None = None, total: float | None = None, words: str | None = None) -> None:
            said = None if words is None else escape(printable(words))
            drawn.update(task, completed=done, total=total, description=said)

        yield tell


@contextmanager
def working() -> Iterator[Callable[[str], None]]:
    """Say on a terminal what is being measured, in one line that goes away."""
    if not sys.stderr.isatty():
        yield lambda message: None
        return
    from rich.console import Console
    from rich.markup import escape

    with Console(stderr=True).status("reading") as status:
        yield lambda message: status.update(escape(printable(message)))
