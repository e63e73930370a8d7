"""Where everything in a line chart goes, in pixels: strokes, bands, markers, ticks, labels or a legend."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from rich.cells import cell_len

from riverhead.render.letters import short, visible
from riverhead.render.lines import Chart, Curve, apart, chart
from riverhead.render.lines_style import colour, marker
from riverhead.render.plane import Point
from riverhead.scene import Lines

__all__ = ["SIZE", "LinesDrawing", "Mark", "Stroke", "draw_lines"]

WIDE, TALL = 520.0, 280.0  # pixels between the axes
TICKS = 8  # beside an axis, at most
SIZE = 13.0  # of a label's letters
LEAD = 1.4  # of a line of labels, in letters
GAP = 8.0
NAME = 48  # characters of what an axis counts
LABEL = 24  # characters of a label at the end of its line; longer ones stand in a legend
MOVED = 26.0  # pixels by which a label may be moved from the end of its line
SWATCH = 34.0  # of a line in the legend
FEW = 32  # points of a line that has a marker at each


@dataclass(frozen=True, slots=True)
class Mark:
    """Text that begins, ends or has its middle at (x, y), on its baseline."""

    x: float
    y: float
    text: str
    anchor: Literal["start", "middle", "end"] = "start"


@dataclass(frozen=True, slots=True)
class Stroke:
    """All that is drawn in one line's colour, and with its marker."""

    label: str
    colour: str
    marker: tuple[Point, ...]
    dashed: bool
    paths: list[list[Point]] = field(default_factory=list)
    spots: list[Point] = field(default_factory=list)  # of its markers
    bands: list[list[Point]] = field(default_factory=list)
    leaders: list[tuple[Point, Point]] = field(default_factory=list)  # from its end to its label


@dataclass(frozen=True, slots=True)
class LinesDrawing:
    """Pixels, y downwards: what SVG and LaTeX draw each in their own words."""

    width: float
    height: float
    grid: list[tuple[Point, Point]]
    axes: list[tuple[Point, Point]]
    strokes: list[Stroke]
    marks: list[Mark]


@dataclass(frozen=True, slots=True)
class Frame:
    """The area between the axes, from its upper left corner."""

    left: float
    top: float

    @property
    def right(self) -> float:
        """Its other side."""
        return self.left + WIDE

    @property
    def low(self) -> float:
        """Its lower side."""
        return self.top + TALL

    def at(self, x: float, y: float) -> Point:
        """Where shares of the axes stand."""
        return self.left + x * WIDE, self.top + (1 - y) * TALL


def draw_lines(part: Lines, columns: int) -> tuple[LinesDrawing, Chart]:
    """Return where the parts of a line chart go, its points thinned for so many ``columns``."""
    found = chart(part, columns)
    across, up = (found.x.ticks(TICKS), found.y.ticks(TICKS)) if found.curves else ([], [])
    frame = Frame(max((_width(text) for _, text in up), default=0.0) + GAP, SIZE + 2 * GAP)
    grid = [(frame.at(x, 0), frame.at(x, 1)) for x, _ in across]
    grid += [(frame.at(0, y), frame.at(1, y)) for y, _ in up]
    axes = [(frame.at(0, 0), frame.at(1, 0)), (frame.at(0, 0), frame.at(0, 1))]
    under = frame.low + GAP + 2.3 * SIZE
    marks = [Mark(frame.left - GAP, frame.at(0, y)[1] + SIZE * 0.35, text, "end") for y, text in up]
    marks += [Mark(frame.at(x, 0)[0], frame.low + 1.5 * SIZE, text, "middle") for x, text in _free(across)]
    marks.append(Mark(0, SIZE, f"↑ {_named(part.y, part.log_y)}"))
    marks.append(Mark(frame.right, under, f"{_named(part.x, part.log_x)} →", "end"))
    strokes = [_stroke(n, curve, frame, len(found.curves)) for n, curve in enumerate(found.curves)]
    labels = _at_ends(found.curves, strokes, frame)
    if labels is None:
        labels = _legend(strokes, frame, under + GAP + SIZE)
    wide = max([frame.right + GAP + SIZE, *(mark.x + _width(mark.text) + GAP for mark in labels)])
    tall = max(mark.y for mark in [*marks, *labels]) + 2 * GAP
    return LinesDrawing(wide, tall, grid, axes, strokes, [*marks, *labels]), found


def _width(text: str) -> float:
    return cell_len(text) * SIZE * 0.6


def _named(name: str, log: bool) -> str:
    return short(name, NAME) + (" (log scale)" if log else "")


def _free(ticks: list[tuple[float, str]]) -> Iterator[tuple[float, str]]:
    """The ticks whose texts do not touch the one before."""
    free = -math.inf
    for share, text in ticks:
        half = _width(text) / 2 + GAP / 2
        if share * WIDE - half >= free:
            free = share * WIDE + half
            yield share, text


def _stroke(n: int, curve: Curve, frame: Frame, of: int) -> Stroke:
    paths = [[frame.at(spot.x, spot.y) for spot in piece] for piece in curve.pieces]
    many = sum(map(len, paths)) > FEW
    spots = list(_spots(paths, WIDE / 8 if many else 10.0))
    if of == 1 and many:  # nothing to be told apart from
        spots = [path[0] for path in paths if len(path) == 1]
    bands = []
    for edges in curve.bands():
        below, above = ([frame.at(*edge) for edge in points] for points in edges)
        if len(below) == 1:  # a whisker
            below, above = ([(x - 2, y), (x + 2, y)] for ((x, y),) in (below, above))
        bands.append(above + below[::-1])
    return Stroke(curve.label, colour(n), marker(n), curve.predicted, paths, spots, bands)


def _spots(paths: list[list[Point]], gap: float) -> Iterator[Point]:
    """Where markers stand: at the first and the last point of every piece, and ``gap`` pixels apart."""
    for path in paths:
        last = path[0]
        yield last
        for point in path[1:]:
            if math.dist(last, point) >= gap:
                last = point
                yield point
        if last != path[-1]:
            yield path[-1]


def _at_ends(curves: tuple[Curve, ...], strokes: list[Stroke], frame: Frame) -> list[Mark] | None:
    """Labels at the ends of their lines, or None where these are too close, too far in, or too long."""
    named = [(curve, stroke) for curve, stroke in zip(curves, strokes, strict=True) if curve.label.strip()]
    ends = [frame.at(curve.end.x, curve.end.y) for curve, _ in named]
    places = apart([y for _, y in ends], SIZE * LEAD, frame.top, frame.low)
    moved = max((abs(place - y) for place, (_, y) in zip(places, ends, strict=True)), default=0.0)
    inside = any(curve.end.x < 0.9 for curve, _ in named)
    long = any(cell_len(visible(curve.label)) > LABEL for curve, _ in named)
    if inside or long or moved > MOVED or max(places, default=0.0) > frame.low + 1:
        return None
    lead = SWATCH if moved > 2 else 2.0  # room for a marker, where the place alone does not tell
    x = frame.right + GAP + lead
    for (_, stroke), place, end in zip(named, places, ends, strict=True):
        if moved > 2:
            stroke.leaders.append(((end[0] + GAP, end[1]), (x - 2 * GAP, place)))
            stroke.spots.append((x - GAP, place))
    pairs = zip(named, places, strict=True)
    return [Mark(x, place + SIZE * 0.35, visible(curve.label)) for (curve, _), place in pairs]


def _legend(strokes: list[Stroke], frame: Frame, y: float) -> list[Mark]:
    """A swatch and a label for every line, in rows under the chart."""
    room = WIDE - SWATCH - GAP
    labels = [short(stroke.label, int(room / SIZE / 0.6)) for stroke in strokes]
    cell = SWATCH + max(map(_width, labels)) + 3 * GAP
    columns = max(int((WIDE + 2 * GAP) / cell), 1)
    marks = []
    for n, (stroke, label) in enumerate(zip(strokes, labels, strict=True)):
        x, base = frame.left + n % columns * cell, y + n // columns * SIZE * 1.5
        middle = base - SIZE * 0.35
        stroke.paths.append([(x, middle), (x + SWATCH, middle)])
        stroke.spots.append((x + SWATCH / 2, middle))
        marks.append(Mark(x + SWATCH + GAP, base, label))
    return marks
