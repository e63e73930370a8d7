"""How the lines of a chart are told apart: colours that everybody can tell, and a marker beside them."""

from __future__ import annotations

import math

from riverhead.render.plane import Point

__all__ = ["COLOURS", "LETTERS", "MARKERS", "colour", "marker"]

# Told apart by those who see no red, no green or no blue, and legible on white and on black (3:1): blue, red,
# green, magenta, mauve, slate. Where there is no colour, the markers tell.
COLOURS = ("#2f7de1", "#e60c0c", "#1c7e36", "#d227b7", "#a98997", "#715d81")
LETTERS = "abcdefghijklmnopqrstuvwxyz"  # instead of markers, in characters

_QUARTER = ((1, -1), (3, -1), (3, 1))  # of a plus; the others are it turned
_PLUS = (
    *_QUARTER,
    *((-y, x) for x, y in _QUARTER),
    *((-x, -y) for x, y in _QUARTER),
    *((y, -x) for x, y in _QUARTER),
)
MARKERS: tuple[tuple[Point, ...], ...] = (
    tuple((3.6 * math.cos(k * math.tau / 16), 3.6 * math.sin(k * math.tau / 16)) for k in range(16)),
    ((-3.4, -3.4), (3.4, -3.4), (3.4, 3.4), (-3.4, 3.4)),
    ((0, -4.8), (4.6, 3.4), (-4.6, 3.4)),
    ((0, -5), (5, 0), (0, 5), (-5, 0)),
    tuple((1.5 * x, 1.5 * y) for x, y in _PLUS),
    tuple((x - y, x + y) for x, y in _PLUS),
)


def colour(n: int) -> str:
    """Return the colour of the n-th line."""
    return COLOURS[n % len(COLOURS)]


def marker(n: int) -> tuple[Point, ...]:
    """Return the corners of the n-th line's marker, in pixels around its point; no pair comes twice in 36.

    >>> len({(colour(n), marker(n)) for n in range(36)})
    36
    """
    return MARKERS[(n + n // len(COLOURS)) % len(MARKERS)]
