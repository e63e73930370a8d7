"""A whole transformer of two numbers a word: one text step by step, its feed-forward by units, its odds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from riverhead.core import MultiHead, softmax
from riverhead.derivation.notation import vector
from riverhead.learning.lessons.toolbox.figures import short, table
from riverhead.numbers import fixed, plain
from riverhead.scene import Cell, Row, Table, Vector
from riverhead.transformer.steps import ACTIVATIONS, rms_norm

__all__ = ["NAMES", "Steps", "steps", "typeset"]

Given = Mapping[str, Any]  # words with their vectors, and the matrices of a block, by name


@dataclass(frozen=True, slots=True)
class Steps:
    """A text on its way through blocks of a tiny model: each step of the last one, a row a token."""

    tokens: tuple[str, ...]
    x: list[list[float]]
    normed: list[list[float]]
    q: list[list[float]]
    k: list[list[float]]
    v: list[list[float]]
    weights: list[list[float]]
    attention: list[list[float]]
    after: list[list[float]]
    normed_after: list[list[float]]
    hidden: list[list[float]]
    feed_forward: list[list[float]]
    out: list[list[float]]
    final: list[float]  # the last token's, normed once more
    logits: dict[str, float]  # of each word of the vocabulary


def steps(model: Given, text: str, n_blocks: int = 1) -> Steps:
    """Run a text through a tiny model: one head, RMSNorm before each part, ReLU, the same block each time.

    The words' own vectors read the logits off, as tied embeddings do.

    >>> one = {"words": {"a": [1.0, 1.0], "b": [2.0, 0.0]}, "W_up": np.eye(2), "W_down": np.eye(2)}
    >>> one |= dict.fromkeys(("W_q", "W_k", "W_v", "W_o"), np.eye(2))
    >>> steps(one, "a").after
    [[2.0, 2.0]]
    """
    W = {name: np.array(model[name], float) for name in (*HEADS, "W_up", "W_down")}
    heads = MultiHead(W["W_q"], W["W_k"], W["W_v"], W["W_o"], n_heads=1, n_kv_heads=1)
    vocabulary = np.array([*model["words"].values()], float)  # (n_vocab, d_model)
    found: dict[str, Any] = {"out": np.array([model["words"][token] for token in text.split()], float)}
    for _ in range(n_blocks):
        x = found["out"]
        attended = heads.forward(_rms(x), causal=True)
        after = x + attended.y
        hidden = _relu(_rms(after) @ W["W_up"])
        fed = hidden @ W["W_down"]
        found = {"x": x, "normed": _rms(x), "q": attended.q[0], "k": attended.k[0], "v": attended.v[0]}
        found |= {"weights": attended.attention.weights[0], "attention": attended.y, "after": after}
        found |= {"normed_after": _rms(after), "hidden": hidden, "feed_forward": fed, "out": after + fed}
    final = _rms(found["out"][-1])
    logits = dict(zip(model["words"], (vocabulary @ final).tolist(), strict=True))
    rows = {name: step.tolist() for name, step in found.items()}
    return Steps(tuple(text.split()), **rows, final=final.tolist(), logits=logits)


HEADS = ("W_q", "W_k", "W_v", "W_o")


def _rms(x: Any) -> Any:
    return rms_norm(x, None, 0.0)


def _relu(x: Any) -> Any:
    return ACTIVATIONS["relu"](x)


def by_hand(run: Steps) -> Table:
    """Each step of a block, a column a token."""
    rows: list[tuple[Cell, ...]] = [
        (words, *map(typeset, getattr(run, name))) for name, words in STEPS.items()
    ]
    return Table(("", *run.tokens), tuple(rows))


STEPS = {
    "x": "x",
    "normed": "norm(x)",
    "q": "q: norm(x) W_q",
    "k": "k: norm(x) W_k",
    "v": "v: norm(x) W_v",
    "weights": "weights",
    "attention": "attention adds",
    "after": "x + attention",
    "normed_after": "norm of that",
    "hidden": "W_up, ReLU",
    "feed_forward": "feed-forward adds",
    "out": "out of the block",
}


def matrices(model: Given) -> Table:
    """The matrices of a tiny model, each by its rows."""
    rows = ((name, Row(tuple(map(typeset, model[name])))) for name in (*HEADS, "W_up", "W_down"))
    return Table(("", "its rows, one after the other"), tuple(rows))


def vocabulary(model: Given) -> Table:
    """Each word of a tiny model, its id and its vector."""
    rows = ((str(at), word, typeset(row)) for at, (word, row) in enumerate(model["words"].items()))
    return Table(("id", "word", "its row of the embedding"), tuple(rows))


def neurons(model: Given, x: Sequence[float]) -> Table:
    """A feed-forward worked unit by unit: what each asks of a vector, how far it answers, what it adds."""
    W_up, W_down = (np.array(model[name], float) for name in ("W_up", "W_down"))
    sums = np.array(x, float) @ W_up
    opened = _relu(sums)
    rows: list[tuple[Cell | float, ...]] = [
        (
            f"unit {at + 1}",
            typeset(W_up[:, at]),
            float(sums[at]),
            float(opened[at]),
            typeset(opened[at] * W_down[at]),
        )
        for at in range(len(sums))
    ]
    rows.append(("together", None, None, None, typeset(opened @ W_down)))
    return table(["", "its column of W_up", "sum", "ReLU", "ReLU · its row of W_down"], rows)


def odds(logits: Mapping[str, float], temperature: float = 1.0) -> dict[str, float]:
    """Return the probability of each word; logits are divided by the temperature first.

    >>> {word: round(p, 3) for word, p in odds({"flooded": 2.0, "grows": 1.0}, 0.5).items()}
    {'flooded': 0.881, 'grows': 0.119}
    """
    row = softmax(np.array([*logits.values()], float) / temperature)
    return dict(zip(logits, row.tolist(), strict=True))


def odds_by_hand(logits: Mapping[str, float]) -> Table:
    """Logits, their exponentials and the odds, a row a word, with what they add up to."""
    opened = {word: float(np.exp(x)) for word, x in logits.items()}
    rows: list[tuple[Cell | float, ...]] = [
        (word, x, opened[word], odds(logits)[word]) for word, x in logits.items()
    ]
    rows.append(("together", None, sum(opened.values()), sum(odds(logits).values())))
    return table(["next", "logit", "e^logit", "odds"], rows)


def by_heat(logits: Mapping[str, float], temperatures: Sequence[float]) -> Table:
    """The odds of each word at several temperatures."""
    columns = [odds(logits, temperature) for temperature in temperatures]
    rows: list[tuple[Cell, ...]] = [(word, *(fixed(column[word]) for column in columns)) for word in logits]
    return Table(("odds at temperature", *map(plain, temperatures)), tuple(rows))


def deeper(model: Given, text: str, n_blocks: Sequence[int]) -> Table:
    """The odds after one block, two, and so on."""
    columns = [odds(steps(model, text, n).logits) for n in n_blocks]
    rows: list[tuple[Cell, ...]] = [
        (word, *(fixed(column[word]) for column in columns)) for word in model["words"]
    ]
    return Table((f"odds after {text}; blocks:", *map(str, n_blocks)), tuple(rows))


def typeset(numbers: Any) -> Vector:
    """Return a vector as it is typeset, its numbers as `figures.short` shows them."""
    return vector([short(float(number)) for number in numbers])


NAMES = {
    "by_hand": by_hand,
    "by_heat": by_heat,
    "deeper": deeper,
    "matrices": matrices,
    "neurons": neurons,
    "odds": odds,
    "odds_by_hand": odds_by_hand,
    "steps": steps,
    "vocabulary": vocabulary,
}
