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
    """One block's weights; matrices are used as ``x @ W``."""

    attention_gain: Array  # (d_model,)
    W_qkv: Array  # (d_model, H·d_k + G·d_k + G·d_v): W_q, W_k and W_v side by side, one product
    W_o: Array  # (H·d_v, d_model)
    feed_forward_gain: Array  # (d_model,)
    W_gate_up: Array  # (d_model, 2·d_ff)
    W_down: Array  # (d_ff, d_model)


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """A model's weights, views of one flat memory-mapped array."""

    embedding: Array  # (vocab_size, d_model)
    blocks: tuple[BlockWeights, ...]
    final_gain: Array  # (d_model,)
    W_vocab: Array  # (d_model, vocab_size): the embedding once more where they are tied

    @classmethod
    def of(cls, flat: Array, config: Config) -> Weights:
        """Cut ``flat`` into the weights of ``config``; nothing is copied or read yet."""
        part, start = {}, 0
        for name, shape in layout(config):
            stop = start + math.prod(shape)
            part[name] = flat[start:stop].reshape(shape)
            start = stop
        blocks = tuple(
            BlockWeights(
                part[f"{layer}.attention_gain"],
                part[f"{layer}.W_qkv"].T,
                part[f"{layer}.W_o"].T,
                part[f"{layer}.feed_forward_gain"],
                part[f"{layer}.W_gate_up"].T,
                part[f"{layer}.W_down"].T,
            )
            for layer in range(config.n_layers)
        )
        return cls(part["embedding"], blocks, part["final_gain"], part.get("W_vocab", part["embedding"]).T)


def layout(config: Config) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Name each stored array with its shape, in file order; matrices lie as (out, in), one row an output.

    >>> tiny = Config(architecture="llama", n_layers=1, n_heads=2, n_kv_heads=1, d_model=6, d_k=4, d_v=4,
    ...     d_ff=5, vocab_size=7, context_length=8, rope_base=10000.0, norm_epsilon=1e-5)
    >>> dict(layout(tiny))["0.W_qkv"], n_numbers(tiny) == sum(math.prod(shape) for _, shape in layout(tiny))
    ((16, 6), True)
    """
    vocab = (config.vocab_size, config.d_model)
    yield "embedding", vocab
    for layer in range(config.n_layers):
        for name, shape in _block(config).items():
            yield f"{layer}.{name}", shape
    yield "final_gain", (config.d_model,)
    if not config.tied_embeddings:
        yield "W_vocab", vocab


def n_numbers(config: Config) -> int:
    """Return how many float32 the model is, without walking its layers."""
    vocab = config.vocab_size * config.d_model * (1 if config.tied_embeddings else 2)
    return vocab + config.d_model + config.n_layers * sum(map(math.prod, _block(config).values()))


def _block(config: Config) -> dict[str, tuple[int, ...]]:
    d_model, d_ff = config.d_model, config.d_ff
    n_columns = config.n_heads * config.d_k + config.n_kv_heads * (config.d_k + config.d_v)
    return {
        "attention_gain": (d_model,),
        "W_qkv": (n_columns, d_model),
        "W_o": (d_model, config.n_heads * config.d_v),
        "feed_forward_gain": (d_model,),
        "W_gate_up": (2 * d_ff, d_model),
        "W_down": (d_model, d_ff),
    }
