"""Heads with random q and k for a page, their weights by a softmax written out, and the page read back."""

from __future__ import annotations

import base64
import json
import re
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np


class Weights:
    """A dense matrix (T, T) with its log-sum-exp (T,)."""

    def __init__(self, q: np.ndarray, k: np.ndarray, scale: float, seen: np.ndarray) -> None:
        scores = np.where(seen, scale * (q.astype(np.float64) @ k.astype(np.float64).T), -np.inf)
        peak = scores.max(axis=1)
        exps = np.exp(scores - peak[:, None])
        self.lse = peak + np.log(exps.sum(axis=1))
        self.dense = exps / exps.sum(axis=1, keepdims=True)

    def __getitem__(self, index: Any) -> np.ndarray:
        return self.dense[index]


@dataclass
class Head:
    name: str
    q: np.ndarray
    k: np.ndarray
    scale: float
    causal: bool = True
    window: int | None = None

    def seen(self) -> np.ndarray:
        T = len(self.q)
        i, j = np.indices((T, T))
        seen = (j <= i) if self.causal else np.ones((T, T), bool)
        return seen & (abs(i - j) < (T if self.window is None else self.window))

    @property
    def weights(self) -> Weights:
        return Weights(self.q, self.k, self.scale, self.seen())


def heads(n: int, T: int, d: int, *, group: int = 1, seed: int = 0, **options: Any) -> list[Head]:
    """``n`` heads, each ``group`` of them over the same keys; scores of about 1, the hardest to compress."""
    rng = np.random.default_rng(seed)
    keys = [rng.standard_normal((T, d), np.float32) for _ in range(-(-n // group))]
    names = (f"L{h // 12}.H{h % 12}" for h in range(n))
    return [
        Head(name, rng.standard_normal((T, d), np.float32), keys[h // group], d**-0.5, **options)
        for h, name in enumerate(names)
    ]


def words(T: int) -> list[str]:
    """Tokens as long as English ones, five characters on average with their space."""
    return [" " + "river"[: 2 + n % 4] + str(n % 7) for n in range(T)]


def block(html: str, name: str) -> str:
    """What a data block of the page holds."""
    found = re.search(rf'<script type="[^"]*" id="{name}">(.*?)</script>', html, re.DOTALL)
    assert found is not None
    return found[1]


def held(html: str) -> tuple[dict[str, Any], bytes]:
    """The layout and the bytes of a page."""
    return json.loads(block(html, "map")), zlib.decompress(base64.b64decode(block(html, "numbers")))
