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

__all__ = ["opened", "working"]


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
def working() -> Iterator[Callable[[str], None]]:
    """Say on a terminal what is being measured, in one line that goes away."""
    if not sys.stderr.isatty():
        yield lambda message: None
        return
    from rich.console import Console
    from rich.markup import escape

    with Console(stderr=True).status("reading") as status:
        yield lambda message: status.update(escape(printable(message)))
