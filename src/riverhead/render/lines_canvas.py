"""Lines drawn with braille dots, two by four in a character; bands and letters between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby, pairwise

from riverhead.render.lines import Curve
from riverhead.render.plane import Point

__all__ = ["PLAIN", "Canvas"]

DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))  # of a braille sign: four rows of two
DASH = 3  # dots of a dash, and of the gap after it
AGAIN = 3  # times that a line shows its letter

Cell = tuple[int, int]  # column, row; also of a dot


def _plain(bits: int) -> str:
    """A braille sign in ASCII: where the dots stand in the character."""
    rows = [row for row, pair in enumerate(DOTS) if bits & sum(pair)]
    if rows[-1] - rows[0] > 1:
        return "|"
    return "'" if rows[0] == 0 else "_" if rows[-1] == 3 else "-"


PLAIN = {chr(0x2800 + bits): _plain(bits) for bits in range(1, 256)}  # for those who have no braille


class Canvas:
    """``wide`` × ``tall`` characters, over which lines are drawn one after the other."""

    def __init__(self, wide: int, tall: int) -> None:
        self.wide, self.tall = wide, tall
        self.bits: dict[Cell, int] = {}
        self.signs: dict[Cell, str] = {}
        self.shaded: dict[Cell, str] = {}  # the colours of bands
        self.colours: dict[Cell, str] = {}  # and of all else

    def draw(self, curve: Curve, letter: str, colour: str, turn: float) -> None:
        """Draw a line, its band and its ``letter``, at another place for each ``turn`` (0 to 1)."""
        for lows, highs in curve.bands():
            self._fill(lows, highs, colour)
        paths = [list(self._path((spot.x, spot.y) for spot in piece)) for piece in curve.pieces]
        for path in paths:
            for k, dot in enumerate(path):
                if not curve.predicted or k // DASH % 2 == 0:
                    self._set(dot, colour)
            if len(path) == 1:  # a lone point; beside it where another line has one
                near = [(path[0][0] + aside, path[0][1]) for aside in (0, 2, -2, 4, -4)]
                self._sign(near, letter or "●", colour)
        dots = [dot for path in paths for dot in path]
        for k in range(AGAIN if letter else 0):
            self._sign(dots[int(len(dots) * (k + turn) / AGAIN) :], letter, colour)

    def row(self, row: int) -> Iterator[tuple[str, str]]:
        """Return each sign of a row and its colour."""
        for at in ((column, row) for column in range(self.wide)):
            if at in self.signs or at in self.bits:
                yield self.signs.get(at) or chr(0x2800 + self.bits[at]), self.colours[at]
            else:
                yield ("░", self.shaded[at]) if at in self.shaded else (" ", "")

    def _dot(self, x: float, y: float) -> Cell:
        return round(x * (2 * self.wide - 1)), round((1 - y) * (4 * self.tall - 1))

    def _set(self, dot: Cell, colour: str) -> None:
        at = _cell(dot)
        self.bits[at] = self.bits.get(at, 0) | DOTS[dot[1] % 4][dot[0] % 2]
        self.colours[at] = colour

    def _sign(self, dots: list[Cell], sign: str, colour: str) -> None:
        """Put ``sign`` into the first cell along ``dots`` that has none."""
        free = (at for at in map(_cell, dots) if at not in self.signs and 0 <= at[0] < self.wide)
        at = next(free, None)
        if at is not None:
            self.signs[at], self.colours[at] = sign, colour

    def _path(self, points: Iterable[Point]) -> Iterator[Cell]:
        """The dots from point to point, none twice in a row."""
        corners = [dot for dot, _ in groupby(self._dot(*point) for point in points)]
        yield corners[0]
        for (x, y), (to_x, to_y) in pairwise(corners):
            steps = max(abs(to_x - x), abs(to_y - y))
            for k in range(1, steps + 1):
                yield round(x + (to_x - x) * k / steps), round(y + (to_y - y) * k / steps)

    def _fill(self, lows: list[Point], highs: list[Point], colour: str) -> None:
        """Shade every column of characters from the high end to the low one."""
        top: dict[int, int] = {}
        for column, row in map(_cell, self._path(highs)):
            top[column] = min(row, top.get(column, row))
        for column, row in map(_cell, self._path(lows)):
            for between in range(top.get(column, row), row + 1):
                self.shaded[column, between] = colour


def _cell(dot: Cell) -> Cell:
    return dot[0] // 2, dot[1] // 4
