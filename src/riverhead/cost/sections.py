"""Every figure of a plan, in the tables it stands in, each with its totals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from riverhead.core.cache import LEAST_ROOM
from riverhead.cost.activations import held_throughout
from riverhead.cost.config import Config
from riverhead.cost.figures import Figure, bytes_said, counted_said, total
from riverhead.cost.flops import (
    APART,
    EVERY,
    PRODUCTS,
    VISIBLE,
    in_group,
    per_token,
    prefill,
    training_step,
)
from riverhead.cost.growth import crossover
from riverhead.cost.memory import (
    As,
    activations,
    kv_cache,
    score_matrix,
    training_activations,
    weights,
)
from riverhead.cost.parameters import parameters, per_head
from riverhead.errors import InputError

__all__ = ["TOGETHER", "PartName", "Section", "of", "sections"]

PartName = Literal["parameters", "flops", "memory", "growth"]

TOGETHER = "together"

STORED = "As they would be stored, with what a mask hides. riverhead.attend stores none of them."
BOTH_WAYS = "The model sees both ways: no token is decoded after others, and nothing is cached."
TRAINED = "Each product once forward and twice backward: the gradients of what goes in and of what it meets."
BESIDES = "Gradients and what an optimizer keeps come to this: with Adam three times the weights."
OVERTAKES = (
    "The first length at which attention's two products take more FLOPs than all others; n_block: the "
    "numbers in a block's matrices."
)


@dataclass(frozen=True, slots=True)
class Section:
    """One table of a plan: the ``part`` it belongs to, its title, its figures and what has to be said."""

    part: PartName
    title: str
    figures: tuple[Figure, ...]
    notes: tuple[str, ...] = ()
    wide: bool = False  # its formulas are too long for a table


def sections(config: Config, tokens: int, batch: int, dtype: str) -> Iterator[Section]:
    """Give the tables in order; raises `InputError` naming tokens, batch or dtype."""
    learned = parameters(config)
    yield Section("parameters", "Parameters", (*learned, total(learned, group=TOGETHER)))
    yield Section("parameters", "One head of one layer", per_head(config))
    yield from _flops(config, tokens, batch)
    yield from _memory(config, tokens, batch, dtype)
    yield Section("growth", "T*, where attention overtakes", crossover(config), (OVERTAKES,), wide=True)


def _flops(config: Config, tokens: int, batch: int) -> Iterator[Section]:
    at_once = of(tokens, batch)
    yield Section("flops", f"FLOPs: {at_once} at once (prefill)", _summed(prefill(config, tokens, batch)))
    after = f"FLOPs: one more token after {at_once} in the cache"
    if config.causal:
        yield Section("flops", after, _summed(per_token(config, tokens, batch)))
    else:
        yield Section("flops", after, (), (BOTH_WAYS,))
    steps = _summed(training_step(config, tokens, batch))
    yield Section("flops", f"FLOPs: one training step on {at_once}", steps, (TRAINED,))


def _memory(config: Config, tokens: int, batch: int, dtype: str) -> Iterator[Section]:
    at_once = f"{of(tokens, batch)}, {dtype}"
    yield Section("memory", f"Weights, {dtype}", (weights(config, dtype),))
    scores = score_matrix(config, tokens, batch, dtype)
    yield Section("memory", f"Scores of {at_once}, if they were stored", scores, (STORED,))
    yield _cache(config, tokens, batch, dtype)
    held = activations(config, tokens, batch, dtype)
    notes = tuple(_prefill_notes(config, tokens, batch, dtype))
    yield Section("memory", f"Held by riverhead's own prefill of {at_once}", held, notes, wide=True)
    kept = training_activations(config, tokens, batch, dtype)
    yield Section("memory", f"Kept for the backward pass of {at_once}", kept, (BESIDES,), wide=True)


def _cache(config: Config, tokens: int, batch: int, dtype: str) -> Section:
    title = f"KV cache of {of(tokens, batch)}, {dtype}"
    if not config.causal:
        return Section("memory", title, (), (BOTH_WAYS,))
    figures = [kv_cache(config, tokens, batch, dtype)]
    if any(config.windows):
        figures.append(kv_cache(config, tokens, batch, dtype, windows=False))
    notes: tuple[str, ...] = ()
    ways: tuple[As, ...] = ("mha", "gqa", "mqa")
    for as_ in ways:
        try:
            figures.append(kv_cache(config, tokens, batch, dtype, as_))
        except InputError as error:
            notes = (f"No GQA: {error}.",)
    return Section("memory", title, tuple(figures), notes, wide=True)


def _prefill_notes(config: Config, tokens: int, batch: int, dtype: str) -> Iterator[str]:
    if dtype != "float32":
        yield f"It computes in float32; the same steps in {dtype}."
    n_held = held_throughout(config)
    yield f"n_held: the numbers of a token that are held throughout, {n_held.symbols} = {n_held.value:,}."
    if config.causal:
        room = kv_cache(config, max(2 * tokens, LEAST_ROOM), batch, dtype, windows=False)
        yield (
            f"Without a cache. cache=model.new_cache() adds up to {bytes_said(room.value or 0)}: the keys "
            f"and values of every token, in room for twice as many (at least {LEAST_ROOM}); and, while a "
            "layer's room grows, its smaller one."
        )


def _summed(figures: Sequence[Figure]) -> tuple[Figure, ...]:
    """The figures and the total of each group, then of all products."""
    groups = [group for group in (PRODUCTS, EVERY, VISIBLE, APART) if any(f.group == group for f in figures)]
    sums = [in_group(figures, group) for group in groups]
    by_group = dict(zip(groups, sums, strict=True))
    products = [
        total((by_group[PRODUCTS], by_group[group]), f"all products, {group.split(', ')[1]}", group=TOGETHER)
        for group in (EVERY, VISIBLE)
        if group in groups
    ]
    parts = [[*(f for f in figures if f.group == group), by_group[group]] for group in groups]
    return (*(figure for part in parts for figure in part), *products)


def of(tokens: int, batch: int) -> str:
    """Say how many tokens are planned: those of one text, or of each of several."""
    each = counted_said(tokens, "tokens")
    return each if batch == 1 else f"{batch:,} × {each}"
