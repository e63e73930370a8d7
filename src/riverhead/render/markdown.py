"""A scene as GitHub-flavoured Markdown that also reads well as plain text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

from rich.cells import cell_len

from riverhead.render.grid import Grid, bar, grid
from riverhead.render.heat_text import HeatText
from riverhead.render.letters import isolate, visible, visible_lines
from riverhead.render.lines import captioned
from riverhead.render.lines_canvas import PLAIN
from riverhead.render.lines_table import lines_table
from riverhead.render.lines_text import LinesText
from riverhead.render.plain import Plain
from riverhead.render.plane import place
from riverhead.render.quote import pointed, quoted
from riverhead.render.walk import Walker, aside
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
    Plane,
    Quote,
    Scene,
    Table,
    Text,
)

__all__ = ["markdown"]

BAR = 10  # characters of a bar that says 1
LINE = 100  # characters of a heat map
CHART = 76  # of a line chart
_PLAIN = str.maketrans(PLAIN)  # on web pages, braille is rarely as wide as other signs

# what could be markup; an underscore before a letter can end nothing, so q_bank stays readable
_MARKUP = re.compile(r"[\\`*{}\[\]~$#]|_(?!\w)|(?<=_)_|_(?=_)")
_ENTITIES = re.compile(r"[<>&|]|[^\S ]|:(?=//)|(?<=www)\.")  # also spaces other than the usual one
_NAMED = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}
_OPENING = re.compile(r"^(?: +|[-+=]|\d+(?=[.)](?: |$)))")  # indented code, a list or a rule


def markdown(scene: Scene, width: int = 80, colour: bool = False) -> str:
    """Return the scene as Markdown; tables are as wide as they need."""
    title = [f"# {words(scene.title)}"] if scene.title else []
    return "\n\n".join(filter(None, [*title, *map(Markdown().walk, scene.parts)])) + "\n"


def words(run: str | Math) -> str:
    """Return words or a formula, escaped: what could be markup shows as it is.

    >>> words("*a* q_bank |b| </script>")
    '\\\\*a\\\\* q_bank &#124;b&#124; &lt;/script&gt;'
    """
    shown = isolate(visible(run)) if isinstance(run, str) else _FORMULAS.walk(run)
    shown = _MARKUP.sub(r"\\\g<0>", shown)
    return _ENTITIES.sub(lambda found: _entity(found.group()), shown)


def _entity(char: str) -> str:
    return _NAMED.get(char) or f"&#{ord(char)};"


_FORMULAS = Plain(lambda raw: isolate(visible(raw)))


def paragraph(runs: tuple[str | Math, ...]) -> str:
    """Return running text that nothing at its beginning turns into something else."""
    shown = "".join(map(words, runs))
    return _OPENING.sub(lambda found: _opened(found.group()), shown)


def _opened(start: str) -> str:
    if start.startswith(" "):
        return "&#32;" * len(start)
    return f"\\{start}" if start in "-+=" else f"{start}\\"


class Markdown(Walker[str]):
    """One block a part."""

    def text(self, part: Text) -> str:
        """A heading or a paragraph."""
        if part.role != "heading":
            return paragraph(part.runs)
        runs, formula = aside(part)
        below = f"\n\n> {paragraph((formula,))}" if formula is not None else ""
        return f"## {''.join(map(words, runs))}{below}"

    def formula(self, part: Formula) -> str:
        """A formula set apart, and what its symbols mean."""
        terms = "".join(f"\n- {words(symbol)}: {words(meaning)}" for symbol, meaning in part.terms)
        return f"> {paragraph((part.math,))}" + (f"\n{terms}" if terms else "")

    def table(self, part: Table) -> str:
        """A table under its caption."""
        caption = paragraph((part.caption,)) + "\n\n" if part.caption else ""
        return caption + "\n".join(_table(grid(part)))

    def matrix(self, part: Matrix) -> str:
        """A table with the matrix's name in the corner."""
        return "\n".join(_table(grid(part)))

    def plane(self, part: Plane) -> str:
        """The moves as a table."""
        rows = tuple((arrow.label, place(arrow.start), place(arrow.end)) for arrow in part.arrows)
        focus = next((at for at, arrow in enumerate(part.arrows) if arrow.focus), None)
        return self.table(Table((None, "before", "after"), rows, part.caption, focus))

    def heatmap(self, part: Heatmap) -> str:
        """The map in shades and the key to them, as a fenced block below the caption."""
        drawn = HeatText(part, LINE, False, lambda label: isolate(visible(label)), str)
        return self.drawing(part.caption, drawn)

    def lines(self, part: Lines) -> str:
        """A few points as a table; many as a chart and its key, as a fenced block below the caption."""
        table = lines_table(part)
        if table is not None:
            return self.table(table)
        drawn = LinesText(
            part, CHART, lambda label: isolate(visible(label)), lambda raw: raw.translate(_PLAIN)
        )
        return self.drawing(captioned(part, drawn.chart.notes), drawn)

    def drawing(self, caption: str, drawn: HeatText | LinesText) -> str:
        """What is drawn in characters over its key, fenced, below the caption."""
        above = paragraph((caption,)) + "\n\n" if caption else ""
        lines = (line.plain.rstrip() for line in (*drawn.lines(), *drawn.key()))
        return above + self.fenced("\n".join(lines))

    def code(self, part: Code) -> str:
        """Source text as it is."""
        language = "".join(re.findall("[A-Za-z0-9+#-]", part.language))
        return self.fenced("\n".join(visible_lines(part.text)), language)

    def quote(self, part: Quote) -> str:
        """The line and its carets as a fenced block, between what is said of it."""
        lines = pointed(tuple(map(isolate, quoted(part, LINE))))
        said = paragraph((f"{part.place}: {part.said}",))
        below = [paragraph((part.note,))] if part.note else []
        return "\n\n".join([said, self.fenced("\n".join(lines)), *below])

    def fenced(self, text: str, language: str = "") -> str:
        """A block fenced with more backticks than it holds."""
        fence = "`" * max([3, *(len(run) + 1 for run in re.findall("`+", text))])
        return f"{fence}{language}\n{text}\n{fence}"

    def fold(self, part: Fold) -> str:
        """Details that open, as HTML."""
        inside = "\n\n".join(map(self.walk, part.parts))
        opened = " open" if part.open else ""
        summary = escape(isolate(visible(part.summary)))
        return f"<details{opened}><summary>{summary}</summary>\n\n{inside}\n\n</details>"


def _table(shown: Grid) -> Iterator[str]:
    """The lines of a table, its columns as wide as their widest cell."""
    rows = [list(map(_cell, row)) for row in (shown.head, *shown.rows)]
    if shown.focus is not None:
        rows[shown.focus + 1][0] = f"▸ {rows[shown.focus + 1][0]}"
    if shown.spot is not None:
        i, j = shown.spot
        rows[i + 1][j] = f"**{rows[i + 1][j]}**"
    widths = [max(3, *map(cell_len, column)) for column in zip(*rows, strict=True)]
    rule = [
        "-" * (width - 1) + (":" if right else "-") for width, right in zip(widths, shown.right, strict=True)
    ]
    for row in (rows[0], rule, *rows[1:]):
        cells = zip(row, widths, shown.right, strict=True)
        yield f"| {' | '.join(_padded(cell, width, right) for cell, width, right in cells)} |"


def _cell(cell: Cell) -> str:
    match cell:
        case None:
            return ""
        case Bar():
            return bar(cell.fraction, BAR)
        case _:
            return words(cell)


def _padded(cell: str, width: int, right: bool) -> str:
    space = " " * (width - cell_len(cell))
    return space + cell if right else cell + space
