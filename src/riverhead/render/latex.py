"""A scene as LaTeX: a document for LuaLaTeX, or a fragment to put into one's own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from riverhead.render.grid import Grid, grid
from riverhead.render.latex_heat import heat_picture
from riverhead.render.latex_lines import lines_picture
from riverhead.render.latex_math import escaped, inline, latex_math
from riverhead.render.latex_plane import picture
from riverhead.render.latex_table import tabulars
from riverhead.render.letters import visible_lines
from riverhead.render.lines import captioned
from riverhead.render.quote import pointed, quoted
from riverhead.render.walk import Walker, aside, begins_with_formula, unfolded
from riverhead.scene import (
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

__all__ = ["document", "fragment", "pages"]

# Letters that Latin Modern lacks come from DejaVu Sans or a CJK font where the machine has them;
# what no font has is shown by its code.
PREAMBLE = r"""\documentclass[11pt]{article}
\usepackage[margin=2.2cm]{geometry}
\usepackage{fontspec}
\usepackage{amsmath}
\usepackage{booktabs}
\usepackage[table]{xcolor}
\setmainfont{Latin Modern Roman}
\IfFontExistsTF{DejaVu Sans}{\newfontface\rhsans{DejaVu Sans}}{\newcommand\rhsans{}}
\IfFontExistsTF{DejaVu Sans}{\newfontface\rharabic{DejaVu Sans}[Renderer=HarfBuzz,Script=Arabic]}
  {\newcommand\rharabic{}}
\IfFontExistsTF{Noto Sans CJK SC}{\newfontface\rhcjk{Noto Sans CJK SC}}{\newcommand\rhcjk{}}
\newcommand{\rhglyph}[2]{\iffontchar\font"#2 #1\else{\rhsans\iffontchar\font"#2 #1\else
  {\rhcjk\iffontchar\font"#2 #1\else{\normalfont\footnotesize\textdir TLT $\langle$#2$\rangle$}\fi}\fi}\fi}
\newcommand{\rhrtl}[1]{{\leavevmode\rharabic\textdir TRT #1}}
\setlength{\parindent}{0pt}
\setlength{\parskip}{0.5em}
\emergencystretch=3em
\begin{document}
"""
HEADER = r"""% needs LuaLaTeX with fontspec, amsmath, booktabs and [table]{xcolor}
\providecommand{\rhglyph}[2]{#1}
\providecommand{\rhrtl}[1]{{\leavevmode\textdir TRT #1}}
"""

LINE = 84  # typewritten letters in a line of the page

_LINE = re.compile(r"(.{2000}[^} \n]*(?:\}| (?=\S)))")  # TeX reads no line beyond 200,000 bytes


def document(scene: Scene, width: int = 80, colour: bool = False) -> str:
    """Return a document that LuaLaTeX compiles as it stands."""
    return pages((scene,))


def pages(scenes: Sequence[Scene]) -> str:
    """Return a document of several scenes, each begun on a new page."""
    return PREAMBLE + "\\clearpage\n".join(map(fragment, scenes)) + "\\end{document}\n"


def fragment(scene: Scene, width: int = 80, colour: bool = False) -> str:
    """Return what goes between ``\\begin{document}`` and ``\\end{document}``."""
    title = rf"\section*{{{escaped(scene.title)}}}" if scene.title else ""
    drawn = "\n".join([HEADER + title, *map(Latex().walk, unfolded(scene.parts))]) + "\n"
    return _LINE.sub(lambda found: found[1] + ("%\n" if found[1].endswith("}") else "\n"), drawn)


class Latex(Walker[str]):
    """One paragraph, table or picture a part."""

    def text(self, part: Text) -> str:
        """A heading or a paragraph."""
        if part.role == "heading":
            words, formula = aside(part)
            beside = rf"\hfill{{\normalfont\normalsize {inline(formula)}}}" if formula is not None else ""
            return rf"\subsection*{{{_runs(words)}{beside}}}"
        shown = (r"\everymath{\displaystyle}" if begins_with_formula(part) else "") + _runs(part.runs)
        if part.role == "note":
            return rf"{{\small\textcolor[gray]{{0.35}}{{{shown}}}\par}}"
        return rf"{{{shown}\par}}"

    def formula(self, part: Formula) -> str:
        """A formula that may break at its signs, and what its symbols mean."""
        shown = rf"{{\leftskip=3em\parindent=-1.5em\leavevmode $\displaystyle {latex_math(part.math)}$\par}}"
        terms = Grid((None, None), part.terms, (False, False))
        return shown + ("\n" + "\n".join(tabulars(terms)) if part.terms else "")

    def table(self, part: Table) -> str:
        """Rows under a header, below the caption."""
        return "\n".join([*_caption(part.caption), *tabulars(grid(part))])

    def matrix(self, part: Matrix) -> str:
        """A table with the matrix's name in the corner."""
        return "\n".join(tabulars(grid(part)))

    def plane(self, part: Plane) -> str:
        """A picture under its caption."""
        return "\n".join([*_caption(part.caption), picture(part)])

    def heatmap(self, part: Heatmap) -> str:
        """A picture under its caption."""
        return "\n".join([*_caption(part.caption), heat_picture(part)])

    def lines(self, part: Lines) -> str:
        """A picture under its caption and what has to be said."""
        notes, drawn = lines_picture(part)
        return "\n".join([*_caption(captioned(part, notes)), drawn])

    def code(self, part: Code) -> str:
        """Source text, line by line."""
        return _typewritten(visible_lines(part.text))

    def quote(self, part: Quote) -> str:
        """The line over its carets, between what is said of it."""
        said = rf"{{\texttt{{{escaped(part.place)}}}: {escaped(part.said)}\par\nopagebreak}}"
        note = rf"{{\small {escaped(part.note)}\par}}" if part.note else ""
        return f"{said}\n{_typewritten(pointed(quoted(part, LINE)))}{note}"

    def fold(self, part: Fold) -> str:
        """An open fold's summary over its parts."""
        summary = rf"\textit{{{escaped(part.summary)}}}\par"
        return "\n".join([summary, *map(self.walk, unfolded(part.parts))])


def _typewritten(lines: Iterable[str]) -> str:
    kept = (escaped(line.replace(" ", "\xa0")) for line in lines)
    body = "\n".join(rf"\noindent\strut {line}\par" for line in kept)
    return f"{{\\ttfamily\\small\\setlength{{\\parskip}}{{0pt}}\\raggedright\n{body}\n}}"


def _caption(caption: str) -> list[str]:
    return [rf"\textit{{{escaped(caption)}}}\par\nopagebreak"] if caption else []


def _runs(runs: tuple[str | Math, ...]) -> str:
    return "".join(map(inline, runs))
