"""A scene as HTML: one file without scripts or network, or a fragment with its own styles for notebooks."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from riverhead.numbers import Number
from riverhead.render.figure import ACCENT, described, figure
from riverhead.render.grid import Grid, clamp, grid
from riverhead.render.heat import described as heat_described
from riverhead.render.heat_figure import heat_figure
from riverhead.render.letters import isolate, visible, visible_lines
from riverhead.render.lines import captioned
from riverhead.render.lines import described as lines_described
from riverhead.render.lines_figure import lines_figure
from riverhead.render.markup import tag
from riverhead.render.mathml import mathml
from riverhead.render.plain import pieces
from riverhead.render.quote import quoted
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
    Plane,
    Quote,
    Scene,
    Table,
    Text,
)

__all__ = ["fragment", "page"]

BREAK = "\u200b"  # a line may end here
LINE = 96  # characters of a quoted line
LONG = 30  # characters of a cell that stay on one line; the table scrolls

# Every rule begins with .riverhead, so that a fragment leaves the page around it alone. Colours are the
# page's own, light or dark; shades are see-through.
STYLE = """
.riverhead{max-width:52rem;line-height:1.5;font-family:system-ui,sans-serif;overflow-wrap:anywhere}
.riverhead h1,.riverhead h2,.riverhead h3,.riverhead h4{line-height:1.25;margin:1.6em 0 .5em}
.riverhead p,.riverhead dl,.riverhead figure,.riverhead details{margin:.6em 0}
.riverhead .note{opacity:.75;font-size:.92em}
.riverhead .formula{overflow-x:auto;overflow-y:hidden;margin:.8em 0 .8em 1.5em;font-size:1.1em;line-height:2}
.riverhead math{font-size:1.06em}
.riverhead mtext{font-family:system-ui,sans-serif}
.riverhead dl{display:grid;grid-template-columns:max-content 1fr;gap:.2em 1.2em;margin-left:1.5em}
.riverhead dd{margin:0}
.riverhead .scroll{overflow-x:auto;margin:.8em 0}
.riverhead table{border-collapse:collapse;font-size:1em;font-variant-numeric:tabular-nums;color:inherit;
overflow-wrap:normal}
.riverhead caption{text-align:left;padding:.2em 0}
.riverhead th,.riverhead td{padding:.25em .8em;text-align:left;vertical-align:baseline;border:0;
white-space:pre;background:none;color:inherit}
.riverhead td.long,.riverhead th.long{white-space:pre-wrap;overflow-wrap:anywhere;min-width:18em}
.riverhead thead th{border-bottom:1px solid;font-weight:600}
.riverhead tbody th{font-weight:400}
.riverhead .n{text-align:right}
.riverhead .focus>*{font-weight:700}
.riverhead .focus>:first-child::before{content:"▸";position:absolute;margin-left:-.85em}
.riverhead .spot{outline:2px solid ACCENT;outline-offset:-2px;border-radius:3px}
.riverhead .bar{display:inline-block;min-width:5ch;text-align:left}
.riverhead .bar span{display:inline-block;height:.8em;background:ACCENT;border-radius:2px}
.riverhead svg{max-width:100%;height:auto}
.riverhead figcaption{margin-bottom:.4em}
.riverhead pre{overflow-x:auto;padding:.8em 1em;border:1px solid;border-radius:6px;font-size:.92em}
.riverhead .quote{margin:1.2em 0}
.riverhead .quote pre{margin:.4em 0}
.riverhead mark{background:none;color:inherit;font-weight:700;border-bottom:2px solid ACCENT}
.riverhead summary{cursor:pointer}
.riverhead details>*{margin-left:1.2em}
.riverhead details>summary{margin-left:0}
.riverhead .head{display:flex;flex-wrap:wrap;justify-content:space-between;align-items:baseline;gap:0 2em}
.riverhead .head p{margin-left:auto}
.riverhead *{print-color-adjust:exact;-webkit-print-color-adjust:exact}
@media print{.riverhead .scroll,.riverhead pre{overflow:visible;white-space:pre-wrap}
.riverhead th,.riverhead td{padding:.25em .4em;white-space:pre-wrap;overflow-wrap:anywhere}
.riverhead td.n{white-space:pre}.riverhead table{font-size:.85em}
.riverhead tr,.riverhead figure,.riverhead .formula{break-inside:avoid}
.riverhead h2{break-after:avoid}.riverhead details::details-content{content-visibility:visible}}
""".replace("ACCENT", ACCENT).strip()

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
:root{{color-scheme:light dark}}
body{{margin:1.5rem;display:flex;justify-content:center}}
.riverhead{{flex:1;min-width:0}}
{style}
</style>
</head>
<body>
<main class="riverhead">
{body}
</main>
</body>
</html>
"""


def page(scene: Scene, width: int = 80, colour: bool = False) -> str:
    """Return a whole HTML document; the browser chooses width and colours."""
    body = "\n".join(HTML(heading=1).sheet(scene))
    return PAGE.format(title=escape(visible(scene.title)), style=STYLE, body=body)


def fragment(scene: Scene, width: int = 80, colour: bool = False) -> str:
    """Return a ``<section>`` that brings its styles along, for a notebook's cell."""
    body = "\n".join(HTML(heading=3).sheet(scene))
    return f'<section class="riverhead">\n<style>\n{STYLE}\n</style>\n{body}\n</section>\n'


def words(text: str) -> str:
    """Return ``text`` escaped, in a ``<bdi>`` where it runs from right to left."""
    shown = visible(text)
    return tag("bdi", escape(shown)) if isolate(shown) != shown else escape(shown)


def inline(run: str | Math, display: bool = False) -> str:
    """Return words or a formula within a line; no browser breaks a ``<math>``, so a long one is several."""
    if isinstance(run, str):
        return words(run)
    return BREAK.join(mathml(piece, display) for piece in pieces(run, long=24))


class HTML(Walker[str]):
    """One element a part; ``heading`` is the title's level."""

    def __init__(self, heading: int) -> None:
        self.heading = heading

    def sheet(self, scene: Scene) -> Iterator[str]:
        """The title and every part."""
        if scene.title:
            yield tag(f"h{self.heading}", words(scene.title))
        yield from map(self.walk, scene.parts)

    def text(self, part: Text) -> str:
        """A heading or a paragraph."""
        if part.role != "heading":
            display = begins_with_formula(part)
            inside = (inline(run, display) for run in part.runs)
            return tag("p", *inside, class_="note" if part.role == "note" else None)
        runs, formula = aside(part)
        heading = tag(f"h{self.heading + 1}", *map(inline, runs))
        return heading if formula is None else tag("div", heading, tag("p", inline(formula)), class_="head")

    def formula(self, part: Formula) -> str:
        """A formula, broken at its signs where it is long, over what its symbols mean."""
        shown = tag("div", inline(part.math, display=True), class_="formula")
        terms = [tag("dt", mathml(symbol)) + tag("dd", words(meaning)) for symbol, meaning in part.terms]
        return shown + (tag("dl", *terms) if terms else "")

    def table(self, part: Table) -> str:
        """Rows under a header."""
        return _table(grid(part))

    def matrix(self, part: Matrix) -> str:
        """A table with the matrix's name in the corner."""
        return _table(grid(part))

    def plane(self, part: Plane) -> str:
        """A drawing, with its moves in words for those who do not see it."""
        return _drawing(part.caption, described(part), *figure(part))

    def heatmap(self, part: Heatmap) -> str:
        """A drawing, with its largest number in words."""
        drawn = heat_figure(part)
        return _drawing(part.caption, heat_described(part), *drawn)

    def lines(self, part: Lines) -> str:
        """A drawing, with its lines in words."""
        notes, drawn = lines_figure(part)
        return _drawing(captioned(part, notes), lines_described(part), *drawn)

    def code(self, part: Code) -> str:
        """Source text as it is."""
        return tag("pre", tag("code", escape("\n".join(visible_lines(part.text)))))

    def quote(self, part: Quote) -> str:
        """The line with its stretch marked, below where it stands and what is said of it."""
        before, stretch, after = map(words, quoted(part, LINE))
        said = tag("figcaption", tag("code", words(part.place)), f": {words(part.said)}")
        line = tag("pre", tag("code", before, tag("mark", stretch), after))
        note = tag("p", words(part.note), class_="note") if part.note else ""
        return tag("figure", said, line, note, class_="quote")

    def fold(self, part: Fold) -> str:
        """Details that the reader opens."""
        inside = (tag("summary", words(part.summary)), *map(self.walk, part.parts))
        return tag("details", *inside, open="" if part.open else None)


def _drawing(caption: str, said: str, width: float, height: float, shapes: str) -> str:
    box = f"0 0 {width:.0f} {height:.0f}"
    drawing = tag("svg", shapes, role="img", aria_label=said, viewBox=box, width=width, height=height)
    return tag("figure", tag("figcaption", words(caption)) if caption else "", drawing)


def _table(shown: Grid) -> str:
    caption = tag("caption", words(shown.caption)) if shown.caption else ""
    head = [
        tag("th", _cell(cell), scope="col", class_=_marks(shown, -1, j)) for j, cell in enumerate(shown.head)
    ]
    named = any(cell not in (None, "") for cell in shown.head)
    rows = [_row(shown, i) for i in range(len(shown.rows))]
    body = (tag("thead", tag("tr", *head)) if named else "", tag("tbody", "\n".join(rows)))
    return tag("div", tag("table", caption, *body), class_="scroll")


def _row(shown: Grid, i: int) -> str:
    cells = (_data(shown, i, j) for j in range(len(shown.head)))
    return tag("tr", *cells, class_="focus" if i == shown.focus else None)


def _data(shown: Grid, i: int, j: int) -> str:
    cell = shown.rows[i][j]
    if j == 0 and not shown.right[0]:
        return tag("th", _cell(cell), scope="row", class_=_marks(shown, i, j))
    weight = clamp(cell.value) if shown.shade and isinstance(cell, Number) else 0
    shade = f"background:rgba(47,125,225,{0.65 * weight:.3f})" if weight else None
    return tag("td", _cell(cell), class_=_marks(shown, i, j), style=shade)


def _marks(shown: Grid, i: int, j: int) -> str | None:
    cell = shown.rows[i][j] if i >= 0 else shown.head[j]
    long = isinstance(cell, str) and len(cell) > LONG
    marks = {"n": shown.right[j], "long": long, "spot": shown.spot == (i, j)}
    return " ".join(name for name, holds in marks.items() if holds) or None


def _cell(cell: Cell) -> str:
    match cell:
        case None:
            return ""
        case Bar():
            share = clamp(cell.fraction)
            bar = tag("span", style=f"width:{7 * share:.3f}em")
            return tag("span", bar, class_="bar", role="img", aria_label=f"{share:.0%}")
        case Number():
            return words(cell.text)
        case str():
            return words(cell)
        case _:
            return mathml(cell)
