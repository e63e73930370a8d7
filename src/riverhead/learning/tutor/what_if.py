"""What a question may ask to change in the sentence at hand: a setting, a vector, a score, a word hidden."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from riverhead.derivation import Derivation, derive
from riverhead.derivation.given import Given
from riverhead.derivation.settings import apply_setting
from riverhead.derivation.vectors import Example
from riverhead.learning.tutor.phrases import Plain, table

__all__ = ["Change", "applied", "change", "with_score"]

IS = r"(?: in head #)?(?: (?:was|were|is|to|be|as|had been|would be|becomes|became|changes to|changed to))*"
OWN = (
    r"(?P<symbol>[qkvex]) \*|\* s (?P<owned>\w+)|(?P<of>query|key|value|embedding) (?:of|for) \*|(?P<bare>\*)"
)
VECTOR = re.compile(rf" (?:{OWN}){IS} (?P<new>[@#])(?= )")
SCALED = re.compile(
    r" (?:\* s (?P<owned>query|key|value)|(?P<of>query|key|value) (?:of|for) \*|(?P<symbol>[qkv]) \*)"
    r"(?: (?:was|were|is|be))?(?= )"
)
SCORE = re.compile(
    r" (?:dot product|raw score|score) (?:of \* )?(?:on|with|for|to|and) \*"
    r"(?P<cut>(?: (?:was|were|is|be|had been|became))+ #(?: (?:instead of|rather than|not) #)?)(?= )"
)
PLAIN_NUMBER = re.compile(r"[-−]?\d{1,6}(?:\.\d{1,6})?")
FIELDS = {"query": "q", "key": "k", "value": "v", "embedding": "e", "vector": "e"}


@dataclass(frozen=True, slots=True)
class Change:
    """What is to be otherwise: options of `derive`, a vector as `apply_setting` takes it, keys hidden."""

    options: Mapping[str, Any] = field(default_factory=dict)
    vector: str = ""  # k.river=0,2
    token: str = ""  # whose vector it is
    claimed: bool = False  # the vector is said to be so: "is bank's query (1, 2)?"
    hidden: tuple[int, ...] = ()
    score: float | None = None  # of the pair that is named

    def __bool__(self) -> bool:
        return bool(
            self.options or self.hidden or self.score is not None or (self.vector and not self.claimed)
        )


def change(found: Plain, given: Given, what_if: bool) -> tuple[Change, Plain]:
    """Return what ``found`` asks to change, and what is left of the question without it."""
    match = VECTOR.search(found.text)
    if match and (spelled := _vector(match, found, given)):
        token = found.named[found.text.count("*", 0, found.text.index("*", match.start()))]
        rest = found.without(match.start(), match.end())
        return Change(vector=spelled, token=token, claimed=not what_if), rest
    if what_if and (match := SCORE.search(found.text)):
        number = found.numerals[found.text.count("#", 0, match.start("cut"))].replace(",", ".")
        if PLAIN_NUMBER.fullmatch(number):
            return Change(score=float(number.replace("−", "-"))), found.without(*match.span("cut"))
    if what_if and (scaled := _scaled(found, given)):
        return scaled
    options, found = _options(found)
    hidden, found = _hidden(found, given) if what_if else ((), found)
    return Change(options, hidden=hidden), found


def _scaled(found: Plain, given: Given) -> tuple[Change, Plain] | None:
    """A query, key or value that is taken twice, or half; nothing where none is, or its head is not known."""
    factor, match = found.longest(table()["factors"]), SCALED.search(found.text)
    if factor is None or match is None:
        return None
    name = FIELDS.get(match["owned"] or match["of"], match["symbol"])
    token = found.named[found.text.count("*", 0, found.text.index("*", match.start()))]
    names, heads = given.answering if name in "kv" else given.asking, getattr(given, name)
    if token not in names or heads is None or len(heads) > 1:
        return None
    numbers = ",".join(repr(float(factor) * x) for x in heads[0][names.index(token)])
    rest = found.without(match.start(), match.end()).less(table()["factors"][factor])
    return Change(vector=f"{name}.{token}={numbers}", token=token), rest


def _hidden(found: Plain, given: Given) -> tuple[tuple[int, ...], Plain]:
    """The words that are hidden, or taken away."""
    named = []
    for n in sorted(found.stars(table()["hides"]["word"]), reverse=True):
        at = [star.start() for star in re.finditer(r"\*", found.text)][n]
        named.append(found.named[n])
        found = found.without(at, at + 1)
    return tuple(n for n, label in enumerate(given.answering) if label in named), found


def _options(found: Plain) -> tuple[dict[str, Any], Plain]:
    """The options of `derive` that are named."""
    options: dict[str, Any] = {}
    for way in table()["sizes"]["temperature"]:
        at = found.text.find(f" {way} ")
        if at >= 0:
            number = found.numerals[found.text.count("#", 0, at)].replace(",", ".")
            options |= {"temperature": float(number)} if PLAIN_NUMBER.fullmatch(number) else {}
            found = found.without(at, at + len(way) + 1)
            return options, found
    name = found.longest(table()["changes"])
    return (tomllib.loads(name), found.less(table()["changes"][name])) if name else ({}, found)


def _vector(match: re.Match[str], found: Plain, given: Given) -> str:
    """A vector that is given numbers, as `apply_setting` takes it; nothing where none is."""
    spelled = match["symbol"] or match["owned"] or match["of"] or "e"
    name = FIELDS.get(spelled, spelled)
    items = found.vectors if match["new"] == "@" else found.numerals
    numbers = items[found.text.count(match["new"], 0, match.start("new"))].strip("[]() ").replace(";", ",")
    if name not in "qkvex" or (match["bare"] and given.e is None) or "," not in numbers:
        return ""
    token = found.named[found.text.count("*", 0, found.text.index("*", match.start()))]
    head = match[0].find(" head #")
    if head >= 0:
        name += f"[{found.numerals[found.text.count('#', 0, match.start() + head)]}]"
    elif len(getattr(given, name) or ()) > 1 and name in "qkv":
        name += "[0]"
    return f"{name}.{token}={numbers}"


def applied(worked: Derivation, change: Change) -> Derivation:
    """Return the derivation with ``change`` made; raises `InputError` where it cannot be."""
    given = worked.given
    if change.vector:
        given = apply_setting(Example("", given), change.vector).given
    options = dict(change.options)
    if change.hidden:
        options["mask"] = _mask(given, change.hidden)
    return Derivation(given, worked.steps).but(**options)


def _mask(given: Given, hidden: tuple[int, ...]) -> list[list[list[bool]]]:
    """The mask with some keys hidden from all."""
    before = given.mask or (((True,) * given.T_k,) * given.T_q,)
    return [[[seen and j not in hidden for j, seen in enumerate(row)] for row in head] for head in before]


def with_score(worked: Derivation, head: int, i: int, j: int, dot: float) -> Derivation:
    """Return one query's row with the dot product of key ``j`` replaced."""
    given = worked.given
    dots = list(worked["dots"].values[head][i])
    dots[j] = dot
    values = worked["v"].values[head // (given.n_heads // given.n_kv_heads)]
    return derive(
        [[1.0]],
        [[x] for x in dots],
        values,
        scale=given.d_k**-0.5 if given.scale is None else given.scale,
        temperature=given.temperature,
        tokens=[given.asking[i]],
        tokens_k=list(given.answering),
    )
