"""Attention does not know the order of its tokens, until positions tell it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riverhead.core import alibi_bias, attention, merge, rope, sinusoidal, split
from riverhead.core.border import Floats
from riverhead.experiments.experiment import Experiment, Prediction, Progress, Result, shown
from riverhead.experiments.rounding import by_chance
from riverhead.scene import Cell, Line, Lines, Table

__all__ = ["measure", "prepare"]

T, D_MODEL, H = 32, 16, 4
D_K = D_MODEL // H
ENTRIES = 3  # W's entries lie within ±3/√d_model and x's within ±1: q's then have variance 1
MOVED = (2, 4, 8, 16, 32)  # how many tokens change their place
BEYOND = 1000  # times what rounding can do: then it is not rounding

ARGUMENT = """\
A query meets every key in the same way, wherever the key stands, and a sum does not depend on the order of \
its terms. So if the tokens change places, each output goes along with its token and is otherwise the same: \
softmax(P Q Kᵀ Pᵀ / √d_k) P V = P softmax(Q Kᵀ / √d_k) V for every permutation P. Whoever reads the outputs \
together, by their mean say, cannot tell one order from another.

Order has to be told: by vectors added to the tokens (sinusoidal), by turning queries and keys (RoPE), by a \
bias on the scores (ALiBi); or by a mask, since under a causal one a token sees only itself and those \
before it. ALiBi alone, symmetric in distance, still reads a text and its mirror image alike."""


@dataclass(frozen=True, slots=True)
class Way:
    """One way to tell attention the order, or none: what it does to x, to q and k, and to the scores."""

    name: str
    says: str
    to_x: Callable[[Floats], Floats] = lambda x: x
    to_qk: Callable[[Floats], Floats] = lambda x: x
    options: Callable[[], dict[str, Any]] = dict


WAYS = (
    Way("none", "no positions"),
    Way("sinusoidal", "sinusoidal vectors added", to_x=lambda x: x + sinusoidal(T, D_MODEL)),
    Way("rope", "RoPE, queries and keys turned", to_qk=rope),
    Way("alibi", "ALiBi, a bias by distance", options=lambda: {"bias": alibi_bias(H, T, T)}),
    Way("causal", "a causal mask and no positions", options=lambda: {"causal": True}),
)


def _bound() -> float:
    """What rounding does by chance to an output, sums of d_model, d_k and T terms, and to the mean of T."""
    largest = ENTRIES * math.sqrt(D_MODEL)  # |v| ≤ Σ|x||W_v|
    return by_chance(D_MODEL + D_K + T + T, largest=largest, dtype=np.float64)


def prepare(thorough: bool = False) -> Experiment:
    """Predict: without positions nothing changes but by rounding, with them more than that."""
    still = (
        "10·√n·2⁻⁵³·v, as independent roundings of float64 add, in another order: n = d_model + d_k + 2·T, "
        f"no value is above v = {ENTRIES}·√d_model; T {T}, d_model {D_MODEL}, d_k {D_K}"
    )
    moved = f"{BEYOND:,} times what rounding can do"
    bound = _bound()
    return Experiment(
        "order",
        "does attention know the order of its tokens?",
        ARGUMENT,
        (
            Prediction(
                "permuted",
                "Without positions each output goes along with its token: no number changes.",
                0,
                bound,
                still,
            ),
            Prediction("mean", "Without positions the mean of the outputs does not change.", 0, bound, still),
            *(
                Prediction(
                    way.name,
                    f"With {way.says}, the mean changes with the order.",
                    BEYOND * bound,
                    math.inf,
                    moved,
                )
                for way in WAYS[1:]
            ),
            Prediction(
                "mirror",
                "ALiBi reads a text and its mirror image alike: the mean does not change.",
                0,
                bound,
                "|i − j| stays as it is when the order is turned round; rounding as above",
            ),
        ),
    )


def measure(experiment: Experiment, seed: int, thorough: bool, progress: Progress) -> Result:
    """Move more and more tokens, and see how far outputs and their mean change; ``thorough`` draws more."""
    rng = np.random.default_rng(seed)
    orders = [(n, _moved(rng, n)) for n in MOVED for _ in range(100 if thorough else 20)]
    x = rng.uniform(-1, 1, (T, D_MODEL))
    W = rng.uniform(-1, 1, (3, D_MODEL, D_MODEL)) * ENTRIES / math.sqrt(D_MODEL)
    changes: dict[str, list[tuple[float, float]]] = {}
    for n, way in enumerate(WAYS):
        progress(n / len(WAYS), way.says)
        changes[way.name] = list(_changes(way, x, W, [order for _, order in orders]))
    ((_, mirrored),) = _changes(next(way for way in WAYS if way.name == "alibi"), x, W, [np.arange(T)[::-1]])
    claims = experiment.claims(
        {
            "permuted": max(outputs for outputs, _ in changes["none"]),
            "mean": max(mean for _, mean in changes["none"]),
            **{way.name: min(mean for _, mean in changes[way.name]) for way in WAYS[1:]},
            "mirror": mirrored,
        }
    )
    rows = [
        {"way": way.name, "moved": moved, "outputs_change": outputs, "mean_changes": mean}
        for way in WAYS
        for (moved, _), (outputs, mean) in zip(orders, changes[way.name], strict=True)
    ]
    return Result(
        experiment,
        seed,
        claims,
        (_table(rows), _lines(rows)),
        {"T": T, "d_model": D_MODEL, "n_heads": H, "rows": rows},
        (
            f"{T} random tokens, {H} heads with random W_q, W_k, W_v, float64; {len(orders)} orders of them",
            "A change is that of the number that changes most; numbers are of the order of 1",
            "No positions: the changes that are left are rounding, since sums are taken in another order",
        ),
    )


def _moved(rng: np.random.Generator, n: int) -> NDArray[np.intp]:
    """An order in which ``n`` tokens take each other's places, and none of those keeps its own."""
    order = np.arange(T)
    places = rng.choice(T, n, replace=False)
    order[places] = order[np.roll(places, 1)]
    return order


def _changes(way: Way, x: Floats, W: Floats, orders: list[NDArray[np.intp]]) -> Iterator[tuple[float, float]]:
    """For each order, how far the outputs change, each compared with its own token's, and their mean."""
    before = _read(way, x, W)
    for order in orders:
        after = _read(way, x[order], W)
        yield (
            float(np.abs(after - before[order]).max()),
            float(np.abs(after.mean(axis=0) - before.mean(axis=0)).max()),
        )


def _read(way: Way, x: Floats, W: Floats) -> Floats:
    q, k, v = (split(way.to_x(x) @ W_one, H) for W_one in W)  # (H, T, d_k)
    return merge(attention(way.to_qk(q), way.to_qk(k), v, **way.options()).out)  # (T, d_model)


def _of(rows: list[dict[str, Any]], way: Way, moved: int, what: str) -> list[float]:
    return [row[what] for row in rows if (row["way"], row["moved"]) == (way.name, moved)]


def _table(rows: list[dict[str, Any]]) -> Table:
    """How far the mean of the outputs changes, the median over the orders."""
    cells: tuple[tuple[Cell, ...], ...] = tuple(
        (way.says, *(shown(float(np.median(_of(rows, way, moved, "mean_changes")))) for moved in MOVED))
        for way in WAYS
    )
    columns = ("", *(f"{moved} moved" for moved in MOVED))
    return Table(columns, cells, "How far the mean of the outputs changes, median of the orders")


def _lines(rows: list[dict[str, Any]]) -> Lines:
    floor = float(np.finfo(np.float64).tiny)
    lines = []
    for way in WAYS:
        found = [(moved, _of(rows, way, moved, "mean_changes")) for moved in MOVED]
        points = tuple((float(moved), max(float(np.median(each)), floor)) for moved, each in found)
        spread = tuple((max(min(each), floor), max(each)) for _, each in found)
        lines.append(Line(way.says, points, spread=spread))
    most = Line("most that rounding can do", tuple((float(n), _bound()) for n in MOVED), predicted=True)
    return Lines((*lines, most), "tokens that change places", "change of the mean", log_x=True, log_y=True)
