"""The numbers of a reply that nobody vouches for: in no checked sum, not given, computed by no tool."""

from __future__ import annotations

import math
import re
import tomllib
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from riverhead.checking.claims.claim import Found
from riverhead.learning.tutor.events import Sum, Unchecked

__all__ = ["Known", "unchecked", "vouched"]

NUMBER = re.compile(
    r"(?<![\w.])(?<![A-Za-z]-)(?P<digits>\d{1,3}(?:,\d{3})+(?![\d,])(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)"
    r"(?P<power>[eE][-+−]?\d{1,3}(?!\w))?(?P<percent>[ \u00a0]?%)?(?P<behind>[^\W\d_]*)(?!\.?\d)"
)
LISTED = re.compile(r"[ \t>*#-]*\d{1,3}[.)](?=\s)")  # the number of an item or a heading
WORD_BEFORE = re.compile(r"([^\W\d_]+)\.?[\s*_`(#]{1,4}\Z")
AROUND = 30  # characters to each side that are quoted
CHECKED = ("exact", "rounded", "carried", "false")


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number as it is written: its value, and half a unit of its last digit."""

    text: str
    start: int
    end: int
    value: float
    half: float


class Known:
    """Numbers that were given or computed: a written one is known if one of them rounds to it."""

    def __init__(self, numbers: Iterable[float] = ()) -> None:
        self._numbers = sorted({abs(number) for number in numbers if math.isfinite(number)})

    @classmethod
    def of(cls, texts: Iterable[str]) -> Known:
        """Return the numbers that some texts hold."""
        return cls(found.value for text in texts for found in _numbers(text))

    def __or__(self, other: Known) -> Known:
        return Known([*self._numbers, *other._numbers])

    def has(self, written: Quantity) -> bool:
        """Whether one of the numbers is this one, rounded to its digits; of a whole number, exactly."""
        if not math.isfinite(written.value):
            return False
        slack = written.half + 1e-9 * written.value
        at = bisect_left(self._numbers, written.value - slack)
        return at < len(self._numbers) and self._numbers[at] <= written.value + slack


def unchecked(reply: str, sums: Sequence[Sum], known: Known) -> tuple[Unchecked, ...]:
    """Return the numbers of ``reply`` that stand in none of ``sums`` and are not ``known``.

    What only counts or names something (an item of a list, a step, a year, 2D) is no quantity. A number is
    known too where a right sum has it, and where it is the exact value of any.

    >>> [one.text for one in unchecked("Step 2: 0.54 of it, about 0.9.", (), Known([0.538]))]
    ['0.9']
    """
    checked = [one for one in sums if one.standing in CHECKED]
    known = known | vouched(checked)
    spans = [(one.start, one.end) for one in checked]
    return tuple(
        Unchecked(one.text, one.start, reply.count("\n", 0, one.start) + 1, _around(reply, one))
        for one in _numbers(reply)
        if not any(start <= one.start < end for start, end in spans) and not known.has(one)
    )


def vouched(sums: Sequence[Sum]) -> Known:
    """Return the numbers that checked sums make known: those of the right ones, the exact values of all."""
    right = Known.of(one.text for one in sums if one.standing in CHECKED and not one.is_wrong)
    return right | Known(number for one in sums if one.exact is not None for number in _flat(one.exact))


def _flat(exact: Found) -> Iterator[float]:
    if isinstance(exact, tuple):
        for item in exact:
            yield from _flat(item)
    elif abs(exact) < 1e300:  # an integer may be larger than a float
        yield float(exact)


def _numbers(text: str) -> Iterator[Quantity]:
    """Every quantity of a text."""
    for found in NUMBER.finditer(text):
        if not (_is_name(found) or _is_listed(found) or _is_year(found)):
            yield _quantity(found)


def _is_name(found: re.Match[str]) -> bool:
    """Whether the number only names or counts something: 2D, 4th, step 2."""
    word = WORD_BEFORE.search(found.string, max(0, found.start() - 24), found.start())
    named = word is not None and word[1].casefold() in _table()["before"]
    return named or (found["behind"] != "" and found["behind"] not in _table()["units"])


def _is_listed(found: re.Match[str]) -> bool:
    item = LISTED.match(found.string, found.string.rfind("\n", 0, found.start()) + 1)
    return item is not None and found.start("digits") < item.end()


def _is_year(found: re.Match[str]) -> bool:
    first, last = _table()["years"]
    bare = len(found.group()) == 4 and found.group().isdecimal()
    return bare and first <= int(found.group()) <= last


def _quantity(found: re.Match[str]) -> Quantity:
    digits = found["digits"].replace(",", "")
    power = int((found["power"] or "e0")[1:].replace("−", "-")) - (2 if found["percent"] else 0)
    places = len(digits.partition(".")[2])
    half = float(f"1e{power - places}") / 2 if places or found["percent"] else 0.0
    end = found.end() - len(found["behind"])
    text = found.string[found.start() : found.end()]
    return Quantity(text, found.start(), end, float(f"{digits}e{power}"), half)


def _around(reply: str, one: Quantity) -> str:
    """The words a number stands in, in one line."""
    before, behind = reply[: one.start][-AROUND:], reply[one.end :][:AROUND]
    if one.start > AROUND:  # words are whole
        before = "…" + before.partition(" ")[2]
    if len(reply) > one.end + AROUND:
        behind = behind.rpartition(" ")[0] + "…"
    return " ".join((before + reply[one.start : one.end] + behind).split())


@cache
def _table() -> dict[str, Any]:
    text = files("riverhead.learning.tutor").joinpath("data/not_quantities.toml").read_text("utf-8")
    return tomllib.loads(text)
