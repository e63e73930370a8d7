"""A plane as a LaTeX picture: PDF drawing commands for the lines, LaTeX for the labels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from riverhead.render.latex_math import escaped
from riverhead.render.plane import Drawing, Label, Point, draw
from riverhead.scene import Plane

__all__ = ["picture"]

UNIT = 0.68  # PDF points of a pixel
HEAD = 8.0


def picture(plane: Plane) -> str:
    """Return ``plane`` as a ``picture`` environment."""
    drawn = draw(plane)
    labels = [_put(label, drawn.height) for label in (*drawn.ticks, *drawn.labels)]
    lines = " ".join(_strokes(drawn))
    body = "\n".join([rf"\put(0,0){{\pdfextension literal{{q {lines} Q}}}}", *labels])
    size = f"({drawn.width:.0f},{drawn.height:.0f})"
    drawing = f"\\begin{{picture}}{size}\n{body}\n\\end{{picture}}"
    return rf"{{\par\setlength{{\unitlength}}{{{UNIT}bp}}{drawing}\par}}"


def _put(label: Label, height: float) -> str:
    style = r"\scriptsize\bfseries" if label.focus else r"\scriptsize"
    box = rf"\makebox(0,0)[bl]{{{style} {escaped(label.text)}}}"
    return rf"\put({label.x:.1f},{height - label.y:.1f}){{{box}}}"


def _strokes(drawn: Drawing) -> Iterator[str]:
    """The drawing in PDF's own operators, y upwards."""

    def at(point: Point) -> str:
        return f"{point[0] * UNIT:.2f} {(drawn.height - point[1]) * UNIT:.2f}"

    def path(points: Iterable[Point], end: str) -> str:
        first, *rest = map(at, points)
        return f"{first} m {' '.join(f'{point} l' for point in rest)} {end}"

    in_focus = any(focus for _, focus in drawn.hulls)
    for corners, focus in drawn.hulls:
        if focus or not in_focus:
            yield "0.92 0.95 0.99 rg " + path(corners, "f")
    yield "0.85 G 0.4 w"
    yield from (path(line, "S") for line in drawn.lines)
    for start, end, focus in drawn.arrows:
        yield ("0.18 0.49 0.88 rg 0.18 0.49 0.88 RG 1.6 w" if focus else "0.25 g 0.25 G 0.8 w")
        length = math.dist(start, end)
        yield path(_ring(start, 3.0), "f")
        if length < HEAD:
            yield path(_ring(end, 5.0), "s")
            continue
        x, y = (end[0] - start[0]) / length * HEAD, (end[1] - start[1]) / length * HEAD
        base = end[0] - x, end[1] - y
        yield path((start, base), "S")
        yield path((end, (base[0] - y * 0.4, base[1] + x * 0.4), (base[0] + y * 0.4, base[1] - x * 0.4)), "f")


def _ring(centre: Point, r: float) -> list[Point]:
    turns = (k * math.tau / 16 for k in range(16))
    return [(centre[0] + r * math.cos(turn), centre[1] + r * math.sin(turn)) for turn in turns]
