"""A line of a source in the room there is: the stretch that matters stays, carets stand under it."""

from __future__ import annotations

from collections.abc import Callable

from rich.cells import cell_len, chop_cells

from riverhead.render.letters import visible
from riverhead.scene import Quote

__all__ = ["pointed", "quoted"]

TAB = " " * 4

Pieces = tuple[str, str, str]  # what comes before the stretch, the stretch, what follows it


def quoted(part: Quote, room: int | None = None, spell: Callable[[str], str] = str) -> Pieces:
    """Return what stands before the stretch, the stretch, and what follows it, each made `visible`.

    Together they take at most ``room`` character cells; where something is cut stands ….

    >>> quoted(Quote("", "", "so in all 2 + 2 = 5, as said before", 10, 19), 17)
    ('…ll ', '2 + 2 = 5', ', a…')
    """
    stretches = (part.text[: part.start], part.text[part.start : part.end], part.text[part.end :])
    before, stretch, after = (spell(visible(piece.replace("\t", TAB))) for piece in stretches)
    if room is None or sum(map(cell_len, (before, stretch, after))) <= room:
        return before, stretch, after
    dots = spell("…")
    if cell_len(stretch) > room - 2 * cell_len(dots):
        before = _end(before, cell_len(dots), dots)
        return before, _beginning(stretch, room - cell_len(before), dots), ""
    spare = room - cell_len(stretch)
    before = _end(before, max(spare // 2, spare - cell_len(after)), dots)
    return before, stretch, _beginning(after, spare - cell_len(before), dots)


def pointed(pieces: tuple[str, ...]) -> tuple[str, str]:
    """Return the line of three ``pieces``, and the line of carets that goes under it.

    >>> print(*pointed(("also ", "1 + 1 = 3", ".")), sep="\\n")
    also 1 + 1 = 3.
         ^^^^^^^^^
    """
    before, stretch, after = pieces
    return before + stretch + after, " " * cell_len(before) + "^" * max(cell_len(stretch), 1)


def _beginning(text: str, cells: int, dots: str) -> str:
    if cell_len(text) <= cells:
        return text
    return chop_cells(text, cells - cell_len(dots))[0] + dots if cells > cell_len(dots) else dots


def _end(text: str, cells: int, dots: str) -> str:
    if cell_len(text) <= cells:
        return text
    at, room = len(text), cells - cell_len(dots)
    while cell_len(text[at - 1 :]) <= room:
        at -= 1
    while at < len(text) and not cell_len(text[at]):  # a mark whose letter is cut off
        at += 1
    return dots + text[at:]
