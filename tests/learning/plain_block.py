"""The tiny transformer of lesson 6 in plain Python loops."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

Rows = list[list[float]]


def times(x: Rows, W: Rows) -> Rows:
    return [
        [sum(a * w for a, w in zip(row, column, strict=True)) for column in zip(*W, strict=True)] for row in x
    ]


def rms(row: Sequence[float]) -> list[float]:
    size = math.sqrt(sum(a * a for a in row) / len(row))
    return [a / size for a in row]


def plus(x: Rows, y: Rows) -> Rows:
    return [[a + b for a, b in zip(*rows, strict=True)] for rows in zip(x, y, strict=True)]


def softmax(row: Sequence[float]) -> list[float]:
    e = [math.exp(a) for a in row]
    return [a / sum(e) for a in e]


def by_loops(model: dict[str, Any], text: str, n_blocks: int) -> dict[str, Any]:
    """The tiny model in plain loops."""
    x, found = [[float(a) for a in model["words"][word]] for word in text.split()], {}
    for _ in range(n_blocks):
        n = [rms(row) for row in x]
        q, k, v = (times(n, model[name]) for name in ("W_q", "W_k", "W_v"))
        root = math.sqrt(len(q[0]))
        seen = [
            softmax([sum(a * b for a, b in zip(q[i], k[j], strict=True)) / root for j in range(i + 1)])
            for i in range(len(x))
        ]
        weights = [[*row, *[0.0] * (len(x) - len(row))] for row in seen]
        attention = times(times(weights, v), model["W_o"])
        after = plus(x, attention)
        m = [rms(row) for row in after]
        hidden = [[max(a, 0.0) for a in row] for row in times(m, model["W_up"])]
        fed = times(hidden, model["W_down"])
        found = {"x": x, "normed": n, "q": q, "k": k, "v": v, "weights": weights, "attention": attention}
        found |= {"after": after, "normed_after": m, "hidden": hidden, "feed_forward": fed}
        x = found["out"] = plus(after, fed)
    final = rms(x[-1])
    logits = {word: times([final], [[a] for a in row])[0][0] for word, row in model["words"].items()}
    return found | {"final": final, "logits": logits}
