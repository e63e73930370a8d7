"""A heat map in characters: shades ░▒▓█, or in colour two rows in a line where the rows have no labels."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from rich.cells import cell_len, chop_cells
from rich.text import Text as Line

from riverhead.render.columns import mixed
from riverhead.render.heat import arrows, shades
from riverhead.render.letters import short, visible
from riverhead.scene import Heatmap

__all__ = ["HeatText"]

LINES = 32  # of a map whose rows have no labels
LABEL = 16  # characters of a label
STEP = 5  # columns from one number above them to the next
SIGNS = (
    (0.85, "█"),
    (0.6, "▓"),
    (0.35, "▒"),
    (0.1, "░"),
)  # and the share of a shade from which each is drawn
FAINTEST = SIGNS[-1][0]


class HeatText:
    """Draws ``part`` in ``room`` characters; ``leaf`` makes a label safe, ``spell`` writes any sign."""

    def __init__(
        self,
        part: Heatmap,
        room: int,
        coloured: bool,
        leaf: Callable[[str], str],
        spell: Callable[[str], str],
    ) -> None:
        self.part, self.coloured, self.leaf, self.spell = part, coloured, leaf, spell
        self.labels = list(self._labels(min(LABEL, room // 3)))
        self.margin = max(map(cell_len, self.labels), default=0) + 1
        self.room = across = max(room - self.margin, 1)
        self.double = coloured and not part.rows.labels  # two rows in a line
        rows = len(part.values) if part.rows.labels else LINES * (1 + self.double)
        self.shades = shades(part, max(rows, 1), across)
        columns = self.shades.size[1]
        self.wide = 2 if part.rows.labels and 2 * columns <= across else 1  # characters of a cell
        self.across = columns * self.wide

    def lines(self) -> Iterator[Line]:
        """The map: numbers above its columns, labels beside its rows, or what stands at the ends."""
        if self.part.columns.labels:
            yield Line(self._numbers(), "dim")
        rows, step = self.shades.shares, 1 + self.double
        for at in range(0, len(rows), step):
            line = Line(self._beside(at, last=at + step >= len(rows)))
            line.pad_right(self.margin - line.cell_len)
            for shares in zip(*rows[at : at + step], strict=True):
                line.append_text(self._cell(*shares))
            yield line
        if any(self.part.columns.ends):
            yield Line(self._ends(), "dim")

    def key(self) -> Iterator[Line]:
        """What the sides count, what the shades mean, and what the columns are called."""
        line = Line()
        for item in filter(None, self._items()):
            if line and line.cell_len + 3 + item.cell_len > self.margin + self.room:
                yield line
                line = Line()
            line.append("   " if line else "").append_text(item)
        yield line
        columns = self.part.columns.labels
        if columns and columns != self.part.rows.labels:
            numbered = enumerate(columns, self.part.columns.first)
            named = (f"{n} {self._short(label, LABEL)}" for n, label in numbered)
            yield Line(f"{self.spell('→')} {'  '.join(named)}")

    def _items(self) -> Iterator[Line]:
        yield from map(Line, self.leaf(arrows(self.part)).split("   "))
        found = self.shades
        if found.blank:
            yield Line(found.blank)
        elif self.coloured:
            for share in (1.0, 0.75, 0.5, 0.25):
                yield Line().append_text(self._shade(share, "  ")).append(f" {found.number(share)}")
        else:
            yield Line(f"largest {found.number(1)}")
            yield from (Line(f"{self.spell(f'{sign} ≥')} {found.number(share)}") for share, sign in SIGNS)
        if found.broken:
            yield Line("? not finite")
        yield Line(self.spell(found.note()))

    # one row of characters

    def _labels(self, room: int) -> Iterator[str]:
        rows = self.part.rows
        digits = len(str(rows.first + len(rows.labels) - 1))
        for n, label in enumerate(rows.labels or rows.ends, rows.first):
            number = f"{n:>{digits}} " if rows.labels and label != str(n) else ""
            yield number + self._short(label, room)

    def _short(self, label: str, room: int) -> str:
        """A label that takes at most ``room`` characters, also where some have to be spelled out."""
        shown = self.leaf(short(label, room))
        return shown if cell_len(shown) <= room else chop_cells(self.spell(visible(label)), room)[0]

    def _beside(self, at: int, last: bool) -> str:
        if self.part.rows.labels:
            return self.labels[at]
        return self.labels[0] if at == 0 else self.labels[1] if last else ""

    def _numbers(self) -> str:
        line = ""
        for column in range(0, self.shades.size[1], STEP):
            number = str(self.part.columns.first + column * self.shades.of[1])
            at = self.margin + column * self.wide
            if at >= len(line) and at + len(number) <= self.margin + self.across:
                line = line.ljust(at) + number + " "
        return line.rstrip()

    def _ends(self) -> str:
        half = max((self.room - 1) // 2, 1)
        first, last = (self._short(end, half) for end in self.part.columns.ends)
        gap = self.across - cell_len(first) - cell_len(last)
        return " " * self.margin + first + " " * max(gap, 1) + last

    def _cell(self, top: float, below: float = 0.0) -> Line:
        if math.isnan(top) or math.isnan(below):
            return Line("?" * self.wide)
        if not self.coloured:
            sign = next((sign for share, sign in SIGNS if top >= share), " ")
            return Line(self.spell(sign) * self.wide)
        if not self.double:
            return self._shade(top, " " * self.wide)
        if below < FAINTEST:
            return Line(self.spell("▀"), mixed(top)) if top >= FAINTEST else Line(" ")
        if top < FAINTEST:
            return Line(self.spell("▄"), mixed(below))
        return Line(self.spell("▀"), f"{mixed(top)} on {mixed(below)}")

    def _shade(self, share: float, blank: str) -> Line:
        return Line(blank, f"on {mixed(share)}" if share >= FAINTEST else "")
