"""What reaches W_q and W_k through the softmax, with the dots divided by √d_k and without."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from riverhead.core import attention_gradient
from riverhead.experiments.experiment import Prediction
from riverhead.experiments.rounding import by_chance
from riverhead.experiments.scale.piece import Piece, exponent
from riverhead.numbers import Number, plain, significant
from riverhead.scene import Cell, Line, Lines, Part, Table, Text

__all__ = ["measure", "median_gap", "predictions", "tie_density"]

Floats = NDArray[np.float64]

WIDTHS = (8, 16, 32, 64, 128, 256, 512)  # d_k
T, D_MODEL, D_V = 16, 32, 32
WAYS = ("with ÷√d_k", "without")
CLOSE = 5  # standard errors
CHUNK = 1 << 19  # numbers of W_q drawn at once: 4 MB
SLOPE_ROOM = 0.1
ORDER = 10.0  # "of the order of": to a tenth, or ten times as much
REACH, STEP = 8.0, 2e-3


class SentBack(NamedTuple):
    """Of n texts: the norms of dW_q and dW_k, the square of each query's gradient, and as `Reached`."""

    W_q: Floats  # (n,)
    W_k: Floats  # (n,)
    squares: Floats  # (n·T,)
    unequal: Floats  # (n,)


@dataclass(frozen=True, slots=True)
class Reached:
    """Root mean squares over texts, and of single queries, of what came back one way at one d_k."""

    W_q: float
    W_k: float
    query: float
    median_query: float
    half_from: float  # the part of all queries that half the sum of squares comes from
    unequal: float  # how far W_q·dW_q and W_k·dW_k are apart, as a part of |W_q|·|dW_q|


@cache
def tie_density(n_keys: int) -> float:
    """Return how likely the two largest of ``n_keys`` normal scores are to tie: their gap's density at 0.

    T(T − 1)·∫ φ² Φ^(T−2), φ and Φ the normal density and its integral (David & Nagaraja 2003, §2.2).

    >>> round(tie_density(2) * math.sqrt(math.pi), 3)
    1.0
    """
    x, density, below = _normal()
    return n_keys * (n_keys - 1) * float(np.sum(density**2 * below ** (n_keys - 2)) * (x[1] - x[0]))


@cache
def median_gap(n_keys: int) -> float:
    """Return what the two largest of ``n_keys`` normal scores are apart, in the median.

    P(gap > g) is T·∫ φ(x)·Φ(x − g)^(T−1) dx; that is 1/2 at the median.

    >>> round(median_gap(2) / math.sqrt(2), 2)  # |N(0, 1)|
    0.67
    """
    x, density, below = _normal()
    gaps = np.arange(0, 3, STEP)
    beyond = [
        n_keys * float(density @ np.interp(x - gap, x, below) ** (n_keys - 1)) * (x[1] - x[0]) for gap in gaps
    ]
    return float(np.interp(-0.5, -np.array(beyond), gaps))


def _normal() -> tuple[Floats, Floats, Floats]:
    """Points, the normal density there, and how much lies below each."""
    x = np.arange(-REACH, REACH + STEP / 2, STEP)
    below = np.array([math.erfc(-each / math.sqrt(2)) / 2 for each in x])
    return x, np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi), below


def _law(d_k: int) -> float:
    """The root mean square that reaches a query undivided, for scores √d_k apart: √(f/3)·d_k^¼.

    What passes is √d_k·‖J‖, and ‖J‖² is (2·w₁·w₂)² where two scores nearly tie: ∫ 4·w₁²·w₂² dΔ is 1/3, times
    the density f/√d_k of such ties.
    """
    return math.sqrt(tie_density(T) / 3 * math.sqrt(d_k))


def _law_room(d_k: int, n_queries: int) -> float:
    """How far, as a part, the law may be off: by chance, and for what it leaves out.

    Of the square X of what reaches a query, E X² / (E X)² is 3·(12²/280)·√d_k/f: ∫ w₁²·w₂² dΔ is 1/12,
    ∫ w₁⁴·w₂⁴ dΔ is 1/280, and 3 is the fourth moment of the weights' normal gradient.
    """
    of_square = math.sqrt(3 * (12**2 / 280) * math.sqrt(d_k) / tie_density(T) / n_queries)
    return CLOSE * of_square / 2 + 2 / math.sqrt(d_k)


def _typical(d_k: int) -> float:
    """What reaches a query in the middle undivided, its best scores g·√d_k apart: √(2·d_k)·e^(−g·√d_k)."""
    return math.sqrt(2 * d_k) * math.exp(-median_gap(T) * math.sqrt(d_k))


def predictions(n_texts: int) -> tuple[Prediction, ...]:
    """Say what reaches W_q, W_k and single queries, over ``n_texts`` texts."""
    return (
        *map(_divided, ("W_q", "W_k")),
        Prediction(
            "W_q as it is",
            "Without, the root mean square that reaches W_q does not vanish: it grows, as d_k to a power "
            "from ½ (before softmax saturates) down to ¼ (after).",
            0.25 - SLOPE_ROOM / 2,
            0.5 + SLOPE_ROOM / 2,
            "√d_k·‖J‖, and ‖J‖² stays while scores are near each other, then falls as 1/√d_k, as ties do",
        ),
        *_undivided(WIDTHS[-1], n_texts * T),
        Prediction(
            "W_q and W_k",
            "W_q·dW_q = W_k·dW_k, every time: the inner products of each matrix with what reaches it are "
            "equal, the norms of what reaches them need not be; the largest difference, as a part of "
            "|W_q|·|dW_q|.",
            0,
            by_chance(D_MODEL * WIDTHS[-1], largest=1, dtype=np.float64),
            "both are Σ dots·ddots: c·W_q with W_k/c has the same loss for every c; 10·√n·2⁻⁵³, as "
            f"independent roundings of float64 add: n = d_model·d_k, up to {D_MODEL}·{WIDTHS[-1]}",
        ),
    )


def _divided(name: str) -> Prediction:
    return Prediction(
        f"{name} divided",
        f"With ÷√d_k, what reaches {name} does not depend on d_k: root mean square, power 0.",
        -SLOPE_ROOM,
        SLOPE_ROOM,
        "the scores' spread is 1 at any d_k, and d_k components of variance 1/d_k add to 1; both but for a "
        f"part of the order of 1/d_k, at most 1/{WIDTHS[0]}, at d_k = {WIDTHS[0]}",
    )


def _undivided(d_k: int, n_queries: int) -> tuple[Prediction, ...]:
    law, room, typical = _law(d_k), _law_room(d_k, n_queries), _typical(d_k)
    return (
        Prediction(
            "ties as it is",
            f"Without, it comes from the few queries whose two best scores tie: at d_k = {d_k} the root "
            f"mean square of a query is √(f/3)·d_k^¼ = {law:.3f}.",
            law * (1 - room),
            law * (1 + room),
            f"f = {tie_density(T):.3f}, the density of ties of {T} scores; {CLOSE} standard errors of "
            f"{n_queries:,} queries, and 2/√d_k for ties of three",
        ),
        Prediction(
            "median as it is",
            f"Without, a query in the middle gets next to nothing: at d_k = {d_k} of the order of "
            f"{typical:.2g}.",
            typical / ORDER,
            typical * ORDER,
            f"√(2·d_k)·e^(−g·√d_k), g = {median_gap(T):.3f} the median gap of the best two of {T}; "
            f"a factor of {ORDER:g}",
        ),
    )


def measure(n_texts: int, rng: np.random.Generator, progress: Callable[[float], object]) -> Piece:
    """Send a random gradient back through ``n_texts`` texts at each d_k, both ways."""
    found: dict[str, list[Reached]] = {way: [] for way in WAYS}
    for step, d_k in enumerate(WIDTHS):
        for way, reached in zip(WAYS, _both_ways(d_k, n_texts, rng), strict=True):
            found[way].append(reached)
        progress((step + 1) / len(WIDTHS))
    divided, as_it_is = found.values()
    measured = {
        "W_q divided": exponent(WIDTHS, [each.W_q for each in divided]),
        "W_k divided": exponent(WIDTHS, [each.W_k for each in divided]),
        "W_q as it is": exponent(WIDTHS, [each.W_q for each in as_it_is]),
        "ties as it is": as_it_is[-1].query,
        "median as it is": as_it_is[-1].median_query,
        "W_q and W_k": max(each.unequal for each in (*divided, *as_it_is)),
    }
    data = {way: [_row(*each) for each in zip(WIDTHS, found[way], strict=True)] for way in WAYS}
    return Piece(measured, _parts(found, n_texts), {"n_texts": n_texts, "gradient": data})


def _both_ways(d_k: int, n_texts: int, rng: np.random.Generator) -> Iterator[Reached]:
    """Draw texts, weights, values and what comes back to out; components of q and k have variance 1."""
    sent: list[list[SentBack]] = [[], []]
    at_once = max(CHUNK // (D_MODEL * d_k), 1)
    for first in range(0, n_texts, at_once):
        n = min(at_once, n_texts - first)
        x = rng.standard_normal((n, T, D_MODEL))
        W_q, W_k = rng.standard_normal((2, n, D_MODEL, d_k)) / math.sqrt(D_MODEL)
        v = rng.standard_normal((n, T, D_V))
        d_out = rng.standard_normal((n, T, D_V)) / math.sqrt(D_V)  # a weight's gradient has variance 1
        for way, scale in zip(sent, (d_k**-0.5, 1.0), strict=True):
            way.append(_send_back(x, W_q, W_k, v, d_out, scale))
    for way in sent:
        yield _reached(SentBack(*map(np.concatenate, zip(*way, strict=True))))


def _send_back(x: Floats, W_q: Floats, W_k: Floats, v: Floats, d_out: Floats, scale: float) -> SentBack:
    q, k, v, d_out = (each[:, None] for each in (x @ W_q, x @ W_k, v, d_out))  # (n, 1, T, d): one head
    d = attention_gradient(d_out, q, k, v, scale=scale)
    d_W_q, d_W_k = (x.swapaxes(-1, -2) @ each[:, 0] for each in (d.d_q, d.d_k))  # (n, D_MODEL, d_k)
    by_q, by_k = (np.sum(W * d_W, axis=(-2, -1)) for W, d_W in ((W_q, d_W_q), (W_k, d_W_k)))
    unequal = np.abs(by_q - by_k) / (_norm(W_q) * _norm(d_W_q))
    return SentBack(_norm(d_W_q), _norm(d_W_k), (d.d_q**2).sum(axis=-1).ravel(), unequal)


def _reached(sent: SentBack) -> Reached:
    squares = np.sort(sent.squares)[::-1]
    half = np.searchsorted(np.cumsum(squares), squares.sum() / 2) + 1
    return Reached(
        W_q=_rms(sent.W_q),
        W_k=_rms(sent.W_k),
        query=math.sqrt(squares.mean()),
        median_query=math.sqrt(float(np.median(squares))),
        half_from=float(half / squares.size),
        unequal=float(sent.unequal.max()),
    )


def _norm(W: Floats) -> Floats:
    norm: Floats = np.linalg.norm(W, axis=(-2, -1))
    return norm


def _rms(values: Floats) -> float:
    return math.sqrt(float(np.mean(values**2)))


def _row(d_k: int, reached: Reached) -> dict[str, float]:
    return {"d_k": d_k} | {name: getattr(reached, name) for name in Reached.__slots__}


def _parts(found: dict[str, list[Reached]], n_texts: int) -> tuple[Part, ...]:
    pairs = list(zip(WIDTHS, *found.values(), strict=True))
    matrices: list[tuple[Cell, ...]] = [
        (plain(d_k), *_significant(a.W_q, a.W_k, b.W_q, b.W_k)) for d_k, a, b in pairs
    ]
    queries: list[tuple[Cell, ...]] = [
        (
            plain(d_k),
            *_significant(a.query, a.median_query, b.query, b.median_query),
            *(f"{100 * each.half_from:.1f} %" for each in (a, b)),
        )
        for d_k, a, b in pairs
    ]
    return (
        Text(("What reaches W_q and W_k",), "heading"),
        Table(
            ("d_k", "W_q ÷√d_k", "W_k ÷√d_k", "W_q", "W_k"),
            tuple(matrices),
            f"the gradient's norm, root mean square over {n_texts:,} texts of {T} tokens",
        ),
        Table(
            ("d_k", "rms ÷√d_k", "median ÷√d_k", "rms", "median", "half from ÷√d_k", "half from"),
            tuple(queries),
            f"of a single query: root mean square and median of {n_texts * T:,}, and the part of all queries "
            "that half of the squares come from",
        ),
        _chart(found),
    )


def _significant(*values: float) -> Iterator[Number]:
    return map(significant, values)


def _chart(found: dict[str, list[Reached]]) -> Lines:
    lines = [
        Line(
            f"{what}, {way}",
            tuple((d_k, getattr(at, name)) for d_k, at in zip(WIDTHS, found[way], strict=True)),
        )
        for what, name in (("root mean square", "query"), ("median", "median_query"))
        for way in WAYS
    ]
    lines.append(Line("√(f/3)·d_k^¼", tuple((d_k, _law(d_k)) for d_k in WIDTHS), predicted=True))
    return Lines(tuple(lines), "d_k", "gradient of a query's vector", log_x=True, log_y=True)
