"""Where each weight lies in the one flat file a converted model is: all of it follows from the config."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from riverhead.cost import Config

__all__ = [
    "MODEL_FILE",
    "SCHEMA",
    "TOKENIZER_FILE",
    "WEIGHTS_FILE",
    "BlockWeights",
    "Weights",
    "layout",
    "n_numbers",
]

SCHEMA = "riverhead.model/1"
MODEL_FILE, WEIGHTS_FILE, TOKENIZER_FILE = "model.json", "weights.npy", "tokenizer.json"

Array = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class BlockWeights:
    """One block's weights, None where the config has no such part; matrices are used as ``x @ W``."""

    attention_gain: Array  # (d_model,)
    W_qkv: Array  # (d_model, H·d_k + G·d_k + G·d_v): W_q, W_k and W_v side by side, one product
    W_o: Array  # (H·d_v, d_model)
    feed_forward_gain: Array  # (d_model,)
    W_up: Array  # (d_model, d_ff), or (d_model, 2·d_ff) with the gate before it
    W_down: Array  # (d_ff, d_model)
    attention_shift: Array | None = None  # (d_model,)
    feed_forward_shift: Array | None = None  # (d_model,)
    b_qkv: Array | None = None  # (H·d_k + G·d_k + G·d_v,)
    b_o: Array | None = None  # (d_model,)
    b_up: Array | None = None  # as W_up is wide
    b_down: Array | None = None  # (d_model,)
    q_gain: Array | None = None  # (d_k,)
    k_gain: Array | None = None  # (d_k,)


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """A model's weights, views of one flat memory-mapped array; None where the config has no such part."""

    embedding: Array  # (vocab_size, d_model)
    blocks: tuple[BlockWeights, ...]
    W_vocab: Array | None = None  # (d_model, vocab_size): the embedding once more where they are tied
    positions: Array | None = None  # (n_positions, d_model)
    segments: Array | None = None  # (n_segments, d_model)
    embedding_gain: Array | None = None  # (d_model,)
    embedding_shift: Array | None = None  # (d_model,)
    final_gain: Array | None = None  # (d_model,)
    final_shift: Array | None = None  # (d_model,)
    rope_divisors: Array | None = None  # (d_k / 2,): what scaling divides each pair's angle by

    @classmethod
    def of(cls, flat: Array, config: Config) -> Weights:
        """Cut ``flat`` into the weights of ``config``; nothing is copied or read yet."""
        whole: dict[str, Array] = {}
        blocks: list[dict[str, Array]] = [{} for _ in range(config.n_layers)]
        start = 0
        for name, shape in layout(config):
            stop = start + math.prod(shape)
            layer, _, own = name.rpartition(".")
            part = flat[start:stop].reshape(shape)
            (blocks[int(layer)] if layer else whole)[own] = part.T if own.startswith("W_") else part
            start = stop
        if config.predicts and config.tied_embeddings:
            whole["W_vocab"] = whole["embedding"].T
        whole = {name: array for name, array in whole.items() if name not in UNREAD}
        return cls(blocks=tuple(BlockWeights(**block) for block in blocks), **whole)


UNREAD = ("W_pool", "b_pool")  # a sentence's vector is no part of attention; kept so that nothing is lost


def layout(config: Config) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Name each stored array with its shape, in file order; matrices lie as (out, in), one row an output.

    >>> tiny = Config(architecture="llama", n_layers=1, n_heads=2, n_kv_heads=1, d_model=6, d_k=4, d_v=4,
    ...     d_ff=5, vocab_size=7, context_length=8, rope_base=10000.0, norm_epsilon=1e-5)
    >>> dict(layout(tiny))["0.W_qkv"], n_numbers(tiny) == sum(math.prod(shape) for _, shape in layout(tiny))
    ((16, 6), True)
    """
    block = dict(_there(_block(config)))
    before, after = _around(config)
    yield from _there(before)
    for layer in range(config.n_layers):
        for name, shape in block.items():
            yield f"{layer}.{name}", shape
    yield from _there(after)


def n_numbers(config: Config) -> int:
    """Return how many float32 the model is, without walking its layers."""

    def count(parts: Parts) -> int:
        return sum(math.prod(shape) for _, shape in _there(parts))

    before, after = _around(config)
    return count(before) + config.n_layers * count(_block(config)) + count(after)


Parts = list[tuple[str, tuple[int, ...], bool]]  # name, shape, whether the config has it


def _there(parts: Parts) -> Iterator[tuple[str, tuple[int, ...]]]:
    return ((name, shape) for name, shape, has in parts if has)


def _block(c: Config) -> Parts:
    n_columns = c.n_heads * c.d_k + c.n_kv_heads * (c.d_k + c.d_v)
    n_up = c.d_ff * (2 if c.gated else 1)
    shifted = c.norm == "layer"
    return [
        ("attention_gain", (c.d_model,), True),
        ("attention_shift", (c.d_model,), shifted),
        ("W_qkv", (n_columns, c.d_model), True),
        ("b_qkv", (n_columns,), c.qkv_bias),
        ("q_gain", (c.d_k,), c.qk_norm),
        ("k_gain", (c.d_k,), c.qk_norm),
        ("W_o", (c.d_model, c.n_heads * c.d_v), True),
        ("b_o", (c.d_model,), c.out_bias),
        ("feed_forward_gain", (c.d_model,), True),
        ("feed_forward_shift", (c.d_model,), shifted),
        ("W_up", (n_up, c.d_model), True),
        ("b_up", (n_up,), c.feed_forward_bias),
        ("W_down", (c.d_model, c.d_ff), True),
        ("b_down", (c.d_model,), c.feed_forward_bias),
    ]


def _around(c: Config) -> tuple[Parts, Parts]:
    """What stands before the blocks, and after them."""
    shifted = c.norm == "layer"
    before: Parts = [
        ("embedding", (c.vocab_size, c.d_model), True),
        ("positions", (c.n_positions, c.d_model), c.n_positions > 0),
        ("segments", (c.n_segments, c.d_model), c.n_segments > 0),
        ("embedding_gain", (c.d_model,), c.embedding_norm),
        ("embedding_shift", (c.d_model,), c.embedding_norm and shifted),
        ("rope_divisors", (c.d_k // 2,), c.rope_scaling is not None),
    ]
    after: Parts = [
        ("final_gain", (c.d_model,), c.final_norm),
        ("final_shift", (c.d_model,), c.final_norm and shifted),
        ("W_pool", (c.d_model, c.d_model), c.pooler),
        ("b_pool", (c.d_model,), c.pooler),
        ("W_vocab", (c.vocab_size, c.d_model), c.predicts and not c.tied_embeddings),
    ]
    return before, after
