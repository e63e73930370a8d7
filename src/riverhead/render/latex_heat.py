"""A heat map as a LaTeX picture: PDF drawing commands for the shades, LaTeX for the labels."""

from __future__ import annotations

from collections.abc import Iterator

from riverhead.render.heat_layout import BROKEN, HeatDrawing, Mark, draw_heat
from riverhead.render.latex_math import BLUE, escaped
from riverhead.scene import Heatmap

__all__ = ["heat_picture"]

UNIT = 0.62  # PDF points of a pixel
MOST = 128  # cells along a side: TeX keeps them all in its memory
WRONG = (0.85, 0.28, 0.06)  # of what is not finite
FULL = tuple(int(BLUE[k : k + 2], 16) / 255 for k in (0, 2, 4))


def heat_picture(part: Heatmap) -> str:
    """Return ``part`` as a ``picture`` environment."""
    drawn = draw_heat(part, MOST)
    shades = " ".join(_strokes(drawn))
    marks = (_put(mark, drawn.height) for mark in drawn.marks)
    body = "\n".join([rf"\put(0,0){{\pdfextension literal{{q {shades} Q}}}}", *marks])
    drawing = f"\\begin{{picture}}({drawn.width:.0f},{drawn.height:.0f})\n{body}\n\\end{{picture}}"
    return rf"{{\par\setlength{{\unitlength}}{{{UNIT}bp}}{drawing}\par}}"


def _put(mark: Mark, height: float) -> str:
    side = "r" if mark.anchor == "end" else "l"
    box = rf"\makebox(0,0)[b{side}]{{\scriptsize\smash{{{escaped(mark.text)}}}}}"
    if mark.turned:
        box = rf"\pdfextension save\pdfextension setmatrix{{0 1 -1 0}}{box}\pdfextension restore"
    return rf"\put({mark.x:.1f},{height - mark.y:.1f}){{{box}}}"


def _strokes(drawn: HeatDrawing) -> Iterator[str]:
    """The drawing in PDF's own operators, y upwards."""

    def box(x: float, y: float, width: float, height: float) -> str:
        numbers = (x, drawn.height - y - height, width, height)
        return " ".join(f"{number * UNIT:.2f}" for number in numbers) + " re"

    for share, boxes in drawn.boxes.items():
        colour = WRONG if share == BROKEN else tuple(1 + (channel - 1) * share for channel in FULL)
        yield " ".join(f"{channel:.3f}" for channel in colour) + " rg"
        yield from (box(*each) for each in boxes)
        yield "f"
    yield f"0.7 G 0.4 w {box(*drawn.frame)} S"
