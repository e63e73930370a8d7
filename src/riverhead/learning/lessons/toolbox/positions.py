"""Where a token stands: order lost and told again, by sinusoids, by rotation, by a penalty for distance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from riverhead.core import alibi_bias, alibi_slopes, attention, rope, sinusoidal
from riverhead.derivation import Derivation
from riverhead.derivation.notation import vector
from riverhead.derivation.tokens import position as place_of
from riverhead.learning.lessons.toolbox.figures import table
from riverhead.numbers import fixed
from riverhead.scene import Bar, Line, Lines, Part, Table

if TYPE_CHECKING:
    from riverhead.transformer import Model

__all__ = ["IN_A_MODEL", "NAMES"]


def in_both_orders(worked: Derivation, order: Sequence[int], focus: str, causal: bool = False) -> Table:
    """One word's output in a text, and in the same text with its tokens in another ``order``."""
    given = worked.given
    at = place_of(given.tokens, focus, "focus")
    rows = []
    for places in (range(len(given.tokens)), order):
        q, k, v = (np.array(worked[name].values[0])[list(places)] for name in "qkv")
        out = attention(q, k, v, causal=causal).out[list(places).index(at)]
        rows.append((" ".join(given.tokens[place] for place in places), *out.tolist()))
    return table(["text", *(f"{focus}′, {axis}" for axis in range(1, len(rows[0])))], rows)


def sinusoid(position: int, width: int) -> list[float]:
    """Return the sinusoidal vector of one position."""
    row: list[float] = sinusoidal(1, width, offset=position)[0].tolist()
    return row


def sinusoids(n: int, width: int) -> Table:
    """The sinusoidal vectors of positions 0 to n − 1, and the dot product of each with the first."""
    rows = sinusoidal(n, width)
    alike = rows @ rows[0]
    columns = [f"{wave} {pair}" for pair in range(1, width // 2 + 1) for wave in ("sin", "cos")]
    cells = [(str(at), *row.tolist(), dot) for at, (row, dot) in enumerate(zip(rows, alike, strict=True))]
    return table(["position", *columns, "· position 0"], cells)


def alike(places: Sequence[int], width: int) -> Table:
    """How alike the sinusoidal vectors of ``places`` are to that of position 0: their dot products."""
    rows = sinusoidal(max(places) + 1, width)
    dots = (rows @ rows[0])[list(places)].tolist()
    cells = [(str(at), fixed(dot), Bar(max(dot, 0) / dots[0])) for at, dot in zip(places, dots, strict=True)]
    return table(["position", "· position 0", ""], cells, f"d_model = {width}")


def turned(x: list[float], position: int, base: float = 10_000.0) -> list[float]:
    """Return a query or a key turned by its position, neighbours being a pair."""
    arrow = np.array([x], float)
    found: list[float] = rope(arrow, offset=position, base=base, pairs="interleaved")[0].tolist()
    return found


def turning(x: list[float], n: int) -> Lines:
    """A query of two numbers at positions 0 to n − 1, as arrows."""
    ends = (turned(x, at) for at in range(n))
    drawn = tuple(Line(f"position {at}", ((0.0, 0.0), (end[0], end[1]))) for at, end in enumerate(ends))
    return Lines(drawn, "first component", "second component")


def turned_dots(q: list[float], k: list[float], places: Sequence[Sequence[int]]) -> Table:
    """A query and a key turned by their places, and their dot product: it follows from the distance alone."""
    rows = []
    for m, n in places:
        q_m, k_n = turned(q, m), turned(k, n)
        rows.append(
            (
                str(m),
                str(n),
                m - n,
                vector(list(map(fixed, q_m))),
                vector(list(map(fixed, k_n))),
                float(np.dot(q_m, k_n)),
            )
        )
    return table(["query at m", "key at n", "m − n", "q turned", "k turned", "q·k"], rows)


def with_alibi(worked: Derivation, focus: str, n_heads: int, head: int) -> Table:
    """A causal row of scores, what distance takes in one of ``n_heads`` heads, the weights it leaves."""
    given = worked.given
    at = place_of(given.tokens, focus, "focus")
    q, k, v = (np.array(worked[name].values[0]) for name in "qkv")
    bias = alibi_bias(n_heads, len(q), len(k))[head]
    before, after = (attention(q, k, v, causal=True, bias=penalty) for penalty in (None, bias))
    rows = [
        (
            given.tokens[key],
            at - key,
            float(before.scores[at, key]),
            float(bias[at, key]),
            float(after.scores[at, key]),
            float(after.weights[at, key]),
            float(before.weights[at, key]),
        )
        for key in range(at + 1)
    ]
    columns = ["key", "distance", "score", "−slope·distance", "together", "weight", "it was"]
    return table(columns, rows, f"the row of {focus}")


def slopes(n_heads: int) -> list[float]:
    """Return the slope of each head."""
    found: list[float] = alibi_slopes(n_heads).tolist()
    return found


def real_habit(model: Model, head: str, n: int) -> list[Part]:
    """What a head gives in plain text to the token one place back, and so on to ``n``: mean weights."""
    from riverhead.inspection.habit import BY_PLACE, habit_of, silent
    from riverhead.transformer import parse_head

    T = BY_PLACE
    layer, at = parse_head(head, model.config)
    habit = habit_of(model, T, silent).rows(np.array([T - 1]))[layer, at, 0]
    rows = [
        (str(back), fixed(weight), Bar(weight))
        for back in range(1, n + 1)
        for weight in (float(habit[T - 1 - back]),)
    ]
    return [Table(("tokens back", "habit", ""), tuple(rows), f"{head}: mean weight in plain text")]


NAMES = {
    "alike": alike,
    "in_both_orders": in_both_orders,
    "pi": math.pi,
    "sinusoid": sinusoid,
    "sinusoids": sinusoids,
    "slopes": slopes,
    "turned": turned,
    "turned_dots": turned_dots,
    "turning": turning,
    "with_alibi": with_alibi,
}
IN_A_MODEL = {"real_habit": real_habit}
