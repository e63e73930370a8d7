"""The soft dictionary: one query at falling temperatures, until it is a lookup."""

from __future__ import annotations

from collections.abc import Sequence

from riverhead.derivation.derivation import Derivation
from riverhead.derivation.notation import Digits, maths, vector
from riverhead.derivation.tokens import position
from riverhead.errors import InputError
from riverhead.numbers import fixed, plain
from riverhead.scene import Cell, Part, Scene, Table, Text, Word

__all__ = ["TEMPERATURES", "sweep"]

TEMPERATURES = (10.0, 2.0, 1.0, 0.5, 0.2, 0.1, 0.01)


def sweep(
    derivation: Derivation,
    temperatures: Sequence[float] = TEMPERATURES,
    *,
    focus: str | int | None = None,
    digits: int | None = None,
) -> Scene:
    """Return the weights and the output of one query at each temperature, one table for each head.

    Hot, every key counts alike; cold, the best one takes all, as in a dictionary. Without ``digits`` a table
    has the decimals, 3 to 6, that its rows need to differ. Raises `InputError` where a
    temperature is not above 0.

    >>> from riverhead.derivation import example
    >>> table = sweep(example("soft_dictionary").derive(), [1, 0.1, 0.01]).parts[0]
    >>> [str(row[-1]) for row in table.rows]
    ['1.8478', '1.0002', '1.0000']
    """
    if not temperatures:
        raise InputError("a sweep needs at least one temperature")
    given = derivation.given
    row = 0 if focus is None else position(given.tokens, focus, "focus")
    runs = [derivation.but(temperature=temperature) for temperature in temperatures]
    parts: list[Part] = []
    for head in range(given.n_heads):
        worked = [tuple(run[step].values[head][row] for step in ("weights", "out")) for run in runs]
        shown = _telling(worked) if digits is None else Digits.of(digits)
        rows: list[tuple[Cell, ...]] = []
        for temperature, (weights, out) in zip(temperatures, worked, strict=True):
            outs = [shown.show("out", value) for value in out]
            recipe = [shown.show("weights", weight) for weight in weights]
            rows.append((plain(temperature), *recipe, outs[0] if len(outs) == 1 else vector(outs)))
        name = maths(Word(given.asking[row], 1))
        caption = f"head {head}" if given.n_heads > 1 else ""
        parts.append(Table(("temperature", *given.answering, name), tuple(rows), caption))
    said = "weights = softmax(scores ÷ temperature): hot, every key counts alike; cold, the best takes all."
    return Scene(f"{derivation.title}: from soft to hard", (*parts, Text((said,), "note")))


def _telling(worked: Sequence[tuple[Sequence[float], ...]]) -> Digits:
    """The fewest decimals, from 3 to 6, with which the most rows differ."""

    def distinct(decimals: int) -> int:
        return len({tuple(fixed(value, decimals).text for row in rows for value in row) for rows in worked})

    return Digits(max(range(3, 7), key=distinct))
