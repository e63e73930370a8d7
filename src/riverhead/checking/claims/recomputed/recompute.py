"""Attention worked again from a text's own inputs, stage by stage; and what printed stages carry forward."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from riverhead.checking.claims.recomputed.blocks import Bools, Floats
from riverhead.core.equation import attention

__all__ = ["CHAIN", "Inputs", "Spans", "Stages", "Way", "carry", "recompute"]

CHAIN = ("dots", "scaled", "exp", "weights", "out")  # each follows from the one before it


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """Queries, keys and, where the text gives them, values, tokens as rows; tokens' names where known."""

    q: Floats  # (T_q, d_k)
    k: Floats  # (T_k, d_k)
    v: Floats | None  # (T_k, d_v)
    q_half: Floats  # half a unit of the last digit where the inputs are rounded themselves, else 0
    k_half: Floats
    v_half: Floats | None
    q_tokens: tuple[str, ...] = ()
    start: int = 0
    end: int = 0
    sure: bool = True  # the text calls them queries and keys

    def transposed(self) -> Inputs:
        """Return the inputs of a text that has the tokens as columns."""
        v, v_half = (None if each is None else each.T for each in (self.v, self.v_half))
        return replace(
            self, q=self.q.T, k=self.k.T, v=v, q_half=self.q_half.T, k_half=self.k_half.T, v_half=v_half
        )


@dataclass(frozen=True, slots=True)
class Way:
    """Which attention: ``scale`` multiplies the dots; ``columns``: the tokens are columns in the text."""

    scale: float
    causal: bool = False
    columns: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Stages:
    """Every stage by its name, exact: (T_q, T_k), ``sum`` (T_q, 1), ``out`` (T_q, d_v)."""

    by_name: dict[str, Floats]

    def __getitem__(self, name: str) -> Floats:
        return self.by_name[name]

    def get(self, name: str) -> Floats | None:
        """Return a stage, or None where it cannot be worked out (``out`` without values)."""
        return self.by_name.get(name)


def recompute(inputs: Inputs, way: Way) -> Stages:
    """Work attention out in float64, the way it is asked for."""
    given = inputs.transposed() if way.columns else inputs
    v = np.zeros((len(given.k), 1)) if given.v is None else given.v
    found = attention(given.q, given.k, v, scale=way.scale, causal=way.causal)
    with np.errstate(all="ignore"):
        dots = given.q @ given.k.T
        exps = np.exp(found.scores)
        shifted = np.exp(found.scores - found.scores.max(axis=-1, keepdims=True))
    stages = {
        "dots": dots,
        "masked dots": np.where(np.isneginf(found.scores), -np.inf, dots),
        "unmasked": dots * way.scale,
        "scaled": found.scores,
        "exp": exps,
        "shifted exp": shifted,
        "sum": exps.sum(axis=-1, keepdims=True),
        "shifted sum": shifted.sum(axis=-1, keepdims=True),
        "weights": found.weights,
    }
    if given.v is not None:
        stages["out"] = found.out
    return Stages(stages)


@dataclass(frozen=True, slots=True, eq=False)
class Spans:
    """The least and the most that each number of a row may be."""

    low: Floats  # (T_k,)
    high: Floats

    def meets(self, low: Floats, high: Floats) -> Bools:
        """Say of each number whether it may lie between ``low`` and ``high``, up to float64's own error."""
        edge = 1e-12 * np.maximum(1, np.abs(np.nan_to_num(self.low, posinf=0, neginf=0)))
        met: Bools = (self.low <= high + edge) & (low <= self.high + edge)
        return met


def carry(row: Spans, source: str, target: str, way: Way, inputs: Inputs, query: int) -> Spans | None:
    """Carry a printed row of ``source`` forward to ``target``, two stages of `CHAIN`; None without values.

    Everything in the row may be anywhere within its last digit, the values too where they are rounded. Hidden
    tokens are left out from the exponentials on.
    """
    stages = CHAIN[CHAIN.index(source) : CHAIN.index(target) + 1]
    with np.errstate(all="ignore"):
        if "scaled" in stages[1:]:
            ends = np.stack([row.low * way.scale, row.high * way.scale])
            row = Spans(ends.min(axis=0), ends.max(axis=0))
        if "exp" in stages[1:]:
            if way.causal:
                hidden = np.arange(row.low.size) > query
                row = Spans(np.where(hidden, -np.inf, row.low), np.where(hidden, -np.inf, row.high))
            peak = 0.0 if target == "exp" else float(row.high.max())  # weights forget it
            row = Spans(np.exp(row.low - peak), np.exp(row.high - peak))
        if "weights" in stages[1:]:
            row = _normalised(row)
        if target == "out" and source != "out":
            return None if inputs.v is None else _mixed(row, inputs)
    return row


def _normalised(exps: Spans) -> Spans:
    """e / Σe of every e anywhere in its span: least where it is least and all the others are most."""
    low, high = np.maximum(exps.low, 0), np.maximum(exps.high, 0)
    others_low, others_high = low.sum() - low, high.sum() - high
    return Spans(
        np.where(low > 0, low / (low + others_high), 0.0), np.where(high > 0, high / (high + others_low), 0.0)
    )


def _mixed(weights: Spans, inputs: Inputs) -> Spans:
    """Σ w v of every weight and value anywhere in its span."""
    assert inputs.v is not None
    assert inputs.v_half is not None
    corners = np.stack(
        [
            w[:, None] * v
            for w in (weights.low, weights.high)
            for v in (inputs.v - inputs.v_half, inputs.v + inputs.v_half)
        ]
    )  # (4, T_k, d_v)
    return Spans(corners.min(axis=0).sum(axis=0), corners.max(axis=0).sum(axis=0))
