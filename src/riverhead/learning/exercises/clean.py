"""What makes good numbers for paper: small, unlike each other, and no weight that is all or nothing."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from operator import mul

from riverhead.checking.answers import Sheet
from riverhead.checking.answers.wiring import Layout
from riverhead.checking.answers.working import right
from riverhead.learning.exercises.draw import Draw

__all__ = ["LEAST", "MOST", "dots", "saturates", "sees_apart", "tells", "vectors"]

# Of a weight: below, two decimals hold one digit of it at most; above, hardly anything is shared.
LEAST, MOST = 0.02, 0.9
# Of a score: e^−3 = 0.05 still has a digit at two decimals, e^4 = 54.60 is still small.
LOW, HIGH = -3.0, 4.0
MOST_ZEROS = 0.25  # of the numbers of a matrix
TRIES = 200


def vectors(draw: Draw, n: int, d: int, low: int = -2, high: int = 3) -> list[list[float]]:
    """Return ``n`` vectors of ``d`` small whole numbers: no two the same, none all zeros, few zeros.

    >>> rows = vectors(Draw("dots-1-k3m9q2"), 3, 2)
    >>> len({tuple(row) for row in rows}), all(any(row) for row in rows)
    (3, True)
    """
    for _ in range(TRIES):
        rows = draw.matrix(n, d, low, high)
        zeros = sum(x == 0 for row in rows for x in row)
        if zeros <= MOST_ZEROS * n * d and all(map(any, rows)) and len({*map(tuple, rows)}) == n:
            return rows
    raise ValueError(f"{n} different vectors of {d} numbers from {low} to {high} are hard to find")


def tells(scores: Sequence[float], own: int) -> bool:
    """Say whether a row of scores is worth a sheet, which takes a hundred times as long to make.

    Scores and weights keep to the limits, no two are the same, and none of the scores is 0; the largest is
    not the token's own (all weight on the largest, or on itself, would be one).

    >>> tells([1.0, 0.5, -0.5], own=2), tells([1.0, 0.5, -0.5], own=0), tells([0.0, -0.5], own=1)
    (True, False, False)
    """
    exps = [math.exp(score) for score in scores]
    alike = len({0, *scores}) <= len(scores) or max(scores) == scores[own]
    small = all(LOW <= score <= HIGH for score in scores)
    return small and not alike and all(LEAST <= exp / math.fsum(exps) <= MOST for exp in exps)


def dots(q: Sequence[float], k: Sequence[Sequence[float]]) -> list[float]:
    """Return the dot products of one query with the keys."""
    return [sum(map(mul, q, key)) for key in k]


def saturates(sheet: Sheet) -> bool:
    """Say whether a weight that enters an asked cell, or is one, is all or nothing.

    What a mask makes so is meant: hidden keys, and a key that is seen alone.

    >>> from riverhead.checking.answers import softmax_sheet
    >>> saturates(softmax_sheet([[0.0, 1.0]])), saturates(softmax_sheet([[0.0, 5.0]]))
    (False, True)
    """
    used = {id for cell in sheet.asked for id in (cell.id, *cell.parents)}
    rows: dict[tuple[int | None, int], list[float]] = defaultdict(list)
    for cell in sheet.cells:
        if cell.grid == "weights" and cell.id in used and not (cell.exact and cell.truth == 0):
            rows[cell.head, cell.at[0]].append(cell.truth)
    return any(not LEAST <= weight <= MOST for row in rows.values() if len(row) > 1 for weight in row)


def sees_apart(sheet: Sheet) -> bool:
    """Say whether no asked cell would be right with the number of its neighbour, or of the transposed one.

    Numbers in each other's place are then a slip that shows. Two zeros, or two −∞, are no slip.
    """
    for places in Layout(sheet).cells.values():
        asked = {at: cell for at, cell in places.items() if cell.asked}
        for at, cell in asked.items():
            around = [(*at[:axis], at[axis] + 1, *at[axis + 1 :]) for axis in range(len(at))]
            others = [asked[place] for place in (*around, at[::-1]) if place in asked and place != at]
            if cell.truth and math.isfinite(cell.truth) and any(right(cell, other.truth) for other in others):
                return False
    return True
