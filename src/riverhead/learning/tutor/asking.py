"""A question about the sentence at hand, read: the numbers, words and steps it names, and what if."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from riverhead.checking.answers import Answer, State, read
from riverhead.learning.tutor.at_hand import AtHand

__all__ = ["Asked", "asked"]

NUMERAL = re.compile(r"(?<![\w.,^√])[-−]?(?:\d+(?:[.,]\d+)?|[.]\d+)(?:\s?%)?(?![\w])")
WORD = re.compile(r"[^\W_]+(?:#\d+)?")
LOOKED_AT = {"on", "at", "to", "for", "onto", "in"}  # before the word that is looked at
TEMPERATURE = re.compile(r"temperature (?:of |is |at |= ?)?(\d+(?:\.\d+)?)")
OF_A_PAIR = re.compile(r"\b(?:weights?|scores?|dot products?)\b.{0,40}?\b(?:on|with|to) (?:the )?([a-z]+)\b")
WHAT_IF = re.compile(r"\b(if|without|instead|change|changes|happen|happens)\b")


@dataclass(frozen=True, slots=True)
class Asked:
    """What a question names."""

    numbers: tuple[Answer, ...] = ()
    step: str | None = None
    query: int | None = None  # which token asks, by its place
    key: int | None = None
    changes: Mapping[str, Any] = field(default_factory=dict)
    what_if: bool = False
    strange: str = ""  # a word that is looked at and stands nowhere in the sentence


def asked(question: str, at_hand: AtHand) -> Asked:
    """Read ``question`` against the tokens of the sentence at hand."""
    plain = f" {' '.join(WORD.findall(question.casefold()))} "
    given = at_hand.derivation.given if at_hand.derivation else None
    asking, answering = (given.asking, given.answering) if given else ((), ())
    tokens = tuple(dict.fromkeys((*asking, *answering)))
    step = _longest(plain, _words()["steps"], {word.casefold() for word in tokens})
    query, key = _roles(_tokens(question, tokens), step)
    numbers = [read(found[0].strip()) for found in NUMERAL.finditer(TEMPERATURE.sub(" ", question))]
    return Asked(
        numbers=tuple(number for number in numbers if number.state is State.NUMBER),
        step=step,
        query=_place(asking, query),
        key=_place(answering, key),
        strange=_strange(question, tokens),
        changes=_changes(question.casefold(), plain),
        what_if=bool(WHAT_IF.search(plain)),
    )


def _place(names: Sequence[str], name: str | None) -> int | None:
    return names.index(name) if name in names else None


def _tokens(question: str, tokens: Sequence[str]) -> list[tuple[str, bool]]:
    """The tokens named, in order, and whether a word before each says that it is looked at.

    An everyday word ("The") is meant only where it stands in quotes or is written as in the sentence, not at
    the beginning.
    """
    found: list[tuple[str, bool]] = []
    before = ""
    for match in WORD.finditer(question):
        word = match[0]
        token = next((token for token in tokens if token.casefold() == word.casefold()), None)
        quoted = question[match.start() - 1 : match.start()] in ("'", '"', "“", "‘", "«")
        if token is not None and word.casefold() in _words()["stop"]:
            exact = word == token and word != word.casefold() and match.start() > 0
            token = token if quoted or exact else None
        if token is not None:
            found.append((token, before in LOOKED_AT))
        if word.casefold() not in ("the", "a", "word", "token"):
            before = word.casefold()
    return found


def _roles(named: list[tuple[str, bool]], step: str | None) -> tuple[str | None, str | None]:
    """Which token asks and which is looked at."""
    alone = {"out": "query", "sum": "query", "q": "query", "k": "key", "v": "key"}.get(step or "", "")
    if not named:
        return None, None
    if len(named) == 1:
        token, looked_at = named[0]
        asks = alone == "query" or (not alone and not looked_at and step is None)
        return (token, None) if asks else (None, token)
    (first, first_looked_at), (second, _) = named[:2]
    return (second, first) if first_looked_at and not named[1][1] else (first, second)


def _strange(question: str, tokens: Sequence[str]) -> str:
    """The word in "weight of bank on money" where the sentence has no money."""
    known = {token.casefold() for token in tokens} | _words()["stop"] | {"token", "word"}
    found = OF_A_PAIR.search(question)
    return found[1] if found and tokens and found[1].casefold() not in known else ""


def _changes(question: str, plain: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for change, ways in _words()["changes"].items():
        if any(f" {way} " in plain for way in ways):
            found.update(tomllib.loads(change))
    if temperature := TEMPERATURE.search(question):
        found["temperature"] = float(temperature[1])
    return found


def _longest(plain: str, table: Mapping[str, Sequence[str]], not_these: set[str]) -> str | None:
    """The name whose way of saying it stands in ``plain``; of several the longest."""
    found = [
        (len(way), name)
        for name, ways in table.items()
        for way in ways
        if f" {way} " in plain and way not in not_these
    ]
    return max(found)[1] if found else None


@cache
def _words() -> Mapping[str, Any]:
    raw = tomllib.loads((files("riverhead.learning.tutor") / "words.toml").read_text("utf-8"))
    return {**raw, "stop": frozenset(raw["stop"].split())}
