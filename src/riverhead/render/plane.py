"""Where everything in a plane goes: hulls, arrows, ticks, and labels that keep clear of one another."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, product

from rich.cells import cell_len

from riverhead.numbers import fixed, plain, significant
from riverhead.render.letters import short, visible
from riverhead.render.plain import PRIME
from riverhead.scene import Plane

__all__ = ["Drawing", "Label", "Point", "bounds", "draw", "drawable", "place"]

Point = tuple[float, float]
SIDE = 300.0  # the longer side of the drawn square, in pixels
MARGIN = 44.0
SIZE = 13.0  # of a label's letters
LONGEST = 24  # characters of a label
TOUCH = 40.0  # square pixels of a label that may lie on something: 7 pixels of an arrow


@dataclass(frozen=True, slots=True)
class Label:
    """Text whose left end stands at ``x``, on the baseline ``y``."""

    x: float
    y: float
    text: str
    focus: bool = False


@dataclass(frozen=True, slots=True)
class Drawing:
    """Pixels, y downwards: what SVG and LaTeX draw each in their own words."""

    width: float
    height: float
    hulls: tuple[tuple[tuple[Point, ...], bool], ...]  # polygon, focus
    lines: tuple[tuple[Point, Point], ...]  # the ticks' grid
    ticks: tuple[Label, ...]  # and the names of the axes
    arrows: tuple[tuple[Point, Point, bool], ...]
    labels: tuple[Label, ...]


def place(point: Point) -> str:
    """Return ``point`` with three decimals a coordinate, or as it is where that is shorter.

    >>> place((0.604269, 0.5)), place((1e-9, -2.0))
    ('(0.604, 0.5)', '(1e-09, −2)')
    """
    return f"({', '.join(map(_coordinate, point))})"


def _coordinate(x: float) -> str:
    usual = fixed(x, 3) if 1e-3 <= abs(x) < 1e6 else significant(x, 3)
    return min(plain(x).text, usual.text, key=len)


def drawable(*points: Point) -> bool:
    """Whether every coordinate is a number of a size that can be drawn."""
    return all(abs(x) < 1e100 for x in chain(*points))


def bounds(plane: Plane) -> tuple[Point, Point]:
    """Return the lower left and upper right of everything drawable in ``plane``, never of size zero."""
    points = chain.from_iterable((arrow.start, arrow.end, *arrow.hull) for arrow in plane.arrows)
    x, y = zip(*(list(filter(drawable, points)) or [(0.0, 0.0)]), strict=True)
    left, right, low, high = min(x), max(x), min(y), max(y)
    size, reach = max(right - left, high - low), max(map(abs, (left, right, low, high)))
    if size <= 1e-9 * reach or size < 1e-100:  # one point
        size = max(reach, 1e-100) if reach else 1.0
    wide = max(size / 4 - right + left, 0) / 2  # a thin cloud gets width, a flat one height
    tall = max(size / 4 - high + low, 0) / 2
    return (left - wide, low - tall), (right + wide, high + tall)


def draw(plane: Plane) -> Drawing:
    """Return where the parts of ``plane`` go, the same scale along both axes."""
    (left, low), (right, high) = bounds(plane)
    scale = SIDE / max(right - left, high - low)

    def at(point: Point) -> Point:
        return MARGIN + (point[0] - left) * scale, MARGIN + (high - point[1]) * scale

    shown = [arrow for arrow in plane.arrows if drawable(arrow.start, arrow.end, *arrow.hull)]
    across, up = list(_ticks(left, right)), list(_ticks(low, high))
    lines = [(at((x, low)), at((x, high))) for x in across] + [(at((left, y)), at((right, y))) for y in up]
    edge, height = (right - left) * scale + 2 * MARGIN, (high - low) * scale + 2 * MARGIN
    width = edge + max((_width(short(arrow.label, LONGEST)) for arrow in shown), default=0)
    ticks = [
        Label(at((x, low))[0] - _width(plain(x).text) / 2, height - MARGIN + 18, plain(x).text)
        for x in across
    ]
    ticks += [
        Label(MARGIN * 0.7 - _width(plain(y).text), at((left, y))[1] + SIZE / 3, plain(y).text) for y in up
    ]
    across_name, up_name = f"{visible(plane.axes[0])} →", f"↑ {visible(plane.axes[1])}"
    ticks += [Label(max(edge - _width(across_name), 0), height - 2, across_name), Label(4, SIZE, up_name)]
    arrows = tuple((at(arrow.start), at(arrow.end), arrow.focus) for arrow in shown)
    moves = [(short(arrow.label, LONGEST), *move) for arrow, move in zip(shown, arrows, strict=True)]
    labels = _labels(moves, (width, height), ticks)
    hulls = tuple(
        (tuple(at(corner) for corner in _hull(arrow.hull)), arrow.focus)
        for arrow in shown
        if len(arrow.hull) > 2
    )
    return Drawing(width, height, hulls, tuple(lines), tuple(ticks), arrows, labels)


def _ticks(low: float, high: float) -> Iterator[float]:
    """Round numbers from ``low`` to ``high``, at most six of them."""
    step = 10.0 ** math.floor(math.log10(high - low))
    step = next(step * k for k in (0.2, 0.5, 1, 2) if (high - low) / (step * k) <= 5)
    for k in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1):
        yield float(f"{k * step:.12g}")


def _width(text: str) -> float:
    return cell_len(text) * SIZE * 0.6


def _hull(points: tuple[Point, ...]) -> list[Point]:
    """The convex hull's corners in order (Andrew's monotone chain)."""
    chains: list[list[Point]] = []
    for order in (sorted(set(points)), sorted(set(points), reverse=True)):
        corners: list[Point] = []
        for p in order:
            while len(corners) > 1 and _turn(corners[-2], corners[-1], p) <= 0:
                corners.pop()
            corners.append(p)
        chains.append(corners[:-1])
    return chains[0] + chains[1]


def _turn(a: Point, b: Point, c: Point) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


Box = tuple[float, float, float, float]  # left, top, right, bottom


def _labels(
    moves: list[tuple[str, Point, Point, bool]], sheet: Point, ticks: list[Label]
) -> tuple[Label, ...]:
    """A label at each end of each move, where it covers least: the ones in focus choose first.

    Of a move out of focus, one label is enough where the other finds no free place.
    """
    taken = [(tick.x, tick.y - SIZE, tick.x + _width(tick.text), tick.y) for tick in ticks]
    taken += [_around(point, 6.0) for _, start, end, _ in moves for point in (start, end)]
    for _, start, end, _ in moves:
        steps = math.ceil(math.dist(start, end) / 6)
        taken += [_around(_between(start, end, k / steps), 3.0) for k in range(1, steps)]
    labels = []
    for label, start, end, focus in sorted(moves, key=lambda move: not move[3]):
        after = _best(end, label + PRIME, sheet, taken)
        before = _best(start, label, sheet, [*taken, after[1]])
        both = (after, before)
        for _, box, text in both if focus else [at for at in both if at[0] <= TOUCH] or [min(both)]:
            taken.append(box)
            labels.append(Label(box[0], box[3] - SIZE * 0.25, text, focus))
    return tuple(labels)


def _best(point: Point, text: str, sheet: Point, taken: list[Box]) -> tuple[float, Box, str]:
    """The place beside ``point`` where ``text`` covers least of what is ``taken``, after how much that is."""

    def covered(box: Box) -> float:
        return sum(_overlap(box, other) for other in taken)

    boxes = [_box(point, text, side) for side in product((1, -1, 0), (0, -1, 1)) if side != (0, 0)]
    inside = [box for box in boxes if min(box) >= 0 and box[2] <= sheet[0] and box[3] <= sheet[1]]
    best = min(inside or boxes, key=covered)
    return covered(best), best, text


def _around(point: Point, r: float) -> Box:
    return point[0] - r, point[1] - r, point[0] + r, point[1] + r


def _between(a: Point, b: Point, t: float) -> Point:
    return a[0] + (b[0] - a[0]) * t, a[1] + (b[1] - a[1]) * t


def _box(point: Point, text: str, side: tuple[int, int]) -> Box:
    """Where ``text`` stands beside ``point``: ``side`` is (right or left, below or above)."""
    half = _width(text) / 2
    x = point[0] + side[0] * (half + 9.0)
    y = point[1] + side[1] * (SIZE * 0.5 + (8.0 if side[0] == 0 else 4.0))
    return x - half, y - SIZE / 2, x + half, y + SIZE / 2


def _overlap(a: Box, b: Box) -> float:
    return max(min(a[2], b[2]) - max(a[0], b[0]), 0) * max(min(a[3], b[3]) - max(a[1], b[1]), 0)
