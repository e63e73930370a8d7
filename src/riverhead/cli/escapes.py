"""What a terminal would obey, written as escapes: in JSON, in a line that says something, in an error."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

__all__ = ["as_json", "in_words", "printable"]

_UNUSUAL = re.compile(r"[^\n -~]")


def as_json(value: Any) -> str:
    r"""Return ``value`` as indented JSON; what is not printable stands as \uXXXX, which reads the same.

    >>> print(as_json(["a\x9b31m", "\u202ebank", "Müller"]))
    [
      "a\u009b31m",
      "\u202ebank",
      "Müller"
    ]
    """
    return _escaped(json.dumps(value, ensure_ascii=False, indent=2), json.dumps)


def printable(text: str) -> str:
    r"""Return ``text`` with every character that is not printable, new lines apart, as its escape.

    >>> print(printable("a file\x1b]0;hi\x07"))
    a file\x1b]0;hi\x07
    """
    return _escaped(text, ascii)


def in_words(error: BaseException) -> str:
    """Return what an error says: of one that the system raised the path and the reason, without its number.

    >>> in_words(FileNotFoundError(2, "No such file or directory", "text.txt"))
    'text.txt: no such file or directory'
    """
    if not isinstance(error, OSError) or not error.strerror:
        return str(error) or type(error).__name__
    reason = error.strerror[:1].lower() + error.strerror[1:]
    return reason if error.filename is None else f"{error.filename}: {reason}"


def _escaped(text: str, spelled: Callable[[str], str]) -> str:
    return _UNUSUAL.sub(lambda found: found[0] if found[0].isprintable() else spelled(found[0])[1:-1], text)
