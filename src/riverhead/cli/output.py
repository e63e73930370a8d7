"""Where pages go: to the terminal as they come, or together into one document, one file, one JSON value."""

from __future__ import annotations

import csv
import io
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from riverhead.cli.escapes import as_json, in_words
from riverhead.cli.options import was_given
from riverhead.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from riverhead.scene import Scene

__all__ = ["SUFFIXES", "Output", "check", "console_here", "format_of", "is_special", "output_of", "write"]

# what a file's ending says of the format, where --format does not
SUFFIXES = {
    ".csv": "csv",
    ".htm": "html",
    ".html": "html",
    ".json": "json",
    ".md": "markdown",
    ".pdf": "pdf",
    ".png": "png",
    ".py": "python",
    ".sarif": "sarif",
    ".svg": "svg",
    ".tex": "latex",
    ".txt": "text",
}


class Output:
    """Takes pages as they are made: text leaves at once, any other format when all are there."""

    def __init__(self, format: str, path: Path | None, schema: str) -> None:
        self.format, self.path, self.schema = format, path, schema
        self._scenes: list[Scene] = []
        self._data: dict[str, Any] = {}
        self._script: str | None = None
        self._rows: Sequence[dict[str, Any]] = ()
        self.at_once = format == "text" and path is None

    def page(
        self,
        name: str,
        scene: Scene,
        data: Any,
        script: Callable[[], str] | None = None,
        rows: Sequence[dict[str, Any]] = (),
    ) -> None:
        """Add a page: its name and value in JSON, its scene, the Python that proves its numbers, its rows.

        CSV holds the rows of one page, their keys in the first line, numbers to their last digit. Only a
        terminal is shown control characters as symbols: a file and a pipe get every character as it is.
        """
        self._data[name] = data
        self._rows = self._rows or rows
        self._scenes.append(scene)
        if self.format == "python" and self._script is None and script is not None:
            self._script = script()
        if self.at_once:
            _print(scene, first=len(self._scenes) == 1)

    def close(self) -> None:
        """Write what did not leave at once."""
        if self.format == "json":
            write(as_json({"schema": self.schema, **self._data}) + "\n", self.path)
        elif self.format == "csv":
            write(_as_csv(self._rows, shown=self.path is None and sys.stdout.isatty()), self.path)
        elif self.format == "python":
            if self._script is None:
                raise InputError("--format python needs one derivation; nothing here has one")
            write(self._script, self.path)
        elif not self.at_once:
            from riverhead.render import render

            write(render(_joined(self._scenes), self.format), self.path)


def _as_csv(rows: Sequence[dict[str, Any]], *, shown: bool) -> str:
    """Return the rows as CSV: exact in a file and a pipe, what a terminal would obey made visible in one."""
    from riverhead.render.letters import visible

    if not rows:
        raise InputError("--format csv needs a table of numbers; nothing here has one")
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0].keys(), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({key: visible(x) if shown and isinstance(x, str) else x for key, x in row.items()})
    return text.getvalue()


def _joined(scenes: list[Scene]) -> Scene:
    """One scene of several: the title of the first, the others' as headings."""
    from riverhead.scene import Scene, Text

    first, *others = scenes
    parts = list(first.parts)
    for scene in others:
        parts += [Text((scene.title,), "heading"), *scene.parts]
    return Scene(first.title, tuple(parts))


def _print(scene: Scene, first: bool) -> None:
    """Print a page in the terminal's own width, colours and encoding."""
    from riverhead.render import terminal

    console = console_here()
    if not first:
        console.print()
    terminal.show(scene, console)


def console_here() -> Console:
    """Return standard output as what rich prints to, in its width as it is now."""
    from rich.console import Console

    class OurConsole(Console):
        def on_broken_pipe(self) -> None:
            raise  # rich would exit with status 1; a reader that has left is no error

    return OurConsole(file=sys.stdout, width=shutil.get_terminal_size().columns)


def output_of(format: str, path: Path | None, schema: str, formats: Sequence[str]) -> Output:
    """Return where pages go, checked before any work; a file's ending says the format if none was given."""
    path = None if path == Path("-") else path
    if path is not None and not is_special(path) and not was_given("format"):
        format = format_of(path, formats)
    check(path, format)
    return Output(format, path, schema)


def write(output: str | bytes, path: Path | None) -> None:
    """Send ``output`` to standard output or to ``path``: a file whole or not at all, a device straight."""
    data = output if isinstance(output, bytes) else output.encode("utf-8")
    if path is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    try:
        if is_special(path):
            with open(path, "wb") as stream:
                stream.write(data)
        else:
            _write_whole(data, path.resolve())  # what a link points to is written, the link stays
    except BrokenPipeError:  # a reader that has left is no error
        raise
    except OSError as error:
        gone = isinstance(error, FileNotFoundError)  # of its folder `check` has said that it is there
        why = "its folder takes no new file" if gone else in_words(OSError(error.errno, error.strerror))
        raise OSError(f"-o {path} cannot be written: {why}") from error


def _write_whole(data: bytes, path: Path) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, path.stat().st_mode if path.exists() else 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _umask() -> int:
    """What new files are not allowed, which can only be read by setting it; mkstemp allows only its owner."""
    umask = os.umask(0)
    os.umask(umask)
    return umask


def is_special(path: Path) -> bool:
    """Whether ``path`` is a device or a pipe: written to, never replaced."""
    return path.exists() and not path.is_file()


def check(path: Path | None, format: str) -> None:
    """Raise before any work is done where the output could not be written afterwards."""
    if path is None:
        if format in ("pdf", "png") and sys.stdout.isatty():
            raise InputError(f"a {format} is not for a terminal: give a file with -o")
    elif path.is_dir():
        raise InputError(f"-o {path} is a folder; give a file in it")
    elif not path.parent.is_dir():
        raise FileNotFoundError(f"-o {path}: there is no folder {path.parent}")


def format_of(path: Path, formats: Sequence[str]) -> str:
    """Return which of a command's ``formats`` a file's ending says; `InputError` where it says none of them.

    >>> format_of(Path("board.svg"), ("text", "svg"))
    'svg'
    """
    found = SUFFIXES.get(path.suffix.lower(), "")
    if found not in formats:
        endings = " ".join(ending for ending, format in SUFFIXES.items() if format in formats)
        raise InputError(
            f"-o {path}: its ending says no format of this command; use one of {endings}, or --format"
        )
    return found
