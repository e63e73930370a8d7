"""Costs against the length of the text, on axes that grow by powers of ten."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import inf

from riverhead.cost.config import Config
from riverhead.cost.flops import attention_flops, product_flops
from riverhead.cost.growth import crossover
from riverhead.cost.memory import activations, kv_cache, score_matrix
from riverhead.scene import Line, Lines

__all__ = ["curves", "lengths"]

SHORTEST, LONGEST = 1 << 7, 1 << 17


def lengths(config: Config, tokens: int) -> tuple[int, ...]:
    """Return the powers of two from 128 past T*, the context, and ``tokens``."""
    past = max(tokens, config.context_length, LONGEST, *(found.value or 0 for found in crossover(config)))
    return tuple(1 << n for n in range(SHORTEST.bit_length() - 1, past.bit_length() + 1))


def curves(config: Config, Ts: Iterable[int], batch: int, dtype: str) -> tuple[Lines, Lines]:
    """Return FLOPs and bytes at each length of ``Ts``; raises `InputError` naming tokens, batch or dtype."""
    lengths = tuple(Ts)

    def line(label: str, cost: Callable[[int], int | None]) -> Line:
        return Line(label, tuple((_float(T), _float(cost(T) or 0)) for T in lengths))

    return _flops(config, batch, line), _bytes(config, batch, dtype, line)


Draw = Callable[[str, Callable[[int], "int | None"]], Line]


def _flops(config: Config, batch: int, line: Draw) -> Lines:
    lines = [
        line("matrix products", lambda T: product_flops(config, T, batch)),
        line("attention, every pair", lambda T: attention_flops(config, T, batch, visible=False)),
    ]
    if config.causal or any(config.windows):
        lines.append(
            line("attention, visible pairs", lambda T: attention_flops(config, T, batch, visible=True))
        )
    said = []
    for found in crossover(config):
        if found.name.startswith("whole model") and found.value is not None:
            at = found.value
            name = found.name.removeprefix("whole model, ")
            lines.append(
                Line(f"T* = {at:,}, {name}", ((_float(at), _float(product_flops(config, at, batch))),))
            )
            said.append(f"{at:,} ({name})")
    caption = f"FLOPs of a prefill; attention overtakes at T* = {' and '.join(said)}" if said else ""
    return Lines(tuple(lines), "tokens", "FLOPs", log_x=True, log_y=True, caption=caption)


def _bytes(config: Config, batch: int, dtype: str, line: Draw) -> Lines:
    lines = [
        line("scores of a head, if stored", lambda T: score_matrix(config, T, batch, dtype)[0].value),
        line("scores of a layer, if stored", lambda T: score_matrix(config, T, batch, dtype)[1].value),
        line("riverhead's prefill", lambda T: activations(config, T, batch, dtype)[-1].value),
    ]
    if config.causal:
        lines.append(line("KV cache", lambda T: kv_cache(config, T, batch, dtype).value))
        if config.n_kv_heads < config.n_heads:
            lines.append(line("KV cache as MHA", lambda T: kv_cache(config, T, batch, dtype, "mha").value))
        if config.n_kv_heads > 1:
            lines.append(line("KV cache as MQA", lambda T: kv_cache(config, T, batch, dtype, "mqa").value))
    return Lines(tuple(lines), "tokens", f"bytes, {dtype}", log_x=True, log_y=True, caption="Bytes held")


def _float(value: int) -> float:
    try:
        return float(value)
    except OverflowError:  # an axis that cannot hold it says so
        return inf
