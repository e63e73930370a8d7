"""How widely q·k spreads: its variance against d_k, as it is and divided by √d_k."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np

from riverhead.experiments.experiment import Prediction
from riverhead.experiments.scale.piece import Piece, exponent, exponent_error
from riverhead.numbers import fixed, plain, significant
from riverhead.scene import Line, Lines, Table, Text

__all__ = ["measure", "predictions", "relative_error"]

WIDTHS = {  # σ² of a component: the d_k it is measured at
    1.0: tuple(2**n for n in range(11)),
    0.25: tuple(4**n for n in range(5)),
    4.0: tuple(4**n for n in range(5)),
}
CLOSE = 5  # standard errors: once in 1.7 million for a normal error
CHUNK = 1 << 17  # components drawn at once, to stay close to the processor


@dataclass(frozen=True, slots=True)
class Spread:
    """The variance of n dots of vectors with d_k components of variance ``sigma2``, and of n scores."""

    sigma2: float
    d_k: int
    dots: float
    scores: float  # dots / √d_k
    predicted: float
    off: float  # standard errors from that


def relative_error(d_k: int, n: int) -> float:
    """Return the standard error of a variance of q·k from ``n`` pairs of normal components, as a part of it.

    The variance of a sample variance is (μ₄ − σ⁴·(n − 3)/(n − 1))/n. A product of two normals has μ₄ = 9
    where a normal has 3, so a sum of d_k of them is 6/d_k above it: (2 + 6/d_k)/n, up to 2/n².

    >>> round(relative_error(64, 50_000), 5)
    0.00647
    """
    return math.sqrt((2 * n / (n - 1) + 6 / d_k) / n)


def predictions(n: int) -> tuple[Prediction, ...]:
    """Say how Var(q·k) grows, from ``n`` pairs a row."""
    widths = WIDTHS[1.0]
    room = CLOSE * exponent_error(widths, [relative_error(d_k, n) for d_k in widths])
    why = f"{CLOSE} standard errors of the slope, from those of its {len(widths)} rows"
    rows = (
        Prediction(
            f"variance, σ² = {sigma2:g}",
            f"Components of variance {sigma2:g}: Var(q·k) is {sigma2**2:g}·d_k at every d_k from {widths[0]} "
            f"to {widths[-1]:,}; the row farthest from that is off by standard errors:",
            0,
            CLOSE,
            f"σ⁴·d_k, its relative standard error √((2 + 6/d_k)/n), n = {n:,} pairs",
        )
        for sigma2, widths in WIDTHS.items()
    )
    return (
        *rows,
        Prediction("growth of q·k", "Var(q·k) grows as d_k to the power 1.", 1 - room, 1 + room, why),
        Prediction("growth of scores", "Var(q·k/√d_k) stays: power 0.", -room, room, why),
    )


def measure(n: int, rng: np.random.Generator, progress: Callable[[float], object]) -> Piece:
    """Draw ``n`` pairs of vectors for each σ² and d_k, and take the variance of their dots and scores."""
    rows: list[Spread] = []
    all_widths, done = sum(map(sum, WIDTHS.values())), 0
    for sigma2, widths in WIDTHS.items():
        for d_k in widths:
            rows.append(_spread(d_k, n, sigma2, rng))
            done += d_k
            progress(done / all_widths)
    measured = {
        f"variance, σ² = {sigma2:g}": max(abs(row.off) for row in rows if row.sigma2 == sigma2)
        for sigma2 in WIDTHS
    }
    measured["growth of q·k"] = exponent(WIDTHS[1.0], [row.dots for row in rows if row.sigma2 == 1])
    measured["growth of scores"] = exponent(WIDTHS[1.0], [row.scores for row in rows if row.sigma2 == 1])
    heading = Text((f"How widely q·k spreads: {n:,} pairs a row",), "heading")
    data = {"n_pairs": n, "dots": [asdict(row) for row in rows]}
    return Piece(measured, (heading, _table(rows), _chart(rows)), data)


def _spread(d_k: int, n: int, sigma2: float, rng: np.random.Generator) -> Spread:
    dots = np.empty(n)
    for first in range(0, n, CHUNK // d_k):
        end = min(first + CHUNK // d_k, n)
        q, k = rng.standard_normal((2, end - first, d_k), np.float32)  # float32: 10⁻⁷, in half the time
        q *= math.sqrt(sigma2)
        k *= math.sqrt(sigma2)
        dots[first:end] = np.einsum("nd,nd->n", q, k)
    found, predicted = float(dots.var(ddof=1)), sigma2**2 * d_k
    off = (found / predicted - 1) / relative_error(d_k, n)
    return Spread(sigma2, d_k, found, float((dots / math.sqrt(d_k)).var(ddof=1)), predicted, off)


def _table(rows: list[Spread]) -> Table:
    columns = ("σ²", "d_k", "σ⁴·d_k", "Var(q·k)", "off, standard errors", "Var(q·k/√d_k)")
    cells = tuple(
        (
            plain(row.sigma2),
            plain(row.d_k),
            plain(row.predicted),
            significant(row.dots),
            fixed(row.off, 2),
            significant(row.scores),
        )
        for row in rows
    )
    return Table(columns, cells)


def _chart(rows: list[Spread]) -> Lines:
    def line(label: str, sigma2: float, name: str, predicted: bool = False) -> Line:
        points = ((float(row.d_k), float(getattr(row, name))) for row in rows if row.sigma2 == sigma2)
        return Line(label, tuple(points), predicted)

    lines = (
        *(line(f"q·k, σ² = {sigma2:g}", sigma2, "dots") for sigma2 in WIDTHS),
        *(line(f"{sigma2**2:g}·d_k", sigma2, "predicted", True) for sigma2 in WIDTHS),
        line("q·k/√d_k, σ² = 1", 1.0, "scores"),
    )
    return Lines(lines, "d_k", "variance", log_x=True, log_y=True)
