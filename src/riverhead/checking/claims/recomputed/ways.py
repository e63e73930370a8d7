"""Which attention a text works out: what it is divided by, who sees whom, tokens as rows or as columns."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from riverhead.checking.claims.recomputed.recompute import Inputs, Way
from riverhead.checking.claims.recomputed.roles import Role

__all__ = ["Said", "announces_scale", "says_causal", "ways"]

MOST_NUMBERS = 6  # of the divisors and temperatures that a text names

_ROOT = re.compile(
    r"(?:√|\\?sqrt\s*)[\s({\[\\]*(?:text|mathrm)?[\s({\[]*(?:d|D|head_?dim|d_?k|\d+)"
    r"|d_?\{?k\}?\s*\*\*\s*-?0?\.5|d_?\{?k\}?\s*\^\s*\{?-?0?\.5|scaled[ -]dot",
    re.IGNORECASE,
)
_WITHOUT = re.compile(
    r"without|unscaled|ignor|omit|skip|leav(?:e|ing) out|drop(?:ped|ping)?\b|no scal|not scal"
    r"|don.t|do not|does not|for simplicity|sans |ohne |不缩放|忽略|省略|생략|無視",
    re.IGNORECASE,
)
_CAUSAL = re.compile(
    r"causal|\bmask|look-?ahead|autoregressive|auto-regressive|[-−–]\s*(?:∞|inf\b|\\infty)|tril\b|因果|掩码|마스크",
    re.IGNORECASE,
)
_DIVISOR = re.compile(
    r"(?:√|\\?sqrt)[\s({\[]{0,3}(?P<root>\d{1,6}(?:\.\d{1,6})?)"
    r"|(?:\bd_?\{?(?:k|model|head)?\}?)\s*=\s*(?P<width>\d{1,5})"
    r"|(?:temperature|\btemp|\bT|τ|\\tau)\s*(?:=|of)?\s*(?P<plain>\d{1,4}(?:\.\d{1,6})?)",
    re.IGNORECASE,
)


def announces_scale(text: str) -> bool:
    """Say whether a text divides by √d_k: has the root or says scaled, and not to leave it out.

    >>> announces_scale("divide by √d_k"), announces_scale("For simplicity we skip the √d_k.")
    (True, False)
    """
    roots = _ROOT.finditer(text)
    return any(not _WITHOUT.search(text[max(0, root.start() - 80) : root.end() + 80]) for root in roots)


def says_causal(text: str) -> bool:
    """Say whether a text hides later tokens.

    >>> says_causal("with the causal mask"), says_causal("every token sees every other")
    (True, False)
    """
    return _CAUSAL.search(text) is not None


@dataclass(frozen=True, slots=True)
class Said:
    """What a whole text says of its attention: whether it divides by √d_k, and the scales it names."""

    announced: bool
    scales: tuple[float, ...]

    @classmethod
    def by(cls, text: str) -> Said:
        """Read it from the text."""
        return cls(announces_scale(text), tuple(_named(text)))


def ways(said: Said, inputs: Inputs, roles: Collection[Role] = ()) -> list[Way]:
    """Return every way the text may work, its own first: what it says, then what it leaves open.

    Where it announces √d_k no other scale is among them, but those of divisors it names. ``roles`` are those
    of the results printed: where scores are and scaled ones are not, no scale is the likelier.
    """
    found: list[Way] = []
    for columns in _orientations(inputs):
        given = inputs.transposed() if columns else inputs
        width = given.q.shape[1]
        scales = [width**-0.5, *said.scales]
        if not said.announced:
            bare = Role.SCALED not in roles and {Role.SCORES, Role.DOTS} & set(roles)
            scales = [1.0, *scales, 1 / width] if bare else [*scales, 1.0, 1 / width]
        square = len(given.q) == len(given.k)
        causal = (False, True) if square and len(given.q) > 1 else (False,)
        found += [Way(scale, hidden, columns) for hidden in causal for scale in dict.fromkeys(scales)]
    return found


def _orientations(inputs: Inputs) -> list[bool]:
    """Tokens as rows wherever that fits, then as columns where that fits too."""
    (rows, width), (keys, key_width) = inputs.q.shape, inputs.k.shape
    fits = {False: width == key_width, True: rows == keys and inputs.v is not None}
    if inputs.v is not None:
        fits[False] &= len(inputs.v) == keys
        fits[True] &= inputs.v.shape[1] == key_width
    return [columns for columns, fit in fits.items() if fit]


def _named(text: str) -> list[float]:
    """One over every divisor the text names: of √64, d_k = 64 and a temperature of 2."""
    scales: dict[float, None] = {}
    for found in _DIVISOR.finditer(text):
        number = float(found["root"] or found["width"] or found["plain"])
        if number > 0:
            scales[1 / number if found["plain"] else float(np.sqrt(1 / number))] = None
        if len(scales) == MOST_NUMBERS:
            break
    return list(scales)
