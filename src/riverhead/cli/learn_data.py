"""Where a learner's progress lies, and how learning goes on where none can be kept."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import click

from riverhead.cli.escapes import printable
from riverhead.errors import ProgressError

if TYPE_CHECKING:
    from riverhead.learning.progress import Progress

__all__ = ["data_folder", "keeping", "kept_file", "looked_at", "opened", "progress_file"]


def data_folder() -> Path:
    """Return the folder progress is kept in: ``RIVERHEAD_DATA``, or the user's data folder."""
    if chosen := os.environ.get("RIVERHEAD_DATA"):
        return Path(chosen).expanduser().absolute()
    import platformdirs

    return platformdirs.user_data_path("riverhead", appauthor=False)


def progress_file() -> Path:
    """Return the file of progress, whether it is there or not."""
    return data_folder() / "progress.sqlite3"


def kept_file() -> Path | None:
    """Return the file of progress, None where there is none yet."""
    path = progress_file()
    try:
        path.stat()
    except FileNotFoundError:
        return None
    except OSError:
        pass  # opening it will say why not
    return path


def opened() -> Progress:
    """Return the learner's progress, to be read and written; it is closed when the command ends.

    Where it cannot be opened that is said, and what is returned lasts as long as the command.
    """
    return _opened(progress_file())


def looked_at() -> Progress:
    """Return the learner's progress, to be read alone: where there is no file yet none is made."""
    return _opened(kept_file())


@contextmanager
def keeping() -> Iterator[None]:
    """Let learning go on where progress cannot be written: that is said, once."""
    try:
        yield
    except ProgressError as error:
        _say_once(str(error))


def _opened(path: Path | None) -> Progress:
    from riverhead.learning.progress import Progress

    try:
        progress = Progress(path)
    except ProgressError as error:
        _say_once(str(error))
        progress = Progress()
    if context := click.get_current_context(silent=True):
        context.call_on_close(progress.close)
    return progress


@cache
def _say_once(why: str) -> None:
    click.echo(printable(f"riverhead: nothing of this is kept: {why}"), err=True)
