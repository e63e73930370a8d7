"""A cell of the sentence at hand: which one a question means, what it is called, its chain of arithmetic."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from riverhead.checking.answers import Answer
from riverhead.derivation import Derivation
from riverhead.derivation.tokens import position
from riverhead.learning.tutor.asking import Asked
from riverhead.learning.tutor.at_hand import AtHand
from riverhead.numbers import Verdict, fixed
from riverhead.scene import Part, Text

__all__ = ["Spot", "chain", "exactly", "name", "value", "which"]

STEPS = ("weights", "out", "scores", "exp", "dots", "sum", "masked", "q", "k", "v")  # the likeliest first
BY_KEY = ("dots", "scores", "masked", "exp", "weights")
FITS = (Verdict.EXACT, Verdict.ROUNDED, Verdict.CARRIED)
MOST_CELLS = 4_000  # that a printed number is compared with

NAMES = {  # of a cell, in words
    "dots": "the dot product of {query} with {key}",
    "scores": "the score of {query} on {key}",
    "masked": "the masked score of {query} on {key}",
    "exp": "the e^score of {query} on {key}",
    "weights": "the weight of {query} on {key}",
    "sum": "the sum of the exponentials in {query}’s row",
    "out": "component {j} of {query}′",
    "q": "component {j} of {query}’s query",
    "k": "component {j} of {query}’s key",
    "v": "component {j} of {query}’s value",
}

BEFORE = {  # what each step is made from, the nearest first
    "weights": ("exp", "scores", "dots", "sum"),
    "exp": ("scores", "dots"),
    "scores": ("dots",),
    "masked": ("scores", "dots"),
}


@dataclass(frozen=True, slots=True)
class Spot:
    """One number of a derivation: its step, head, row and column, and how a printed number fits it."""

    step: str
    i: int
    j: int
    head: int = 0
    fits: Verdict | None = None


def value(worked: Derivation, spot: Spot) -> float:
    """Return the number."""
    return worked[spot.step].values[spot.head][spot.i][spot.j]


def name(worked: Derivation, spot: Spot) -> str:
    """Say which number it is: ``the weight of bank on river``."""
    given = worked.given
    key = given.answering[spot.j] if spot.step in BY_KEY else ""
    words = NAMES[spot.step].format(query=worked.rows(spot.step)[spot.i], key=key, j=spot.j + 1)
    return words + (f", head {spot.head}" if given.n_heads > 1 else "")


def which(asked: Asked, at_hand: AtHand) -> Spot | None:
    """Return the cell that is meant: by its number, or else by its step and its words."""
    worked = at_hand.derivation
    if worked is None:
        return None
    focus = 0 if at_hand.focus is None else position(worked.given.tokens, at_hand.focus)
    spots = list(_spots(worked, asked))
    alone = asked.step is None and asked.query is None and asked.key is None
    if asked.numbers and not (alone and _everyday(asked.numbers[0])):
        printed = asked.numbers[0].text.replace(",", ".")
        fitting = [
            Spot(s.step, s.i, s.j, s.head, verdict)
            for s in spots
            if (verdict := worked.judge(s.step, s.i, s.j, printed, s.head)) in FITS
        ]
        if fitting:
            return min(fitting, key=lambda spot: (_fit(spot), *_rank(spot, asked, focus)))
    if asked.step is None and asked.key is None:
        return None
    if not asked.numbers and asked.query is None and asked.key is None and asked.step != "sum":
        return None
    if asked.numbers and (asked.step is None or (asked.query is None and asked.key is None)):
        return None  # a number of nothing that is known, not a false one of some cell
    return min(spots, key=lambda spot: _rank(spot, asked, focus), default=None)


def _everyday(number: Answer) -> bool:
    """Whether a number that stands for itself may be anything: 2 words, 12 layers."""
    return not number.decimals and not number.percent


def _spots(worked: Derivation, asked: Asked) -> Iterator[Spot]:
    """Every cell that the words of the question leave."""
    n = 0
    for step in (asked.step,) if asked.step else STEPS:
        if step not in worked.names:
            continue
        for head, grid in enumerate(worked[step].values):
            for i, row in enumerate(grid):
                by_key = step in BY_KEY
                row_of = asked.key if step in ("k", "v") else asked.query
                if row_of not in (None, i):
                    continue
                for j in range(len(row)):
                    n += 1
                    if n > MOST_CELLS:
                        return
                    if not by_key or asked.key in (None, j):
                        yield Spot(step, i, j, head)


def _fit(spot: Spot) -> int:
    """Exact and rounded numbers before carried ones."""
    return int(spot.fits is Verdict.CARRIED)


def _rank(spot: Spot, asked: Asked, focus: int) -> tuple[int, ...]:
    """Sort by the row in focus, then by how likely a step is meant."""
    return (spot.i != focus and asked.query is None, STEPS.index(spot.step), spot.head, spot.i, spot.j)


def chain(worked: Derivation, spot: Spot) -> list[Part]:
    """Return how the number is made, and what it is made from, back to the vectors."""
    lines: list[Part] = []
    for step in (spot.step, *BEFORE.get(spot.step, ())):
        if step == "scores" and _hidden(worked, spot):
            lines.append(Text(("The mask hides it: −∞, and e^−∞ is 0.",)))
        j = 0 if step == "sum" else spot.j
        lines.append(Text((worked.arithmetic(step, spot.i, j, spot.head),)))
    return lines


def _hidden(worked: Derivation, spot: Spot) -> bool:
    """Whether a mask hides the key of ``spot`` from its query."""
    return "masked" in worked.names and math.isinf(worked["masked"].values[spot.head][spot.i][spot.j])


def exactly(x: float) -> str:
    """Six decimals, or the number as it is where it is short."""
    return fixed(x, 6).text if round(x, 4) != x else fixed(x, 4).text.rstrip("0").rstrip(".")
