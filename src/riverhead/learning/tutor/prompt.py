"""What a model is told: how to teach, the sentence with its vectors, the passages, the turns before."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from riverhead.scene import Scene

if TYPE_CHECKING:
    from riverhead.derivation import Derivation
    from riverhead.learning.tutor.at_hand import AtHand
    from riverhead.learning.tutor.passages import Hit, Passage

__all__ = ["Turn", "bindings", "kept", "messages", "numbers_at_hand", "system"]

MOST_PASSAGES, MOST_PASSAGE = 3, 2_500  # passages, and characters of each
MOST_SENTENCE, MOST_BESIDE = 2_000, 2_000  # characters
MOST_NUMBERS, MOST_WIDE = 160, 24  # of one step, and of a row of it, that are written out
MOST_HISTORY = 12_000  # characters of earlier turns
WRITTEN = ("q", "k", "v", "scores", "masked", "weights", "out")
NAME = re.compile(r"\w+")
CUT = " … (the passage goes on)"


@dataclass(frozen=True, slots=True)
class Turn:
    """A question, the reply to it, and the sums of the reply that were wrong, in words."""

    question: str
    reply: str
    wrong: tuple[str, ...] = ()


def system(at_hand: AtHand, hits: Iterable[Hit], wrong: Sequence[str] = ()) -> str:
    """Return all that a model is told before the question."""
    parts = [_how(), _sentence(at_hand)]
    parts += [_passage(hit.passage) for hit in [*hits][:MOST_PASSAGES]]
    if wrong:
        parts.append("In your last reply these sums were wrong. Correct them first:\n" + "\n".join(wrong))
    return "\n\n".join(filter(None, parts))


def messages(told: str, turns: Iterable[Turn], question: str) -> list[dict[str, Any]]:
    """Return the messages of the protocol: what is told, the turns so far, the question."""
    found: list[dict[str, Any]] = [{"role": "system", "content": told}]
    for turn in turns:
        found += [
            {"role": "user", "content": turn.question},
            {"role": "assistant", "content": turn.reply},
        ]
    return [*found, {"role": "user", "content": question}]


def kept(turns: Sequence[Turn]) -> list[Turn]:
    """Return the last turns that together are short enough to be sent again."""
    found: list[Turn] = []
    room = MOST_HISTORY
    for turn in reversed(turns):
        room -= len(turn.question) + len(turn.reply)
        if room < 0:
            break
        found.insert(0, turn)
    return found


def bindings(at_hand: AtHand) -> str:
    """Return the vectors of the sentence as a text binds them, so that a sum may use their names.

    >>> from types import SimpleNamespace
    >>> from riverhead.derivation import example
    >>> whiteboard = example("The river bank flooded").derive()
    >>> bindings(SimpleNamespace(text="", derivation=whiteboard)).splitlines()[1]
    'q_river = (1, 1)'
    """
    worked = at_hand.derivation
    if worked is None or worked.given.n_heads > 1:
        return ""
    short = [step for step in ("q", "k", "v") if _is_short(worked, step)]
    return "\n".join(_rows(worked, short, names_only=True))


def numbers_at_hand(at_hand: AtHand) -> Iterator[float]:
    """Yield every number of the derivation: what the model may say of it is given."""
    worked = at_hand.derivation
    for step in worked.steps if worked is not None else ():
        for head in step.values:
            for row in head:
                yield from row


@cache
def _how() -> str:
    return files("riverhead.learning.tutor").joinpath("data/system.md").read_text("utf-8").strip()


def _sentence(at_hand: AtHand) -> str:
    if not at_hand.text and at_hand.derivation is None:
        return ""
    text = at_hand.text if len(at_hand.text) <= MOST_SENTENCE else at_hand.text[:MOST_SENTENCE] + " …"
    lines = [f"The sentence at hand: {text}" if text else "Vectors are at hand."]
    if at_hand.derivation is not None:
        lines += _numbers(at_hand.derivation)
    if at_hand.beside:
        beside = str(Scene("", at_hand.beside)).strip("\n")
        lines.append("It is a head of a real model; a weight is no evidence by itself. Beside it stand:")
        lines.append(beside if len(beside) <= MOST_BESIDE else beside[:MOST_BESIDE] + " …")
    return "\n".join(lines)


def _numbers(worked: Derivation) -> Iterator[str]:
    """The rows of the steps that are short enough, and how to come by the others."""
    steps = [step for step in WRITTEN if step in worked.names]
    short = [step for step in steps if _is_short(worked, step)]
    heads = f", {worked.given.n_heads} heads" if worked.given.n_heads > 1 else ""
    keys = ", ".join(worked.given.answering[:MOST_WIDE])
    yield f"Its numbers (d_k = {worked.given.d_k}{heads}; columns of scores and weights: {keys}):"
    yield from _rows(worked, short)
    if longer := [step for step in steps if step not in short]:
        yield f"Too many to write out: {', '.join(longer)}; the tool cell gives any of their numbers."


def _is_short(worked: Derivation, step: str) -> bool:
    grid = worked[step].values
    width = len(grid[0][0])
    return width <= MOST_WIDE and len(grid) * len(grid[0]) * width <= MOST_NUMBERS


def _rows(worked: Derivation, steps: Iterable[str], names_only: bool = False) -> Iterator[str]:
    """A line for each row of the steps: ``q_bank = (2, 1)``; with ``names_only`` where the word is a name."""
    from riverhead.derivation.notation import Digits, vector

    digits = Digits()
    for step in steps:
        for head, rows in enumerate(worked[step].values):
            which = f" of head {head}" if len(worked[step].values) > 1 else ""
            for token, row in zip(worked.rows(step), rows, strict=True):
                if not names_only or NAME.fullmatch(token):
                    numbers = vector([digits.show(step, value) for value in row])
                    yield f"{step}_{token}{which} = {numbers}"


def _passage(passage: Passage) -> str:
    prose = passage.prose
    if len(prose) > MOST_PASSAGE:
        prose = prose[:MOST_PASSAGE].rsplit(None, 1)[0] + CUT
    return f"From lesson {passage.lesson}, “{passage.title}”:\n{prose}"
