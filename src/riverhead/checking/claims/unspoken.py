"""What a text claims without a relation: weights that stand below their scores and are only called so."""

from __future__ import annotations

import re

from riverhead.checking.claims import evaluate
from riverhead.checking.claims.claim import Finding, Truth
from riverhead.checking.claims.expression import Binding, Expression, Items, Number, Operation
from riverhead.checking.claims.judge import Link, Pool, judge
from riverhead.checking.claims.scalars import Unreadable

__all__ = ["softmax_below"]

MAX_BELOW = 120  # characters between scores and the weights that are only called their softmax
NEAR = 0.02  # of a first weight: farther off, no rounding of the scores brings a divisor's weights to it
SCORES = re.compile(r"score|scaled|logit|\b[zs]\b|raw", re.IGNORECASE)
WEIGHTS = re.compile(r"softmax|prob|weight", re.IGNORECASE)
ANOTHER = re.compile(r"mask|causal|sigmoid|norm|drop|top|without|before|sum", re.IGNORECASE)
DIVISORS = (*(d**0.5 for d in (2, 3, 8, 32, 128, 512)), 0.5, 2, 4, 8, 10, 16)  # usual scales and temperatures


def softmax_below(scores: Binding, label: str, weights: Items, pool: Pool) -> Finding | None:
    """Judge weights that are only called softmax against the scores right above them.

    "scores: [2, 1]" and below it "softmax: [0.73, 0.27]": what divides the scores may stand elsewhere on the
    page, and a usual scale that gives the weights is believed. None where the two may not belong together.
    """
    if not (WEIGHTS.search(label) and SCORES.search(scores.label)) or ANOTHER.search(scores.label + label):
        return None
    near = 0 < weights.start - scores.end < MAX_BELOW
    if not near or not _alike(scores.value, weights):
        return None
    claim = Operation("softmax", (scores.value,), scores.start, scores.end)
    plainly = judge(Link(claim, weights, "=", weights.start, weights.end), {}, pool)
    if plainly is None or plainly.verdict is not Truth.FALSE:
        return plainly
    for divisor in DIVISORS:
        scale = Number(divisor, 0.0, f"{divisor:g}", scores.start, scores.start)
        scaled = Operation("/", (scores.value, scale), scores.start, scores.end)
        claim = Operation("softmax", (scaled,), scores.start, scores.end)
        if _close(claim, weights.items[0]):
            finding = judge(Link(claim, weights, "=", weights.start, weights.end), {}, pool)
            if finding is not None and finding.verdict is Truth.TRUE:
                return finding
    return plainly


def _alike(scores: Expression, weights: Items) -> bool:
    """Whether both are vectors of one length."""
    return (
        isinstance(scores, Items)
        and len(scores.items) == len(weights.items) > 1
        and not any(isinstance(item, Items) for item in (*scores.items, *weights.items))
    )


def _close(claim: Operation, first: Expression) -> bool:
    try:
        found, printed = evaluate.value(claim, {}), evaluate.value(first, {})
    except Unreadable:
        return False
    weight = found[0] if isinstance(found, tuple) else found
    return isinstance(weight, float) and isinstance(printed, (int, float)) and abs(weight - printed) < NEAR
