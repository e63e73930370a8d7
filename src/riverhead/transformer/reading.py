"""A text as a model has read it: tokens, next-token odds, and any head or block, computed when asked for."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from riverhead import display
from riverhead.core.border import count
from riverhead.core.equation import attention, softmax
from riverhead.errors import InputError
from riverhead.transformer.model import Model, Rows
from riverhead.transformer.names import HeadName, head_name, parse_head
from riverhead.transformer.steps import attend, attention_part

if TYPE_CHECKING:
    from riverhead.derivation import Derivation

__all__ = ["Block", "Head", "Reading"]

Array = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Head:
    """One query head with the kv head it reads; ``q`` and ``k`` are after RoPE."""

    layer: int
    head: int
    kv_head: int
    tokens: tuple[str, ...]
    q: Array  # (T, d_k)
    k: Array  # (T, d_k)
    v: Array  # (T, d_v)
    scale: float  # 1/√d_k
    causal: bool = True
    window: int | None = None  # keys a query sees at most, itself among them

    @property
    def name(self) -> str:
        """``L16.H0``."""
        return head_name(self.layer, self.head)

    def seen(self, i: int) -> slice:
        """The keys that query ``i`` sees."""
        reach = len(self.tokens) if self.window is None else self.window
        return slice(max(0, i - reach + 1), i + 1 if self.causal else min(i + reach, len(self.tokens)))

    @cached_property
    def weights(self) -> Array:
        """The whole weight matrix (T, T)."""
        weights: Array = attention(
            self.q, self.k, self.v, scale=self.scale, causal=self.causal, window=self.window
        ).weights
        return weights

    @cached_property
    def out(self) -> Array:
        """``weights @ v`` (T, d_v): what the head hands to W_o."""
        out: Array = self.weights @ self.v
        return out


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """One block's residual stream, (T, d_model): ``x`` into it, what its parts add, ``out`` after it.

    ``out`` is ``x + attention + feed_forward``, or where ``norm_after`` the norm of each sum in its turn,
    as in BERT.
    """

    layer: int
    x: Array
    attention: Array
    feed_forward: Array
    out: Array
    shapes: dict[str, tuple[int, ...]]  # every array on the way, in order
    norm_after: bool = False

    def norms(self) -> dict[str, npt.NDArray[np.float64]]:
        """Return the length (L2) of each token's vector (T,), before the block, of each part, and after."""
        parts = {"x": self.x, "attention": self.attention, "feed_forward": self.feed_forward, "out": self.out}
        return {name: np.linalg.norm(part.astype(np.float64), axis=-1) for name, part in parts.items()}


class Reading:
    """What `Model.read` returns; ``off`` names the heads that were switched off for it."""

    def __init__(
        self, model: Model, text: str, token_ids: list[int], off: frozenset[tuple[int, int]] = frozenset()
    ) -> None:
        if not text:
            raise InputError("the text is empty: give at least one word")
        self.model, self.text, self.off = model, text, off
        self.token_ids = tuple(token_ids)
        self.tokens = model.tokenizer.pieces(token_ids)
        self._pass = model.run([token_ids], without=[off], keep=True)
        self._qkv = lru_cache(maxsize=1)(self._project)  # heads are mostly looked at layer by layer
        self._head = lru_cache(maxsize=16)(self._cut)

    def __repr__(self) -> str:
        return f"<Reading of {len(self.tokens)} tokens by {self.model.name}>"

    def logits_at(self, rows: Rows) -> Array:
        """Return the next-token logits after the tokens ``rows`` selects: ``-1``, ``[0, 7]``, a slice."""
        logits: Array = self._pass.logits(rows)[0]
        return logits

    @property
    def streams(self) -> tuple[Array, ...]:
        """The residual stream into each block, and after the last: n_layers + 1 arrays (T, d_model)."""
        return tuple(x[0] for x in (*self._pass.x, self._pass.final))

    @property
    def logits(self) -> Array:
        """The next-token logits after every token (T, vocab_size), if they take at most 256 MB."""
        return self.logits_at(slice(None))

    def next_token(self, n: int = 5) -> list[tuple[str, float]]:
        """Return the ``n`` likeliest next tokens, each with its probability."""
        odds = softmax(self.logits_at(-1).astype(np.float64))
        best = np.argsort(-odds, kind="stable")[: count("n", n)]
        pieces = self.model.tokenizer.pieces(best.tolist())
        return [(piece, float(odds[i])) for piece, i in zip(pieces, best, strict=True)]

    def head(self, head: HeadName) -> Head:
        """Return a head by name, ``"L16.H0"`` or ``(16, 0)``."""
        return self._head(*parse_head(head, self.model.config))

    def derivation(self, head: HeadName, focus: str) -> Derivation:
        """Derive, step by step as on the whiteboard, what one head does for the word ``focus``.

        ``bank`` is the last of several, ``bank#1`` the first; a word of several tokens asks with its last.
        Raises `InputError` naming the head or the word.
        """
        derived: Derivation = display.derived(self, head, focus)
        return derived

    def without(self, *heads: HeadName) -> Reading:
        """Read the same tokens with ``heads`` switched off, their outputs zeroed before W_o."""
        off = self.off | {parse_head(head, self.model.config) for head in heads}
        return Reading(self.model, self.text, list(self.token_ids), off)

    def block(self, layer: int) -> Block:
        """Return what block ``layer`` did to the residual stream."""
        config, weights = self.model.config, self.model.weights
        n = config.n_layers
        if not hasattr(layer, "__index__") or not 0 <= operator.index(layer) < n:
            raise InputError(f"block {layer!r:.60}: the model has {n}: 0 to {n - 1}")
        family, block = self.model.family, weights.blocks[layer]
        q, k, v = self._qkv(layer)
        out = attend(q, k, v, **config.attention(layer))
        x = self._pass.x[layer]
        attention = attention_part(out, block, [(0, head, 0) for at, head in self.off if at == layer])
        after = family.add_attention(x, attention, block, config)
        feed_forward = family.feed_forward_part(after, block, config)
        return Block(
            layer,
            x[0],
            attention[0],
            feed_forward[0],
            self.streams[layer + 1],
            self._shapes(q, k, v, out),
            config.norm_after,
        )

    def _shapes(self, q: Array, k: Array, v: Array, out: Array) -> dict[str, tuple[int, ...]]:
        """Every array on the way through a block, in order."""
        config, T = self.model.config, len(self.tokens)
        hidden = ("gate", "up") if config.gated else ("up",)
        return {
            "x": (T, config.d_model),
            "q": q.shape[1:],
            "k": k.shape[1:],
            "v": v.shape[1:],
            "weights": (config.n_heads, T, T),
            "out": out.shape[1:],
            "attention": (T, config.d_model),
            **dict.fromkeys(hidden, (T, config.d_ff)),
            "feed_forward": (T, config.d_model),
        }

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Every block, in order."""
        return tuple(self.block(layer) for layer in range(self.model.config.n_layers))

    def _project(self, layer: int) -> tuple[Array, Array, Array]:
        model = self.model
        block, divisors = model.weights.blocks[layer], model.weights.rope_divisors
        return model.family.project(self._pass.x[layer], block, model.config, 0, divisors)

    def _cut(self, layer: int, head: int) -> Head:
        config = self.model.config
        q, k, v = self._qkv(layer)
        kv_head = head // config.group
        return Head(
            layer,
            head,
            kv_head,
            self.tokens,
            q[0, head],
            k[0, kv_head],
            v[0, kv_head],
            **config.attention(layer),
        )
