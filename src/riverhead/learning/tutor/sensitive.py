"""What would change a number of the sentence at hand, and to what."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from riverhead.core import softmax
from riverhead.derivation import Derivation
from riverhead.learning.tutor.cells import Spot, value
from riverhead.numbers import Number, fixed, plain
from riverhead.scene import Cell, Table

__all__ = ["sensitive"]


def sensitive(worked: Derivation, spot: Spot) -> Table | None:
    """Return a few small changes, and what each would make of the number; None where none is told of."""
    changes = SENSITIVE.get(spot.step)
    rows = tuple((said, _number(x)) for said, x in changes(worked, spot)) if changes else ()
    return Table(("if", "it becomes"), rows) if rows else None


def _of_weight(worked: Derivation, spot: Spot) -> Iterator[tuple[str, float]]:
    """Of a weight: its own score, its rivals', and no scale."""
    given, scores = worked.given, np.array(worked[worked.exponents].values[spot.head][spot.i])
    if not np.isfinite(scores[spot.j]):
        yield "nothing hid this key", value(worked.but(causal=False, mask=None), spot)
        return

    def with_score(j: int, by: float) -> float:
        moved = scores.copy()
        moved[j] += by
        return float(softmax(moved)[spot.j])

    yield "its score were 1 more", with_score(spot.j, 1.0)
    yield "its score were 1 less", with_score(spot.j, -1.0)
    rivals = [j for j in np.argsort(-scores).tolist() if j != spot.j and np.isfinite(scores[j])]
    if rivals:
        yield f"the score of {given.answering[rivals[0]]} were 1 more", with_score(rivals[0], 1.0)
        yield f"{given.answering[rivals[0]]} were not there", with_score(rivals[0], -np.inf)
    yield (
        "every score were 1 more (nothing changes: only differences count)",
        float(softmax(scores + 1)[spot.j]),
    )
    if given.scale is None:
        yield "nothing were divided by √d_k", value(worked.but(scale=1.0), spot)


def _of_score(worked: Derivation, spot: Spot) -> Iterator[tuple[str, float]]:
    """Of a score: its dot product."""
    now, dot = value(worked, spot), worked["dots"].values[spot.head][spot.i][spot.j]
    step = worked["scores"].values[spot.head][spot.i][spot.j] / dot if dot else worked.given.d_k**-0.5
    yield "the dot product were 1 more", now + step
    yield "the dot product were twice as large", 2 * now
    if worked.given.scale is None:
        yield "nothing were divided by √d_k", dot


def _of_dot(worked: Derivation, spot: Spot) -> Iterator[tuple[str, float]]:
    """Of a dot product: a component of the query, or of the key."""
    given, now = worked.given, value(worked, spot)
    q = worked["q"].values[spot.head][spot.i]
    k = worked["k"].values[spot.head // (given.n_heads // given.n_kv_heads)][spot.j]
    query, key = given.asking[spot.i], given.answering[spot.j]
    for c in range(min(len(q), MOST_COMPONENTS)):
        yield f"component {c + 1} of {query}’s query were 1 more", now + k[c]
    for c in range(min(len(k), MOST_COMPONENTS)):
        yield f"component {c + 1} of {key}’s key were 1 more", now + q[c]


def _of_exp(worked: Derivation, spot: Spot) -> Iterator[tuple[str, float]]:
    """Of an exponential: its score."""
    yield "its score were 1 more (times e)", value(worked, spot) * float(np.e)
    yield "its score were 1 less (divided by e)", value(worked, spot) / float(np.e)


def _of_out(worked: Derivation, spot: Spot) -> Iterator[tuple[str, float]]:
    """Of an output: a component of each value, by its weight."""
    weights = worked["weights"].values[spot.head][spot.i]
    for j in np.argsort(-np.array(weights))[:MOST_COMPONENTS].tolist():
        token = worked.given.answering[j]
        yield f"component {spot.j + 1} of {token}’s value were 1 more", value(worked, spot) + weights[j]


MOST_COMPONENTS = 4  # that are told of

SENSITIVE: dict[str, Callable[[Derivation, Spot], Iterator[tuple[str, float]]]] = {
    "dots": _of_dot,
    "exp": _of_exp,
    "out": _of_out,
    "scores": _of_score,
    "weights": _of_weight,
}


def _number(x: float) -> Cell:
    return _short(x) or fixed(x)


def _short(x: float) -> Number | None:
    return plain(x) if round(x, 3) == x else None
