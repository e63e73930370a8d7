"""A line chart as a LaTeX picture: PDF drawing commands for the lines, LaTeX for the labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from riverhead.render.latex_math import escaped
from riverhead.render.lines_layout import LinesDrawing, Mark, Stroke, draw_lines
from riverhead.render.plane import Point
from riverhead.scene import Lines

__all__ = ["lines_picture"]

UNIT = 0.6  # PDF points of a pixel
COLUMNS = 160  # for which points are thinned: TeX keeps them all in its memory
PALE = 0.18  # of a band's colour on the white paper
SIDES = {"start": "[bl]", "middle": "[b]", "end": "[br]"}


def lines_picture(part: Lines) -> tuple[tuple[str, ...], str]:
    """Return what has to be said of the drawing, and ``part`` as a ``picture`` environment."""
    drawn, found = draw_lines(part, COLUMNS)
    strokes = " ".join(_strokes(drawn))
    marks = (_put(mark, drawn.height) for mark in drawn.marks)
    body = "\n".join([rf"\put(0,0){{\pdfextension literal{{q {strokes} Q}}}}", *marks])
    drawing = f"\\begin{{picture}}({drawn.width:.0f},{drawn.height:.0f})\n{body}\n\\end{{picture}}"
    return found.notes, rf"{{\par\setlength{{\unitlength}}{{{UNIT}bp}}{drawing}\par}}"


def _put(mark: Mark, height: float) -> str:
    box = rf"\makebox(0,0){SIDES[mark.anchor]}{{\scriptsize\smash{{{escaped(mark.text)}}}}}"
    return rf"\put({mark.x:.1f},{height - mark.y:.1f}){{{box}}}"


def _strokes(drawn: LinesDrawing) -> Iterator[str]:
    """The drawing in PDF's own operators, y upwards."""

    def path(points: Iterable[Point]) -> str:
        first, *rest = (f"{x * UNIT:.2f} {(drawn.height - y) * UNIT:.2f}" for x, y in points)
        return f"{first} m {' '.join(f'{point} l' for point in rest)}"

    for stroke in drawn.strokes:
        yield f"{_colour(stroke, PALE)} rg"
        yield from (f"{path(band)} h f" for band in stroke.bands)
    yield "0.88 G 0.4 w"
    yield from (f"{path(line)} S" for line in drawn.grid)
    yield "0.5 G"
    yield from (f"{path(line)} S" for line in drawn.axes)
    for stroke in drawn.strokes:
        yield f"{_colour(stroke)} rg {_colour(stroke)} RG 0.4 w"
        yield from (f"{path(line)} S" for line in stroke.leaders)
        yield "1.1 w 1 j " + ("[4 3] 0 d" if stroke.dashed else "[] 0 d")
        yield from (f"{path(line)} S" for line in stroke.paths if len(line) > 1)
        yield "[] 0 d"
        for x, y in stroke.spots:
            yield f"{path((x + dx, y + dy) for dx, dy in stroke.marker)} h f"


def _colour(stroke: Stroke, share: float = 1.0) -> str:
    """The line's colour, mixed with white."""
    channels = (int(stroke.colour[k : k + 2], 16) / 255 for k in (1, 3, 5))
    return " ".join(f"{1 + (channel - 1) * share:.3f}" for channel in channels)
