"""A table or a matrix in LaTeX: as many tabulars, side by side columns and rows of a page, as it takes."""

from __future__ import annotations

from collections.abc import Iterator

from rich.cells import cell_len

from riverhead.numbers import Number
from riverhead.render.grid import Grid, clamp, fit, groups, told
from riverhead.render.latex_math import BLUE, inline
from riverhead.render.letters import visible
from riverhead.render.plain import Plain
from riverhead.scene import Bar, Cell

__all__ = ["tabulars"]

LINE = 78  # letters in a line of the document
PAGE = 40  # rows of a table that stand on one page
GAP = 3  # letters between columns
EM = 0.52  # em of a letter
BAR = 5.0  # em of a bar that says 1
POINTER = rf"\llap{{\textcolor[HTML]{{{BLUE}}}{{$\triangleright$}}\ }}"


def tabulars(shown: Grid) -> Iterator[str]:
    """Yield the grid as ``tabular`` environments that fit a page."""
    natural = [max(map(_letters, column)) for column in zip(shown.head, *shown.rows, strict=True)]
    widths = fit(natural, shown.right, GAP, LINE)
    for columns in groups(widths, GAP, LINE):
        spec = "".join(_column(shown.right[j], natural[j], widths[j]) for j in columns)
        drawn = [_row(shown, i, columns) for i in told(shown, columns)]
        for first in range(0, max(len(drawn), 1), PAGE):
            head = [_row(shown, -1, columns), r"\midrule"] if any(map(_letters, shown.head)) else []
            body = "\n".join([*head, *drawn[first : first + PAGE]])
            table = f"\\begin{{tabular}}{{@{{}}{spec}@{{}}}}\n{body}\n\\end{{tabular}}"
            yield rf"\par\hspace*{{1.5em}}{table}\par"


def _letters(cell: Cell) -> int:
    match cell:
        case None:
            return 0
        case Bar():
            return round(BAR * clamp(cell.fraction) / EM)
        case str():
            return cell_len(visible(cell))
        case _:
            return cell_len(Plain().walk(cell))


def _column(right: bool, natural: int, width: int) -> str:
    if width >= natural:
        return "r" if right else "l"
    side = "left" if right else "right"
    return rf">{{\ragged{side}\arraybackslash}}p{{{width * EM:.2f}em}}"


def _row(shown: Grid, i: int, columns: list[int]) -> str:
    cells = [_cell(shown, i, j) for j in columns]
    if i == shown.focus:
        cells = [POINTER + cells[0], *cells[1:]]
    return " & ".join(cells) + r" \\"


def _cell(shown: Grid, i: int, j: int) -> str:
    cell = (shown.rows[i] if i >= 0 else shown.head)[j]
    if cell is None:
        return ""
    if isinstance(cell, Bar):
        long = BAR * clamp(cell.fraction)
        wide = max([long] + [EM * _letters(row[j]) for row in shown.rows if isinstance(row[j], Number)])
        rule = rf"\textcolor[HTML]{{{BLUE}}}{{\rule{{{long:.2f}em}}{{0.6em}}}}"
        return rf"\makebox[{wide:.2f}em][l]{{{rule}}}"
    drawn = inline(cell)
    if i == shown.focus:
        drawn = rf"\textbf{{\boldmath {drawn}}}"
    if (i, j) == shown.spot:
        drawn = rf"{{\setlength{{\fboxsep}}{{2pt}}\fcolorbox[HTML]{{{BLUE}}}{{FFFFFF}}{{{drawn}}}}}"
    if shown.shade and i >= 0 and isinstance(cell, Number):
        return rf"\cellcolor[HTML]{{{_tint(0.65 * clamp(cell.value))}}}{drawn}"
    return drawn


def _tint(share: float) -> str:
    """The blue mixed into white, as hexadecimal."""
    channels = (int(BLUE[k : k + 2], 16) for k in (0, 2, 4))
    return "".join(f"{round(255 + (channel - 255) * share):02X}" for channel in channels)
