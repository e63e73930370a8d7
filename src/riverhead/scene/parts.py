"""The parts a scene is made of; a part holds values and words, never markup."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from riverhead.display import Displayable
from riverhead.numbers import Number
from riverhead.scene.maths import Math

__all__ = [
    "Arrow",
    "Axis",
    "Bar",
    "Cell",
    "Code",
    "Fold",
    "Formula",
    "Heatmap",
    "Line",
    "Lines",
    "Matrix",
    "Part",
    "Plane",
    "Quote",
    "Scene",
    "Table",
    "Text",
]


@dataclass(frozen=True, slots=True)
class Text:
    """A line or a paragraph: words and formulas in running order.

    In a heading, a last formula that two spaces set apart from the words may stand at the line's end.
    """

    runs: tuple[str | Math, ...]
    role: Literal["heading", "prose", "note"] = "prose"


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula on its own line; ``terms`` annotates its symbols, one (symbol, meaning) a line."""

    math: Math
    terms: tuple[tuple[Math, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Bar:
    """A cell drawn as a bar, ``fraction`` (0 to 1) of the full width."""

    fraction: float


Cell = str | Number | Bar | Math | None  # None: an empty cell; a plain str is words, never markup


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells under a header; ``focus`` is the index of the row to point at."""

    columns: tuple[Cell, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""
    focus: int | None = None


@dataclass(frozen=True, slots=True)
class Matrix:
    """A labelled grid of numbers; ``focus`` marks a row, ``spot`` a cell, ``shade`` draws them as weights."""

    name: Math
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[Number | None, ...], ...]
    focus: int | None = None
    spot: tuple[int, int] | None = None
    shade: bool = False


@dataclass(frozen=True, slots=True)
class Arrow:
    """A labelled move in the plane from ``start`` to ``end``, inside the ``hull`` of what it attends to."""

    label: str
    start: tuple[float, float]
    end: tuple[float, float]
    hull: tuple[tuple[float, float], ...] = ()
    focus: bool = False


@dataclass(frozen=True, slots=True)
class Plane:
    """Vectors moving in the plane; ``axes`` names its two directions."""

    arrows: tuple[Arrow, ...]
    axes: tuple[str, str] = ("1", "2")
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Axis:
    """One side of a heat map: what it counts, and a label for each cell or what stands at the two ends.

    Labelled cells are numbered from ``first``.
    """

    name: str
    labels: tuple[str, ...] = ()
    ends: tuple[str, str] = ("", "")
    first: int = 0


@dataclass(frozen=True, slots=True)
class Heatmap:
    """Numbers from 0 up as shades, the largest the darkest; rows go down, columns to the right.

    Each of ``values`` is the largest of ``pooled`` (rows, columns) numbers.
    """

    values: tuple[tuple[float, ...], ...]
    rows: Axis
    columns: Axis
    caption: str = ""
    pooled: tuple[int, int] = (1, 1)


@dataclass(frozen=True, slots=True)
class Line:
    """A line through ``points``, dashed if ``predicted``; ``spread`` is the (low, high) around each point."""

    label: str
    points: tuple[tuple[float, float], ...]
    predicted: bool = False
    spread: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Lines:
    """A line chart; ``x`` and ``y`` say what its axes count, on a log axis by powers of ten.

    Points that an axis cannot hold (NaN, ∞, on a log axis 0 and below) are left out, and their number said.
    """

    lines: tuple[Line, ...]
    x: str
    y: str
    log_x: bool = False
    log_y: bool = False
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Code:
    """Source text, shown as it is."""

    text: str
    language: str = ""


@dataclass(frozen=True, slots=True)
class Quote:
    """A line of some source: ``place`` is where it stands, ``said`` what is to be said of it.

    The stretch of ``text`` from ``start`` to ``end`` is pointed at; ``note`` stands below.
    """

    place: str
    said: str
    text: str
    start: int
    end: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class Fold:
    """Details behind a one-line summary; ``open`` says whether they stand there from the start."""

    summary: str
    parts: tuple[Part, ...]
    open: bool = False


Part = Text | Formula | Table | Matrix | Plane | Heatmap | Lines | Code | Quote | Fold


@dataclass(frozen=True, slots=True)
class Scene(Displayable):
    """An ordered sheet of parts under a title; it prints as text and shows as HTML in a notebook.

    >>> print(Scene("bank", (Text(("leaves meaning river bank",)),)), end="")
    bank
      leaves meaning river bank
    """

    title: str
    parts: tuple[Part, ...]

    def scene(self) -> Scene:
        """Return itself."""
        return self
