"""An exception in a line, with the place in the user's own code that it came from."""

from __future__ import annotations

import os
import re
import sysconfig
import traceback
from collections.abc import Sequence
from pathlib import Path

__all__ = ["described", "place_in"]

MOST_LETTERS = 800
OURS = str(Path(__file__).parents[3]) + os.sep  # riverhead
PYTHONS = tuple(sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib"))
PACKAGES = ("site-packages", "dist-packages")
DUMPED = re.compile(r'File "(?P<file>[^"\n]+)", line (?P<line>\d+)')  # as faulthandler writes it


def described(raised: BaseException) -> str:
    """Return the kind, the words and the user's own line.

    >>> described(ValueError("two\\nlines"))
    'ValueError: two lines'
    """
    words = " ".join(str(raised).split())
    said = f"{type(raised).__name__}: {words}" if words else type(raised).__name__
    if len(said) > MOST_LETTERS:
        said = said[: MOST_LETTERS - 1] + "…"
    where = place([(frame.filename, frame.lineno) for frame in traceback.extract_tb(raised.__traceback__)])
    return f"{said} ({where})" if where else said


def place(frames: Sequence[tuple[str, int | None]]) -> str:
    """Return ``file.py:12`` of the last frame that is neither riverhead's nor a library's; empty if none is.

    >>> place([("/home/me/mine.py", 3), ("/home/me/mine.py", 12)])
    'mine.py:12'
    """
    own = [(file, line) for file, line in frames if not _of_a_library(file)]
    return f"{os.path.basename(own[-1][0])}:{own[-1][1]}" if own else ""


def _of_a_library(file: str) -> bool:
    return file.startswith((OURS, *PYTHONS, "<frozen")) or any(name in Path(file).parts for name in PACKAGES)


def place_in(dump: str) -> str:
    """Return the place in what faulthandler dumped of a process that ended: the innermost frame first."""
    found = [(match["file"], int(match["line"])) for match in DUMPED.finditer(dump)]
    return place(found[::-1])
