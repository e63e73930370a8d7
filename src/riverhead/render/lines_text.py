"""A line chart in characters: braille dots, a letter for each line, ticks, and labels or a key."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from rich.cells import cell_len
from rich.text import Text as Row

from riverhead.render.letters import short
from riverhead.render.lines import apart, chart
from riverhead.render.lines_canvas import Canvas
from riverhead.render.lines_style import LETTERS, colour
from riverhead.scene import Lines

__all__ = ["LinesText"]

TALL, LOW, SMALL = 14, 9, 48  # lines of a chart; of one in a room of fewer characters than SMALL
LABEL, NAME = 22, 40  # characters of a label beside the chart, of one below it
MOVED = 1.6  # lines by which a label may be moved from the end of its line


class LinesText:
    """Draws ``part`` in ``room`` characters; ``leaf`` makes a label safe, ``spell`` writes any sign."""

    def __init__(
        self, part: Lines, room: int, leaf: Callable[[str], str], spell: Callable[[str], str]
    ) -> None:
        self.part, self.room, self.leaf, self.spell = part, room, leaf, spell
        self.chart = chart(part, 2 * room)
        self.tall = TALL if room >= SMALL else LOW
        curves = self.chart.curves
        self.ticks = dict(self._ticks()) if curves else {}
        self.margin = max(map(cell_len, self.ticks.values()), default=0) + 1
        self.labels = self._labels()
        aside = max((label.cell_len + 1 for label in self.labels.values()), default=0)
        self.canvas = Canvas(max(room - self.margin - 1 - aside, 2), self.tall)
        for n, curve in enumerate(curves):
            letter = LETTERS[n] if len(curves) > 1 else ""
            self.canvas.draw(curve, letter, colour(n), (n + 1) / (len(curves) + 1))

    def lines(self) -> Iterator[Row]:
        """The chart on its axes, labels beside it where they find room."""
        if not self.chart.curves:
            return
        for row in range(self.tall):
            tick = self.ticks.get(row, "")
            line = Row(" " * (self.margin - 1 - cell_len(tick)) + tick + " ")
            line.append(self.spell("┤" if tick else "│"))
            for sign, style in self.canvas.row(row):
                line.append(self.spell(sign), style)
            yield line.append(" ").append_text(self.labels[row]) if row in self.labels else line
        axis, texts = ["─"] * self.canvas.wide, ""
        for column, text in self._across():
            first = max(self.margin + 1 + column - cell_len(text) // 2, 0)
            first = min(first, self.room - cell_len(text))
            axis[column] = "┬"
            if not texts or first > cell_len(texts):
                texts += " " * (first - cell_len(texts)) + text
        yield Row(" " * self.margin + self.spell("└" + "".join(axis)))
        yield Row(texts)

    def key(self) -> Iterator[Row]:
        """What the axes count, and each line's letter and label where they do not stand beside the chart."""
        items = [
            Row(self.leaf(f"{sign} {short(name, NAME)}{' (log scale)' if log else ''}"))
            for sign, name, log in (("→", self.part.x, self.part.log_x), ("↑", self.part.y, self.part.log_y))
        ]
        if not self.labels:
            items += (self._label(n) for n in range(len(self.chart.curves)))
        line = Row()
        for item in filter(None, items):
            if line and line.cell_len + 3 + item.cell_len > self.room:
                yield line
                line = Row()
            line.append("   " if line else "").append_text(item)
        yield line

    def _ticks(self) -> Iterator[tuple[int, str]]:
        """Texts beside the chart, by row."""
        for share, text in self.chart.y.ticks(self.tall // 2):
            yield math.floor((1 - share) * (self.tall - 1) + 0.5), self.leaf(text)

    def _across(self) -> Iterator[tuple[int, str]]:
        """Texts under the chart, by column."""
        for share, text in self.chart.x.ticks(max(self.canvas.wide // 10, 3)):
            yield round(share * (self.canvas.wide - 1)), self.leaf(text)

    def _label(self, n: int) -> Row:
        """The letter and the label of a line, in its colour."""
        curve = self.chart.curves[n]
        letter = f"{LETTERS[n]} " if len(self.chart.curves) > 1 else ""
        return Row(letter + self.leaf(short(curve.label, NAME)), colour(n))

    def _labels(self) -> dict[int, Row]:
        """Labels by the rows where their lines end; none where one is too close, too far in, or too long."""
        curves = self.chart.curves
        labels = [self._label(n) for n in range(len(curves))]
        ends = [(1 - curve.end.y) * (self.tall - 1) for curve in curves]
        places = apart(ends, 1.0, 0.0, self.tall - 1.0)
        moved = max((abs(place - end) for place, end in zip(places, ends, strict=True)), default=0.0)
        inside = any(curve.end.x < 0.9 for curve in curves)
        wide = max((label.cell_len for label in labels), default=0)
        if self.room < SMALL or inside or wide > LABEL or moved > MOVED:
            return {}
        return {math.floor(place + 0.5): label for place, label in zip(places, labels, strict=True)}
