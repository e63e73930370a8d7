"""Vectors moving in the plane, drawn with characters: ○ where one starts, ● where it arrives."""

from __future__ import annotations

from collections.abc import Callable

from rich.cells import cell_len

from riverhead.render.plane import Point, bounds, drawable
from riverhead.scene import Plane

__all__ = ["chart"]

ROWS = 11


def chart(plane: Plane, width: int, leaf: Callable[[str], str]) -> list[str]:
    """Return ``plane`` as lines of at most ``width`` characters; a label that finds no room is left out."""
    (left, low), (right, high) = bounds(plane)
    columns = max(min(round(2 * ROWS * (right - left) / (high - low)), width * 2 // 3), 2)
    board = Board(min(columns + width // 3, width), ROWS)

    def spot(point: Point) -> tuple[int, int]:
        x, y = (point[0] - left) / (right - left), (point[1] - low) / (high - low)
        return round(x * (columns - 1)), ROWS - 1 - round(y * (ROWS - 1))

    drawn = [arrow for arrow in plane.arrows if drawable(arrow.start, arrow.end)]
    for arrow in drawn:
        if arrow.focus:
            board.path(spot(arrow.start), spot(arrow.end))
    for mark, points in (("○", [a.start for a in drawn]), ("●", [a.end for a in drawn])):
        for point in points:
            board.put(*spot(point), mark)
    for arrow in sorted(drawn, key=lambda arrow: not arrow.focus):
        board.label(*spot(arrow.end), leaf(arrow.label) + "′")
        board.label(*spot(arrow.start), leaf(arrow.label))
    return board.lines()


class Board:
    """Character cells; a wide character holds two of them."""

    def __init__(self, width: int, height: int) -> None:
        self.width = width
        self.cells: list[list[str]] = [[" "] * width for _ in range(height)]

    def put(self, x: int, y: int, mark: str) -> None:
        """Set one cell."""
        self.cells[y][x] = mark

    def path(self, start: tuple[int, int], end: tuple[int, int]) -> None:
        """Dot the straight way from ``start`` to ``end``."""
        steps = max(abs(end[0] - start[0]) // 2, abs(end[1] - start[1]), 1)
        for step in range(steps + 1):
            x, y = (round(a + (b - a) * step / steps) for a, b in zip(start, end, strict=True))
            self.put(x, y, "·")

    def label(self, x: int, y: int, text: str) -> None:
        """Write ``text`` right of a mark, left of it, over or under it: where cells are free first."""
        size = cell_len(text)
        for first, row in ((x + 2, y), (x - 1 - size, y), (x - size // 2, y - 1), (x - size // 2, y + 1)):
            if first < 0 or first + size > self.width or not 0 <= row < len(self.cells):
                continue
            room = range(max(first - 1, 0), min(first + size + 1, self.width))
            if all(self.cells[row][j] in {" ", "·"} for j in room):
                self.cells[row][first : first + size] = [text, *[""] * (size - 1)]
                return

    def lines(self) -> list[str]:
        """The rows as strings."""
        return ["".join(row).rstrip() for row in self.cells]
