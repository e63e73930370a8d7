"""What a text claims without a formula: weights below their scores, the mean or the sum of a list above."""

from __future__ import annotations

import re
from collections.abc import Iterator

from riverhead.checking.claims.claim import Finding, Truth
from riverhead.checking.claims.judge import Link, Pool, judge
from riverhead.checking.claims.reading.expression import Binding, Expression, Items, Number, Operation
from riverhead.checking.claims.values import evaluate
from riverhead.checking.claims.values.scalars import Unreadable

__all__ = ["unspoken"]

MAX_BELOW = 120  # characters between a list and what is said of it
NEAR = 0.02  # of a first weight: farther off, no rounding of the scores brings a divisor's weights to it
DIVISORS = (*(d**0.5 for d in (2, 3, 8, 32, 128, 512)), 0.5, 2, 4, 8, 10, 16)  # usual scales and temperatures

_SCORES = r"score|scaled|logit|\b[zs]\b|raw"
_EXPS = r"\be?exp|e\^|exponential"
_WEIGHTS = r"softmax|prob|weight"
_OTHER = re.compile(r"mask|causal|sigmoid|norm|drop|top|without|before", re.IGNORECASE)
_FORMULA = re.compile(r"(?:softmax|sum|mean|var|std)\s*[(\[{]", re.IGNORECASE)
_SAID = [  # what is said of the list above; of which lists; what that is of them
    (_WEIGHTS, _EXPS, "share"),
    (_WEIGHTS, _SCORES, "softmax"),
    (r"^(?:sum|total|Σ|总和)$", _EXPS, "sum"),
    (r"^(?:mean|average|avg|μ|\\mu)$", r"^[a-z]$|input|vector|activation", "mean"),
    (r"^(?:var|variance|σ²|\\sigma\^2)$", r"^[a-z]$|input|vector|activation", "var"),
    (r"^(?:std|σ|\\sigma|standard deviation)$", r"^[a-z]$|input|vector|activation", "std"),
]
_PATTERNS = [
    (re.compile(said, re.IGNORECASE), re.compile(of, re.IGNORECASE), what) for said, of, what in _SAID
]


def unspoken(listed: Binding, said: Binding, pool: Pool) -> Finding | None:
    """Judge what is only named against the list right above it.

    "scores: [2, 1]" and below it "softmax: [0.73, 0.27]"; "x = [2, 4]" and "mean = 3". What divides the
    scores may stand elsewhere on the page: a usual scale that gives the weights is believed. None where the
    two may not belong together.
    """
    if not 0 < said.value.start - listed.value.end < MAX_BELOW or _OTHER.search(listed.label + said.label):
        return None
    name = said.label.strip(" *`$:")
    if _FORMULA.search(name) or re.search(_WEIGHTS, listed.label, re.IGNORECASE):
        return None  # softmax(z/0.7) says itself of what
    for pattern, of, what in _PATTERNS:
        if (
            pattern.search(name)
            and of.search(listed.label.strip(" *`$:"))
            and _alike(listed.value, said.value, what)
        ):
            return _judged(listed, said, what, pool)
    return None


def _judged(listed: Binding, said: Binding, what: str, pool: Pool) -> Finding | None:
    plainly = None
    for claim in _claims(listed, what, said.value):
        finding = judge(Link(claim, said.value, "=", said.value.start, said.value.end), {}, pool)
        if finding is None or finding.verdict is not Truth.FALSE:
            return finding
        plainly = plainly or finding
    return plainly


def _claims(listed: Binding, what: str, said: Expression) -> Iterator[Operation]:
    start, end = listed.value.start, listed.value.end
    if what == "share":
        total = Operation("sum", (listed.value,), start, end)
        yield Operation("/", (listed.value, total), start, end)
        return
    yield Operation(what, (listed.value,), start, end)
    for divisor in DIVISORS if what == "softmax" else ():
        scale = Number(divisor, 0.0, f"{divisor:g}", start, start)
        claim = Operation("softmax", (Operation("/", (listed.value, scale), start, end),), start, end)
        if isinstance(said, Items) and _close(claim, said.items[0]):
            yield claim


def _alike(listed: Expression, said: Expression, what: str) -> bool:
    """Whether both are vectors of one length, or the second is the one number that a list has."""
    if not isinstance(listed, Items) or any(isinstance(item, Items) for item in listed.items):
        return False
    if what not in ("softmax", "share"):
        return isinstance(said, Number) and len(listed.items) > 1
    return isinstance(said, Items) and len(listed.items) == len(said.items) > 1


def _close(claim: Operation, first: Expression) -> bool:
    try:
        found, printed = evaluate.value(claim, {}), evaluate.value(first, {})
    except Unreadable:
        return False
    weight = found[0] if isinstance(found, tuple) else found
    return isinstance(weight, float) and isinstance(printed, (int, float)) and abs(weight - printed) < NEAR
