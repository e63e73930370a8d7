"""How much a model computes: prefill, one more token, one step of training; a multiply-add is 2 FLOPs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from riverhead.cost.config import Config
from riverhead.cost.counts import Count
from riverhead.cost.figures import Figure, figure, total
from riverhead.cost.parameters import biases, block_matrices
from riverhead.cost.sizes import Sizes, pairs, seen_by_one, sizes

__all__ = [
    "APART",
    "EVERY",
    "PRODUCTS",
    "VISIBLE",
    "attention_flops",
    "in_group",
    "per_token",
    "prefill",
    "product_flops",
    "training_step",
]

PRODUCTS = "matrix products"
EVERY = "attention, every pair"
VISIBLE = "attention, visible pairs"
APART = "apart"

SOFTMAX = 6  # scale, largest, subtract, exponential, sum, divide: one operation each a weight
NORM = {"rms": 4, "layer": 7}  # square, sum, divide, gain; with the mean: its sum, its subtraction, a shift
ROPE = 3  # four products and two sums turn a pair
ACTIVATION = {"silu": 4, "gelu": 5, "gelu_tanh": 9, "relu": 1}  # as transformer/steps.py computes them


def prefill(config: Config, tokens: int, batch: int = 1) -> tuple[Figure, ...]:
    """Return the FLOPs of reading ``tokens`` at once, by part; ``group`` says what belongs together.

    Attention's two products stand there with every pair of query and key, as a product of whole matrices
    computes them, and with the visible pairs alone where masks hide some. W_vocab is applied to every
    token, as in training; softmax, norms, RoPE and activations stand apart, as they are no products.
    Kaplan et al. 2020, §2.1, without their approximations. Raises `InputError` naming tokens or batch.

    >>> tiny = Config(architecture="llama", n_layers=1, n_heads=2, n_kv_heads=1, d_model=6, d_k=4, d_v=4,
    ...     d_ff=5, vocab_size=7, context_length=8, rope_base=10000.0, norm_epsilon=1e-5)
    >>> in_group(prefill(tiny, 3), PRODUCTS).value, in_group(prefill(tiny, 3), EVERY).value
    (1656, 288)
    """
    s = sizes(config, tokens, batch)
    every, visible = (pairs(config, s.T, visible=seen) for seen in (False, True))
    pool = 2 * s.B * s.d_model**2 if config.pooler else None
    return (
        *_products(config, s, s.B * s.T, pool),
        *_attention(s, every, visible),
        *_apart(config, s, s.B * s.T, visible),
    )


def per_token(config: Config, tokens: int, batch: int = 1) -> tuple[Figure, ...]:
    """Return the FLOPs of one more token after ``tokens`` in the cache; it sees them and itself.

    Raises `InputError` for a model that sees both ways, and as `prefill` does.
    """
    s = sizes(config, tokens, batch)
    visible = seen_by_one(config, s.T)
    every = s.n_layers * (s.T + 1)
    return (
        *_products(config, s, s.B),
        *_attention(s, every, visible),
        *_apart(config, s, s.B, visible),
    )


def training_step(config: Config, tokens: int, batch: int = 1) -> tuple[Figure, ...]:
    """Return the FLOPs of one step of training: each product once forward, twice backward, by part.

    The gradient of a product x @ W takes two as large: of x and of W. What is no product is left out, and
    so is whatever an optimizer does with the gradients. Raises `InputError` as `prefill` does.
    """
    return tuple(
        replace(figure(one.name, 3 * counted, "FLOPs", one.note), group=one.group)
        for one in prefill(config, tokens, batch)
        if one.group != APART and one.value is not None
        for counted in (Count(one.value, one.formula, one.numbers, "product"),)
    )


def in_group(figures: Iterable[Figure], group: str) -> Figure:
    """Add up the figures of a group, visible pairs being every pair where none is hidden."""
    figures = tuple(figures)
    found = [one for one in figures if one.group == group]
    if not found and group == VISIBLE:
        return in_group(figures, EVERY)
    return total(found, group, group=group)


def product_flops(config: Config, tokens: int, batch: int = 1) -> int:
    """Return the FLOPs of all matrix products of a prefill but attention's two."""
    s = sizes(config, tokens, batch)
    return sum(one.value or 0 for one in _products(config, s, s.B * s.T))


def attention_flops(config: Config, tokens: int, batch: int = 1, *, visible: bool) -> int:
    """Return the FLOPs of attention's two products in a prefill, over every pair or the visible ones."""
    s = sizes(config, tokens, batch)
    counted = pairs(config, s.T, visible=visible)
    return int((2 * s.B * s.H * (s.d_k + s.d_v) * counted).value)


def _products(config: Config, s: Sizes, rows: Count, pool: Count | None = None) -> Iterator[Figure]:
    for name, numbers in block_matrices(config, s).items():
        yield figure(name, 2 * rows * s.n_layers * numbers, "FLOPs", group=PRODUCTS)
    if pool is not None:
        yield figure("pooler", pool, "FLOPs", "of each text's first token", PRODUCTS)
    if config.predicts:
        yield figure("W_vocab", 2 * rows * s.d_model * s.n_vocab, "FLOPs", group=PRODUCTS)


def _attention(s: Sizes, every: Count, visible: Count) -> Iterator[Figure]:
    groups = {EVERY: every} | ({VISIBLE: visible} if visible.value != every.value else {})
    for group, seen in groups.items():
        yield figure("q·k", 2 * s.B * s.H * s.d_k * seen, "FLOPs", group=group)
        yield figure("weights @ v", 2 * s.B * s.H * s.d_v * seen, "FLOPs", group=group)


def _apart(config: Config, s: Sizes, rows: Count, visible: Count) -> Iterator[Figure]:
    n_norms = 2 * s.n_layers + (config.final_norm + config.embedding_norm)
    turned = rows * s.n_layers * (s.H + s.G) * s.d_k
    n_activation = ACTIVATION[config.activation] + config.gated
    parts: dict[str, Count | None] = {
        f"softmax, {SOFTMAX} a visible weight": SOFTMAX * s.B * s.H * visible,
        f"norms, {NORM[config.norm]} a number": NORM[config.norm] * rows * s.d_model * n_norms,
        f"norms of q and k, {NORM['rms']} a number": NORM["rms"] * turned if config.qk_norm else None,
        f"RoPE, {ROPE} a number": ROPE * turned if config.rope_base is not None else None,
        f"{config.activation}, {n_activation} a number": n_activation * rows * s.n_layers * s.d_ff,
        "residual sums": 2 * rows * s.n_layers * s.d_model,
        **{name: rows * s.n_layers * counted for name, counted in biases(config, s).items()},
    }
    for name, counted in parts.items():
        if counted is not None:
            yield figure(name, counted, "FLOPs", group=APART)
