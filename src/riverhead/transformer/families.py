"""Which family's steps a model takes, by the architecture its config names."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from riverhead.cost import Config
from riverhead.errors import ModelError
from riverhead.transformer import bert, gpt2, llama
from riverhead.transformer.layout import BlockWeights, Weights

__all__ = ["FAMILIES", "Family", "family_of"]

Array = npt.NDArray[np.float32]


class Family(Protocol):
    """The steps of one family, each a function of its module."""

    @property
    def TRAITS(self) -> dict[str, Any]:  # noqa: N802  (a constant of the module)
        """What the config of every model of the family says."""

    def embed(self, ids: npt.NDArray[np.int64], weights: Weights, config: Config, offset: int, /) -> Array:
        """Token ids (B, T) to the residual stream into the first block (B, T, d_model)."""

    def project(
        self, x: Array, block: BlockWeights, config: Config, offset: int, divisors: Array | None, /
    ) -> tuple[Array, Array, Array]:
        """The stream into a block to its q, k and v."""

    def add_attention(self, x: Array, part: Array, block: BlockWeights, config: Config, /) -> Array:
        """The stream after attention."""

    def feed_forward_part(self, x: Array, block: BlockWeights, config: Config, /) -> Array:
        """What the feed-forward makes of the stream after attention."""

    def add_feed_forward(self, x: Array, part: Array, block: BlockWeights, config: Config, /) -> Array:
        """The stream after the block."""

    def final_norm(self, x: Array, weights: Weights, config: Config, /) -> Array:
        """The stream after the last block as W_vocab reads it."""


FAMILIES: dict[str, Family] = {
    "llama": llama,
    "mistral": llama,
    "qwen2": llama,
    "qwen3": llama,
    "gpt2": gpt2,
    "bert": bert,
}


def family_of(config: Config) -> Family:
    """Return the family of a model; `ModelError` naming the architecture or the trait it cannot have.

    >>> family_of(Config(architecture="mamba", n_layers=1, n_heads=1, n_kv_heads=1, d_model=2, d_k=2, d_v=2,
    ...     d_ff=2, vocab_size=2, context_length=2, norm_epsilon=1e-5))
    Traceback (most recent call last):
    riverhead.errors.ModelError: architecture 'mamba'; read are llama, mistral, qwen2, qwen3, gpt2, bert
    """
    if config.architecture not in FAMILIES:
        raise ModelError(f"architecture {config.architecture!r:.60}; read are {', '.join(FAMILIES)}")
    family = FAMILIES[config.architecture]
    for trait, has in family.TRAITS.items():
        if (found := getattr(config, trait)) != has:
            raise ModelError(
                f"{trait} is {found!r}, in a model of the architecture {config.architecture} {has!r}"
            )
    return family
