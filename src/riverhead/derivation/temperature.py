"""The soft dictionary: one query at falling temperatures, until it is a lookup."""

from __future__ import annotations

from collections.abc import Sequence

from riverhead.derivation.derivation import Derivation
from riverhead.derivation.notation import Digits, maths, vector
from riverhead.derivation.tokens import bare, position
from riverhead.errors import InputError
from riverhead.numbers import plain
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

    Hot, every key counts alike; cold, the best one takes all, as in a dictionary. Raises `InputError` where a
    temperature is not above 0.

    >>> from riverhead.derivation import example
    >>> table = sweep(example("soft_dictionary").derive(), [1, 0.1], digits=4).parts[0]
    >>> [str(row[-1]) for row in table.rows]
    ['1.8478', '1.0002']
    """
    if not temperatures:
        raise InputError("a sweep needs at least one temperature")
    shown, given = Digits.of(digits), derivation.given
    row = 0 if focus is None else position(given.tokens, focus, "focus")
    runs = [derivation.but(temperature=temperature) for temperature in temperatures]
    parts: list[Part] = []
    for head in range(given.n_heads):
        rows: list[tuple[Cell, ...]] = []
        for run, temperature in zip(runs, temperatures, strict=True):
            weights, out = (run[step].values[head][row] for step in ("weights", "out"))
            outs = [shown.show("out", value) for value in out]
            rows.append(
                (
                    plain(temperature),
                    *(shown.show("weights", weight) for weight in weights),
                    outs[0] if len(outs) == 1 else vector(outs),
                )
            )
        name = maths(Word(bare(given.tokens[row]), 1))
        caption = f"head {head}" if given.n_heads > 1 else ""
        parts.append(Table(("temperature", *map(bare, given.keys), name), tuple(rows), caption))
    said = "weights = softmax(scores ÷ temperature): hot, every key counts alike; cold, the best takes all."
    return Scene(f"{derivation.title}: from soft to hard", (*parts, Text((said,), "note")))
