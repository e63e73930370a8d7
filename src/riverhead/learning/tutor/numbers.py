"""Questions about numbers, answered by the engine: which cell, its arithmetic, what would change it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from riverhead.core import softmax
from riverhead.derivation import Derivation, changed
from riverhead.learning.tutor.arithmetic import worked_out
from riverhead.learning.tutor.asking import Asked, asked
from riverhead.learning.tutor.at_hand import AtHand
from riverhead.learning.tutor.cells import Spot, chain, exactly, name, value, which
from riverhead.numbers import Number, Verdict, fixed, plain
from riverhead.scene import Cell, Part, Table, Text

__all__ = ["answer"]

FIT = {
    Verdict.EXACT: "{Name} is {exact}.",
    Verdict.ROUNDED: "{printed} is {name}: {exact}, rounded.",
    Verdict.CARRIED: "{printed} is {name}, worked from rounded numbers; exactly it is {exact}.",
}


def answer(question: str, at_hand: AtHand) -> tuple[Part, ...]:
    """Return what the engine can say to ``question``; nothing where it asks for no number that is known.

    A printed number is looked for in every step of the sentence at hand; words name a step and tokens. What
    needs no sentence (e^2.12, the softmax of 2 and 1) is worked out as it stands.
    """
    read = asked(question, at_hand)
    names_a_word = read.query is not None or read.key is not None
    if not names_a_word and (parts := worked_out(question)):
        return parts
    spot = which(read, at_hand)
    if spot is None or at_hand.derivation is None:
        return ()
    if read.strange:
        words = " ".join(at_hand.derivation.given.answering)
        return (Text((f"{read.strange!r} is no word of the sentence at hand: {words}.",)),)
    if read.changes:
        return (*_otherwise(at_hand.derivation, spot, read), *at_hand.beside)
    return (*_explained(at_hand.derivation, spot, read), *at_hand.beside)


def _explained(worked: Derivation, spot: Spot, read: Asked) -> Iterator[Part]:
    """The number in a sentence, how it is made, what would change it."""
    exact, called = exactly(value(worked, spot)), name(worked, spot)
    printed = read.numbers[0].text if read.numbers else ""
    if printed and spot.fits is None:
        yield Text((f"It is not {printed}: {called} is {exact}.",))
    else:
        words = FIT[spot.fits or Verdict.EXACT]
        yield Text((words.format(name=called, Name=_capital(called), exact=exact, printed=printed),))
    yield from chain(worked, spot)
    if table := _sensitive(worked, spot):
        yield Text(("What would change it",), "heading")
        yield table


def _otherwise(worked: Derivation, spot: Spot, read: Asked) -> Iterator[Part]:
    """The number before and after a change, and all else that changes in its row."""
    after = worked.but(**read.changes)
    was, now = value(worked, spot), value(after, spot)
    yield Text((f"{_capital(name(worked, spot))} is {exactly(was)}; then it is {exactly(now)}.",))
    yield from chain(after, spot)
    yield Text(("What else changes in this row",), "heading")
    yield from changed(worked, after, focus=spot.i).parts


def _sensitive(worked: Derivation, spot: Spot) -> Table | None:
    """A few small changes, and what each would make of the number."""
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


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def _number(x: float) -> Cell:
    return _short(x) or fixed(x)


def _short(x: float) -> Number | None:
    return plain(x) if round(x, 3) == x else None
