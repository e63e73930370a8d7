"""A scene on a terminal: right-aligned columns, bars in eighths, nothing wider than the window but quotes."""

from __future__ import annotations

import codecs
import re
from io import StringIO
from itertools import zip_longest

from rich.cells import chop_cells
from rich.console import Console
from rich.text import Text as Line

from riverhead.numbers import Number
from riverhead.render.chart import chart
from riverhead.render.columns import Columns, folded
from riverhead.render.grid import Grid, bar, grid
from riverhead.render.heat_text import HeatText
from riverhead.render.letters import isolate, visible, visible_lines
from riverhead.render.lines import captioned
from riverhead.render.lines_canvas import PLAIN
from riverhead.render.lines_text import LinesText
from riverhead.render.plain import Plain
from riverhead.render.plane import place
from riverhead.render.quote import pointed, quoted
from riverhead.render.walk import Walker, aside, begins_with_formula
from riverhead.scene import (
    Bar,
    Cell,
    Code,
    Fold,
    Formula,
    Heatmap,
    Lines,
    Math,
    Matrix,
    Part,
    Plane,
    Quote,
    Scene,
    Table,
    Text,
)

__all__ = ["lines", "show", "text"]

NARROWEST = 24  # below this a number beside its label no longer fits
INDENT = 2  # headings stand at the margin, all else under them; the ▸ of a row stands between
BROAD = 100  # characters to the right end of a formula beside a heading, however wide the window
GAP = 3  # between a heading and the formula at its right
BAR = 10  # characters of a bar that says 1
BULLET = "– "  # of an item of a list: what follows it stands under its words
TALL = 3  # lines of a paragraph that air stands around
LABEL = 20  # characters in a line of a token beside or above a matrix, of which there are at most 3

STYLES = {"heading": "bold", "note": "dim", "prose": "", "bar": "cyan"}

HEADING = Text((), "heading")  # what an open fold's summary is to the parts under it

# what a terminal without Unicode shows instead; any other character appears as its escape
_SPELL = {
    "′": "'", "·": "*", "×": "x", "÷": "/", "−": "-", "√": "sqrt ", "∞": "inf", "ᵀ": "^T",
    "→": "->", "←": "<-", "≈": "~", "≤": "<=", "≥": ">=", "≠": "!=", "…": "...", "▸": ">", "▾": "v", "↑": "^",
    "↓": "v", "░": ".", "▒": ":", "▓": "+", "▀": "^", "▄": "_",
    "█": "#", "▉": "#", "▊": "#", "▋": "=", "▌": "=", "▍": "-", "▎": "-", "▏": "-", "○": "o", "●": "*",
    "│": "|", "─": "-", "└": "+", "“": '"', "”": '"', "‘": "'", "’": "'", "–": "-", "—": "-",
    "\u2068": "", "\u2069": "", "␊": "\\n", "␛": "\\e", "⁻": "^-", "ⁿ": "^n",
    "✓": "+", "✗": "x", "›": ">",
}  # fmt: skip
_SPELL |= {raised: f"^{digit}" for digit, raised in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")}
_SPELL |= PLAIN | dict.fromkeys("┤┬", "+")


def _spell(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    spelled = [_SPELL.get(char, char.encode("ascii", "backslashreplace").decode()) for char in missing]
    return "".join(spelled), error.end


codecs.register_error("riverhead.spell", _spell)


def text(scene: Scene, width: int = 80, colour: bool = False) -> str:
    """Return the scene as lines no wider than ``width``, with ANSI colours if ``colour``."""
    sheet = StringIO()
    console = Console(
        file=sheet, width=width, force_terminal=colour, color_system="truecolor" if colour else None,
        legacy_windows=False, force_jupyter=False, _environ={},
    )  # fmt: skip
    show(scene, console)
    return sheet.getvalue()


def show(scene: Scene, console: Console) -> None:
    """Print the scene to ``console``, in its width, its colours and its encoding."""
    for line in lines(scene, console):
        console.print(line, soft_wrap=True, highlight=False)


def lines(scene: Scene, console: Console) -> list[Line]:
    """Return the lines that `show` prints."""
    found = Terminal(console).sheet(scene)
    if console.color_system is None:  # a shade's last space is a space
        for line in found:
            line.rstrip()
    return found


class Terminal(Walker[list[Line]]):
    """Turns each part into styled lines of at most ``width`` characters."""

    def __init__(self, console: Console) -> None:
        self.console, self.encoding = console, console.encoding
        self.width = max(console.width, NARROWEST)
        self.indent = INDENT
        self.formulas = Plain(self.leaf)

    # words

    def leaf(self, raw: str) -> str:
        """Every piece of text passes here: visible, isolated, spelled in the terminal's characters."""
        return self.spell(isolate(visible(raw)))

    def spell(self, raw: str) -> str:
        """``raw`` in the characters that the terminal's encoding has."""
        return raw.encode(self.encoding, "riverhead.spell").decode(self.encoding)

    def inline(self, run: str | Math) -> str:
        """Words or a formula, in one line."""
        return self.leaf(run) if isinstance(run, str) else self.spell(self.formulas.walk(run))

    def wrap(self, line: Line, indent: int, hang: int = 0) -> list[Line]:
        """``line`` folded at spaces into the width, ``indent`` from the margin, later lines ``hang`` more."""
        hang = hang if indent + line.cell_len > self.width else 0
        pieces = folded(self.console, line, self.width - indent - hang)
        for at, piece in enumerate(pieces):
            piece.pad_left(indent + (hang if at else 0))
        return pieces

    # the sheet

    def sheet(self, scene: Scene) -> list[Line]:
        """The title and every part."""
        title = self.wrap(Line(self.leaf(scene.title), STYLES["heading"]), 0) if scene.title else []
        return self.below(title, scene.parts)

    def below(self, lines: list[Line], parts: tuple[Part, ...], above: Part | None = None) -> list[Line]:
        """``lines`` and, under them, ``parts``, with air above headings, around grids and long paragraphs."""
        tall = False  # whether the part above is a long paragraph
        for part, after in zip_longest(parts, parts[1:]):
            heads = bool(lines) and (above is None or _heading(above)) and type(part) is not type(after)
            if heads and (formula := _beside(part)) and self.beside(lines[-1], formula):
                continue
            drawn = self.walk(part)
            was_tall, tall = tall, isinstance(part, Text) and not _heading(part) and len(drawn) >= TALL
            if lines and (_apart(above, part) or was_tall or (tall and not _heading(above))):
                lines.append(Line())
            lines += drawn
            above = part
        return lines

    def beside(self, heading: Line, runs: tuple[str | Math, ...]) -> bool:
        """Set a short formula at the right end of the heading above it; False if it does not fit."""
        shown = "".join(map(self.inline, runs))
        used = heading.cell_len + Line(shown).cell_len
        room = max(min(self.width, BROAD) - used, min(self.width - used, GAP))
        if room >= GAP:
            heading.append(" " * room + shown, "not bold")
        return room >= GAP

    # parts

    def text(self, part: Text) -> list[Line]:
        """A heading at the margin, prose and notes under it."""
        runs, formula = aside(part) if part.role == "heading" else (part.runs, None)
        line = Line("".join(map(self.inline, runs)), STYLES[part.role])
        hang = len(BULLET) if line.plain.startswith(self.spell(BULLET)) else 0
        lines = self.wrap(line, 0 if part.role == "heading" else self.indent, hang)
        if formula is not None and not self.beside(lines[-1], (formula,)):
            lines += self.formula(Formula(formula))
        return lines

    def formula(self, part: Formula) -> list[Line]:
        """The formula, and what each of its symbols means."""
        room = self.width - self.indent - 2 * INDENT
        lines: list[Line] = []
        for piece in _at_relations(self.inline(part.math), room):
            lines += self.wrap(Line(piece), self.indent + (2 * INDENT if lines else INDENT), hang=INDENT)
        return lines + self.grid(Grid((None, None), part.terms, (False, False)), INDENT)

    def table(self, part: Table) -> list[Line]:
        """Rows under a header, below the caption."""
        caption = self.wrap(Line(self.leaf(part.caption)), self.indent) if part.caption else []
        return caption + self.grid(grid(part))

    def matrix(self, part: Matrix) -> list[Line]:
        """A grid with the matrix's name in the corner."""
        return self.grid(grid(part), limit=3 * LABEL)

    def plane(self, part: Plane) -> list[Line]:
        """A plot in characters over a table of the moves."""
        caption = self.wrap(Line(self.leaf(part.caption)), self.indent) if part.caption else []
        plot = chart(part, self.width - self.indent, self.leaf)
        rows = tuple((arrow.label, place(arrow.start), "→", place(arrow.end)) for arrow in part.arrows)
        focus = next((at for at, arrow in enumerate(part.arrows) if arrow.focus), None)
        moves = self.grid(Grid((None, "before", None, "after"), rows, (False,) * 4, focus))
        axes = Line(self.leaf(f"→ {part.axes[0]}   ↑ {part.axes[1]}"), STYLES["note"])
        drawn = [Line(self.spell(" " * self.indent + line).rstrip()) for line in plot]
        return [*caption, *drawn, *self.wrap(axes, self.indent), *moves]

    def heatmap(self, part: Heatmap) -> list[Line]:
        """The map in shades over the key to them, below the caption."""
        coloured = self.console.color_system in ("256", "truecolor")
        drawn = HeatText(part, self.width - self.indent, coloured, self.leaf, self.spell)
        return self.drawing(part.caption, drawn)

    def lines(self, part: Lines) -> list[Line]:
        """The chart over its key, below the caption and what has to be said."""
        drawn = LinesText(part, self.width - self.indent, self.leaf, self.spell)
        return self.drawing(captioned(part, drawn.chart.notes), drawn)

    def drawing(self, caption: str, drawn: HeatText | LinesText) -> list[Line]:
        """What is drawn in characters over its key, below the caption."""
        lines = self.wrap(Line(self.leaf(caption)), self.indent) if caption else []
        for line in drawn.lines():
            line.pad_left(self.indent)
            lines.append(line)
        for line in drawn.key():
            lines += self.wrap(line, self.indent)
        return lines

    def code(self, part: Code) -> list[Line]:
        """Source text as it is, folded where it is too wide."""
        lines: list[Line] = []
        for source in visible_lines(part.text):
            lines += self.wrap(Line(self.spell(source)), self.indent + INDENT)
        return lines

    def quote(self, part: Quote) -> list[Line]:
        """What is said, never folded: its place is a link, and editors read it; the line and its carets."""
        said = Line.assemble((self.leaf(part.place), "bold"), ": ", self.leaf(part.said))
        pieces = quoted(part, self.width - self.indent - INDENT, self.spell)
        before, stretch, after = (self.spell(isolate(piece)) for piece in pieces)
        line = Line.assemble(before, (stretch, "bold"), after)
        carets = Line(pointed(pieces)[1], "red")
        for under in (line, carets):
            under.pad_left(self.indent + INDENT)
        note = self.wrap(Line(self.leaf(part.note)), self.indent + INDENT) if part.note else []
        return [said, line, carets, *note]

    def fold(self, part: Fold) -> list[Line]:
        """One line while closed; its parts, further in, while open."""
        summary = self.wrap(
            Line(self.spell("▾ " if part.open else "▸ ") + self.leaf(part.summary)), self.indent
        )
        if not part.open:
            return summary
        indent = self.indent
        self.indent = min(indent + INDENT, self.width // 3)
        lines = self.below(summary, part.parts, above=HEADING)
        self.indent = indent
        return lines

    # cells

    def cell(self, cell: Cell, limit: int | None = None) -> Line:
        """One cell on one line; a token longer than ``limit`` ends in …."""
        match cell:
            case None:
                return Line()
            case Bar():
                return Line(self.spell(bar(cell.fraction, BAR)), STYLES["bar"])
            case str() if limit is not None and len(pieces := chop_cells(visible(cell), limit)) > 1:
                return Line(self.leaf(pieces[0] + "…"))
            case _:
                return Line(self.inline(cell))

    def grid(self, shown: Grid, inward: int = 0, limit: int | None = None) -> list[Line]:
        """A grid in the width that is left, ▸ at its focus row."""
        cells = [[self.cell(cell, limit) for cell in row] for row in (shown.head, *shown.rows)]
        _widen_bars(shown, cells)
        indent = self.indent + inward
        lay = Columns(self.console, self.width - indent, LABEL if limit else None)
        lines = []
        for row, line in lay.lines(shown, cells):
            mark = self.spell("▸ ") if row is not None and row == shown.focus else ""
            lines.append(Line(mark.rjust(indent)).append(line) if line else line)
        return lines


def _widen_bars(shown: Grid, cells: list[list[Line]]) -> None:
    """Make a bar as wide as the numbers of its column, so that both begin at the same place."""
    for row, lines in zip(shown.rows, cells[1:], strict=True):
        for j, cell in enumerate(row):
            if isinstance(cell, Bar) and shown.right[j]:
                column = zip(shown.rows, cells[1:], strict=True)
                numbers = (drawn[j].cell_len for other, drawn in column if isinstance(other[j], Number))
                lines[j].pad_right(max(0, max(numbers) - lines[j].cell_len))


def _heading(part: Part | None) -> bool:
    return isinstance(part, Text) and part.role == "heading"


def _beside(part: Part) -> tuple[str | Math, ...]:
    """What of ``part`` may stand beside a heading: a formula, or a text that begins with one."""
    if isinstance(part, Formula) and not part.terms:
        return (part.math,)
    return part.runs if isinstance(part, Text) and begins_with_formula(part) else ()


def _apart(above: Part | None, part: Part) -> bool:
    """Whether a blank line stands over ``part``: heading, plot, quote, grid not right under a heading."""
    grid = isinstance(part, Table | Matrix | Heatmap | Lines)
    return _heading(part) or isinstance(part, Plane | Quote) or (grid and not _heading(above))


def _at_relations(formula: str, room: int) -> list[str]:
    """A formula in lines that begin with their = or →, where one line does not hold it."""
    lines: list[str] = []
    for piece in re.split(" (?=[=≈→] )", formula):
        if lines and len(lines[-1]) + 1 + len(piece) <= room:
            lines[-1] += " " + piece
        else:
            lines.append(piece)
    return lines
