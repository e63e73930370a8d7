"""A model small enough to be written out again in plain loops: its heads see tokens and places alone."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from riverhead.core import attend
from riverhead.errors import InputError
from riverhead.transformer import Model

LAYERS, HEADS, KV_HEADS, D_K, D_V, VOCABULARY = 2, 6, 3, 5, 7, 4099
LETTERS_A_TOKEN = 6
OPENING, CLOSING = "<s>", "</s>"


class FakeTokenizer:
    """Cuts a text before each space and sign, then every six letters; ids are given out as spellings come."""

    def __init__(self, opens: bool, closes: bool = False) -> None:
        self._spellings = [OPENING, *[CLOSING] * closes]
        self._opening, self._closing = [0] * opens, [1] * closes
        self.special_ids = frozenset(range(len(self._spellings)))

    def ids(self, text: str, *, add_bos: bool = True) -> list[int]:
        parts = re.findall(rf"<s>|[ ]?\w{{1,{LETTERS_A_TOKEN}}}|[^\w]", text)
        for part in parts:
            if part not in self._spellings:
                self._spellings.append(part)
        bare = [self._spellings.index(part) for part in parts]
        return self._opening + bare + self._closing if add_bos else bare

    def offsets(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        ids = self.ids(text)
        ends = list(accumulate(len(self._spellings[i]) for i in self.ids(text, add_bos=False)))
        places = list(zip([0, *ends], ends, strict=False))
        return ids, [(0, 0)] * len(self._opening) + places + [(0, 0)] * len(self._closing)

    def spelled(self, token_id: int) -> bytes:
        return self._spellings[token_id].encode()

    def pieces(self, token_ids: Iterable[int]) -> tuple[str, ...]:
        return tuple(self._spellings[i] if i < len(self._spellings) else f"#{i}" for i in token_ids)


@dataclass
class FakeModel:
    folder: Path
    opens: bool = False
    closes: bool = False
    name: str = "fake"
    causal: bool = True
    predicts: bool = True
    window: int | None = None
    runs: list[tuple[int, int]] = field(default_factory=list)  # the (B, T) of each

    @property
    def title(self) -> str:
        return self.name

    def __post_init__(self) -> None:
        rng = np.random.default_rng(11)
        self.config = SimpleNamespace(
            n_layers=LAYERS,
            n_heads=HEADS,
            n_kv_heads=KV_HEADS,
            context_length=511,
            causal=self.causal,
            predicts=self.predicts,
            attention=lambda layer: {"scale": D_K**-0.5, "causal": self.causal, "window": self.window},
        )
        self.tokenizer = FakeTokenizer(self.opens, self.closes)
        self.token_q = rng.standard_normal((LAYERS, HEADS, VOCABULARY, D_K)).astype(np.float32)
        self.token_k = rng.standard_normal((LAYERS, KV_HEADS, VOCABULARY, D_K)).astype(np.float32)
        self.token_v = rng.standard_normal((LAYERS, KV_HEADS, VOCABULARY, D_V)).astype(np.float32)
        self.place = rng.standard_normal((LAYERS, 512, D_K)).astype(np.float32)
        self.unembedding = rng.standard_normal((LAYERS, HEADS, D_V, 13)).astype(np.float32)

    check_length = Model.check_length

    def tokenize(self, text: str) -> list[int]:
        return self.tokenizer.ids(text)

    def qkv(self, layer: int, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        place = self.place[layer, : ids.shape[1]]
        q = self.token_q[layer][:, ids].swapaxes(0, 1) + place
        k = self.token_k[layer][:, ids].swapaxes(0, 1) + place
        return q, k, self.token_v[layer][:, ids].swapaxes(0, 1)

    def run(
        self,
        token_ids: Any,
        *,
        without: Sequence[Iterable[tuple[int, int]]] | None = None,
        watch: Callable[..., None] | None = None,
        see: Callable[..., None] | None = None,
        top: int = 0,
    ) -> Any:
        ids = np.asarray(token_ids)
        self.runs.append(ids.shape)
        for layer in range(LAYERS):
            if watch is not None:
                watch(layer, *self.qkv(layer, ids))
            if see is not None:
                see(layer, attend(*self.qkv(layer, ids), **self.config.attention(layer), top=top))
        return FakePass(self, ids, [set(heads) for heads in without or [()] * len(ids)])

    def logits(self, ids: list[int], row: int, off: Iterable[tuple[int, int]] = ()) -> np.ndarray:
        """The sum of what the heads that are on hand over, each through a matrix of its own, (13,)."""
        total = np.zeros(13)
        for layer, head in np.ndindex(LAYERS, HEADS):
            if (layer, head) not in off:
                _, _, v = self.qkv(layer, np.array([ids]))
                out = sum(w * v[0, head // 2, j] for j, w in enumerate(self.row(ids, layer, head, row)))
                total += out @ self.unembedding[layer, head]
        return total

    def row(self, ids: list[int], layer: int, head: int, i: int) -> list[float]:
        """One row of weights in plain float64, over the keys that ``i`` sees; two heads read a kv head."""
        q, k, _ = (x.astype(np.float64) for x in self.qkv(layer, np.array([ids])))
        n = i + 1 if self.causal else len(ids)
        reach = self.window or len(ids)
        scores = [q[0, head, i] @ k[0, head // 2, j] / math.sqrt(D_K) for j in range(n)]
        exps = [math.exp(score) if abs(i - j) < reach else 0.0 for j, score in enumerate(scores)]
        return [e / math.fsum(exps) for e in exps]


@dataclass
class FakePass:
    """Its final vectors are what the model hands over, which it also calls its logits."""

    model: FakeModel
    ids: np.ndarray  # (B, T)
    off: list[set[tuple[int, int]]]

    def logits(self, rows: Iterable[int]) -> np.ndarray:
        if not self.model.predicts:
            raise InputError(f"{self.model.name} predicts no next token")
        return self._rows(list(rows))

    @property
    def final(self) -> np.ndarray:
        return self._rows(range(self.ids.shape[1]))

    def _rows(self, rows: Sequence[int]) -> np.ndarray:
        return np.array(
            [
                [self.model.logits(item.tolist(), row, gone) for row in rows]
                for item, gone in zip(self.ids, self.off, strict=True)
            ]
        )


# float32 scores of up to |q||k|/√d_k ≈ 30 are off by 30 · 2⁻²⁴ · d_k or so, and a weight by as much of itself
WEIGHT_BOUND = 30 * (D_K + 2) * 2.0**-24
