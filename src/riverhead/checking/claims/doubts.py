"""What speaks for a number that looks false: the text denies it, tells of a change, has its own unit."""

from __future__ import annotations

import re
from dataclasses import replace

from riverhead.checking.claims.claim import Finding, Truth
from riverhead.checking.claims.reading.expression import Expression, Items, Number, Operation, walk

__all__ = ["doubted"]

DENIED = re.compile(
    r"[\s`*.)\]#/→>=-]*(?:, which )?(?:is |are )?(?:False|false|wrong|incorrect|not true|impossible|✗|❌)"
)
SHAPES = re.compile(r"\(\s*\d+\s*[×x]\s*\d+\s*\)\s*[·×*@]?\s*\(\s*\d+\s*[×x]\s*\d+\s*\)\s*(?:=|→)")
ROWS_BELOW = re.compile(
    r"[^\n]{0,60}\n[ \t]*[\[|(][^\n=≈]*[\])|][ \t×]+[\[|(][^\n=≈]*[\])|]"
)  # matrices, drawn
RANGE = re.compile(r"\d[\d.]*[A-Z]?-\d[\d.]*[A-Z]*\s*(?:=|≈|→)")  # layers 0-11 = 12, 7B-13B = 14-26 GB
NAMED = re.compile(r"\b(?:[a-z]{3,}s|[A-Z]\w*)[ ]$")  # what a range is of; a sum has no such word before it
PRINTED = re.compile(r"[-−]?\d[\d,]*(?:\.\d+)?$")
UNIT_BEHIND = re.compile(  # of time, or a sign with a capital that is in no table: 298 GF, 14 MW
    r"[ \u00a0]?(?:[mµun]?s|sec(?:ond)?s?|min(?:ute)?s?|h|hours?|days?|weeks?|months?|years?|k|kilo"
    r"|[a-z]?[A-ZА-Я][A-Za-zА-я]{0,3})(?![\w'])"
)
POWERS = range(1, 6)
UNITS = (*(1000.0**n for n in POWERS), *(1024.0**n for n in POWERS), 60.0, 3600.0, 24.0, 100.0, 8.0)
ROOM = 0.06  # of the ratio: 197 printed as 200, 6.44·10⁹ as 6.4 B


def doubted(finding: Finding, relation: str, left: Expression, text: str) -> Finding | None:
    """Return a false finding, None where the text itself says or means otherwise.

    Where a word stands behind the printed number, and the two differ by what a unit may stand for, it is not
    checkable: 5 ms × 200 = 1 s.
    """
    behind = text[finding.end : finding.end + 40]
    shapes = isinstance(finding.exact, tuple) and _shape(left)
    if shapes or ROWS_BELOW.match(text, finding.end) or SHAPES.search(text[finding.start : finding.end]):
        return None
    if behind.lstrip(" ")[:1] == "?" or _range(finding.start, text):
        return None
    if DENIED.match(behind) or (relation == "→" and not _worked_out(left)):
        return None
    printed = PRINTED.search(text[finding.start : finding.end])
    if not UNIT_BEHIND.match(behind) or printed is None or not isinstance(finding.exact, (int, float)):
        return finding
    shown = float(printed[0].replace(",", "").replace("−", "-"))
    if not shown or not finding.exact:
        return finding
    if isinstance(left, Number):
        return None  # 440,549 s ≈ 5.1 days
    ratio = abs(finding.exact / shown)
    if any(abs(ratio * unit - 1) < ROOM or abs(ratio / unit - 1) < ROOM for unit in UNITS):
        return replace(finding, verdict=Truth.UNCHECKED, exact=None, cause="in a unit that is not known here")
    return finding


def _range(start: int, text: str) -> bool:
    """Whether a hyphen joins two ends, and takes nothing away."""
    found = RANGE.match(text, start)
    letters = found is not None and any(sign.isupper() for sign in found[0])
    return found is not None and (letters or NAMED.search(text[max(0, start - 20) : start]) is not None)


def _shape(side: Expression) -> bool:
    """Whether the shapes of two matrices are multiplied: (4, 64) × (64, 4) = (4, 4)."""
    if not isinstance(side, Operation) or side.what not in ("*", "@") or len(side.args) != 2:
        return False
    left, right = side.args
    if not (isinstance(left, Items) and isinstance(right, Items)) or not 2 <= len(left.items) <= 4:
        return False
    sizes = [item.value for item in (*left.items, *right.items) if isinstance(item, Number) and not item.half]
    whole = len(sizes) == len(left.items) + len(right.items) and min(sizes) > 0
    return whole and sizes[len(left.items) - 1] == sizes[-2]


def _worked_out(side: Expression) -> bool:
    """Whether more stands there than a shape such as 512 × 64: a decimal, a function, a root."""
    parts = list(walk(side))
    deeper = any(isinstance(part, Operation) and part.what not in ("*", "+", "-", "neg") for part in parts)
    return deeper or any(isinstance(part, Number) and part.half for part in parts)
