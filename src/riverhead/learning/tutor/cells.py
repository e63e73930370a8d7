"""Cells of the sentence at hand: which ones a question means, what they are called, their arithmetic."""

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

__all__ = [
    "BY_KEY",
    "Spot",
    "chain",
    "exactly",
    "focus_of",
    "name",
    "printed_of",
    "value",
    "which",
    "without_number",
]

STEPS = (
    "weights",
    "out",
    "scores",
    "exp",
    "dots",
    "sum",
    "masked",
    "merged",
    "y",
    "q",
    "k",
    "v",
)  # likeliest first
BY_KEY = ("dots", "scores", "masked", "exp", "weights")
ALSO = {
    "scores": ("scores", "dots", "masked"),
    "out": ("out", "merged", "y"),
    "e": ("q",),
}  # what a word may mean
ROUNDS = ("exp", "sum")  # steps in which a whole number may be a rounded one
FITS = (Verdict.EXACT, Verdict.ROUNDED, Verdict.CARRIED)
MOST_NUMBERS = 12  # of a question
MOST_CELLS = 4_000  # that a printed number is compared with

NAMES = {  # of a cell, in words
    "dots": "the dot product of {query} with {key}",
    "scores": "the score of {query} on {key}",
    "masked": "the masked score of {query} on {key}",
    "exp": "the e^score of {query} on {key}",
    "weights": "the weight of {query} on {key}",
    "sum": "the sum of the exponentials in {query}’s row",
    "out": "component {j} of {query}′",
    "merged": "component {j} of {query}’s heads side by side",
    "y": "component {j} of {query}’s vector after W_o",
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
    """One number of a derivation: its step, head, row and column, and how a ``printed`` number fits it."""

    step: str
    i: int
    j: int
    head: int = 0
    fits: Verdict | None = None
    printed: str = ""


def value(worked: Derivation, spot: Spot) -> float:
    """Return the number."""
    return worked[spot.step].values[spot.head][spot.i][spot.j]


def name(worked: Derivation, spot: Spot) -> str:
    """Say which number it is: ``the weight of bank on river``."""
    given = worked.given
    key = given.answering[spot.j] if spot.step in BY_KEY else ""
    words = NAMES[spot.step].format(query=worked.rows(spot.step)[spot.i], key=key, j=spot.j + 1)
    return words + (f" in head {spot.head}" if len(worked[spot.step].values) > 1 else "")


def focus_of(at_hand: AtHand) -> int:
    """Return the row that is meant where no word is named."""
    if at_hand.derivation is None or at_hand.focus is None:
        return 0
    return position(at_hand.derivation.given.tokens, at_hand.focus)


def which(asked: Asked, at_hand: AtHand) -> tuple[Spot, ...]:
    """Return the cells that are meant: by their numbers, or else by their step and words."""
    if at_hand.derivation is None or not asked.about_numbers:
        return ()
    if asked.numbers:
        return _printed(asked, at_hand)
    if asked.step is None and not (asked.related and asked.query is not None and asked.keys):
        return ()
    return without_number(asked, at_hand)


def without_number(asked: Asked, at_hand: AtHand) -> tuple[Spot, ...]:
    """Return the cells that a step and words name; one for each key that is named."""
    if at_hand.derivation is None or not (asked.named or (asked.step == "sum" and asked.numbers)):
        return ()
    if asked.step not in (None, "sum", *BY_KEY) and asked.component is None:
        return ()  # a vector is no number
    spots, focus = list(_spots(at_hand.derivation, asked)), focus_of(at_hand)
    found = []
    for key in asked.keys or (None,):
        mine = [s for s in spots if key is None or s.step not in BY_KEY or s.j == key]
        if mine:
            found.append(min(mine, key=lambda spot: _rank(spot, asked, focus)))
    return tuple(dict.fromkeys(found))


def _printed(asked: Asked, at_hand: AtHand) -> tuple[Spot, ...]:
    """The cell of each printed number; nothing where one of several is nowhere."""
    worked, focus = at_hand.derivation, focus_of(at_hand)
    assert worked is not None
    several = len(asked.numbers) > 1
    some_cell = asked.step == "sum" or (asked.named and (asked.step or asked.related or asked.keys))
    tied = bool(some_cell) and not several
    if len(asked.numbers) > MOST_NUMBERS or (any(map(_everyday, asked.numbers)) and not tied):
        return ()
    if asked.extreme and not asked.named:
        return ()
    loose = several or asked.either
    alone = asked.step is None and not (asked.said or asked.keys)  # "river 0.54", whichever of two it is
    found = [
        _fitting(number, asked, worked, focus, loose)
        or (_fitting(number, asked, worked, focus, True) if alone and asked.named else None)
        for number in asked.numbers
    ]
    if all(found):
        return _joined([spot for spot in found if spot], worked)
    if several or asked.foreign or not (tied and asked.denied) or "," in asked.numbers[0].text:
        return ()  # a number of nothing that is known, not a false one of some cell
    return tuple(
        Spot(s.step, s.i, s.j, s.head, None, printed_of(asked.numbers[0]))
        for s in without_number(asked, at_hand)
    )


def _fitting(number: Answer, asked: Asked, worked: Derivation, focus: int, loose: bool) -> Spot | None:
    """The likeliest cell that a printed number fits; ``loose``: whichever of the words asks."""
    printed = printed_of(number)
    fitting = [
        Spot(s.step, s.i, s.j, s.head, verdict, number.text)
        for s in _spots(worked, asked, loose)
        if (not loose or _is_near(s, asked))
        and (verdict := worked.judge(s.step, s.i, s.j, printed, s.head)) in FITS
        and _may(number, s.step, verdict)
    ]

    def rank(spot: Spot) -> tuple[int, ...]:
        return (FITS.index(spot.fits or Verdict.CARRIED), *_rank(spot, asked, focus))

    return min(fitting, key=rank, default=None)


def _is_near(spot: Spot, asked: Asked) -> bool:
    """Whether a cell has to do with the words named, whichever asks."""
    if asked.said:
        return spot.i == asked.query
    return not asked.named or bool({spot.i, spot.j} & {asked.query, *asked.keys})


def _may(number: Answer, step: str, verdict: Verdict) -> bool:
    """Whether a number may be meant: a whole one is seldom a weight that was rounded."""
    return (
        verdict is Verdict.EXACT or not _everyday(number) or (step in ROUNDS and verdict is Verdict.ROUNDED)
    )


def printed_of(number: Answer) -> str:
    """Return a number as it is printed, with a decimal point."""
    return number.text.replace(",", ".")


def _joined(spots: list[Spot], worked: Derivation) -> tuple[Spot, ...]:
    """Leave out what another one is made from; an exponential over its sum is a weight."""
    steps = {spot.step: spot for spot in spots}
    if len(spots) == 2 and set(steps) == {"exp", "sum"} and len({(s.head, s.i) for s in spots}) == 1:
        exp = steps["exp"]
        return (Spot("weights", exp.i, exp.j, exp.head, Verdict.EXACT),)
    made = {
        (step, s.head, s.i, None if step == "sum" else s.j) for s in spots for step in BEFORE.get(s.step, ())
    }
    kept = [s for s in spots if (s.step, s.head, s.i, None if s.step == "sum" else s.j) not in made]
    one = {(s.step, s.head, s.i, s.j): s for s in reversed(kept)}  # of two prints of one cell the first
    return tuple(reversed(one.values()))


def _everyday(number: Answer) -> bool:
    """Whether a number that stands for itself may be anything: 2 words, 12 layers."""
    return number.value in (0, 1) if number.percent else not number.decimals


def _spots(worked: Derivation, asked: Asked, loose: bool = False) -> Iterator[Spot]:
    """Every cell that the words of the question leave."""
    steps = ALSO.get(asked.step, (asked.step,)) if asked.step else STEPS
    n = 0
    for step in steps:
        if step not in worked.names:
            continue
        for head, grid in enumerate(worked[step].values):
            for i, row in enumerate(grid):
                if not loose and not _row_is_meant(step, head, i, asked, worked):
                    continue
                for j in range(len(row)):
                    n += 1
                    if n > MOST_CELLS:
                        return
                    if loose or _column_is_meant(step, j, len(row), asked):
                        yield Spot(step, i, j, head)


def _row_is_meant(step: str, head: int, i: int, asked: Asked, worked: Derivation) -> bool:
    if asked.head is not None and len(worked[step].values) > 1 and head != asked.head:
        return False
    row = asked.key if step in ("k", "v") else asked.query
    if step in ("k", "v") and row is None:
        row = asked.query
    if row is None and step not in BY_KEY and asked.keys:
        row = asked.key
    return row in (None, i)


def _column_is_meant(step: str, j: int, width: int, asked: Asked) -> bool:
    if step in BY_KEY:
        return not asked.keys or j in asked.keys
    return asked.component is None or j == (asked.component % width if asked.component < width else -1)


def _rank(spot: Spot, asked: Asked, focus: int) -> tuple[int, ...]:
    """Sort by the row in focus, then by how likely a step is meant."""
    steps = ALSO.get(asked.step or "", STEPS)
    return (spot.i != focus and asked.query is None, steps.index(spot.step), spot.head, spot.i, spot.j)


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
