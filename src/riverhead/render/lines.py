"""A line chart before any format draws it: which points, where on the axes, and what has to be said."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, groupby

from riverhead.numbers import significant
from riverhead.render.lines_scale import HUGE, Scale, scale
from riverhead.render.plane import Point, place
from riverhead.scene import Line, Lines
from riverhead.shapes import check_axis

__all__ = ["Chart", "Curve", "Spot", "apart", "captioned", "chart", "described", "paired"]

MOST = 24  # lines in a chart
DENSE = 4  # points of a line in one column of the drawing; where there are more, they are thinned


@dataclass(frozen=True, slots=True)
class Spot:
    """A point in shares of the axes, and the spread around it; NaN where that is not known."""

    x: float
    y: float
    low: float = math.nan
    high: float = math.nan


@dataclass(frozen=True, slots=True)
class Curve:
    """A line to draw: a piece ends where a point is left out."""

    label: str
    predicted: bool
    pieces: tuple[tuple[Spot, ...], ...]

    @property
    def end(self) -> Spot:
        """The last point."""
        return self.pieces[-1][-1]

    def bands(self) -> Iterator[tuple[list[Point], list[Point]]]:
        """Lows and highs of neighbours whose spread is known."""
        for piece in self.pieces:
            for unknown, group in groupby(piece, key=lambda spot: math.isnan(spot.low + spot.high)):
                if not unknown:
                    spots = list(group)
                    yield [(spot.x, spot.low) for spot in spots], [(spot.x, spot.high) for spot in spots]


@dataclass(frozen=True, slots=True)
class Chart:
    """The lines that have points, on their axes; ``notes`` say what is not as it was given."""

    x: Scale
    y: Scale
    curves: tuple[Curve, ...]
    notes: tuple[str, ...]


def chart(part: Lines, columns: int) -> Chart:
    """Return ``part`` on its axes, for a drawing of so many ``columns`` (pixels or dots).

    Raises `ShapeError` for a line whose spread has not one pair a point.

    >>> chart(Lines((Line("a", ((1, 5), (2, math.nan), (3, 10))),), "x", "y"), 80).notes
    ('1 of 3 points left out: not finite',)
    """
    lines = part.lines[:MOST]
    pairs = [pair for line in lines for pair in paired(line) if not _unfit(pair[0], part)]
    known = [spread for _, spread in pairs if not any(map(math.isnan, spread))]
    edges = (edge for spread in known for edge in spread if _drawable(edge, part.log_y))
    x = scale((point[0] for point, _ in pairs), part.log_x)
    y = scale(chain((point[1] for point, _ in pairs), edges), part.log_y, whole=True)
    whole = [(line, list(_pieces(line, part, x, y))) for line in lines]
    thin = [(line, [_thinned(piece, columns) for piece in pieces]) for line, pieces in whole if pieces]
    drawn = sum(len(piece) for _, pieces in thin for piece in pieces)
    curves = tuple(Curve(line.label, line.predicted, tuple(map(tuple, pieces))) for line, pieces in thin)
    return Chart(x, y, curves, tuple(_notes(part, len(pairs), drawn)))


def paired(line: Line) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    """Return each point with its spread, NaN where that is not known."""
    if not line.spread:
        return [(point, (math.nan, math.nan)) for point in line.points]
    why = f"each of line {line.label!r} has a spread, or none"
    check_axis("points", why, points=len(line.points), spread=len(line.spread))
    return list(zip(line.points, line.spread, strict=True))


def captioned(part: Lines, notes: Iterable[str]) -> str:
    """Return the caption with what has to be said beside it.

    >>> captioned(Lines((), "x", "y", caption="cost"), ["dashed: predicted"])
    'cost (dashed: predicted)'
    """
    said = "; ".join(notes)
    return f"{part.caption} ({said})" if part.caption and said else part.caption or said


def described(part: Lines) -> str:
    """Return ``part`` in words, for those who do not see it."""
    found = chart(part, 1000)
    said = [captioned(part, found.notes), f"{part.y} by {part.x}"]
    for line in part.lines[:MOST]:
        points = [point for point in line.points if not _unfit(point, part)]
        if points:
            low, high = (significant(pick(y for _, y in points), 3).text for pick in (min, max))
            ends = f"from {place(points[0])} to {place(points[-1])}, lowest {low}, highest {high}"
            said.append(f"{line.label}: " + (ends if len(points) > 1 else f"one point, {place(points[0])}"))
    return "; ".join(filter(None, said))


def apart(wanted: list[float], step: float, low: float, high: float) -> list[float]:
    """Return places at least ``step`` apart, as near to the ``wanted`` as can be, between low and high.

    >>> apart([5.0, 5.0, 9.0], 2.0, 0.0, 20.0)
    [4.0, 6.0, 9.0]
    """
    order = sorted(range(len(wanted)), key=lambda n: wanted[n])
    blocks: list[list[float]] = []  # where labels would stand without their steps: those that meet, averaged
    for at, n in enumerate(order):
        blocks.append([wanted[n] - at * step])
        while len(blocks) > 1 and _mean(blocks[-2]) > _mean(blocks[-1]):
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    free = [_mean(block) for block in blocks for _ in block]
    places = [0.0] * len(wanted)
    for at, n in enumerate(order):
        places[n] = max(min(free[at], high - (len(order) - 1) * step), low) + at * step
    return places


def _mean(numbers: list[float]) -> float:
    return sum(numbers) / len(numbers)


def _drawable(value: float, log: bool) -> bool:
    return abs(value) < HUGE and (value > 0 or not log)


def _unfit(point: tuple[float, float], part: Lines) -> str:
    """Why a point cannot be drawn, or nothing."""
    x, y = point
    if _drawable(x, part.log_x) and _drawable(y, part.log_y):
        return ""
    if not (math.isfinite(x) and math.isfinite(y)):
        return "not finite"
    return "not above 0, on a log axis" if abs(x) < HUGE and abs(y) < HUGE else "beyond ±1e300"


def _pieces(line: Line, part: Lines, x: Scale, y: Scale) -> Iterator[list[Spot]]:
    for unfit, pairs in groupby(paired(line), key=lambda pair: bool(_unfit(pair[0], part))):
        if not unfit:
            yield [
                Spot(x.share(point[0]), y.share(point[1]), _edge(spread[0], y), _edge(spread[1], y))
                for point, spread in pairs
            ]


def _edge(value: float, y: Scale) -> float:
    """Where a band ends: one that reaches beyond the axis ends with it."""
    if math.isnan(value) or _drawable(value, y.log):
        return value if math.isnan(value) else y.share(value)
    return 1.0 if value > 0 else 0.0


def _thinned(piece: list[Spot], columns: int) -> list[Spot]:
    """The first, the last, the lowest and the highest of each column: the drawing stays the same."""
    if len(piece) <= DENSE * columns:
        return piece
    kept = [spot for _, spots in groupby(piece, lambda spot: int(spot.x * columns)) for spot in _ends(spots)]
    if len(kept) <= 2 * DENSE * columns:
        return kept
    several = -(-len(piece) // columns)  # a line that runs to and fro: by its order instead
    return [spot for n in range(0, len(piece), several) for spot in _ends(piece[n : n + several])]


def _ends(spots: Iterable[Spot]) -> list[Spot]:
    found = list(spots)
    every = range(len(found))
    edges = [(spot.low, spot.high) if spot.low == spot.low else (spot.y, spot.y) for spot in found]
    kept = {0, len(found) - 1}
    kept |= {min(every, key=lambda n: found[n].y), max(every, key=lambda n: found[n].y)}
    kept |= {min(every, key=lambda n: edges[n][0]), max(every, key=lambda n: edges[n][1])}
    return [found[n] for n in sorted(kept)]


def _notes(part: Lines, kept: int, drawn: int) -> Iterator[str]:
    lines = part.lines[:MOST]
    points = sum(len(line.points) for line in lines)
    if not part.lines:
        yield "no lines"
    if len(lines) < len(part.lines):
        yield f"the first {MOST} of {len(part.lines):,} lines"
    if lines and not points:
        yield "no points"
    if any(line.predicted for line in lines):
        yield "dashed: predicted"
    if any(line.spread for line in lines):
        yield "band: from low to high"
    reasons = Counter(filter(None, (_unfit(point, part) for line in lines for point in line.points)))
    for reason, count in reasons.items():
        yield f"{count:,} of {points:,} {'point' if points == 1 else 'points'} left out: {reason}"
    if drawn < kept:
        yield f"thinned for drawing: {drawn:,} of {kept:,} points, lows and highs kept"
