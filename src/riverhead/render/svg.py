"""A scene as one standalone SVG sheet that looks like a clean whiteboard."""

from __future__ import annotations

from collections.abc import Iterable

from riverhead.render.blocks import LEAD, SIZE, Block, at, line, paragraph
from riverhead.render.figure import figure
from riverhead.render.glyphs import Run, runs_of, width
from riverhead.render.grid import Grid, grid
from riverhead.render.heat_figure import heat_figure
from riverhead.render.letters import visible_lines
from riverhead.render.lines import captioned
from riverhead.render.lines_figure import lines_figure
from riverhead.render.markup import raw, tag
from riverhead.render.quote import pointed, quoted
from riverhead.render.svg_grid import drawn_grid
from riverhead.render.walk import Walker, aside, unfolded
from riverhead.scene import (
    Code,
    Fold,
    Formula,
    Heatmap,
    Lines,
    Matrix,
    Part,
    Plane,
    Quote,
    Scene,
    Table,
    Text,
)

__all__ = ["sheet"]

COLUMN = 12  # pixels for a character of the width asked for
PAD = 40  # around the sheet
INSET = 22  # of what stands under a heading
TITLE, HEADING, NOTE = 28, 20, 15  # letters
INK, PAPER = "#1b2530", "#ffffff"
SANS = "system-ui,-apple-system,'Segoe UI','Helvetica Neue',Arial,'Noto Sans','DejaVu Sans',sans-serif"
MONO = "ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace"


def sheet(scene: Scene, width: int = 80, colour: bool = False) -> str:
    """Return a standalone SVG document, 12 pixels wide for each character of ``width``."""
    across = max(width, 24) * COLUMN
    room = across - 2 * PAD
    title = paragraph((scene.title,), room, TITLE, font_weight="bold") if scene.title else Block()
    body = title.above(Sheet(room).stack(scene.parts))
    height = round(body.height + 2 * PAD)
    return tag(
        "svg",
        tag("title", raw(scene.title)),
        tag("rect", width=across, height=height, rx=14, fill=PAPER),
        at(PAD, PAD, body),
        role="img", viewBox=f"0 0 {across} {height}", width=across, height=height,
        color=INK, fill=INK, font_family=SANS, font_size=SIZE,
        **{"xmlns": "http://www.w3.org/2000/svg", "xml:space": "preserve"},
    )  # fmt: skip


class Sheet(Walker[Block]):
    """Stacks parts down a sheet; ``room`` is the width, in pixels, of what stands under a heading."""

    def __init__(self, width: float) -> None:
        self.width, self.room = width, width - INSET

    def stack(self, parts: tuple[Part, ...]) -> Block:
        """The parts one under the other, headings at the margin."""
        stacked = Block()
        for part in unfolded(parts):
            heading = isinstance(part, Text) and part.role == "heading"
            block = self.walk(part)
            inset = block if heading else Block(block.height, at(INSET, 0, block))
            stacked = stacked.above(inset, gap=28 if heading else 18 if isinstance(part, Quote) else 8)
        return stacked

    def text(self, part: Text) -> Block:
        """A heading, a paragraph, or a smaller, paler note."""
        if part.role == "heading":
            return self.heading(part)
        if part.role == "note":
            return paragraph(part.runs, self.room, NOTE, fill_opacity=0.7)
        return paragraph(part.runs, self.room)

    def heading(self, part: Text) -> Block:
        """Words in bold, a short formula at their right."""
        words, formula = aside(part)
        block = paragraph(words, self.width, HEADING, font_weight="bold")
        if formula is None:
            return block
        runs = runs_of(formula)
        used = HEADING * 1.12 * sum(width(runs_of(word)) for word in words)
        if used + 30 + SIZE * width(runs) > self.width:
            return block.above(paragraph((formula,), self.width))
        return Block(
            block.height, block.drawn + line(runs, self.width, HEADING * 1.1, SIZE, text_anchor="end")
        )

    def formula(self, part: Formula) -> Block:
        """A formula, and what its symbols mean."""
        block = paragraph((part.math,), self.room, HEADING)
        terms = Grid((None, None), part.terms, (False, False))
        return block.above(drawn_grid(terms, self.room)) if part.terms else block

    def table(self, part: Table) -> Block:
        """Rows under a header, below the caption."""
        caption = paragraph((part.caption,), self.room) if part.caption else Block()
        return caption.above(drawn_grid(grid(part), self.room))

    def matrix(self, part: Matrix) -> Block:
        """A grid with the matrix's name in the corner."""
        return drawn_grid(grid(part), self.room)

    def plane(self, part: Plane) -> Block:
        """The drawing under its caption."""
        return self.drawing(part.caption, *figure(part))

    def heatmap(self, part: Heatmap) -> Block:
        """The drawing under its caption."""
        return self.drawing(part.caption, *heat_figure(part))

    def lines(self, part: Lines) -> Block:
        """The drawing under its caption and what has to be said."""
        notes, drawn = lines_figure(part)
        return self.drawing(captioned(part, notes), *drawn)

    def drawing(self, caption: str, width: float, height: float, shapes: str) -> Block:
        """Shapes, smaller where they are wider than the sheet, under their caption."""
        above = paragraph((caption,), self.room) if caption else Block()
        scale = min(self.room / width, 1)
        return above.above(Block(height * scale, tag("g", shapes, transform=f"scale({scale:.3f})")), gap=6)

    def code(self, part: Code) -> Block:
        """Source text, line by line, in letters of one width."""
        return self.typewritten(visible_lines(part.text))

    def quote(self, part: Quote) -> Block:
        """The line over its carets, between what is said of it."""
        said = paragraph((f"{part.place}: {part.said}",), self.room)
        note = paragraph((part.note,), self.room, NOTE, fill_opacity=0.7) if part.note else Block()
        return said.above(self.typewritten(pointed(quoted(part, self.letters)))).above(note)

    @property
    def letters(self) -> int:
        """How many letters of one width a line holds."""
        return int(self.room / NOTE / 0.62)

    def typewritten(self, lines: Iterable[str]) -> Block:
        """Lines in letters of one width, folded where they are too long."""
        block = Block()
        for source in lines:
            for n in range(0, max(len(source), 1), self.letters):
                run = Run(source[n : n + self.letters].replace(" ", "\xa0"))  # browsers drop a first space
                drawn = line((run,), 0, NOTE * 1.1, NOTE, font_family=MONO)
                block = block.above(Block(NOTE * LEAD, drawn))
        return block

    def fold(self, part: Fold) -> Block:
        """An open fold's summary over its parts, further in."""
        return paragraph((f"▾ {part.summary}",), self.room).above(Sheet(self.room).stack(part.parts))
