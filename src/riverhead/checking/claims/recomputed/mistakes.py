"""What was likely done wrong with attention, where a printed stage of it is false."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from riverhead.checking.claims.causes.misprints import Pair, digit_slips, last_digit, out_of_order, whole
from riverhead.checking.claims.recomputed.blocks import Block, Bools, Floats
from riverhead.checking.claims.recomputed.placing import fitting
from riverhead.checking.claims.recomputed.recompute import CHAIN, Inputs, Way, recompute
from riverhead.core.equation import softmax

__all__ = ["Case", "causes"]


_BEFORE = {"out": "weights", "weights": "scores"}  # what a stage follows from


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A printed block and what it should have been.

    ``held``: its numbers that are right; ``follows``: those that follow from false ones printed before.
    """

    block: Block
    exact: Floats
    held: Bools
    follows: Bools
    stage: str = ""
    query: int = 0
    inputs: Inputs | None = None
    way: Way | None = None


def causes(case: Case) -> Callable[[int, int], str]:
    """Return the likely cause of each false number of a case, by its row and column.

    A mistake that gives the whole block comes first; else what two keys' weights must have been; else what
    shows in the number itself.
    """
    words = next(_whole(case), "")
    implied = "" if words else _implied(case)

    def of(row: int, column: int) -> str:
        if case.follows[row, column] and case.stage:
            return words or f"follows from false {_BEFORE.get(case.stage, 'numbers')} printed before"
        return words or implied or _of_number(case, row, column)

    return of


def _whole(case: Case) -> Iterator[str]:
    """The mistakes that give every number printed, one by one."""
    for words, tried in _mistakes(case):
        if tried.shape == case.exact.shape:
            told_apart = abs(tried - case.exact) > 2 * case.block.halves
            if fitting(case.block, tried, case.block.halves).all() and told_apart.any():
                yield words


def _mistakes(case: Case) -> Iterator[tuple[str, Floats]]:
    if case.exact.shape[0] == case.exact.shape[1]:
        yield "transposed: rows and columns are exchanged", case.exact.T
    if case.inputs is None or case.way is None or case.stage not in (*CHAIN, "unmasked"):
        return
    with np.errstate(all="ignore"):
        for words, tried in _of_attention(case.inputs, case.way, case.stage):
            rows = tried[case.query : case.query + len(case.exact)]
            yield words, tried.T if case.way.columns and len(case.exact) > 1 else rows


def _of_attention(inputs: Inputs, way: Way, stage: str) -> Iterator[tuple[str, Floats]]:
    """The classic mistakes: the words, and what each makes of the whole stage."""
    width = inputs.q.shape[1]
    given = replace(way, columns=False)  # the inputs have their tokens as rows by now
    for scale, words in (
        (1.0, "no scale: the scores are not divided by √d_k"),
        (1 / width, "the scores are divided by d_k, not by √d_k"),
        (width**-0.5, "divided by √d_k, which the text does not do elsewhere"),
        (width**0.5, "the scores are multiplied by √d_k"),
    ):
        if stage != "dots" and abs(scale - way.scale) > 1e-12:
            yield words, recompute(inputs, replace(given, scale=scale))[stage]
    if stage != "dots" and len(inputs.q) == len(inputs.k):
        words = "later tokens are not hidden" if way.causal else "later tokens are hidden, which nothing says"
        yield words, recompute(inputs, replace(given, causal=not way.causal))[stage]
    if stage == "dots" and len(inputs.q) == len(inputs.k):
        yield "each vector with itself: Q Qᵀ instead of Q Kᵀ", inputs.q @ inputs.q.T
        yield "Q K instead of Q Kᵀ", inputs.q @ inputs.k if width == len(inputs.k) else inputs.q[:0]
    if stage in ("weights", "out"):
        for words, weights in _weightings(recompute(inputs, given)["scaled"]):
            yield words, weights if stage == "weights" else _mixed(weights, inputs)
    if stage == "out":
        yield from _mixings(inputs, recompute(inputs, given)["weights"])


def _weightings(scores: Floats) -> Iterator[tuple[str, Floats]]:
    exps: Floats = np.exp(scores)
    yield "softmax down the columns, not along the rows", softmax(scores.T).T
    yield "exponentials not divided by their sum", exps
    shares: Floats = scores / scores.sum(axis=-1, keepdims=True)
    yield "scores divided by their sum, without the exponential", shares
    overall: Floats = exps / exps.sum()
    yield "softmax over the whole matrix, not row by row", overall
    yield "softmax to base 2", softmax(scores * math.log(2))
    yield "the scores themselves, without a softmax", scores
    sigmoids: Floats = exps / (1 + exps)
    yield "sigmoid instead of softmax", sigmoids
    if np.isneginf(scores).any():
        zeroed = np.where(np.isneginf(scores), 0.0, scores)
        yield "hidden with 0 instead of −∞ before the softmax", softmax(zeroed)


def _mixings(inputs: Inputs, weights: Floats) -> Iterator[tuple[str, Floats]]:
    assert inputs.v is not None, "outputs were worked out"
    yield "keys mixed instead of values", weights @ inputs.k
    if len(inputs.q) == len(inputs.k):
        yield "queries mixed instead of values", weights @ inputs.q
        yield "weights transposed before they mix the values", weights.T @ inputs.v
    yield "the plain mean of the values", np.full_like(weights, 1 / weights.shape[1]) @ inputs.v
    yield "the plain sum of the values", np.ones_like(weights) @ inputs.v
    yield "only the value with the largest weight", inputs.v[weights.argmax(axis=-1)]


def _mixed(weights: Floats, inputs: Inputs) -> Floats:
    assert inputs.v is not None, "outputs were worked out"
    return weights @ inputs.v if weights.shape[1] == len(inputs.v) else weights[:0]


def _implied(case: Case) -> str:
    """Of two keys: the weight that every false output must have been mixed with."""
    if case.stage != "out" or case.inputs is None or case.inputs.v is None or len(case.inputs.v) != 2:
        return ""
    if case.way is None or case.way.columns:
        return ""
    first, second = case.inputs.v
    weights = recompute(case.inputs, case.way)["weights"]
    for row, (printed, halves) in enumerate(zip(case.block.values, case.block.halves, strict=True)):
        apart = abs(first - second) > 1e-12
        if case.held[row].all() or not apart.any():
            continue
        implied = (printed - second)[apart] / (first - second)[apart]
        room = halves[apart] / abs(first - second)[apart]
        low, high = (implied - room).max(), (implied + room).min()
        if low <= high + 1e-12 and 0 <= implied.mean() <= 1 and not case.held[row].any():
            exact = float(weights[case.query + row, 0])
            digits = int(np.clip(np.round(-np.log10(2 * halves.min())), 2, 9))
            return f"implies weight {implied.mean():.{digits}f} instead of {exact:.{digits}f}"
    return ""


def _of_number(case: Case, row: int, column: int) -> str:
    """What shows in a number itself: outside the values, its last digit, its sign, its point, its place."""
    value, exact = float(case.block.values[row, column]), float(case.exact[row, column])
    half = float(case.block.halves[row, column])
    if not (np.isfinite(value) and np.isfinite(exact)):
        return ""
    values = None if case.inputs is None or case.stage != "out" else case.inputs.v
    if values is not None and values.shape[1] == case.exact.shape[1]:
        low, high = values[:, column].min(), values[:, column].max()
        if not low - half <= value <= high + half:
            return f"outside the values it is a mean of: they go from {low:g} to {high:g}"
    pairs = [
        Pair(float(p), float(h), number.text, float(e))
        for p, h, number, e in zip(
            case.block.values[row], case.block.halves[row], case.block.rows[row], case.exact[row], strict=True
        )
        if np.isfinite(p) and np.isfinite(e)
    ]
    pair = Pair(value, half, case.block.rows[row][column].text, exact)
    return (
        (case.stage == "weights" and out_of_order(pairs))
        or last_digit([pair], False)
        or _slip(case, pair, row, column)
    )


def _slip(case: Case, pair: Pair, row: int, column: int) -> str:
    others = np.delete(case.exact[row], column)
    if np.any((abs(others - pair.printed) <= pair.half) & (abs(others - pair.exact) > 2 * pair.half)):
        return "the right number of another place in this row"
    return next(whole([pair], False), "") or digit_slips([pair])
