"""Where attention overtakes all other products, and how each cost grows when the text is twice as long."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction as Ratio
from math import floor

from riverhead.cost.activations import activations
from riverhead.cost.config import Config
from riverhead.cost.counts import Count, count
from riverhead.cost.figures import Figure, Unit
from riverhead.cost.flops import attention_flops, product_flops
from riverhead.cost.memory import kv_cache, score_matrix
from riverhead.cost.parameters import block_matrices
from riverhead.cost.sizes import pairs, sizes
from riverhead.scene import Operator, Row

__all__ = ["Doubled", "crossover", "doubled"]


def crossover(config: Config) -> tuple[Figure, ...]:
    """Return T*: the first length at which attention's two products take more FLOPs than all others.

    Of the whole model and, where it predicts tokens, of its blocks without W_vocab; over every pair of query
    and key and over the visible ones. Where windows keep attention below for ever, the value is None and the
    note says why.

    >>> gpt2 = Config(architecture="gpt2", n_layers=12, n_heads=12, n_kv_heads=12, d_model=768, d_k=64,
    ...     d_v=64, d_ff=3072, vocab_size=50257, context_length=1024, norm_epsilon=1e-5, gated=False)
    >>> [(found.name, found.value) for found in crossover(gpt2)][2:]
    [('blocks alone, every pair', 4609), ('blocks alone, visible pairs', 9216)]
    """
    s = sizes(config)
    found = []
    for whose in ("whole model", "blocks alone") if config.predicts else ("whole model",):
        blocks = count("n", sum(int(one.value) for one in block_matrices(config, s).values()), "block")
        if config.predicts and whose == "whole model":
            products = s.n_layers * blocks + s.d_model * s.n_vocab
            ratio = products / (s.n_layers * s.H * (s.d_k + s.d_v))
        else:
            products = s.n_layers * blocks
            ratio = blocks / (s.H * (s.d_k + s.d_v))
        found.append(_passed(f"{whose}, every pair", ratio))
        if any(config.windows):
            found.append(_searched(config, f"{whose}, visible pairs", products / (s.H * (s.d_k + s.d_v))))
        elif config.causal:
            found.append(_passed(f"{whose}, visible pairs", 2 * ratio - 1))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Doubled:
    """A cost at T tokens and at 2·T."""

    name: str
    unit: Unit
    once: int
    twice: int

    @property
    def ratio(self) -> Ratio:
        """How many times as much twice the text costs."""
        return Ratio(self.twice, self.once)


def doubled(config: Config, tokens: int, batch: int = 1, dtype: str = "float32") -> tuple[Doubled, ...]:
    """Return what each cost is at ``tokens`` and at twice as many; raises `InputError` as `plan` does.

    >>> tiny = Config(architecture="llama", n_layers=1, n_heads=2, n_kv_heads=1, d_model=6, d_k=4, d_v=4,
    ...     d_ff=5, vocab_size=7, context_length=8, norm_epsilon=1e-5)
    >>> [f"{cost.name}: {cost.ratio}" for cost in doubled(tiny, 4)][:3]
    ['matrix products: 2', 'attention, every pair: 4', 'attention, visible pairs: 18/5']
    """
    once, twice = (_costs(config, T, batch, dtype) for T in (tokens, 2 * tokens))
    return tuple(Doubled(name, unit, value, twice[name][1]) for name, (unit, value) in once.items())


def _costs(config: Config, T: int, batch: int, dtype: str) -> dict[str, tuple[Unit, int]]:
    products = product_flops(config, T, batch)
    every, visible = (attention_flops(config, T, batch, visible=seen) for seen in (False, True))
    flops = {"matrix products": products, "attention, every pair": every}
    if config.causal or any(config.windows):
        flops |= {"attention, visible pairs": visible}
    flops |= {"all products, visible pairs": products + visible}
    held = [score_matrix(config, T, batch, dtype)[0], activations(config, T, batch, dtype)[-1]]
    if config.causal:
        held.insert(1, kv_cache(config, T, batch, dtype))
    costs: dict[str, tuple[Unit, int]] = {name: ("FLOPs", value) for name, value in flops.items()}
    return costs | {one.name: ("bytes", one.value or 0) for one in held}


def _passed(name: str, limit: Count) -> Figure:
    """The first whole T above a limit."""
    exact = Ratio(limit.value)
    note = f"above {float(exact):,.2f}" if exact.denominator > 1 else f"above {exact.numerator:,}"
    return Figure(name, limit.symbols, limit.numbers, max(floor(exact) + 1, 1), "tokens", note)


def _searched(config: Config, name: str, a_token: Count) -> Figure:
    """The first T whose visible pairs are more than those that cost as much as the other products."""
    limit = Ratio(a_token.value)  # pairs a token, over all layers

    def overtakes(T: int) -> bool:
        return int(pairs(config, count("T", T), visible=True).value) > limit * T

    last = _end(config, limit)
    T = last if overtakes(last) else None
    low = 0
    while T is not None and T - low > 1:  # the mean of a query's visible keys never falls as T grows
        middle = (low + T) // 2
        low, T = (low, middle) if overtakes(middle) else (middle, T)
    return _at(config, name, a_token, T, last)


def _end(config: Config, limit: Ratio) -> int:
    """A length by which attention is ahead, if it ever gets there."""
    full = max(config.windows) + 1
    if all(config.windows):  # the mean comes ever nearer to the sum of the windows, or of both their sides
        most = sum(w if config.causal else 2 * w - 1 for w in config.windows)
        lost = sum(w * (w - 1) for w in config.windows)
        return floor(lost / (most - limit)) + full if most > limit else full
    return 2 * floor(limit) + 2


def _at(config: Config, name: str, a_token: Count, T: int | None, last: int) -> Figure:
    at = count("T", last if T is None else T)
    seen, costs = pairs(config, at, visible=True), at * a_token
    sign = Operator(">" if T is not None else "≤")
    formula, numbers = (
        Row((left, sign, right))
        for left, right in ((seen.symbols, costs.symbols), (seen.numbers, costs.numbers))
    )
    most = sum(w if config.causal else 2 * w - 1 for w in config.windows)
    note = "" if T is not None else f"a token sees at most {most:,} keys in all layers, at any length"
    return Figure(name, formula, numbers, T, "tokens", note)
