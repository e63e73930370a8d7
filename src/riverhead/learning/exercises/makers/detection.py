"""A worked sheet with one mistake in it: find the first wrong line, and put it right."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from riverhead.checking.answers import (
    Draft,
    Sheet,
    attention_sheet,
    layer_norm_sheet,
    mistaken,
    read,
    softmax_sheet,
    solved,
)
from riverhead.derivation import derive
from riverhead.errors import InputError
from riverhead.learning.exercises import clean
from riverhead.learning.exercises.catalogue import Made
from riverhead.learning.exercises.draw import Draw
from riverhead.learning.exercises.showing import quoted, row, say, vectors
from riverhead.learning.exercises.words import sentence
from riverhead.scene import Part, Table

__all__ = ["MAKERS"]

CLEAR = 0.05  # what a wrong number is off at least, or it would pass as badly rounded
SMALLEST = -2.2  # score: a smaller one has an exponential that is mostly rounding at two decimals
TRIES = 50
Worked = tuple[tuple[Part, ...], Sheet]

ATTENTION = (
    "minus-lost", "added-not-multiplied", "cosine", "no-scale", "divided-by-d_k", "multiplied-by-scale",
    "no-exponential", "base-2", "exp-of-minus", "not-normalised", "over-the-largest",
    "over-the-number-of-keys", "keys-mixed", "values-by-scores", "values-by-exponentials", "values-summed",
)  # fmt: skip
SOFTMAX = (
    "no-exponential", "base-2", "exp-of-minus", "exp-over-raw-sum", "not-normalised", "over-the-largest",
    "over-the-number-of-keys", "softmax-twice",
)  # fmt: skip
LAYER_NORM = ("not-centred", "divided-by-variance", "variance-over-n-minus-1", "variance-not-divided")


def find_the_mistake(draw: Draw) -> Made | None:
    """A sheet worked with one mistake, a line a number."""
    base, planted = draw.choice(WORKED)
    drawn = next(filter(None, (base(draw) for _ in range(TRIES))), None)
    written = None if drawn is None else _written(drawn[1], draw.choice(planted))
    if drawn is None or written is None:
        return None
    given, worked = drawn
    lines = tuple((str(n), cell.name, written[cell.id]) for n, cell in enumerate(worked.asked, 1))
    task = (
        *given,
        say("Somebody went on from here, line by line, and made one mistake:"),
        Table(("line", "", "written"), lines),
        say("Which is the first wrong line, and which number should stand in it?"),
    )
    return Made(task, _sheet(worked, written))


def _written(worked: Sheet, wrong: str) -> dict[str, str] | None:
    """What stands on the sheet; None where it is not plain which lines are wrong, or only one is."""
    try:
        written = mistaken(worked, wrong)
    except InputError:  # it changes nothing here
        return None
    true = solved(worked)
    off = [cell for cell in worked.asked if written.get(cell.id) != true[cell.id]]
    clear = all(cell.id in written and abs(read(written[cell.id]).value - cell.truth) > CLEAR for cell in off)
    return written if clear and len(off) > 1 else None


def _sheet(worked: Sheet, written: dict[str, str]) -> Sheet:
    """The worked sheet as scratch paper, what is written beside it, and the two cells asked for."""
    draft = Draft("Find the mistake")
    for cell in worked.cells:
        parents = tuple(f"true_{parent}" for parent in cell.parents)
        draft.put(replace(cell, grid=f"true_{cell.grid}", parents=parents, asked=False))
    draft.given("unit", 10.0**-draft.decimals)
    there = draft.given("there", [read(written[cell.id]).value for cell in worked.asked])
    true = [
        draft.cell("true", "same", [f"true_{cell.id}"], (n,), asked=False, label=cell.name)
        for n, cell in enumerate(worked.asked)
    ]
    lines = ["unit", *there, *true]
    draft.cell("line", "first wrong line", lines, exact=True, label="first wrong line")
    draft.cell("number", "first number put right", lines, label="its right number")
    return draft.sheet()


def _attention(draw: Draw) -> Worked | None:
    tokens = sentence(draw, draw.integer(2, 3))
    asking = draw.integer(0, len(tokens) - 1)
    q, k, v = (clean.vectors(draw, n, 2) for n in (1, len(tokens), len(tokens)))
    scores = [dot / math.sqrt(2) for dot in clean.dots(q[0], k)]
    if min(scores) < SMALLEST or not clean.tells(scores, asking):
        return None
    worked = derive(q, k, v, tokens=[tokens[asking]], tokens_k=tokens)
    given = (
        say(f"In {quoted(tokens)}, {quoted([tokens[asking]])} asks:"),
        vectors([tokens[asking]], q=q),
        say("and every token answers, and hands over a value:"),
        vectors(tokens, k=k, v=v),
    )
    return given, attention_sheet(worked)


def _softmax(draw: Draw) -> Worked | None:
    tokens = sentence(draw, draw.integer(3, 4))
    asking = draw.choice(tokens)
    scores = [draw.integer(-3, 4) / 2 for _ in tokens]
    if not clean.tells(scores, tokens.index(asking)):
        return None
    given = (say(f"The scores of {quoted([asking])} in {quoted(tokens)}:"), row("score", tokens, scores))
    return given, softmax_sheet([scores], asking=[asking], answering=tokens)


def _layer_norm(draw: Draw) -> Worked | None:
    (x,) = clean.vectors(draw, 1, draw.integer(3, 4), -4, 6)
    given = (say("A vector is to be layer-normed, with neither γ nor β:"), vectors(["x"], x=[x]))
    return None if len(set(x)) < len(x) else (given, layer_norm_sheet(x))


WORKED: tuple[tuple[Callable[[Draw], Worked | None], tuple[str, ...]], ...] = (
    (_attention, ATTENTION),
    (_softmax, SOFTMAX),
    (_layer_norm, LAYER_NORM),
)
MAKERS = {"find-the-mistake": find_the_mistake}
