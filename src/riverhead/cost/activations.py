"""How many bytes the numbers between the weights take: at the peak of a prefill, and kept for training."""

from __future__ import annotations

from riverhead.cost.config import Config
from riverhead.cost.counts import Count, count, sum_of
from riverhead.cost.figures import Figure, figure
from riverhead.cost.sizes import Sizes, sizes
from riverhead.numbers import grouped
from riverhead.scene import Word

__all__ = ["activations", "held_throughout", "training_activations"]

PEAK, MOMENTS, KEPT = "peak of a prefill, no cache", "moments of a prefill", "kept for a training step"

TEMPORARIES = {"silu": 2, "gelu": 6, "gelu_tanh": 1, "relu": 1}  # arrays beside what goes in, as in steps.py


def activations(config: Config, tokens: int, batch: int = 1, dtype: str = "float32") -> tuple[Figure, ...]:
    """Return the bytes held at each moment of riverhead's own prefill, the last figure being the peak.

    All in one block of several, counted as `Model.run` holds its arrays, which are float32: the vectors that
    came in and those of this block, and what the block before has not let go of. The compiled pass takes a
    few tiles a thread besides, BLAS its own room; logits are not made, and no cache is filled. Raises
    `InputError` naming tokens, batch or dtype.

    >>> tiny = Config(architecture="llama", n_layers=2, n_heads=2, n_kv_heads=1, d_model=6, d_k=4, d_v=4,
    ...     d_ff=50, vocab_size=7, context_length=8, norm_epsilon=1e-5)
    >>> print(activations(tiny, 3)[-1].numbers)
    1·3·(36 + 6 + 4·50)·4
    """
    s = sizes(config, tokens, batch, dtype)
    table = s.T * s.d_k if config.rope_base is not None else None  # cosines and sines, float64
    throughout = held_throughout(config)
    n_held = count("n", int(throughout.value), "held")
    moments = []
    for name, numbers in {"held throughout": n_held, **_moments(config, s, n_held)}.items():
        held = s.B * s.T * numbers * s.b
        if table is not None:  # at the turn itself in float32 besides
            held = held + (12 if name == "RoPE" else 8) * table
        moments.append(figure(name, held, "bytes", group=MOMENTS))
    top = max(moments, key=lambda one: one.value or 0)
    return (*moments, Figure(PEAK, top.formula, top.numbers, top.value, "bytes", f"at {top.name}", PEAK))


def held_throughout(config: Config) -> Count:
    """Return the numbers a token has at every moment of a block: n_held in the formulas of `activations`."""
    s = sizes(config)
    return _sum(2 * s.d_model, _qkv(s), _turned(config, s), s.H * s.d_v)


def training_activations(
    config: Config, tokens: int, batch: int = 1, dtype: str = "float32"
) -> tuple[Figure, ...]:
    """Return the bytes backward needs of a block, and of a step without and with attention's weights stored.

    It is the least; a framework may keep more. Of each block what enters a norm, a product or an activation,
    and attention's q, k, v and output with a log-sum-exp a row, from which weights are made again; after the
    blocks what enters the last norm and W_vocab, and the odds. Dao et al. 2022, §3.1. Raises `InputError` as
    `activations` does.
    """
    s = sizes(config, tokens, batch, dtype)
    inside = (3 if config.gated else 2) * s.d_ff
    kept = 4 * s.d_model + _qkv(s) + s.H * s.d_v + s.H + inside
    block = s.B * s.T * kept * s.b
    never = s.n_layers * _named("a block", block)
    after = [
        size for size, there in ((2 * s.d_model, config.final_norm), (s.n_vocab, config.predicts)) if there
    ]
    if after:
        never = never + s.B * s.T * sum_of(after) * s.b
    stored = _named("never stored", never) + s.n_layers * s.B * s.H * s.T**2 * s.b
    return (
        figure("a block", block, "bytes", group=KEPT),
        figure("weights never stored", never, "bytes", group=KEPT),
        figure("weights stored", stored, "bytes", group=KEPT),
    )


def _named(name: str, counted: Count) -> Count:
    """A count that has its own line, by its name."""
    value = int(counted.value)
    return Count(value, Word(name), grouped(value))


def _qkv(s: Sizes) -> Count:
    return s.H * s.d_k + s.G * (s.d_k + s.d_v)


def _moments(config: Config, s: Sizes, held: Count) -> dict[str, Count]:
    """The numbers a token has, moment by moment; what is held throughout comes first."""
    n_up = 2 if config.gated else 1
    qkv, out = _qkv(s), s.H * s.d_v
    normed = None if config.norm_after else s.d_model
    summed = (4 if config.norm_after else 2) * s.d_model
    moments = {"W_q, W_k and W_v": _sum(held, normed, qkv)}
    own = s.H * s.d_k + s.G * s.d_k if config.qk_norm else None
    if config.qk_norm:
        moments["norms of q and k"] = _sum(held, qkv, own)
    if config.rope_base is not None:
        both = s.H * s.d_k + 2 * s.G * s.d_k if 2 * config.n_kv_heads > config.n_heads else 2 * s.H * s.d_k
        moments["RoPE"] = _sum(held, qkv, own, both)
    return moments | {
        "W_o": _sum(held, out, s.d_model),
        "sum of the residual stream": _sum(held, summed),
        config.activation: _sum(held, normed, (n_up + TEMPORARIES[config.activation]) * s.d_ff),
        "W_down": _sum(held, normed, 3 * s.d_ff if config.gated else s.d_ff, s.d_model),
    }


def _turned(config: Config, s: Sizes) -> Count | None:
    """RoPE makes q and k anew, and so does a norm of them; else they are views."""
    return s.H * s.d_k + s.G * s.d_k if config.rope_base is not None or config.qk_norm else None


def _sum(first: Count, *others: Count | None) -> Count:
    for other in others:
        first = first if other is None else first + other
    return first
