"""A question about the sentence at hand, read: the numbers, words and steps it names, and what if."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from riverhead.checking.answers import Answer, State, read
from riverhead.learning.tutor.phrases import Plain, plain, table
from riverhead.learning.tutor.what_if import Change, change

if TYPE_CHECKING:
    from riverhead.derivation.given import Given
    from riverhead.learning.tutor.at_hand import AtHand

__all__ = ["Asked", "asked"]

BY_ROLE = {"out": "query", "sum": "query", "q": "query", "k": "key", "v": "key", "e": "query"}
OF_A_PAIR = re.compile(r"\b(?:weight|score|dot product)(?: of \w+)? (?:on|with) (?:the )?([a-z]{3,})\b")
LONE = re.compile(
    r" (?:why|how) (?:is|was) (?:it|this|that)(?: number)? # | where (?:does|did|do) (?:number )?# come from "
)
LONGEST = 20  # characters of a number
FEW = 2  # words that have nothing to do with numbers, in a question that has one


@dataclass(frozen=True, slots=True)
class Asked:
    """What a question names; the words of the sentence by their places."""

    numbers: tuple[Answer, ...] = ()
    vectors: tuple[tuple[float, ...], ...] = ()
    step: str | None = None
    query: int | None = None  # which word asks
    said: bool = False  # that it asks, and not only by the order of the words
    keys: tuple[int, ...] = ()  # which are looked at
    either: bool = False  # whichever of two asks: "river gives bank", "bank gives river"
    head: int | None = None
    component: int | None = None  # from 0; −1 is the last
    extreme: int = 0  # 1: the largest is asked for, −1: the smallest
    which: bool = False  # it begins with what, which, who or where
    adds_up: bool = False
    related: bool = False  # "bank to river": the two words are a pair, whatever the step
    alike: bool = False  # how far two words point the same way
    here: bool = False  # of this sentence
    divided: bool = False  # by what
    change: Change = field(default_factory=Change)
    what_if: bool = False
    begins: bool = False  # it asks what if, from its first word on
    denied: bool = False  # it says that a number is so, which may be denied
    foreign: int = 0  # how many of its words have nothing to do with numbers
    strange: str = ""  # a word that stands nowhere in the sentence, or that no query sees
    elsewhere: str = ""  # a word that asks, and whose row is not at hand
    lone: bool = False  # "why is it #?", and no more

    @property
    def key(self) -> int | None:
        """The word that is looked at, or the first of several."""
        return self.keys[0] if self.keys else None

    @property
    def named(self) -> bool:
        """Whether a word of the sentence is named."""
        return self.query is not None or bool(self.keys)

    @property
    def about_numbers(self) -> bool:
        """Whether the question is about a number of the sentence, not an idea that some number belongs to."""
        finer = any(number.decimals or number.percent for number in self.numbers)
        return self.foreign <= (FEW if finer or self.vectors else 0)


def asked(question: str, at_hand: AtHand) -> Asked:
    """Read ``question`` against the words of the sentence at hand."""
    given = at_hand.derivation.given if at_hand.derivation else None
    found = plain(question, _names(given, at_hand.focus))
    what_if, begins = found.has(table()["what_if"]), _begins(found)
    repeats = len(found.named) > 2 and len(set(found.named)) < len(found.named)  # tells, rather than asks
    changing = Change()
    if given is not None:
        changing, found = change(found, given, what_if)
    sized, found = _sizes(found)
    step = found.longest(table()["steps"])
    if len(found.named) == 2 and all(found.has(table()["steps"][name]) for name in "qk"):
        step = "dots"  # a query and a key
    query, keys, elsewhere = _roles(found, step, given)
    strange, asks = _strange(question, at_hand)
    said = bool(found.stars(table()["roles"]["query"]))
    numbers = [
        read(text.replace("per cent", "%").replace("percent", "%").strip())
        for text in found.numerals
        if len(text) <= LONGEST
    ]
    words = table()
    return Asked(
        numbers=tuple(number for number in numbers if number.state is State.NUMBER),
        vectors=tuple(map(_vector, found.vectors)),
        step=step,
        query=query,
        said=said,
        keys=keys,
        head=sized.get("head"),
        component=sized.get("component"),
        either=found.has(words["either"]),
        which=bool(re.match(r" (?:what|which|who|where) ", found.text)),
        extreme=found.has(words["most"]) - found.has(words["least"]),
        adds_up=found.has(words["adds_up"]),
        related=bool(found.stars(words["related"])),
        alike=found.has(words["alike"]),
        here=found.has(words["here"]),
        divided=found.has(words["divided"]),
        change=changing,
        what_if=what_if,
        begins=begins,
        foreign=found.foreign()
        + repeats
        + (" * and * " in found.text and found.has(words["whole"]))
        + found.has(words["ideas"]),
        denied=bool(re.search(r" (?:is|isn t|are|aren t|was|why|should|get|got|wrong) ", found.text)),
        strange=strange,
        elsewhere=strange if asks else elsewhere,
        lone=LONE.fullmatch(found.text) is not None,
    )


def _begins(found: Plain) -> bool:
    return any(found.text.startswith(f" {way} ") for way in table()["begins"])


def _names(given: Given | None, focus: str | None) -> dict[str, str]:
    """Every way to name a word of the sentence, in small letters, and what it is called there.

    Of a word that stands twice the one in focus is meant, or else the first; a number is no name.
    """
    if given is None:
        return {}
    found: dict[str, str] = {}
    for label in (*given.asking, *given.answering):
        found.setdefault(label.casefold(), label)
        bare = label.partition("#")[0].casefold()
        if focus == label or bare not in found:
            found[bare] = label
    for meaning, label in zip(given.meanings, given.answering, strict=False):
        if meaning.isalpha():
            found.setdefault(meaning.casefold(), label)
    return {name: label for name, label in found.items() if re.search(r"[^\W\d_]", name[:1] + name[-1:])}


def _roles(found: Plain, step: str | None, given: Given | None) -> tuple[int | None, tuple[int, ...], str]:
    """Which word asks and which are looked at: as it is said, else in order, the asking one first.

    Last a word that asks and has no row here.
    """
    if given is None:
        return None, (), ""
    roles = table()["roles"]
    asks, answers = found.stars(roles["query"]), found.stars(roles["key"])
    queries = [n for n in sorted(asks) if asks[n] > answers.get(n, 0)]
    keys = [n for n in sorted(answers) if n not in queries]
    open_ = [n for n in range(len(found.named)) if n not in queries and n not in keys]
    alone = len(found.named) == 1
    compared = len(open_) == 2 and not queries and found.has(table()["than"])
    asks_alone = step is None or BY_ROLE.get(step) == "query"
    if open_ and not queries and not compared and (keys or not alone or asks_alone):
        queries.append(open_.pop(0))
    keys += open_
    if found.has(roles["own"]) and len(found.named) == 1:
        queries = keys = queries or keys
    places = [_place(given.asking, found.named[n]) for n in queries]
    looked_at = [_place(given.answering, found.named[n]) for n in sorted(keys)]
    query = next((n for n in places if n is not None), None)
    elsewhere = found.named[queries[0]] if queries and query is None and (step or keys) else ""
    return query, tuple(dict.fromkeys(n for n in looked_at if n is not None)), elsewhere


def _place(names: Sequence[str], name: str) -> int | None:
    return names.index(name) if name in names else None


def _sizes(found: Plain) -> tuple[Mapping[str, int], Plain]:
    """The head and the component that are named, and the question without their numbers."""
    sizes: dict[str, int] = {}
    for name, first in (("head", 0), ("component", 1)):
        for way in table()["sizes"][name]:
            at = found.text.find(f" {way} ")
            number = found.numerals[found.text.count("#", 0, at)] if at >= 0 else ""
            if number.isdecimal() and len(number) < 6:
                sizes[name] = int(number) - first
                found = found.without(at, at + len(way) + 1)
    for ordinal, n in table()["ordinals"].items():
        for name, words in (("head", "head"), ("component", "component|number|coordinate|entry|part")):
            if match := re.search(rf" {ordinal} (?:{words})(?= )", found.text):
                sizes.setdefault(name, n - 1)
                found = found.without(*match.span())
    return sizes, found


def _strange(question: str, at_hand: AtHand) -> tuple[str, bool]:
    """The word in "weight of bank on money" where the sentence has no money; a word that no query sees.

    And whether it is the one that asks.
    """
    if at_hand.derivation is None:
        return "", False
    known = _names(at_hand.derivation.given, None)
    unseen = set(at_hand.text.casefold().split()) - set(known)
    for word in question.casefold().split():
        if (bare := word.strip(".,;:?!'\"")) in unseen and plain(bare, {}).foreign():
            return bare, _asks(bare, plain(question, {**known, bare: bare}))
    found = OF_A_PAIR.search(question)
    strange = found is not None and not plain(found[1], known).named and plain(found[1], {}).foreign()
    return (found[1] if found is not None and strange else ""), False


def _asks(word: str, found: Plain) -> bool:
    """Whether a word that has no name here asks: as it is said, else as the first of two."""
    n = found.named.index(word) if word in found.named else -1
    asks, answers = (found.stars(table()["roles"][role]) for role in ("query", "key"))
    return asks.get(n, 0) > answers.get(n, 0) or (n == 0 and n not in answers and len(found.named) > 1)


def _vector(text: str) -> tuple[float, ...]:
    items = re.split(r"[,;]", text.strip("[]() ").replace("−", "-"))
    try:
        return tuple(float(item) for item in items)
    except ValueError:
        return (math.nan,)
