"""What the spread of the scores does to softmax: its entropy, its largest weight, its Jacobian."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from riverhead.core import attention_gradient, softmax
from riverhead.core.border import Floats
from riverhead.experiments.experiment import Prediction
from riverhead.experiments.scale.piece import Piece
from riverhead.numbers import plain, significant
from riverhead.scene import Line, Lines, Part, Table, Text

__all__ = ["Softmaxes", "jacobian", "measure", "predictions"]

APART = (0, 1, 2, 4, 8, 16)  # two scores, the larger minus the smaller
SHOWN_APART = (8, 16)  # the spread of q·k at d_k = 64 and at 256
SPREADS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)  # standard deviation of normal scores
N_KEYS = 16
PER_ROW = 20  # pairs drawn for each row of N_KEYS, whose Jacobian is that much larger
CLOSE = 5  # standard errors
FEW_ROUNDINGS = 16 * 2.0**-52  # of numbers up to 1
REACH, STEP = 9.0, 2e-4  # of the integrals over a normal density, in standard deviations


class Softmaxes:
    """Rows of scores (n, T), and of each the ``largest`` weight, ``entropy_nats`` and two Jacobian norms."""

    def __init__(self, scores: Floats) -> None:
        w = softmax(scores)  # (n, T)
        J = jacobian(scores)  # (n, T, T)
        self.largest: Floats = w.max(axis=-1)
        self.entropy_nats: Floats = -(w * np.log(np.where(w > 0, w, 1))).sum(axis=-1)
        self.frobenius: Floats = np.linalg.norm(J, axis=(-2, -1))
        self.spectral: Floats = np.linalg.eigvalsh((J + J.swapaxes(-1, -2)) / 2)[..., -1]


def jacobian(scores: Floats) -> Floats:
    """Return how each weight moves with each score, (n, T, T), through the gradient that training uses.

    Row i is what comes back to the scores when the loss is weight i: values that are the unit vectors hand
    the weights out as they are, and keys of one component, under the query 1, are the scores.

    >>> jacobian(np.array([[0.0, 0.0]])).tolist()  # w_i (δ_ij − w_j)
    [[[0.25, -0.25], [-0.25, 0.25]]]
    """
    n, T = scores.shape
    unit = np.eye(T)
    q = np.ones((n, T, 1, 1))  # a head for each weight
    k = np.broadcast_to(scores[:, None, :, None], (n, T, T, 1))
    v = np.broadcast_to(unit, (n, T, T, T))
    d_out = np.broadcast_to(unit[:, None], (n, T, 1, T))
    J: Floats = attention_gradient(d_out, q, k, v, scale=1.0).d_k[..., 0]
    return J


def predictions(n: int) -> tuple[Prediction, ...]:
    """Say what softmax makes of two scores apart, of two normal ones, and of ``n`` rows of any."""
    exact = "the formula; float64 rounds each step to 2⁻⁵²"
    of_two = (
        Prediction(f"{name}, {apart} apart", f"{says}, of two scores {apart} apart.", low, high, why)
        for apart in SHOWN_APART
        for name, says, value, why in _two_point(apart, exact)
        for low, high in [(value - FEW_ROUNDINGS, value + FEW_ROUNDINGS)]
    )
    return (
        *of_two,
        Prediction(
            "two normal scores",
            "Mean entropy, largest weight and Jacobian norm of two normal scores are the integrals over "
            "their difference, at every spread; the one farthest from that is off by standard errors:",
            0,
            CLOSE,
            f"the difference is normal, its variance twice that of a score; n = {n:,} rows",
        ),
        Prediction(
            "entropy never rises",
            f"Spread the scores of a row of {N_KEYS} and its entropy falls: the largest rise, in nats.",
            -math.inf,
            FEW_ROUNDINGS * N_KEYS,
            "dH/dβ = −β·Var_w(scores) ≤ 0 when all scores are multiplied by β",
        ),
        Prediction(
            "what the largest weight leaves",
            "No Jacobian's norm is above 2·(1 − largest weight): the largest excess.",
            -math.inf,
            FEW_ROUNDINGS * N_KEYS,
            "‖J‖ ≤ trace J = 1 − Σw² ≤ 1 − max² ≤ 2·(1 − max): J has no negative eigenvalue",
        ),
    )


def _two_point(apart: float, exact: str) -> tuple[tuple[str, str, float, str], ...]:
    """Name, words, value and formula of what two scores ``apart`` make, Δ apart in the formulas."""
    tail = math.exp(-apart)
    larger, smaller = 1 / (1 + tail), tail / (1 + tail)
    entropy = math.log1p(tail) + apart * smaller
    return (
        ("largest weight", "The larger takes its weight", larger, f"1/(1 + e^−Δ): {exact}"),
        ("entropy", "The weights' entropy in nats", entropy, f"ln(1 + e^−Δ) + Δ·w₂: {exact}"),
        ("Jacobian", "The Jacobian's norm, all that passes back", 2 * larger * smaller, f"2·w₁·w₂: {exact}"),
    )


def measure(n: int, rng: np.random.Generator, progress: Callable[[float], object]) -> Piece:
    """Put scores apart, and draw ``n`` rows of normal ones at every spread."""
    two = Softmaxes(np.array([[apart, 0.0] for apart in APART]))
    measured = {}
    for apart in SHOWN_APART:
        at = APART.index(apart)
        measured[f"largest weight, {apart} apart"] = float(two.largest[at])
        measured[f"entropy, {apart} apart"] = float(two.entropy_nats[at])
        measured[f"Jacobian, {apart} apart"] = float(two.frobenius[at])

    pairs = rng.standard_normal((n, 2))
    measured["two normal scores"] = max(_off(spread, Softmaxes(spread * pairs)) for spread in SPREADS)
    progress(0.5)
    scores = rng.standard_normal((max(n // PER_ROW, 2), N_KEYS))
    rows = [Softmaxes(spread * scores) for spread in SPREADS]
    rises = np.diff([each.entropy_nats for each in rows], axis=0)
    measured["entropy never rises"] = float(rises.max())
    measured["what the largest weight leaves"] = float(
        max((each.frobenius - 2 * (1 - each.largest)).max() for each in rows)
    )
    progress(1.0)
    data = {"two_scores": _data(APART, "apart", two), "normal_scores": _means(rows)}
    return Piece(measured, _parts(two, rows), data)


def _off(spread: float, pairs: Softmaxes) -> float:
    """How many standard errors the three means are off their integrals, the most of them."""
    z = np.arange(-REACH, REACH + STEP / 2, STEP)
    density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi) * STEP
    gap = np.abs(z) * math.sqrt(2) * spread
    tail = np.exp(-gap)
    larger, smaller = 1 / (1 + tail), tail / (1 + tail)
    off = []
    for values, found in (
        (larger, pairs.largest),
        (np.log1p(tail) + gap * smaller, pairs.entropy_nats),
        (2 * larger * smaller, pairs.frobenius),
    ):
        mean = values @ density
        error = math.sqrt((values - mean) ** 2 @ density / found.size)
        off.append(abs(found.mean() - mean) / error)
    return float(max(off))


def _data(of: tuple[float, ...], name: str, rows: Softmaxes) -> list[dict[str, float]]:
    return [
        {
            name: each,
            "largest_weight": float(rows.largest[i]),
            "entropy_nats": float(rows.entropy_nats[i]),
            "frobenius": float(rows.frobenius[i]),
            "spectral": float(rows.spectral[i]),
        }
        for i, each in enumerate(of)
    ]


def _means(rows: list[Softmaxes]) -> list[dict[str, float]]:
    return [
        {
            "spread": spread,
            "largest_weight": float(each.largest.mean()),
            "entropy_nats": float(each.entropy_nats.mean()),
            "frobenius": float(each.frobenius.mean()),
            "frobenius_median": float(np.median(each.frobenius)),
            "spectral": float(each.spectral.mean()),
        }
        for spread, each in zip(SPREADS, rows, strict=True)
    ]


def _parts(two: Softmaxes, rows: list[Softmaxes]) -> tuple[Part, ...]:
    means = _means(rows)
    apart = tuple(
        (
            plain(row["apart"]),
            *(significant(row[name]) for name in ("largest_weight", "entropy_nats", "frobenius")),
        )
        for row in _data(APART, "apart", two)
    )
    names = ("largest_weight", "entropy_nats", "frobenius", "frobenius_median", "spectral")
    normal = tuple((plain(row["spread"]), *(significant(row[name]) for name in names)) for row in means)
    scaled = {"largest weight": ("largest_weight", 1.0), "Jacobian, Frobenius norm": ("frobenius", 1.0)}
    scaled[f"entropy / ln {N_KEYS}"] = ("entropy_nats", math.log(N_KEYS))
    lines = tuple(
        Line(label, tuple((row["spread"], row[name] / unit) for row in means))
        for label, (name, unit) in scaled.items()
    )
    return (
        Text(("What the spread does to softmax",), "heading"),
        Table(("apart", "larger weight", "entropy, nats", "‖J‖"), apart, "two scores"),
        Table(
            ("spread", "largest weight", "entropy, nats", "‖J‖ Frobenius", "its median", "‖J‖ spectral"),
            normal,
            f"{N_KEYS} normal scores, {rows[0].largest.size:,} rows: means",
        ),
        Lines(lines, "spread of the scores", "part of 1", log_x=True),
    )
