"""A scene as a picture: the SVG sheet drawn by resvg."""

from __future__ import annotations

from riverhead.errors import MissingExtraError, RiverheadError
from riverhead.render.svg import sheet
from riverhead.scene import Scene, Text

__all__ = ["png"]

ZOOM = 2.0  # pixels of the picture for one of the sheet


def png(scene: Scene, width: int = 80, colour: bool = False) -> bytes:
    """Return the bytes of a PNG file, 24 pixels wide for each character of ``width``.

    Raises `MissingExtraError` without resvg, and `RiverheadError` on a machine without a font.
    """
    try:
        from resvg_py import svg_to_bytes
    except ImportError as error:
        raise MissingExtraError("a picture is drawn by resvg: pip install 'riverhead[png]'") from error
    letter, blank = (svg_to_bytes(svg_string=sheet(Scene("", (Text((text,)),)))) for text in ("x", " "))
    if letter == blank:  # resvg leaves letters out without a word
        raise RiverheadError(
            "this machine has no font to draw letters with; install one, such as DejaVu Sans"
        )
    return bytes(svg_to_bytes(svg_string=sheet(scene, width), zoom=ZOOM))
