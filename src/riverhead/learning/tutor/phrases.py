"""A question as plain words: ``*`` for a word of the sentence, ``#`` for a number, ``@`` for a vector."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

__all__ = ["NUMBER", "Plain", "plain", "table"]

NUMBER = r"[-−]?(?:\d+(?:[.,]\d+)?|[.]\d+)"
VECTOR = r"[\[(]\s*[-−]?[\d.]+(?:\s*[,;]\s*[-−]?[\d.]+)+\s*[\])]"
PIECE = (
    rf"(?P<vector>{VECTOR})"
    r"|(?P<product>\bq\s?[·.*]\s?k\b|\bqk\b)"
    rf"|(?P<numeral>(?<![\w.,^√]){NUMBER}(?:\s?(?:%|per\s?cent\b))?(?![\w]))"
    r"|(?P<word>[^\W_]+(?:\#\d+)?)|(?P<sign>[·→′]|->|(?<=\w)'(?!\w))"
)
SILENT = frozenset({"the", "a", "an", "word", "token", "please"})  # left out: they change nothing
QUOTES = "'\"“‘«"
SHORTEST = 4  # letters of a word in which a slip is mended
ARROWS = {"->": "→"}
SIGNS = {"vector": "@", "numeral": "#"}
PRODUCT = ("q", "·", "k")  # however it is spelled


@dataclass(frozen=True, slots=True)
class Plain:
    """What is left of a question: ``text`` in small letters with a space on each side of every word."""

    text: str
    named: tuple[str, ...] = ()  # what each * stands for
    numerals: tuple[str, ...] = ()  # what each # stands for
    vectors: tuple[str, ...] = ()  # what each @ stands for

    def has(self, ways: Iterable[str]) -> bool:
        """Whether one of ``ways`` of saying something stands in it."""
        return any(f" {_quiet(way)} " in self.text for way in ways)

    def longest(self, ways: Mapping[str, Sequence[str]]) -> str | None:
        """Return the name whose way of saying it stands in it; of several the longest."""
        found = [
            (len(way), name) for name, said in ways.items() for way in map(_quiet, said) if self._at(way)
        ]
        return max(found)[1] if found else None

    def stars(self, ways: Iterable[str]) -> dict[int, int]:
        """Return which words of the sentence, by their order in the question, stand in one of ``ways``.

        Each with the length of the longest such way.
        """
        found: dict[int, int] = {}
        for way in map(_quiet, ways):
            for at in self._at(way):
                first = self.text.count("*", 0, at)
                for n in range(first, first + way.count("*")):
                    found[n] = max(len(way), found.get(n, 0))
        return found

    def without(self, start: int, end: int) -> Plain:
        """Return it without a stretch of its text, and without what that names."""
        kept = []
        for sign, items in (("*", self.named), ("#", self.numerals), ("@", self.vectors)):
            before, cut = self.text.count(sign, 0, start), self.text.count(sign, start, end)
            kept.append((*items[:before], *items[before + cut :]))
        return Plain(f"{self.text[:start]} {self.text[end:]}", *kept)

    def less(self, ways: Iterable[str]) -> Plain:
        """Return it without the longest of ``ways`` that stands in it."""
        way = max((way for way in map(_quiet, ways) if self._at(way)), key=len, default="")
        at = self.text.find(f" {way} ")
        return self.without(at, at + len(way) + 1) if way else self

    def foreign(self) -> int:
        """Return how many of its words have nothing to do with numbers."""
        return sum(word not in _known() and not word.isdecimal() for word in self.text.split())

    def _at(self, way: str) -> list[int]:
        return [found.start() for found in re.finditer(rf"(?= {re.escape(way)} )", self.text)]


def plain(question: str, names: Mapping[str, str]) -> Plain:
    """Return ``question`` in plain words; ``names`` are the sentence's words, and what each is called.

    A slip of one letter is mended. An everyday word ("The") is meant only where it stands in quotes or is
    written as in the sentence, not at the beginning.

    >>> found = plain("Why is RIVR's weight 0.54?", {"river": "river"})
    >>> found.text, found.named, found.numerals
    (' why is * s weight # ', ('river',), ('0.54',))
    """
    words: list[str] = []
    found: dict[str, list[str]] = {"*": [], "#": [], "@": []}
    in_quotes = False  # the word of the sentence that came last
    for match in re.finditer(_pattern(names), question, re.IGNORECASE):
        kind, text = str(match.lastgroup), match[0]
        if kind in SIGNS:
            found[SIGNS[kind]].append(text)
            words.append(SIGNS[kind])
            continue
        name, rest = _named(match, names)
        if kind == "product":
            words += PRODUCT
        elif name is not None:
            found["*"].append(name)
            words += ["*", *rest]
            in_quotes = question[match.start() - 1 : match.start()] in tuple(QUOTES)
        elif kind == "sign":
            primed = words[-1:] == ["*"] and not in_quotes
            words += [ARROWS.get(text, text)] * (text not in "'′") or ["′"] * primed
        elif text.casefold() not in SILENT:
            words.append(_mended(text.casefold(), _ways()))
    return Plain(f" {' '.join(words)} ", *(tuple(found[sign]) for sign in "*#@"))


def _pattern(names: Mapping[str, str]) -> str:
    """What a piece of the question may be; names of several words come first."""
    several = sorted((name for name in names if " " in name), key=len, reverse=True)
    spelled = "|".join(map(re.escape, several))
    return rf"(?P<name>\b(?:{spelled})\b)|{PIECE}" if several else PIECE


def _named(match: re.Match[str], names: Mapping[str, str]) -> tuple[str | None, list[str]]:
    """What a word of the question is called in the sentence, if it stands there, and what hangs on to it."""
    text, at = match[0], match.start()
    word = text.casefold()
    if word in names:
        quoted = at > 0 and match.string[at - 1] in QUOTES
        exact = text != word and text == names[word].partition("#")[0] and at > 0
        everyday = word in table()["stop"] and not quoted and not exact
        return (None if everyday else names[word]), []
    if match.lastgroup != "word" or word in _known():
        return None, []
    if word.endswith("s") and len(word) > SHORTEST and word[:-1] in names:
        return names[word[:-1]], ["s"]
    return next(((names[n] for n in names if _slip(word, n))), None), []


def _mended(word: str, ways: Collection[str]) -> str:
    """A word of the steps with a letter too many, too few or astray, set right."""
    if word in _known():
        return word
    return next((way for way in ways if _slip(word, way)), word)


def _slip(a: str, b: str) -> bool:
    """Whether one letter is astray; the first never is."""
    if min(len(a), len(b)) < SHORTEST or a[0] != b[0] or abs(len(a) - len(b)) > 1 or a == b:
        return False
    n = next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    swapped = a[n : n + 2] == b[n : n + 2][::-1] and a[n + 2 :] == b[n + 2 :]
    other = a[n + 1 :] == b[n + 1 :] and len(a) == len(b) > SHORTEST  # "back" is no slip for "bank"
    return swapped or other or a[n + 1 :] == b[n:] or a[n:] == b[n + 1 :]


@cache
def _quiet(way: str) -> str:
    return " ".join(word for word in way.split() if word not in SILENT)


TAKEN = ("sizes", "changes", "factors")  # what is said in these is taken out of a question when it is read


@cache
def _known() -> frozenset[str]:
    """Every word that questions about numbers are made of."""
    tables = [found for name, found in table().items() if isinstance(found, dict) and name not in TAKEN]
    groups = [ways for found in tables for ways in found.values()] + list(table().values())
    phrases = [way for ways in groups if isinstance(ways, list) for way in ways]
    words = {*table()["stop"], *table()["plain"].split(), *table()["ordinals"], *" ".join(phrases).split()}
    return frozenset(words | {*"*#@·→′"})


@cache
def _ways() -> tuple[str, ...]:
    """The long words that steps are called by: a slip in them cannot be another word."""
    return tuple(dict.fromkeys(way for way in _single(table()["steps"]) if len(way) > SHORTEST + 1))


def _single(ways: Mapping[str, Sequence[str]]) -> Iterator[str]:
    return (way for said in ways.values() for way in said if way.isalpha())


@cache
def table() -> Mapping[str, Any]:
    """Return how learners ask about numbers, and the words that tell nothing."""
    numbers, all_questions = (
        tomllib.loads((files("riverhead.learning.tutor") / name).read_text("utf-8"))
        for name in ("number_words.toml", "words.toml")
    )
    return {**numbers, "stop": frozenset(all_questions["stop"].split())}
