"""Every format a scene can be shown in; a renderer escapes for itself and is imported when asked for."""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, cast

from riverhead.errors import InputError

if TYPE_CHECKING:
    from riverhead.scene import Scene

__all__ = ["FORMATS", "render"]

# format: where its function (scene, width, colour) -> str | bytes lives
FORMATS = {
    "html": "html:page",
    "html-fragment": "html:fragment",
    "latex": "latex:document",
    "latex-fragment": "latex:fragment",
    "markdown": "markdown:markdown",
    "png": "png:png",
    "svg": "svg:sheet",
    "text": "terminal:text",
}


def render(scene: Scene, format: str, *, width: int = 80, colour: bool = False) -> str | bytes:
    """Return ``scene`` in ``format``: text, or bytes for ``"png"``.

    ``width`` is counted in characters (24 or more); ``colour`` adds terminal colours to ``"text"``.
    Raises `InputError` for an unknown format and `MissingExtraError` where ``"png"`` lacks its package.

    >>> from riverhead.scene import Scene, Text
    >>> print(render(Scene("bank", (Text(("leaves meaning river bank",)),)), "text"), end="")
    bank
      leaves meaning river bank
    """
    if format not in FORMATS:
        near = get_close_matches(format, FORMATS, 1)
        meant = f", did you mean {near[0]!r}?" if near else ""
        raise InputError(f"format {format!r} is not known{meant}; it is one of {', '.join(FORMATS)}")
    module, _, name = FORMATS[format].partition(":")
    draw = getattr(import_module(f"riverhead.render.{module}"), name)
    return cast("str | bytes", draw(scene, width, colour))
