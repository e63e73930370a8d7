"""Where everything in a heat map goes: boxes of one shade, labels, and the key to the shades, in pixels."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from rich.cells import cell_len

from riverhead.render.heat import Shades, arrows, shades
from riverhead.render.letters import short
from riverhead.scene import Axis, Heatmap

__all__ = ["BROKEN", "SIZE", "Box", "HeatDrawing", "Mark", "draw_heat"]

CELL, SIDE = 22.0, 512.0  # pixels: of a cell at most, of a side of the map at most
SIZE = 13.0  # of a label's letters
LABEL = 16  # characters of a label
LEVELS = 24  # different shades
GAP = 8.0
BROKEN = -1.0  # stands for the share of what is not finite

Box = tuple[float, float, float, float]  # x, y, width, height


@dataclass(frozen=True, slots=True)
class Mark:
    """Text that begins or ends at (x, y), on its baseline; if ``turned`` it runs upwards from there."""

    x: float
    y: float
    text: str
    anchor: Literal["start", "end"] = "start"
    turned: bool = False


@dataclass(frozen=True, slots=True)
class HeatDrawing:
    """Pixels, y downwards: what SVG and LaTeX draw each in their own words."""

    width: float
    height: float
    frame: Box
    boxes: dict[float, list[Box]]  # by the share of the full shade, or `BROKEN`
    marks: list[Mark]


def draw_heat(part: Heatmap, most: int) -> HeatDrawing:
    """Return where the parts of a heat map go, at most ``most`` cells along a side."""
    found = shades(part, most, most)
    n, m = found.size
    tall, wide = min(CELL, SIDE / max(n, 1)), min(CELL, SIDE / max(m, 1))
    x = max(map(_width, part.rows.labels or part.rows.ends)) + GAP
    y = max(map(_width, part.columns.labels), default=0) + GAP
    frame = (x, y, wide * m, tall * n)
    boxes: dict[float, list[Box]] = {}
    for share, i, first, end in _runs(found):
        boxes.setdefault(share, []).append((x + first * wide, y + i * tall, (end - first) * wide, tall))
    marks = [*_rows(part.rows, frame), *_columns(part.columns, frame)]
    low = y + tall * n + (SIZE + GAP if any(part.columns.ends) else 0)
    right = x
    for swatch, text in _key(part, found):
        if not text:
            continue
        if swatch is not None:
            boxes.setdefault(swatch, []).append((right, low + GAP, SIZE, SIZE))
            right += SIZE + GAP / 2
        marks.append(Mark(right, low + GAP + SIZE * 0.85, text))
        right += cell_len(text) * SIZE * 0.6 + 2 * GAP
    return HeatDrawing(max(right, x + wide * m + GAP), low + 2 * GAP + SIZE, frame, boxes, marks)


def _width(text: str) -> float:
    return cell_len(short(text, LABEL)) * SIZE * 0.6


def _runs(found: Shades) -> Iterator[tuple[float, int, int, int]]:
    """Cells of one shade side by side: the shade, the row, the first column and the one after the last."""
    for i, row in enumerate(found.shares):
        at = 0
        for share, cells in groupby(BROKEN if math.isnan(x) else round(x * LEVELS) / LEVELS for x in row):
            first, at = at, at + len(list(cells))
            if share:
                yield share, i, first, at


def _rows(axis: Axis, frame: Box) -> Iterator[Mark]:
    x, y, _, height = frame
    size = height / max(len(axis.labels), 1)
    for n in range(0, len(axis.labels), _step(size)):
        yield Mark(x - GAP, y + (n + 0.5) * size + SIZE * 0.35, short(axis.labels[n], LABEL), "end")
    if not axis.labels:
        yield Mark(x - GAP, y + SIZE * 0.85, short(axis.ends[0], LABEL), "end")
        yield Mark(x - GAP, y + max(height, 2 * SIZE), short(axis.ends[1], LABEL), "end")


def _columns(axis: Axis, frame: Box) -> Iterator[Mark]:
    x, y, width, height = frame
    size = width / max(len(axis.labels), 1)
    for n in range(0, len(axis.labels), _step(size)):
        label = short(axis.labels[n], LABEL)
        yield Mark(x + (n + 0.5) * size + SIZE * 0.35, y - GAP, label, turned=True)
    if not axis.labels:
        first, last = (short(end, LABEL) for end in axis.ends)
        under = y + height + GAP / 2 + SIZE
        yield Mark(x, under, first)
        yield Mark(max(x + width, x + _width(first) + GAP + _width(last)), under, last, "end")


def _step(size: float) -> int:
    """Every how many-th label finds room, where the cells are smaller than the letters."""
    return max(math.ceil(SIZE / size), 1) if size else 1


def _key(part: Heatmap, found: Shades) -> Iterator[tuple[float | None, str]]:
    """What the sides count and the shades mean: a text after each shade, or after none."""
    yield None, arrows(part)
    if found.blank:
        yield None, found.blank
    else:
        yield from ((share, found.number(share)) for share in (1.0, 0.75, 0.5, 0.25))
    if found.broken:
        yield BROKEN, "not finite"
    yield None, found.note()
