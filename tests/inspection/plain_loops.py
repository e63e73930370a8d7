"""A word's weights, its vectors and the next token's odds, in plain loops over what a model hands over."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from riverhead.inspection.habit import habit_of, silent
from riverhead.transformer import Model

A, B = "the tall money bank grows", "so the old river likes a bank, it flows"
# float32 scores here stay below 100 and a row's weights are off by 100 · 2⁻²⁴ of themselves, sums of up to 11
# of them by less than 1e-4; the vectors pass through 3 blocks of sums of some 130 terms: see test_without.py
CLOSE = 1e-4


def plain_row(model: Model, text: str, word: str, at: tuple[int, int]) -> tuple[dict[Any, float], dict]:
    """The weights of the last ``word`` by place, and the habit of the places that have one."""
    reading = model.read(text)
    i = max(n for n, token in enumerate(reading.tokens) if token.strip() == word)
    row = reading.head(at).weights[i].tolist()
    habit = habit_of(model, len(row), silent).rows(np.array([i]))[:, :, 0]
    seen = range(i + 1) if model.config.causal else range(len(row))
    weights = {"first" if j == 0 else i - j: row[j] for j in seen}
    return weights, {i - j: float(habit[*at, j]) for j in seen if j not in (0, i)}


def plain_change(a: dict[Any, float], b: dict[Any, float]) -> tuple[float, float]:
    """Total variation over the places of both, and the weight that one has alone."""
    both = [place for place in a if place in b]
    whole = [math.fsum(row[place] for place in both) for row in (a, b)]
    change = math.fsum(abs(a[place] / whole[0] - b[place] / whole[1]) for place in both) / 2
    return change, max(math.fsum(row[p] for p in row if p not in both) for row in (a, b))


def plain_cosine(a: np.ndarray, b: np.ndarray) -> float:
    a, b = ([float(x) for x in row] for row in (a, b))
    dot = math.fsum(x * y for x, y in zip(a, b, strict=True))
    return dot / math.sqrt(math.fsum(x * x for x in a) * math.fsum(y * y for y in b))


def plain_odds(model: Model, text: str) -> list[float]:
    logits = [float(x) for x in model.read(text).logits_at(-1)]
    whole = math.fsum(math.exp(x) for x in logits)
    return [math.exp(x) / whole for x in logits]
