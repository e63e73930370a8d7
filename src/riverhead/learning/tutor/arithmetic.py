"""Sums that need no sentence: an expression, the softmax of some scores, a dot product, √d_k."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from riverhead.check import claims
from riverhead.checking.answers import read
from riverhead.derivation import derive
from riverhead.derivation.notation import Digits
from riverhead.derivation.sections import Sheet, recipe
from riverhead.numbers import fixed, plain, significant
from riverhead.scene import Part, Table, Text

__all__ = ["worked_out"]

NUMBER = r"[-−]?\d+(?:\.\d+)?"
LIST = re.compile(rf"{NUMBER}(?:\s*(?:,|;|and|, and)\s*{NUMBER})+")
VECTOR = re.compile(rf"[\[(]\s*({NUMBER}(?:\s*,\s*{NUMBER})+)\s*[\])]")
SUM = re.compile(rf"(?:(?:exp|sqrt|ln|log|cos|sin)\(|[√(]|e\^|{NUMBER})[\d.,\s+*/·×÷^()√e−-]*[\d)]")
OPERATION = re.compile(r"[+*/·×÷^√]|\d\s*[-−]\s*\d|exp|sqrt|ln|cos|sin")
WIDTH = re.compile(r"(?:d_?k|head (?:size|width|dimension)|width|dimensions?)\D{0,12}?(\d{1,6})\b")
LARGEST = 600.0  # of a score: e^600 is still a number
MOST_SCORES = 12
LONGEST = 200


def worked_out(question: str) -> tuple[Part, ...]:
    """Return a sum that ``question`` asks for, worked out; nothing where there is none.

    >>> [str(part.runs[0]) for part in worked_out("what is e^2.12?")]
    ['e^2.12 = 8.331137']
    """
    plain_words = question.casefold()
    for way in WAYS:
        if parts := way(plain_words):
            return tuple(parts)
    return ()


def _softmax(question: str) -> list[Part]:
    """The weights of scores that are listed."""
    if not re.search(r"softmax|score|percent|weights?\b", question):
        return []
    found = LIST.search(question)
    scores = _numbers(found[0]) if found else []
    if not 2 <= len(scores) <= MOST_SCORES or max(map(abs, scores)) > LARGEST:
        return []
    names = [plain(score).text for score in scores]
    worked = derive(
        [[1.0]],
        [[score] for score in scores],
        [[0.0]] * len(scores),
        scale=1.0,
        tokens=["softmax"],
        tokens_k=[f"{n + 1}." for n in range(len(scores))],
    )
    table = recipe(Sheet(worked, 0, Digits.of(None)), 0)
    (_, *given), *rows = table.rows
    shown = Table(("score", *given[:-1], "sum"), tuple(row for row in rows))
    said = f"e to the power of each score, each over their sum: the softmax of {', '.join(names)}."
    return [Text((said,)), shown]


def _dot(question: str) -> list[Part]:
    """The dot product of two vectors that are written out."""
    vectors = [_numbers(found[1]) for found in VECTOR.finditer(question)]
    if len(vectors) != 2 or len(vectors[0]) != len(vectors[1]):
        return []
    worked = derive([vectors[0]], [vectors[1]], [[0.0]], tokens=["a"], tokens_k=["b"])
    return [Text((worked.arithmetic("dots", 0, 0),))]


def _width(question: str) -> list[Part]:
    """What the scores of a head of some width are divided by."""
    found = WIDTH.search(question)
    if found is None or not re.search(r"divid|scal|√|root", question):
        return []
    width = int(found[1])
    if not width:
        return []
    return [
        Text((f"√{width} = {_shown(width**0.5)}: by it the dot products of a head this wide are divided.",))
    ]


def _sum(question: str) -> list[Part]:
    """An expression, by the reader that checks articles."""
    for found in SUM.finditer(question[: 10 * LONGEST]):
        sum = found[0].strip()
        if len(sum) > LONGEST or not OPERATION.search(sum):
            continue
        for claim in claims(f"{sum} = 0.123456789"):
            if isinstance(claim.exact, float | int):
                return [Text((f"{sum} = {_shown(claim.exact)}",))]
    return []


WAYS: Sequence[Callable[[str], list[Part]]] = (_softmax, _dot, _width, _sum)


def _numbers(text: str) -> list[float]:
    return [read(found).value for found in re.findall(NUMBER, text)]


def _shown(x: float) -> str:
    return plain(x).text if round(x, 4) == x else fixed(x, 6).text if abs(x) < 1e6 else significant(x, 9).text
