"""Pieces of an SVG sheet: lines of text, and blocks that stand one under the other."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from riverhead.render.glyphs import Runs, flow
from riverhead.render.letters import isolate
from riverhead.render.markup import tag
from riverhead.scene import Math

__all__ = ["LEAD", "SIZE", "Block", "at", "line", "paragraph"]

SIZE = 17.0  # of the letters, in pixels
LEAD = 1.55  # of a line of text, in letters
SERIF = "'STIX Two Text',Cambria,Georgia,'Times New Roman','DejaVu Serif',serif"


@dataclass(frozen=True, slots=True)
class Block:
    """Drawn elements from y = 0 downwards, and how high they are."""

    height: float = 0.0
    drawn: str = ""

    def above(self, other: Block, gap: float = 0.0) -> Block:
        """This block with ``other`` under it."""
        return Block(self.height + gap + other.height, self.drawn + at(0, self.height + gap, other))


def at(x: float, y: float, block: Block) -> str:
    """Return the block's elements with their corner at (x, y)."""
    return tag("g", block.drawn, transform=f"translate({x:.1f},{y:.1f})") + "\n" if block.drawn else ""


def line(runs: Runs, x: float, y: float, size: float, **how: str | float | None) -> str:
    """Return one line of text on the baseline ``y``; each run moves from the baseline of the one before."""
    spans, rise = [], 0.0
    for run in runs:
        italic = {"font_style": "italic", "font_family": SERIF} if run.italic else {}
        small = {"font_size": size * run.scale} if run.scale != 1 else {}
        spans.append(
            tag("tspan", escape(isolate(run.text)), dy=(rise - run.rise) * size or None, **small, **italic)
        )
        rise = run.rise
    return tag("text", *spans, x=x, y=y, font_size=size, **how)


def paragraph(runs: tuple[str | Math, ...], room: float, size: float = SIZE, **how: str | float) -> Block:
    """Return words and formulas folded into ``room`` pixels."""
    broad = 1.12 if "font_weight" in how else 1.0
    lines = flow(runs, room / size / broad)
    drawn = (line(found, 0, size * (1.1 + LEAD * n), size, **how) for n, found in enumerate(lines))
    return Block(size * LEAD * len(lines), "".join(drawn))
