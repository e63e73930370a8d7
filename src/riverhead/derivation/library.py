"""The known examples: vectors for a few sentences, each a data file beside this one."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from riverhead.derivation.fields import load
from riverhead.derivation.vectors import Example, parse

__all__ = ["example", "examples"]


@cache
def examples() -> tuple[Example, ...]:
    """Return every known example, by name.

    >>> [known.name for known in examples()][:2]
    ['dot_similarity', 'key_pointing_away']
    """
    folder = files("riverhead.derivation").joinpath("examples")
    found = sorted((item.name, item) for item in folder.iterdir() if item.name.endswith(".toml"))
    texts = ((name.removesuffix(".toml"), item.read_text("utf-8")) for name, item in found)
    return tuple(parse(name, load(text, "toml")) for name, text in texts)


def example(name: str) -> Example | None:
    """Return the example of that name or sentence, or None; case, spaces and a final period do not count.

    >>> example("the river bank flooded.").focus
    'bank'
    """
    wanted = _folded(name)
    found = (known for known in examples() if wanted and wanted in (known.name, _folded(known.sentence)))
    return next(found, None)


def _folded(text: str) -> str:
    return " ".join(text.split()).removesuffix(".").rstrip().casefold()
