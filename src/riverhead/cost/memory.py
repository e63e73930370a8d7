"""How many bytes a model holds: weights, a score matrix if it were stored, KV cache, activations."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, get_args

from riverhead.cost.activations import activations, training_activations
from riverhead.cost.config import Config
from riverhead.cost.counts import Count, count, sum_of
from riverhead.cost.figures import Figure, figure
from riverhead.cost.parameters import parameters
from riverhead.cost.sizes import Sizes, layers_of, seen_by_one, sizes
from riverhead.errors import InputError

__all__ = [
    "As",
    "activations",
    "gqa_heads",
    "kv_cache",
    "score_matrix",
    "training_activations",
    "weights",
]

As = Literal["own", "mha", "gqa", "mqa"]

PER_KV_HEAD = 4  # query heads, where a model has no groups of its own


def weights(config: Config, dtype: str = "float32") -> Figure:
    """Return the bytes of the parameters; raises `InputError` for an unknown dtype."""
    n = sum(one.value or 0 for one in parameters(config))
    return figure("weights", count("n", n, "parameters") * sizes(config, dtype=dtype).b, "bytes")


def score_matrix(config: Config, tokens: int, batch: int = 1, dtype: str = "float32") -> tuple[Figure, ...]:
    """Return the bytes of the scores if they were stored: a head's, a layer's, a model's.

    Stored in full, with what a mask hides. `riverhead.attend` stores none. Raises `InputError` naming
    tokens, batch or dtype.

    >>> tiny = Config(architecture="llama", n_layers=1, n_heads=2, n_kv_heads=1, d_model=6, d_k=4, d_v=4,
    ...     d_ff=5, vocab_size=7, context_length=8, rope_base=10000.0, norm_epsilon=1e-5)
    >>> score_matrix(tiny, 100_000)[0].said
    '40.0 GB (37.3 GiB)'
    """
    s = sizes(config, tokens, batch, dtype)
    return (
        figure("scores of a head", s.T**2 * s.b, "bytes"),
        figure("scores of a layer's heads", s.B * s.H * s.T**2 * s.b, "bytes"),
        figure("scores of all layers", s.n_layers * s.B * s.H * s.T**2 * s.b, "bytes"),
    )


def kv_cache(
    config: Config,
    tokens: int,
    batch: int = 1,
    dtype: str = "float32",
    as_: As = "own",
    *,
    windows: bool = True,
) -> Figure:
    """Return the bytes of the keys and values of ``tokens``, with the model's kv heads or as if with others.

    ``as_`` is ``"own"``, ``"mha"`` (one kv head a query head), ``"gqa"`` (its own groups, or one kv head for
    every 4 query heads) or ``"mqa"`` (one kv head). A layer with a window holds no more than that many
    tokens; ``windows=False`` counts as if none had one. Shazeer 2019, §2.4; Ainslie et al. 2023, §2.2.
    Raises `InputError` naming the argument, and for a model that sees both ways.

    >>> tiny = Config(architecture="llama", n_layers=32, n_heads=32, n_kv_heads=8, d_model=4096, d_k=128,
    ...     d_v=128, d_ff=14336, vocab_size=128256, context_length=8192, norm_epsilon=1e-5)
    >>> kv_cache(tiny, 8192, dtype="float16").said
    '1.07 GB (1.00 GiB)'
    """
    s = sizes(config, tokens, batch, dtype)
    seen_by_one(config, s.T)  # or nothing is cached
    if as_ not in get_args(As):
        raise InputError(f"as_ is {as_!r}, it has to be one of {', '.join(get_args(As))}")
    if not windows:
        config = replace(config, windows=())
    heads = _heads(config, s, as_)
    held = sum_of(part.n * (part.window or s.T) for part in layers_of(config, tokens))
    words = ("" if as_ == "own" else f" as {as_.upper()}") + ("" if windows else " without windows")
    n_heads = heads if isinstance(heads, int) else heads.value
    note = f"{n_heads:,} kv head{'s' if n_heads != 1 else ''}"
    return figure(f"KV cache{words}", s.B * heads * (s.d_k + s.d_v) * s.b * held, "bytes", note)


def _heads(config: Config, s: Sizes, as_: As) -> Count | int:
    if as_ == "mqa":
        return 1
    if as_ == "gqa" and gqa_heads(config) != config.n_kv_heads:
        return s.H / (config.n_heads // gqa_heads(config))
    return s.H if as_ == "mha" else s.G


def gqa_heads(config: Config) -> int:
    """Return how many kv heads grouping would leave; raises `InputError` where heads form no groups."""
    if 1 < config.n_kv_heads < config.n_heads:
        return config.n_kv_heads
    for group in (PER_KV_HEAD, 2, 3, 5, 7):
        if config.n_heads % group == 0 and config.n_heads > group:
            return config.n_heads // group
    raise InputError(
        f"n_heads is {config.n_heads}: groups of 2 to 7 do not fill it, there is only MHA and MQA"
    )
