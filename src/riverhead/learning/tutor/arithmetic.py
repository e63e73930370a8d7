"""Sums that need no sentence: an expression, the softmax of some scores, vectors that are written out."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from riverhead.check import claims
from riverhead.checking.answers import read
from riverhead.checking.claims.claim import Truth
from riverhead.checking.claims.reading.parse import expression
from riverhead.checking.claims.values.evaluate import value
from riverhead.checking.claims.values.readings import USUAL
from riverhead.checking.claims.values.scalars import Unreadable
from riverhead.derivation import derive
from riverhead.derivation.notation import Digits
from riverhead.derivation.sections import Sheet, recipe
from riverhead.learning.tutor.counting import counted
from riverhead.numbers import Verdict, fixed, judge, plain, significant
from riverhead.numbers.interval import slack
from riverhead.scene import Part, Table, Text

__all__ = ["worked_out"]

NUMBER = r"[-−]?\d+(?:\.\d+)?"
POWER = rf"{NUMBER}(?:e[-+−]?\d{{1,3}}(?!\w))?"  # 1e3
LIST = re.compile(rf"{POWER}(?:\s*(?:,|;|and|, and)\s*{POWER})+")
VECTOR = re.compile(rf"[\[(]\s*({NUMBER}(?:\s*,\s*{NUMBER})+)\s*[\])]")
SUM = re.compile(
    rf"(?<!\w)(?:(?:exp|sqrt|ln|log|cos|sin)\(|[√(]|e\^|{NUMBER})[\d.,\s+*/·×÷^()√e−-]*[\d)](?!\w)"
)
APART = re.compile(r"(?<=[\d)])\s+(?=[\de(√])|,(?![^()]*\))")  # no sign stands between the two
OPERATION = re.compile(r"[+*/·×÷^√]|\d\s*[-−]\s*\d|exp|sqrt|ln|log|cos|sin")
THOUSANDS = re.compile(r"(?<![\d(\[,.])\d{1,3}(?:,\d{3})+(?![\d,])")
SPOKEN = tuple(  # what is said in words, as signs
    (re.compile(words), signs)
    for words, signs in (
        (rf"\be (?:to the )?(?:power )?(?:of )?(?:to )?(?:the )?({NUMBER})", r"e^\1"),
        (rf"\bexp(?:onential)? of ({NUMBER})", r"e^\1"),
        (rf"\b(?:square )?root of ({NUMBER})", r"√\1"),
        (rf"\bsqrt (?:of )?({NUMBER})", r"√\1"),
        (rf"\b(?:ln|log|natural log(?:arithm)?)(?: of)? ({NUMBER})", r"ln(\1)"),
        (rf"({NUMBER}) times ({NUMBER})", r"\1·\2"),
        (rf"({NUMBER}) divided by ({NUMBER})", r"\1/\2"),
        (rf"({NUMBER}) plus ({NUMBER})", r"\1+\2"),
        (rf"({NUMBER}) minus ({NUMBER})", r"\1-\2"),
        (r"\*\*", "^"),
        (r"\be squared", "e^2"),
        (rf"({NUMBER}) squared", r"\1^2"),
    )
)
FUNCTIONS = (  # of vectors that are written out: what they are called, how many they take, and the function
    (re.compile(r"\bcosine|\bcos\b|\bangle"), 2, "cos({})"),
    (re.compile(r"\bhow long\b|\blength\b|(?<!layer )\bnorm\b|\bmagnitude\b"), 1, "norm({})"),
    (re.compile(r"\b(?:average|mean)\b"), 2, "({})/2"),
)
AGREES = re.compile(r"\bdot(?:ted)?\b|\bscore|\bproduct\b|\bagree|\bmultipl")
BETWEEN = re.compile(r"\s*(?:[·.*×]|dot)\s*")
WEIGHTS = re.compile(r"\bpercent|\bweights?\b|\bshares?\b")
OF_SCORES = re.compile(rf"(?:(?P<softmax>softmax)|scores?)\D{{0,20}}?(?P<list>{LIST.pattern})")
ALONE = re.compile(r"\W*(?:(?:what|how much) is|what[’']?s|calculate|compute)?\s*#\s*=?\W*")
YES_OR_NO = re.compile(r"\W*(?:is|does|do|so)\b")
NO_VALUE = {  # why a sum cannot be worked out, and what is said of it
    "a number too large": "is too large for a float64, whose largest number is about 1.8·10^308",
    "a division by zero": "is not defined: it divides by 0",
    "a function outside its domain": "is not defined: no real number is its value",
}
LARGEST = 1e6  # of a score
MOST_SCORES = 12
LONGEST = 200
WHOLE = 1e15  # below which a whole number is written with all its digits
FEW = 2  # words that have nothing to do with numbers


def worked_out(question: str, foreign: int = 0) -> tuple[Part, ...]:
    """Return a sum that ``question`` asks for, worked out; nothing where there is none, or it asks for more.

    ``foreign`` is how many words of it have nothing to do with numbers.

    >>> [str(part.runs[0]) for part in worked_out("what is e^2.12?")]
    ['e^2.12 = 8.331137']
    """
    plain_words = question.casefold()
    if len(plain_words) <= 10 * LONGEST and (parts := tuple(counted(plain_words))):
        return parts
    if foreign > FEW:
        return ()
    plain_words = THOUSANDS.sub(lambda found: found[0].replace(",", ""), plain_words)
    for words, signs in SPOKEN:
        plain_words = words.sub(signs, plain_words)
    for way in WAYS:
        if parts := tuple(way(plain_words)):
            return parts
    return ()


def _softmax(question: str) -> list[Part]:
    """The weights of scores that are listed."""
    found = OF_SCORES.search(question)
    if found is None or not (found["softmax"] or WEIGHTS.search(question) or "correct" in question):
        return []
    scores = _numbers(found["list"])
    if not 2 <= len(scores) <= MOST_SCORES or not all(abs(score) <= LARGEST for score in scores):
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
    others = re.findall(POWER, question.replace(found["list"], " ", 1))
    weights = worked["weights"].values[0][0]
    if any(all(judge(other, x) is Verdict.FALSE for x in weights) for other in others):
        return []  # it asks for more than these scores
    table = recipe(Sheet(worked, 0, Digits.of(None)), 0)
    (_, *given), *rows = table.rows
    shown = Table(("score", *given[:-1], "sum"), tuple(row for row in rows))
    said = f"e to the power of each score, each over their sum: the softmax of {', '.join(names)}."
    moved = max(scores) > MOVED
    note = "The largest score is taken off all of them first: only differences count."
    return [Text((said,)), *[Text((note,))] * moved, shown]


MOVED = 700.0  # from here on e^score is too large for a float64, and a row is moved first


def _dot(question: str) -> list[Part]:
    """The dot product of two vectors that are written out."""
    found = list(VECTOR.finditer(question))
    vectors = [_numbers(one[1]) for one in found]
    if len(vectors) != 2 or len(vectors[0]) != len(vectors[1]):
        return []
    between = question[found[0].end() : found[1].start()]
    if not BETWEEN.fullmatch(between) and not AGREES.search(question):
        return []
    worked = derive([vectors[0]], [vectors[1]], [[0.0]], tokens=["a"], tokens_k=["b"])
    exact = worked["dots"].values[0][0][0]
    if any(judge(other, exact) is Verdict.FALSE for other in re.findall(NUMBER, VECTOR.sub(" ", question))):
        return []  # it asks for more than this product
    return [Text((worked.arithmetic("dots", 0, 0),))]


def _function(question: str) -> list[Part]:
    """A function of vectors that are written out: their cosine, a length, their mean."""
    vectors = [found[0] for found in VECTOR.finditer(question)]
    for called, n, function in FUNCTIONS:
        if called.search(question) and len(vectors) == n:
            written = function.format((" + " if "/" in function else ", ").join(vectors))
            if said := _equals(written):
                return [Text((said,))]
    return []


def _sum(question: str) -> list[Part]:
    """An expression, by the reader that checks articles; and whether it is what was said to be."""
    found = SUM.finditer(question[: 10 * LONGEST])
    pieces = [sum.strip() for one in found for sum in APART.split(one[0])]
    pieces = [sum for sum in pieces if OPERATION.search(sum)]
    worked = [(sum, said) for sum in pieces if (said := _equals(sum))]
    if not worked and len(pieces) == 1 and ALONE.fullmatch(question.replace(pieces[0], "#", 1)):
        return _without_value(pieces[0])
    if not worked or (len(worked) > 1 and " or " in question):
        return []
    sum, said = worked[0]
    claimed = _claimed(question, sum)
    if claimed is None and re.match(r"\W*(?:but )?why\b", question):
        return []  # not what it is, but why it stands there
    return [*_denied(claimed, sum, YES_OR_NO.match(question) is not None), Text((said,))]


def _without_value(sum: str) -> list[Part]:
    """Why a sum has no value: it leaves float64, or is not defined."""
    try:
        found = expression(sum) if len(sum) <= LONGEST else None
        if found is not None:
            value(found, {}, USUAL)
    except Unreadable as why:
        return [Text((f"{sum} {NO_VALUE[str(why)]}.",))] if str(why) in NO_VALUE else []
    except RecursionError:
        pass
    return []


def _claimed(question: str, sum: str) -> str | None:
    """The number that the sum is said to be."""
    spelled = re.escape(sum)
    found = re.search(
        rf"{spelled}\s*(?:=|is|equals?|gives?)\s*({NUMBER})(?!\S*[\d(^])", question
    ) or re.search(rf"({NUMBER})\s*(?:=|is|from|\s)\s*{spelled}", question)
    return found[1] if found else None


def _denied(claimed: str | None, sum: str, asks: bool) -> list[Part]:
    if claimed is None:
        return []
    if any(claim.verdict is Truth.TRUE for claim in claims(f"{sum} = {claimed}")):
        return [Text(("Yes.",))] * asks
    return [Text((f"{'No: it' if asks else 'It'} is not {claimed}.",))]


WAYS: Sequence[Callable[[str], list[Part]]] = (_softmax, _function, _dot, _sum)


def _value(sum: str) -> float | int | tuple[float | int, ...] | None:
    """What an expression is worth: a number, a vector, or None where it cannot be worked out."""
    if len(sum) > LONGEST:
        return None
    try:
        read_ = expression(sum)
        found = None if read_ is None else value(read_, {}, USUAL)
    except (Unreadable, RecursionError):
        return None
    numbers = found if isinstance(found, tuple) else (found,)
    return found if all(isinstance(x, float | int) for x in numbers) else None  # type: ignore[return-value]


def _equals(sum: str) -> str:
    """``4/√2 = 2.828427``; nothing where it cannot be worked out."""
    found = _value(sum)
    if found is None:
        return ""
    shown = f"({', '.join(map(_shown, found))})" if isinstance(found, tuple) else _shown(found)
    return f"{sum} = {shown}"


def _numbers(text: str) -> list[float]:
    return [read(found).value for found in re.findall(POWER, text)]


def _shown(x: float) -> str:
    if abs(x) >= (WHOLE if x == int(x) else 1e6):
        return significant(x, 9).text
    short = round(x, 4)
    return plain(short).text if abs(short - x) <= slack(x) else fixed(x, 6).text
