"""From one vector to three: vectors as arrows, soft lookups, and what W_q, W_k and W_v make of x."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from riverhead.derivation import Derivation, sweep
from riverhead.derivation import sections as blocks
from riverhead.derivation.notation import Digits, maths, of, prose, vector
from riverhead.derivation.sections import Sheet
from riverhead.derivation.tokens import bare, position
from riverhead.inspection import head_derivation
from riverhead.inspection.words import find, words_read
from riverhead.learning.lessons.toolbox.figures import sheet_of
from riverhead.numbers import plain, significant
from riverhead.scene import Line, Lines, Part, Table, Text

if TYPE_CHECKING:
    from riverhead.transformer import Model

__all__ = ["IN_A_MODEL", "NAMES"]

FIRST = 4  # numbers of a real vector that are written out


def by_temperature(worked: Derivation, temperatures: Sequence[float]) -> list[Part]:
    """A soft dictionary as it grows cold."""
    return list(sweep(worked, temperatures).parts)


def projected(worked: Derivation, focus: str) -> list[Part]:
    """The three matrices, and one number that comes of them."""
    at = position(worked.given.tokens, focus, "focus")
    return blocks.projections(Sheet(worked, at, Digits.of(None), full=True))


def numbers_in(worked: Derivation) -> int:
    """How many numbers W_q, W_k and W_v hold together."""
    given = worked.given
    return sum(len(row) for W in (given.W_q, given.W_k, given.W_v) for row in W or ())


def with_one_matrix(worked: Derivation) -> Derivation:
    """Return the derivation with W_q for W_k too."""
    return worked.but(W_k=worked.given.W_q)


def two_grids(worked: Derivation, focus: str) -> list[Part]:
    """Every score with two matrices, then with one."""
    parts: list[Part] = []
    for said, each in (
        ("With W_q and W_k:", worked),
        ("With W_q for both:", with_one_matrix(worked)),
    ):
        parts += [Text(prose(said)), *blocks.scores(sheet_of(each, focus))]
    return parts


def arrows(ends: Mapping[str, Sequence[float]]) -> Lines:
    """Vectors of two numbers from one point, by name."""
    drawn = tuple(
        Line(f"{name} = {vector(list(map(plain, end)))}", ((0.0, 0.0), (end[0], end[1])))
        for name, end in ends.items()
    )
    return Lines(drawn, "first number", "second number")


def projected_by(model: Model, text: str, head: str, focus: str) -> list[Part]:
    """What one head makes of one word's vector: its query, its key and its value, and how long they are."""
    reading, config = model.read(text), model.config
    chosen = reading.head(head)
    at = find(words_read(model.tokenizer, reading.text, reading.token_ids), focus).last
    digits = Digits.of(None)
    rows = []
    for job, name in (("asks", "q"), ("answers", "k"), ("hands over", "v")):
        found = getattr(chosen, name)[at].tolist()
        made = vector([digits.operand(number) for number in found], FIRST)
        rows.append((job, maths(of(name, focus), "=", made), significant(math.hypot(*found))))
    size = f"{config.d_model} × {config.d_k}"
    sizes = f"x has {config.d_model} numbers; W_q, W_k and W_v of this head are {size} each"
    turned = "q and k are shown as they meet, turned by the word's position; v is not turned"
    return [
        Table(("", f"{focus} in {chosen.name}", "length"), tuple(rows), reading.text),
        Text(prose(sizes), "note"),
        *[Text(prose(turned), "note")] * (config.rope_base is not None),
    ]


def dots_of(model: Model, text: str, head: str, focus: str) -> list[Part]:
    """The query of one word with every key it sees, in one head."""
    worked = head_derivation(model.read(text), head, focus)
    row = tuple(Digits.of(None).show("dots", dot) for dot in worked["dots"].values[0][0])
    return [Table(("q·k", *map(bare, worked.given.answering)), ((bare(focus), *row),), f"{worked.title}")]


NAMES = {
    "arrows": arrows,
    "by_temperature": by_temperature,
    "numbers_in": numbers_in,
    "projected": projected,
    "two_grids": two_grids,
    "with_one_matrix": with_one_matrix,
}
IN_A_MODEL = {"real_dots": dots_of, "real_projections": projected_by}
