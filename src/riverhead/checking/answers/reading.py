"""What a learner types, read as a number: 0.54, .54, 0,54, 54 %, 27/50, 5.4e-1, −1, √2/2, e^0.71."""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import dataclass, replace
from enum import StrEnum

from riverhead.checking.answers.sums import work_out

__all__ = ["LONGEST", "Answer", "State", "read"]

LONGEST = 60  # characters of an answer: one number, or a short sum
LARGEST = 1e300  # beyond, a product of two leaves float64

_SIGNS = str.maketrans("−‐‑‒–—﹣－∗＊×·⋅÷⁄∕，．", "-" * 8 + "*" * 5 + "/" * 3 + ",.")
_BRACKETS = str.maketrans("{}[]", "()()")
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-")
_NUMERAL = re.compile(r"([-+]?)(\d+(?:\.\d*)?|\.\d+)(?:[eE]([-+]?\d{1,3}))?\s*(%?)", re.ASCII)
_GROUPED = re.compile(r"(?<![\d.,])\d{1,3}(?:([ ,.'’_])\d{3})(?:\1\d{3})*(?![\d])", re.ASCII)
_BYTES = re.compile(r"(.*?)(b|bytes?|[kmgt]i?b)", re.ASCII | re.IGNORECASE)
_PREFIXES = "kmgt"  # each a thousand times the one before; 1024 times, with an i behind it
_HIDDEN = re.compile(r"-\s*(∞|inf|infinity|oo)", re.IGNORECASE)


class State(StrEnum):
    """Whether an answer is a ``number``, ``blank``, or ``unreadable``."""

    NUMBER = "number"
    BLANK = "blank"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class Answer:
    """What was read of ``text``: its ``value``, and how many ``decimals`` it states.

    ``decimals`` is None for what states none: a fraction, a root, a power. ``percent`` says a % stood there,
    and ``value`` is the number it means.
    """

    text: str
    state: State
    value: float = math.nan
    decimals: int | None = None
    percent: bool = False


def read(text: str, unit: str = "", whole: bool = False) -> Answer:
    """Read one number; nothing raises, and what cannot be read is never 0.

    A comma or a point parts thousands where it can be nothing else, and where a ``whole`` number is asked
    for; else it is the decimal point. ``unit`` may stand behind the number.

    >>> [read(text).value for text in ("0,54", "54 %", "27/50", "5.4e-1", "1,048,576")]
    [0.54, 0.54, 0.54, 0.54, 1048576.0]
    >>> read("−1").value, read("√4/2").value, read("1,024", whole=True).value, read("two").state.value
    (-1.0, 1.0, 1024.0, 'unreadable')
    >>> read("40 GB", unit="bytes").value, read("1.5 KiB", unit="bytes").value
    (40000000000.0, 1536.0)
    """
    if len(text) > LONGEST * 4 or len(plain := _plain(text)) > LONGEST:
        return Answer(text[:LONGEST], State.UNREADABLE)
    text = text.strip()[:LONGEST]
    if unit == "bytes" and (found := _BYTES.fullmatch(plain)):
        return _bytes(text, found[1], found[2].lower(), whole)
    if unit and plain.endswith(unit):
        plain = plain.removesuffix(unit).rstrip()
    if not plain:
        return Answer(text, State.UNREADABLE if text else State.BLANK)
    if _HIDDEN.fullmatch(plain):
        return Answer(text, State.NUMBER, -math.inf)
    return _numeral(text, _pointed(plain, whole)) or _worked(text, _pointed(plain, whole))


def _bytes(text: str, number: str, unit: str, whole: bool) -> Answer:
    """So many bytes, kB, MiB, …"""
    times = (1024 if "i" in unit else 1000) ** (_PREFIXES.find(unit[0]) + 1)
    answer = read(number, whole=whole and times == 1)
    value = answer.value * times
    if answer.state is not State.NUMBER or abs(value) > LARGEST:
        return Answer(text, State.UNREADABLE)
    return replace(answer, text=text, value=value, decimals=answer.decimals if times == 1 else None)


def _plain(text: str) -> str:
    """One way to write each sign: superscripts as powers first, which NFKC would make plain digits."""
    text = re.sub("(\\d?)([¼-¾⅐-⅞])", _fraction, text)
    powers = re.sub("[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻]+", lambda found: f"^({found[0].translate(_SUPERSCRIPTS)})", text)
    plain = unicodedata.normalize("NFKC", powers.translate(_SIGNS)).translate(_SIGNS)
    return plain.translate(_BRACKETS).strip().lstrip("=≈~").lstrip()


def _fraction(found: re.Match[str]) -> str:
    """½ as (1/2), and 1½ as 1+(1/2), which NFKC would make 11/2."""
    return f"{found[1]}{'+' * bool(found[1])}({unicodedata.normalize('NFKC', found[2])})"


def _pointed(text: str, whole: bool) -> str:
    """Thousands joined, a decimal comma as a point."""
    marks = [mark for mark in text if mark in ",."]

    def joined(found: re.Match[str]) -> str:
        mark = found[1]
        decimal = mark in ",." and not whole and marks.count(mark) == 1 and len(set(marks)) == 1
        return found[0] if decimal else found[0].replace(mark, "")

    text = _GROUPED.sub(joined, text)
    return text if "." in text else text.replace(",", ".")


def _numeral(text: str, plain: str) -> Answer | None:
    found = _NUMERAL.fullmatch(plain)
    if found is None:
        return None
    sign, digits, power, percent = found.groups()
    shift = int(power or 0) - (2 if percent else 0)
    number = float(f"{sign}{digits}e{shift}")
    if abs(number) > LARGEST or (not number and digits.strip("0.")):  # out of float64's reach, to either side
        return Answer(text, State.UNREADABLE)
    decimals = max(len(digits.partition(".")[2]) - shift, 0)
    return Answer(text, State.NUMBER, number, decimals, bool(percent))


def _worked(text: str, plain: str) -> Answer:
    """A short sum."""
    percent = plain.endswith("%")
    value = work_out(plain.removesuffix("%").rstrip())
    if value is None or abs(value) > LARGEST:
        return Answer(text, State.UNREADABLE)
    return Answer(text, State.NUMBER, value / 100 if percent else value, None, percent)
