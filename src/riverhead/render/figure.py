"""A plane as inline SVG, in HTML and on the SVG sheet alike."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from riverhead.render.markup import raw, tag
from riverhead.render.plane import SIZE, Drawing, Label, Point, draw, place
from riverhead.scene import Plane

__all__ = ["ACCENT", "described", "figure"]

ACCENT = "#2f7de1"  # the river's blue: legible on white and on black
HEAD = 9.0  # an arrow's head, in pixels


def figure(plane: Plane) -> tuple[float, float, str]:
    """Return the width and height of ``plane`` and its SVG elements, drawn in the text's own colour."""
    drawn = draw(plane)
    return drawn.width, drawn.height, "".join(_shapes(drawn))


def described(plane: Plane) -> str:
    """Return ``plane`` in words, for those who do not see it."""
    moves = (f"{arrow.label} from {place(arrow.start)} to {place(arrow.end)}" for arrow in plane.arrows)
    return "; ".join([*([plane.caption] if plane.caption else []), *moves])


def _shapes(drawn: Drawing) -> Iterator[str]:
    yield tag("g", *(_line(*ends) for ends in drawn.lines), stroke="currentColor", stroke_opacity=0.15)
    in_focus = any(focus for _, focus in drawn.hulls)
    for corners, focus in drawn.hulls:
        if focus or not in_focus:
            yield tag("polygon", points=_points(corners), fill=ACCENT, fill_opacity=0.12)
    for start, end, focus in drawn.arrows:
        yield _arrow(start, end, focus)
    for label in drawn.ticks:
        yield _text(label, fill_opacity=0.65)
    for label in drawn.labels:
        yield _text(label, font_weight="bold" if label.focus else None)


def _points(corners: Iterable[Point]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)


def _line(start: Point, end: Point) -> str:
    return tag("line", x1=start[0], y1=start[1], x2=end[0], y2=end[1])


def _text(label: Label, **how: str | float | None) -> str:
    return tag("text", raw(label.text), x=label.x, y=label.y, font_size=SIZE, fill="currentColor", **how)


def _arrow(start: Point, end: Point, focus: bool) -> str:
    """A dot where it starts, a line, a head where it ends; a move shorter than its head is a ring."""
    dot = tag("circle", cx=start[0], cy=start[1], r=3.5, fill="currentColor")
    length = math.dist(start, end)
    if length < HEAD:
        rest = tag("circle", cx=end[0], cy=end[1], r=6, fill="none", stroke="currentColor")
    else:
        x, y = (end[0] - start[0]) / length * HEAD, (end[1] - start[1]) / length * HEAD
        base = (end[0] - x, end[1] - y)
        sides = [(base[0] - y * 0.4, base[1] + x * 0.4), (base[0] + y * 0.4, base[1] - x * 0.4)]
        shaft = tag("g", _line(start, base), stroke="currentColor", stroke_width=2.5 if focus else 1.3)
        rest = shaft + tag("polygon", points=_points([end, *sides]), fill="currentColor")
    return tag("g", dot, rest, color=ACCENT if focus else None, opacity=None if focus else 0.75)
