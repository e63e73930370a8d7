"""A model of one layer whose heads each do one thing, by the label that names it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from fake_model import FakeTokenizer

from riverhead.core import attend
from riverhead.transformer import Model

PLANTED = ("previous-token", "duplicate", "induction", "sink", "local", "broad", "none")
T_MOST, VOCABULARY, SHARP = 257, 127, 30.0


@dataclass
class PlantedModel:
    folder: Path
    name: str = "planted"
    tokenizer: FakeTokenizer = field(default_factory=lambda: FakeTokenizer(opens=True))

    @property
    def title(self) -> str:
        return self.name

    def __post_init__(self) -> None:
        self.config = SimpleNamespace(
            n_layers=1,
            n_heads=len(PLANTED),
            n_kv_heads=len(PLANTED),
            context_length=T_MOST,
            causal=True,
            attention=lambda layer: {"scale": 1.0, "causal": True, "window": None},
        )

    check_length = Model.check_length

    def tokenize(self, text: str) -> list[int]:
        return self.tokenizer.ids(text)

    def run(
        self,
        token_ids: Any,
        *,
        without: Any = None,
        watch: Callable[..., None] | None = None,
        see: Callable[..., None] | None = None,
        top: int = 0,
    ) -> None:
        pairs = [self.qk(np.asarray(ids)) for ids in token_ids]
        q, k = (np.stack(arrays).astype(np.float32) for arrays in zip(*pairs, strict=True))
        if watch is not None:
            watch(0, q, k, q)
        if see is not None:
            see(0, attend(q, k, q, **self.config.attention(0), top=top))

    def qk(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """q and k (H, T, d_k): one-hot places and tokens; a score is SHARP where they meet, else 0."""
        T = len(ids)
        place, token = np.eye(T, T_MOST), np.eye(VOCABULARY)[ids]
        first = np.zeros_like(place) + place[0]
        before = {back: np.eye(T, T_MOST, -back) for back in range(12)}  # row i: the place i − back
        after = np.vstack([np.zeros(VOCABULARY), token[:-1]])  # of each key the token before it
        looks = {
            "previous-token": (before[1], place),
            "duplicate": (token, token),
            "induction": (token, after),
            "sink": (first, place),
            "local": (sum(before[back] for back in range(5)), place),
            "broad": (0 * place, place),
            "none": (before[11], place),
        }
        wide = [np.pad(x, ((0, 0), (0, T_MOST - x.shape[1]))) for name in PLANTED for x in looks[name]]
        return SHARP * np.stack(wide[::2]), np.stack(wide[1::2])
