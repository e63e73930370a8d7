"""How the experiment on heads is shown: what was lost, how it fell, and what the heads look at."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from riverhead.numbers import fixed, significant
from riverhead.scene import Cell, Line, Lines, Matrix, Part, Symbol, Table, Text

if TYPE_CHECKING:
    from riverhead.experiments.heads import Run

__all__ = ["parts"]


def parts(runs: Sequence[Run], floor: float) -> tuple[Part, ...]:
    """Return the table, the chart and the weights; ``floor`` is what one head cannot go below."""
    by_heads = [tuple(same) for _, same in groupby(runs, lambda run: run.n_heads)]
    start = min(by_heads[1], key=lambda run: run.loss).start
    shown = (same[start] for same in by_heads[:2])
    return (
        _table(runs, floor),
        _chart(by_heads, floor),
        Text(("What the last token looks at, in a sequence that no training has seen",), "heading"),
        *map(_weights, shown),
    )


def _table(runs: Sequence[Run], floor: float) -> Table:
    """A row for each number of heads and each way they divided the two tokens."""

    def split(run: Run) -> tuple[int, int]:
        return run.n_heads, run.looking_back

    rows: list[tuple[Cell, ...]] = []
    for (n, back), same in groupby(sorted(runs, key=split), split):
        losses = [run.loss for run in same]
        lost = Fraction(abs(n - 2 * back), 2 * n)
        ends = (significant(loss, 3) for loss in (min(losses), max(losses)))
        rows.append((str(n), f"{back} + {n - back}", str(len(losses)), *ends, str(lost)))
    heading = ("heads", "back + mark", "seeds", "lowest loss", "highest", "not copied")
    caption = (
        f"every model has {runs[0].n_parameters:,} parameters; "
        f"back + mark: heads that look at the token before, at the marked one; "
        f"one head cannot go below {significant(floor, 3)}"
    )
    return Table(heading, tuple(rows), caption)


def _chart(by_heads: Sequence[Sequence[Run]], floor: float) -> Lines:
    lines = []
    for same in by_heads:
        n = same[0].n_heads
        steps = [step for step, _ in same[0].curve]
        losses = np.array([[loss for _, loss in run.curve] for run in same])  # (n_seeds, n_points)
        middle = np.median(losses, axis=0).tolist()
        spread = zip(losses.min(axis=0).tolist(), losses.max(axis=0).tolist(), strict=True)
        label = "1 head" if n == 1 else f"{n} heads"
        lines.append(Line(label, tuple(zip(steps, middle, strict=True)), spread=tuple(spread)))
    ends = (lines[0].points[0][0], lines[0].points[-1][0])
    bound = Line("bound, 1 head", tuple((step, floor) for step in ends), predicted=True)
    caption = "median of the seeds"
    return Lines((*lines, bound), "training step", "mean squared error", log_y=True, caption=caption)


def _weights(run: Run) -> Matrix:
    """The row of weights of each head; its columns say what stands there."""
    places = [str(place) for place in range(len(run.weights[0]))]
    for place, word in ((run.marked, "marked"), (-2, "before"), (-1, "asks")):
        places[place] += f" {word}"
    heads = tuple(f"head {h} of {run.n_heads}" for h in range(run.n_heads))
    cells = tuple(tuple(fixed(weight, 2) for weight in row) for row in run.weights)
    return Matrix(Symbol("A"), heads, tuple(places), cells, shade=True)
