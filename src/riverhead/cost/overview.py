"""A plan on one screen: the totals, without the parts that make them."""

from __future__ import annotations

from collections.abc import Iterator

from riverhead.cost.activations import activations
from riverhead.cost.figures import Figure, total
from riverhead.cost.flops import EVERY, PRODUCTS, VISIBLE, in_group, per_token, prefill, training_step
from riverhead.cost.growth import crossover
from riverhead.cost.memory import As, kv_cache, score_matrix, weights
from riverhead.cost.parameters import parameters
from riverhead.cost.plan import Plan
from riverhead.cost.sections import of
from riverhead.numbers import grouped
from riverhead.scene import Cell, Scene, Table, Text

__all__ = ["overview"]

SHORT = {PRODUCTS: "matrix products", EVERY: "attention, all pairs", VISIBLE: "attention, visible"}
ATTENTION = {"whole model, every pair": EVERY, "whole model, visible pairs": VISIBLE}
CONVENTION = (
    "A multiply-add is 2 FLOPs. Visible: without the pairs that a mask hides. T*: the first length at which "
    "attention takes more than all other products. Scores: if they were stored; riverhead.attend stores none."
)

CACHED = "Peak: a cache that grows keeps room for up to twice its bytes besides."


def overview(plan: Plan) -> Scene:
    """Lay out the totals of ``plan`` in one table."""
    caption = f"{of(plan.tokens, plan.batch)}, {plan.dtype}"
    said = (CONVENTION, CACHED) if plan.config.causal else (CONVENTION,)
    rows = tuple(_cells(*row) for row in (*_counted(plan), *_held(plan), *_growth(plan)))
    return Scene(
        f"What {plan.name} costs",
        (Table(("", "about", "exactly"), rows, caption), Text((" ".join(said),), "note")),
    )


def _counted(plan: Plan) -> Iterator[tuple[str, Figure]]:
    config, T, B = plan.config, plan.tokens, plan.batch
    yield "parameters", total(parameters(config))
    runs = {"prefill": prefill(config, T, B)}
    if config.causal:
        runs["next token"] = per_token(config, T, B)
    runs["training"] = training_step(config, T, B)
    for run, figures in runs.items():
        for group in (PRODUCTS, EVERY, VISIBLE):
            if any(figure.group == group for figure in figures):
                yield f"{run}: {SHORT[group]}", in_group(figures, group)


def _held(plan: Plan) -> Iterator[tuple[str, Figure]]:
    config, T, B, dtype = plan.config, plan.tokens, plan.batch, plan.dtype
    yield "weights", weights(config, dtype)
    for scores in score_matrix(config, T, B, dtype):
        yield scores.name, scores
    if config.causal:
        ways: dict[As, bool] = {"own": True, "mha": config.group > 1, "mqa": config.n_kv_heads > 1}
        for as_ in (way for way, differs in ways.items() if differs):
            cache = kv_cache(config, T, B, dtype, as_)
            yield f"{cache.name}, {cache.note}", cache
    peak = activations(config, T, B, dtype)[-1]
    yield peak.name, peak


def _growth(plan: Plan) -> Iterator[tuple[str, Figure]]:
    for found in crossover(plan.config):
        if found.name in ATTENTION:
            yield f"T*: {SHORT[ATTENTION[found.name]]}", found


def _cells(name: str, figure: Figure) -> tuple[Cell, ...]:
    exactly = None if figure.value is None else grouped(figure.value)
    return name, figure.said.removesuffix(" parameters"), exactly
