"""What a token may not see: hidden scores, the wrong ways to hide, and what each row may guess from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from riverhead.core import softmax
from riverhead.derivation import Derivation, derive
from riverhead.derivation.notation import vector
from riverhead.derivation.tokens import position
from riverhead.learning.lessons.toolbox.figures import sheet_of
from riverhead.scene import Cell, Matrix, Table, Word

__all__ = ["NAMES"]


def masked_grid(worked: Derivation, focus: str) -> Matrix:
    """Every scaled score, −∞ where it is hidden."""
    given, sheet = worked.given, sheet_of(worked, focus)
    cells = tuple(sheet.numbers("masked", row) for row in worked[worked.exponents].values[0])
    return Matrix(Word("scores"), given.asking, given.answering, cells, sheet.focus)


def ways_to_hide(worked: Derivation, focus: str, key: str) -> Table:
    """One row with a key hidden in three ways, and with nothing hidden: weights, their sum, the blend."""
    sheet = sheet_of(worked, focus)
    at, scores = position(worked.given.keys, key, "key"), np.array(sheet.row("scores", 0))
    rows = {
        "nothing hidden": softmax(scores),
        "score set to 0": softmax(_with(scores, at, 0.0)),
        "weight set to 0": _with(softmax(scores), at, 0.0),
        "score set to −∞": softmax(_with(scores, at, -np.inf)),
    }
    lines: list[tuple[Cell, ...]] = []
    for name, weights in rows.items():
        out = (weights @ worked["v"].array[0]).tolist()
        blend = vector(sheet.numbers("out", out))
        summed = sheet.digits.show("weights", float(weights.sum()))
        lines.append((name, *sheet.numbers("weights", weights.tolist()), summed, blend))
    columns = ("", *worked.given.answering, "sum", "blend")
    return Table(columns, tuple(lines), focus=len(lines) - 1)


def _with(row: np.ndarray, at: int, value: float) -> np.ndarray:
    changed = row.copy()
    changed[at] = value
    return changed


def guesses(tokens: Sequence[str]) -> Table:
    """What each row of a causal model may look at, and which token it has to guess."""
    rows = [(token, " ".join(tokens[: n + 1]), after) for n, (token, after) in enumerate(_pairs(tokens))]
    return Table(("row", "may look at", "has to guess"), tuple(rows))


def _pairs(tokens: Sequence[str]) -> list[tuple[str, str]]:
    return list(zip(tokens, [*tokens[1:], "whatever comes next"], strict=True))


def beginning(worked: Derivation, n: int) -> Derivation:
    """The same when only the first ``n`` tokens have been written."""
    q, k, v = (worked[name].array[:, :n] for name in ("q", "k", "v"))
    return derive(q, k, v, tokens=list(worked.given.tokens[:n]), causal=worked.given.causal)


NAMES = {
    "beginning": beginning,
    "guesses": guesses,
    "masked_grid": masked_grid,
    "ways_to_hide": ways_to_hide,
}
