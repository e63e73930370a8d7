"""What is true of each step, in a sentence or two; where the numbers decide what is true, they are asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from riverhead.derivation.arrays import Grid
from riverhead.derivation.given import Given
from riverhead.derivation.scaling import is_usual, shift
from riverhead.numbers import fixed

__all__ = ["says", "symbols"]

Grids = Mapping[str, Grid]


def says(name: str, given: Given, grids: Grids) -> str:
    """Return the sentences for one step."""
    found = SAYS[name]
    return found if isinstance(found, str) else " ".join(filter(None, found(given, grids)))


def _job(name: str, what: str) -> Callable[[Given, Grids], list[str]]:
    def sentences(given: Given, grids: Grids) -> list[str]:
        if given.e is not None:
            return (
                ["Without parameters one vector does all three jobs: q = k = v = e."] if name == "q" else []
            )
        if given.q is not None:
            return [what]
        return [f"{name} = x W_{name}: {what[0].lower()}{what[1:]} One matrix, the same for every token."]

    return sentences


def _dots(given: Given, grids: Grids) -> list[str]:
    return [
        f"Every query with every key, {_products(given.d_k)} for each pair (d_k of them).",
        "A key at a right angle to the query scores 0, one that points away scores below 0.",
        "A longer vector scores more, so a token need not match itself best: "
        "(1, 1)·(3, 3) = 6, (1, 1)·(1, 1) = 2.",
    ]


def _scores(given: Given, grids: Grids) -> list[str]:
    heat = f"The temperature {given.temperature:g} divides the scores too." if given.temperature != 1 else ""
    if not is_usual(given):
        return [f"The scale is {given.scale:g} here, not 1/√d_k.", heat]
    return [
        "With independent entries the spread of a dot product grows as √d_k; "
        f"divided by √d_k = √{given.d_k} it is the same at every width.",
        "Any constant multiple of √d_k would do that: it is unique up to a constant factor.",
        "d_k is the width of one head, not of the model." if given.n_heads > 1 else "",
        heat,
    ]


def _masked(given: Given, grids: Grids) -> list[str]:
    why = "A token does not see what comes after it. " if given.causal else ""
    return [f"{why}A hidden score becomes −∞, and its weight exactly 0."]


def _exp(given: Given, grids: Grids) -> list[str]:
    moved = shift(np.array(grids.get("masked", grids["scores"]))).any()
    why = "The row's largest score is taken off first, or e^score would overflow; the weights stay the same."
    return ["e to the power of each score: above 0, and far more for a larger score.", why if moved else ""]


def _weights(given: Given, grids: Grids) -> list[str]:
    weights = np.array(grids["weights"])
    empty = (weights.sum(axis=-1) == 0).any()
    return [
        "Each exponential over its row's sum: a recipe that adds up to 1.",
        "A query that may look at nothing has no recipe: its weights are 0." if empty else "",
        _lopsided(given, grids) if given.tokens_k is None and not empty else "",
    ]


def _lopsided(given: Given, grids: Grids) -> str:
    """Symmetric scores do not make symmetric weights: the pair where that shows most."""
    dots, weights = np.array(grids["dots"]), np.array(grids["weights"])
    gap = np.abs(weights - weights.swapaxes(-1, -2))
    if "masked" in grids or not np.allclose(dots, dots.swapaxes(-1, -2)) or gap.max() < 1e-9:
        return ""
    h, i, j = (int(n) for n in np.unravel_index(gap.argmax(), gap.shape))
    there, back = fixed(weights[h, i, j], 4), fixed(weights[h, j, i], 4)
    a, b = given.asking[i], given.asking[j]
    return (
        f"The scores are symmetric here, the weights are not, for each row has a sum of its own: "
        f"{a} → {b} {there}, {b} → {a} {back}."
    )


def _formula(given: Given, grids: Grids) -> list[str]:
    count = 2 + 3 * (given.x is not None) + (given.W_o is not None)
    parts = ["Q Kᵀ", "weights · V", *["x W_q, x W_k, x W_v"] * (given.x is not None)]
    parts += ["W_o"] * (given.W_o is not None)
    numeral = {2: "Two", 3: "Three", 5: "Five", 6: "Six"}[count]
    return [
        *(f"{symbol}: {meaning}." for symbol, meaning in symbols(given).items()),
        f"{numeral} matrix products for the whole sentence, however long: {'; '.join(parts)}.",
    ]


def symbols(given: Given) -> dict[str, str]:
    """Return what each symbol of the formula stands for here, in the order it is read."""
    found = {
        "Q": f"what each token asks, {_many(given.T_q, 'row')} of {_many(given.d_k, 'number')}",
        "Kᵀ": f"what each token answers to, turned so that {given.T_k} keys are columns",
        "QKᵀ": f"every query with every key, {_products(given.d_k)} each",
        "√d_k": "keeps the spread of the scores, whatever the width of a head",
        "softmax": "turns a row of scores into a recipe that adds up to 1",
        "V": f"what each token hands over, {_many(given.T_k, 'row')} of "
        f"{_many(given.d_v, 'number')}, blended by the recipe",
    }
    return found if is_usual(given) else {symbol: text for symbol, text in found.items() if symbol != "√d_k"}


def _many(count: int, thing: str) -> str:
    return f"{count} {thing}{'s' * (count != 1)}"


def _products(d_k: int) -> str:
    return "one multiplication" if d_k == 1 else f"{d_k} multiply-and-adds"


SAYS: dict[str, str | Callable[[Given, Grids], list[str]]] = {
    "tokens": "The tokens, each with vectors of its own.",
    "x": "A vector for each token.",
    "x_k": "The keys and values come from a second sequence: cross-attention.",
    "q": _job("q", "What each token asks."),
    "k": _job("k", "What each token answers to."),
    "v": _job("v", "What each token hands over."),
    "dots": _dots,
    "scores": _scores,
    "masked": _masked,
    "exp": _exp,
    "sum": "Each row of exponentials added up.",
    "weights": _weights,
    "out": "The values, blended by each recipe: inside the hull of the values that have weight.",
    "merged": "The outputs of the heads stand side by side: concatenation, no arithmetic.",
    "y": "Each component of y draws on every head.",
    "formula": _formula,
}
