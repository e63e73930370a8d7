"""How many numbers a model learns, part by part, and in each head."""

from __future__ import annotations

from collections.abc import Iterator

from riverhead.cost.config import Config
from riverhead.cost.counts import Count
from riverhead.cost.figures import Figure, figure
from riverhead.cost.sizes import Sizes, sizes

__all__ = ["biases", "block_matrices", "parameters", "per_head"]


def parameters(config: Config) -> tuple[Figure, ...]:
    """Return the parameters by part; their sum is the model's, exactly.

    Vaswani et al. 2017, §3.2.2 and §3.3; a gated feed-forward: Shazeer 2020, §2. What is computed and not
    learned, such as RoPE's angles or BERT's position_ids, is no parameter.

    >>> tiny = Config(architecture="llama", n_layers=1, n_heads=2, n_kv_heads=1, d_model=6, d_k=4, d_v=4,
    ...     d_ff=5, vocab_size=7, context_length=8, rope_base=10000.0, norm_epsilon=1e-5)
    >>> [(part.name, part.value) for part in parameters(tiny)][:3]
    [('token embedding', 42), ('W_q', 48), ('W_k', 24)]
    """
    return tuple(figure(name, counted, "parameters", note) for name, counted, note in _parts(config))


def per_head(config: Config) -> tuple[Figure, ...]:
    """Return what one head of one layer learns, its columns of W_q, W_k and W_v and its rows of W_o; and
    the matrices of the layer together.
    """
    s = sizes(config)
    if config.n_heads == config.n_kv_heads and config.d_k == config.d_v:
        own = [("W_q, W_k and W_v of a head", 3 * s.d_model * s.d_k, "")]
    else:
        shared = f"shared by {config.group} query heads" if config.group > 1 else ""
        own = [
            ("W_q of a head", s.d_model * s.d_k, ""),
            ("W_k and W_v of a kv head", s.d_model * (s.d_k + s.d_v), shared),
        ]
    attention = s.d_model * (s.H * s.d_k + s.G * (s.d_k + s.d_v)) + s.H * s.d_v * s.d_model
    block = attention + (3 if config.gated else 2) * s.d_model * s.d_ff
    rows = [*own, ("W_o of a head", s.d_v * s.d_model, ""), ("matrices of a block, n_block", block, "")]
    return tuple(figure(name, counted, "parameters", note) for name, counted, note in rows)


def block_matrices(config: Config, s: Sizes) -> dict[str, Count]:
    """Return the numbers in each matrix of one block."""
    gate = {"W_gate": s.d_model * s.d_ff} if config.gated else {}
    return {
        "W_q": s.d_model * s.H * s.d_k,
        "W_k": s.d_model * s.G * s.d_k,
        "W_v": s.d_model * s.G * s.d_v,
        "W_o": s.H * s.d_v * s.d_model,
        **gate,
        "W_up": s.d_model * s.d_ff,
        "W_down": s.d_ff * s.d_model,
    }


def biases(config: Config, s: Sizes) -> dict[str, Count]:
    """Return the numbers in the biases of one block."""
    wide = 2 * s.d_ff if config.gated else s.d_ff
    found = {
        "biases of q, k and v": (config.qkv_bias, s.H * s.d_k + s.G * s.d_k + s.G * s.d_v),
        "bias of W_o": (config.out_bias, s.d_model),
        "biases of the feed-forward": (config.feed_forward_bias, wide + s.d_model),
    }
    return {name: counted for name, (there, counted) in found.items() if there}


def _parts(config: Config) -> Iterator[tuple[str, Count, str]]:
    s = sizes(config)
    tied = "read once more as W_vocab" if config.predicts and config.tied_embeddings else ""
    yield "token embedding", s.n_vocab * s.d_model, tied
    if config.n_positions:
        yield "position embedding", s.n_positions * s.d_model, ""
    if config.n_segments:
        yield "segment embedding", s.n_segments * s.d_model, ""
    for name, counted in block_matrices(config, s).items():
        yield name, s.n_layers * counted, ""
    for name, counted in biases(config, s).items():
        yield name, s.n_layers * counted, ""
    yield from _norms(config, s)
    if config.pooler:
        yield "pooler", s.d_model**2 + s.d_model, "makes one vector of a text; no part of attention"
    if config.predicts and not config.tied_embeddings:
        yield "W_vocab", s.n_vocab * s.d_model, ""


def _norms(config: Config, s: Sizes) -> Iterator[tuple[str, Count, str]]:
    each, what = (2 * s.d_model, "a gain and a shift") if config.norm == "layer" else (s.d_model, "a gain")
    yield "norms of the blocks", s.n_layers * 2 * each, f"{what}, twice a block"
    if config.qk_norm:
        yield "norms of q and k", s.n_layers * 2 * s.d_k, "a gain for each, shared by the heads"
    if config.embedding_norm:
        yield "norm of the embedding", each, ""
    if config.final_norm:
        yield "final norm", each, ""
