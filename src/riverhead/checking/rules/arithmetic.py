"""How the right number of a cell is made: its sum in a line, and the row of scores and weights behind it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riverhead.numbers import Number, plain, significant

__all__ = ["Working", "apart", "arithmetic", "number", "shown", "working"]

MOST_TERMS = 8  # of a sum, as on a line
MOST_KEYS = 16  # of a row that is worked out in full
SHORT = 8  # characters of a number that is shown as it stands: −1.15625
DIGITS = 4  # significant, of any other
MOST_DIGITS = 17  # that a float64 has
LARGE_SCORE = 20.0  # above it the row is moved, so that its exponentials can be read

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Working:
    """A query's row, key by key: the sums that make the dots, and columns of numbers under their headings."""

    sums: tuple[str, ...]
    columns: Mapping[str, tuple[float, ...]]


def arithmetic(steps: Any, cell: tuple[int, ...], array: str = "out") -> str:
    """Return the sum that makes a cell of ``out``, without what it comes to: each weight times its value.

    Of ``weights`` it is the division; empty where a cell is made in another way.

    >>> from riverhead.checking.rules.call import Call
    >>> from riverhead.checking.rules.pipeline import follow
    >>> steps = follow(Call({"q": np.zeros((1, 2)), "k": np.zeros((2, 2)), "v": np.array([[1.0], [4.0]])}))
    >>> print(arithmetic(steps, (0, 0)))
    0.5·1 + 0.5·4
    """
    if array == "out" and getattr(steps, "W_o", None) is not None:
        return _of_a_module(steps, cell)
    row = _Row.of(steps, cell, array)
    if row is None:
        return ""
    if array == "weights":
        weight = row.scores[cell[-1]]
        return f"{_power(weight, row.shift)} / {number(row.exps.sum())}" if row.exps.any() else ""
    return sum_of((w, x) for w, x in zip(row.mixed, row.values, strict=True) if w)


def _of_a_module(steps: Any, cell: tuple[int, ...]) -> str:
    """The sum that makes a cell of a module: the heads side by side, times a column of W_o, plus b_o."""
    b = 0.0 if steps.b_o is None else float(steps.b_o[cell[-1]])
    heads, column = steps.merged[cell[:-1]], np.asarray(steps.W_o)[:, cell[-1]]
    if len(heads) != len(column) or not math.isclose(heads @ column + b, steps.out[cell], abs_tol=1e-9):
        return ""
    added = f" {'−' if b < 0 else '+'} {number(abs(b))}" if b else ""
    return sum_of(zip(heads, column, strict=True), b) + added


def _of_a_head(steps: Any, cell: tuple[int, ...]) -> tuple[Any, tuple[int, ...]]:
    """A module without W_o hands its heads' results over as they are: the head's steps, and its own cell."""
    h, c = divmod(cell[-1], steps.d_v)
    return SimpleNamespace(**{**vars(steps), "out": steps.heads}), (*cell[:-2], h, cell[-2], c)


def working(steps: Any, cell: tuple[int, ...], array: str = "out") -> Working | None:
    """Return the row of scores and weights that a cell of ``out`` or ``weights`` rests on; None for others.

    >>> from riverhead.checking.rules.call import Call
    >>> from riverhead.checking.rules.pipeline import follow
    >>> call = Call({"q": np.array([[2.0, 0, 0, 1]]), "k": np.eye(4)[:2], "v": np.array([[1.0], [4.0]])})
    >>> worked = working(follow(call), (0, 0))
    >>> worked.sums
    ('2·1 + 0·0 + 0·0 + 1·0', '2·0 + 0·1 + 0·0 + 1·0')
    >>> for heading, column in worked.columns.items():
    ...     print(heading, *map(number, column))
    q·k 2 0
    ÷ √4 1 0
    e^score 2.718 1
    weight 0.7311 0.2689
    v[:, 0] 1 4
    """
    row = _Row.of(steps, cell, array)
    if row is None or len(row.scores) > MOST_KEYS:
        return None
    sums = tuple(sum_of(zip(row.q, key, strict=True)) for key in row.k)
    columns: dict[str, Array] = {"q·k": row.dots}
    columns[_scaled(steps)] = row.scaled
    for heading, moved in (("capped", row.capped), ("with bias", row.biased), ("masked", row.scores)):
        if not np.array_equal(moved, [*columns.values()][-1]):
            columns[heading] = moved
    columns[f"e^(score − {number(row.shift)})" if row.shift else "e^score"] = row.exps
    columns["weight"] = row.mixed
    if array == "out":
        columns[f"v[:, {cell[-1]}]"] = row.values
    return Working(sums, {heading: tuple(map(float, column)) for heading, column in columns.items()})


@dataclass(frozen=True, slots=True)
class _Row:
    """What one cell of attention is made of: all arrays run over the keys but ``q``."""

    q: Array  # (d_k,)
    k: Array  # (T_k, d_k)
    dots: Array
    scaled: Array
    capped: Array
    biased: Array
    scores: Array
    shift: float
    exps: Array
    mixed: Array
    values: Array

    @classmethod
    def of(cls, steps: Any, cell: tuple[int, ...], array: str) -> _Row | None:
        """Return the row of a cell, None where it is not made as attention makes it."""
        if array not in ("out", "weights") or not all(hasattr(steps, name) for name in NEEDED):
            return None
        if array == "out" and hasattr(steps, "merged") and steps.W_o is None:
            steps, cell = _of_a_head(steps, cell)
        *leading, i, c = cell
        shape = np.asarray(steps.dots).shape
        if len(shape) != len(cell):
            return None

        def at(x: Any, *last: int) -> Array:
            x = np.asarray(x, float)
            wide = np.broadcast_to(x, (*shape[:-2], *(last or x.shape[-2:])))
            return np.asarray(wide[tuple(leading)])

        named = {name: at(getattr(steps, step), *shape[-2:])[i] for name, step in ROWS.items()}
        values = at(steps.v)[:, c] if array == "out" else named["mixed"]
        shift = _shift(named["scores"])
        row = cls(
            **named, q=at(steps.q)[i], k=at(steps.k), values=values, shift=shift,
            exps=np.exp(named["scores"] - shift),
        )  # fmt: skip
        return row if row.makes(float(np.asarray(getattr(steps, array))[cell]), array) else None

    def makes(self, right: float, array: str) -> bool:
        """Whether softmax and mixture give this number: with sinks or projections they do not."""
        total = self.exps.sum()
        weights = self.exps / total if total else self.exps
        if not np.allclose(weights, self.mixed, rtol=1e-9, atol=1e-12):
            return False
        return array == "weights" or math.isclose(
            float(np.sum(self.mixed[self.mixed != 0] * self.values[self.mixed != 0])), right,
            rel_tol=1e-9, abs_tol=1e-12,
        )  # fmt: skip


ROWS = {
    "dots": "dots", "scaled": "scores", "capped": "capped", "biased": "biased", "scores": "filled",
    "mixed": "mixed",
}  # fmt: skip
NEEDED = ("q", "k", "v", "scaled_by", "out", "weights", *ROWS.values())


def _shift(scores: Array) -> float:
    """What is taken off every score before the exponential: nothing where that can be read as it is."""
    seen = scores[np.isfinite(scores)]
    return float(seen.max()) if len(seen) and np.abs(seen).max() > LARGE_SCORE else 0.0


def _scaled(steps: Any) -> str:
    """The heading of the scaled scores: what is done to the dots."""
    d_k, factor = np.asarray(steps.q).shape[-1], float(steps.scaled_by)
    return f"÷ √{d_k}" if math.isclose(factor, d_k**-0.5) else f"× {number(factor)}"


def _power(score: float, shift: float) -> str:
    return f"e^({number(score)} − {number(shift)})" if shift else f"e^{_factor(score)}"


def sum_of(terms: Iterable[tuple[float, float]], beside: float = 0.0) -> str:
    """Return ``2·1 + 0·3``; of a long sum the first terms and how many there are.

    Its numbers have as many digits as it takes for what is shown to come to what is shown as its total.

    >>> sum_of([(2, 1), (0.5, -3)]), sum_of([(0.18018, 1), (0.18018, 1), (0.18018, 1), (0.18018, 1)])
    ('2·1 + 0.5·(−3)', '0.18018·1 + 0.18018·1 + 0.18018·1 + 0.18018·1')
    """
    terms = list(terms)
    total = significant(math.fsum([beside, *(float(a) * float(b) for a, b in terms)]), DIGITS).text
    for digits in range(DIGITS, MOST_DIGITS):
        pairs = [(shown(a, digits), shown(b, digits)) for a, b in terms]
        sum_ = math.fsum([beside, *(_printed(a) * _printed(b) for a, b in pairs)])
        if significant(sum_, DIGITS).text == total:
            break
    found = [f"{_fenced(a)}·{_fenced(b)}" for a, b in pairs]
    if len(found) > MOST_TERMS:
        found = [*found[:MOST_TERMS], f"… {len(found)} terms"]
    return " + ".join(found)


def _printed(number: Number) -> float:
    """What a number is as it is printed."""
    return float(number.text.replace("−", "-").replace("∞", "inf"))


def shown(x: float, digits: int = DIGITS) -> Number:
    """Return a number as it is shown: as it is where that is short, else rounded once to ``digits``.

    >>> [shown(x).text for x in (-0.25, 2.3125, 2 / 3, float("nan"))]
    ['−0.25', '2.3125', '0.6667', 'NaN']
    """
    whole = plain(float(x))
    return whole if len(whole.text) <= SHORT else significant(float(x), digits)


def number(x: float) -> str:
    """Return the text of a number."""
    return shown(x).text


def apart(a: float, b: float) -> tuple[Number, Number]:
    """Return two numbers with as many digits as tell them apart.

    >>> [x.text for x in apart(0.27441, 0.274427)]
    ['0.27441', '0.274427']
    """
    for digits in range(DIGITS, MOST_DIGITS):
        pair = shown(a, digits), shown(b, digits)
        if _printed(pair[0]) != _printed(pair[1]):
            return pair
    return plain(float(a)), plain(float(b))


def _factor(x: float) -> str:
    return _fenced(shown(x))


def _fenced(number: Number) -> str:
    return f"({number})" if number.text.startswith("−") else number.text
