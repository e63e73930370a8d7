"""A line chart as inline SVG, in HTML and on the SVG sheet alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from riverhead.render.lines_layout import SIZE, LinesDrawing, Mark, Stroke, draw_lines
from riverhead.render.markup import raw, tag
from riverhead.render.plane import Point
from riverhead.scene import Lines

__all__ = ["lines_figure"]

COLUMNS = 520  # as many as pixels between the axes
DASHES = "7 5"


def lines_figure(part: Lines) -> tuple[tuple[str, ...], tuple[float, float, str]]:
    """Return what has to be said of the drawing, and its width, height and SVG elements."""
    drawn, found = draw_lines(part, COLUMNS)
    return found.notes, (drawn.width, drawn.height, "".join(_shapes(drawn)))


def _shapes(drawn: LinesDrawing) -> Iterator[str]:
    for stroke in drawn.strokes:
        for band in stroke.bands:
            yield tag("polygon", points=_points(band), fill=stroke.colour, fill_opacity=0.18)
    yield tag(
        "path", d="".join(map(_path, drawn.grid)), fill="none", stroke="currentColor", stroke_opacity=0.12
    )
    yield tag(
        "path", d="".join(map(_path, drawn.axes)), fill="none", stroke="currentColor", stroke_opacity=0.5
    )
    yield from map(_stroke, drawn.strokes)
    yield from map(_text, drawn.marks)


def _stroke(stroke: Stroke) -> str:
    how = {"fill": "none", "stroke": stroke.colour, "stroke_linejoin": "round"}
    leaders = "".join(map(_path, stroke.leaders))
    line = tag(
        "path",
        d="".join(_path(path) for path in stroke.paths if len(path) > 1),
        stroke_width=2,
        stroke_dasharray=DASHES if stroke.dashed else None,
        **how,
    )
    spots = "".join(_marker(spot, stroke.marker) for spot in stroke.spots)
    parts = [tag("title", raw(stroke.label)), line, tag("path", d=spots, fill=stroke.colour)]
    if leaders:
        parts.append(tag("path", d=leaders, stroke_width=1, stroke_opacity=0.6, **how))
    return tag("g", *parts)


def _points(corners: Iterable[Point]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)


def _path(points: Iterable[Point]) -> str:
    return f"M{_points(points)}"


def _marker(spot: Point, shape: tuple[Point, ...]) -> str:
    return _path((spot[0] + x, spot[1] + y) for x, y in shape) + "z"


def _text(mark: Mark) -> str:
    anchor = None if mark.anchor == "start" else mark.anchor
    how = {"font_size": SIZE, "text_anchor": anchor, "fill": "currentColor"}
    return tag("text", raw(mark.text), x=mark.x, y=mark.y, **how)
