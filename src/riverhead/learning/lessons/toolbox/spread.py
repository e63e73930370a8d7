"""How far scores spread, and what softmax makes of it: coin tosses, drawn pairs, divisors, derivatives."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from riverhead.derivation import Derivation, derive
from riverhead.derivation import sections as blocks
from riverhead.derivation.notation import Digits, divided, maths
from riverhead.derivation.sections import Sheet
from riverhead.derivation.tokens import position
from riverhead.inspection import head_derivation
from riverhead.numbers import Number, fixed, plain, significant
from riverhead.scene import Cell, Math, Matrix, Part, Root, Table, Text, Word

if TYPE_CHECKING:
    from riverhead.transformer import Model

__all__ = ["IN_A_MODEL", "NAMES"]


def only(worked: Derivation, tokens: Sequence[str]) -> Derivation:
    """Return the derivation of some tokens alone."""
    given = worked.given
    at = [position(given.tokens, token, "token") for token in tokens]
    q, k, v = (worked[step].array[:, at] for step in ("q", "k", "v"))
    meanings = [given.meanings[n] for n in at] if given.meanings else None
    return derive(q, k, v, tokens=[given.tokens[n] for n in at], meanings=meanings)


def plus(row: Sequence[float], number: float) -> list[float]:
    """Return a row, ``number`` added to each."""
    return [x + number for x in row]


def scaled(row: Sequence[float], by: float) -> list[float]:
    """Return a row, each number times ``by``."""
    return [x * by for x in row]


def _sums(d_k: int) -> dict[int, int]:
    """The sums that d_k tosses of plus or minus one can have, and in how many ways."""
    return {2 * heads - d_k: math.comb(d_k, heads) for heads in range(d_k + 1)}


def coin_tosses(widths: Sequence[int]) -> Table:
    """How often each dot product of tossed vectors comes, for every width."""
    reach = max(widths)
    sums = range(-reach, reach + 1)
    rows = tuple((plain(d_k), *(_ways(_sums(d_k).get(each)) for each in sums)) for d_k in widths)
    return Table(("d_k", *(plain(each) for each in sums)), rows, "in how many ways q·k can be each sum")


def _ways(count: int | None) -> Number | None:
    return None if count is None else plain(count)


def coin_variance(d_k: int) -> str:
    """The mean square of those sums, with its arithmetic.

    >>> coin_variance(2)
    '(1·(−2)² + 2·0² + 1·2²)/4 = 2'
    """
    sums = _sums(d_k)
    squares = " + ".join(
        f"{ways}·{f'({plain(each)})' if each < 0 else each}²" for each, ways in sorted(sums.items())
    )
    n = sum(sums.values())
    return f"({squares})/{n} = {plain(sum(ways * each**2 for each, ways in sums.items()) / n)}"


def drawn_pairs(widths: Sequence[int], n: int) -> Table:
    """What the experiment on √d_k measures with ``n`` pairs of normal vectors a row."""
    from riverhead.experiments.scale.dots import measure

    found = measure(n, np.random.default_rng(0), lambda done: None).data["dots"]
    by_width = {row["d_k"]: row for row in found if row["sigma2"] == 1}
    rows = tuple(
        (
            plain(d_k),
            *(significant(by_width[d_k][name]) for name in ("predicted", "dots", "scores")),
        )
        for d_k in widths
    )
    columns = ("d_k", "variance predicted", "variance of q·k", "variance of q·k ÷ √d_k")
    return Table(columns, rows, f"{n:,} pairs a row")


def how_weights_move(scores: Sequence[float]) -> Matrix:
    """The Jacobian of one row: a row for each weight, a column for each score."""
    from riverhead.experiments.scale.spread import jacobian

    moves = jacobian(np.array([scores], float))[0].tolist()
    weights = [f"weight {n + 1}" for n in range(len(scores))]
    columns = [f"score {n + 1}" for n in range(len(scores))]
    said = f"scores {', '.join(str(plain(score)) for score in scores)}"
    return Matrix(Word(said), tuple(weights), tuple(columns), tuple(tuple(map(fixed, row)) for row in moves))


def by_divisor(worked: Derivation, focus: str) -> Table:
    """One row of weights, its dot products divided by nothing, by √d_k and by d_k."""
    at, d_k = position(worked.given.tokens, focus, "focus"), worked.given.d_k
    divisors: tuple[tuple[str | Math, float], ...] = (
        ("nothing", 1.0),
        (Root(plain(d_k)), math.sqrt(d_k)),
        (plain(d_k), float(d_k)),
    )
    rows = []
    for said, divisor in divisors:
        row = worked.but(scale=1 / divisor)["weights"].values[0][at]
        rows.append((said, *map(fixed, row)))
    return Table(("divided by", *worked.given.answering), tuple(rows), focus=1)


def row_of(model: Model, text: str, head: str, focus: str) -> list[Part]:
    """One row of a real head from dot products to weights, and the weights without the divisor."""
    worked = head_derivation(model.read(text), head, focus)
    table = blocks.recipe(Sheet(worked, 0, Digits.of(None)), 0, range(worked.given.T_k))
    undivided = worked.but(scale=1.0)["weights"].values[0][0]
    last: tuple[Cell, ...] = (
        maths(Word("without"), *divided(worked.given, Digits.of(None)).items),
        *map(fixed, undivided),
        fixed(math.fsum(undivided)),
    )
    return [Text((f"{worked.title}, {model.title}",), "note"), Table(table.columns, (*table.rows, last))]


NAMES = {
    "by_divisor": by_divisor,
    "coin_tosses": coin_tosses,
    "coin_variance": coin_variance,
    "drawn_pairs": drawn_pairs,
    "how_weights_move": how_weights_move,
    "only": only,
    "plus": plus,
    "scaled": scaled,
}
IN_A_MODEL = {"real_row": row_of}
