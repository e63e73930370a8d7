"""A table or a matrix on an SVG sheet: columns, shades, bars, and as many groups as the room asks for."""

from __future__ import annotations

from dataclasses import dataclass

from riverhead.numbers import Number
from riverhead.render.blocks import LEAD, SIZE, Block, line
from riverhead.render.figure import ACCENT
from riverhead.render.glyphs import Runs, flow, runs_of, width
from riverhead.render.grid import Grid, clamp, fit, groups, told
from riverhead.render.markup import tag
from riverhead.scene import Bar, Cell

__all__ = ["drawn_grid"]

GAP = 30  # pixels between columns
BAR = 110  # a bar that says 1
WORDY = 120  # a column of words is not squeezed below this
ROW = SIZE * LEAD
BOLD = 1.12  # times as wide as plain


def drawn_grid(shown: Grid, room: float) -> Block:
    """Return the grid within ``room`` pixels."""
    natural = [int(max(map(_wide, column))) + 1 for column in zip(shown.head, *shown.rows, strict=True)]
    widths = fit(natural, shown.right, GAP, int(room), WORDY)
    block = Block()
    for columns in groups(widths, GAP, int(room)):
        block = block.above(_Group(shown, widths, columns).block(), gap=12 if block.height else 0)
    return block


def _wide(cell: Cell) -> float:
    """How many pixels a cell asks for, in bold."""
    match cell:
        case None:
            return 0
        case Bar():
            return BAR * clamp(cell.fraction)
        case _:
            return SIZE * BOLD * width(runs_of(cell))


def _folded(cell: Cell, room: float) -> list[Runs]:
    return [] if cell is None or isinstance(cell, Bar) else flow((cell,), room / SIZE / BOLD)


@dataclass(frozen=True, slots=True)
class _Group:
    """The columns that stand side by side."""

    shown: Grid
    widths: list[int]
    columns: list[int]

    def block(self) -> Block:
        """Header, a rule, rows."""
        block = Block()
        if any(map(_wide, self.shown.head)):
            block = self.row(-1)
            total = sum(self.widths[j] for j in self.columns) + GAP * (len(self.columns) - 1)
            rule = tag("path", d=f"M0,{block.height} h{total}", stroke="currentColor", stroke_opacity=0.5)
            block = Block(block.height + 5, block.drawn + rule)
        for i in told(self.shown, self.columns):
            block = block.above(self.row(i))
        return block

    def row(self, i: int) -> Block:
        """One row: shades under the text, ▸ before the one in focus."""
        cells = self.shown.rows[i] if i >= 0 else self.shown.head
        folded = {j: _folded(cells[j], self.widths[j]) for j in self.columns}
        height = ROW * max(1, *map(len, folded.values()))
        focus = i == self.shown.focus
        drawn = tag("path", d="M-16,8 l9,6 l-9,6 z", fill=ACCENT) if focus else ""
        weight, x = "bold" if focus or i < 0 else None, 0.0
        for j in self.columns:
            drawn += self.under(i, j, x, height)
            side = {"x": x + self.widths[j], "text_anchor": "end"} if self.shown.right[j] else {"x": x}
            for n, runs in enumerate(folded[j]):
                drawn += line(runs, y=SIZE * 1.15 + n * ROW, size=SIZE, font_weight=weight, **side)
            x += self.widths[j] + GAP
        return Block(height, drawn)

    def under(self, i: int, j: int, x: float, height: float) -> str:
        """What a cell stands on: its shade, its frame, its bar."""
        shown, wide = self.shown, self.widths[j]
        value = shown.rows[i][j] if i >= 0 else None
        drawn = ""
        if shown.shade and isinstance(value, Number) and (weight := clamp(value.value)):
            place = {"x": x - GAP / 2, "width": wide + GAP, "height": height}
            drawn += tag("rect", **place, fill=ACCENT, fill_opacity=0.65 * weight)
        if shown.spot == (i, j):
            frame = {"x": x - 8, "y": 1, "width": wide + 16, "height": height - 2, "rx": 6}
            drawn += tag("rect", **frame, fill="none", stroke=ACCENT, stroke_width=2)
        if isinstance(value, Bar):
            long = BAR * clamp(value.fraction)
            start = x + wide - max(long, self.numbers(j)) if shown.right[j] else x
            drawn += tag("rect", x=start, y=7, width=long, height=12, rx=2, fill=ACCENT)
        return drawn

    def numbers(self, j: int) -> float:
        """How wide the numbers of a column are."""
        cells = (row[j] for row in self.shown.rows)
        return SIZE * max(width(runs_of(cell)) for cell in cells if isinstance(cell, Number))
