"""The lessons searched: which passage answers a question that is asked in a learner's own words."""

from __future__ import annotations

import math
import re
import sqlite3
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from riverhead.learning.lessons import Bench, Section, lessons

__all__ = ["Hit", "Library", "Passage", "library"]

MOST_WORDS = 60  # of a question; what is longer is mostly a story
WORD = re.compile(r"[^\W_]+")
COLUMNS = "title, asked, prose"
WEIGHTS = "3.0, 4.0, 1.0"  # of the columns, as bm25 takes them
ONE_QUESTION = 1.5  # a learner's question that says nearly the same counts more than words here and there
FLOOR = 0.34  # the share of a question's words, by how telling they are, that a passage has to have
PORTER = "tokenize = 'porter unicode61 remove_diacritics 2'"


@dataclass(frozen=True, slots=True)
class Passage:
    """A section of a lesson, as it is searched: its title, learners' questions, its words."""

    lesson: int
    id: str
    title: str
    asked: tuple[str, ...]
    prose: str


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage found; ``covered`` is the share of the question's words, by how telling they are, it has."""

    passage: Passage
    score: float
    covered: float


class Library:
    """Passages in an index of SQLite's FTS5, in memory: each of them, and each learner's question apart.

    >>> found = Library([Passage(1, "a", "The mask", ("can it cheat?",), "Later tokens are hidden.")])
    >>> [hit.passage.id for hit in found.search("how does it not cheat")], found.search("bread and butter")
    (['a'], ())
    """

    def __init__(self, passages: Iterable[Passage]) -> None:
        self.passages = tuple(passages)
        self._db = sqlite3.connect(":memory:", check_same_thread=False)
        self._db.execute(f"CREATE VIRTUAL TABLE whole USING fts5({COLUMNS}, {PORTER})")
        self._db.execute(f"CREATE VIRTUAL TABLE question USING fts5(asked, passage UNINDEXED, {PORTER})")
        for number, passage in enumerate(self.passages):
            asked = [_said(line) for line in passage.asked]
            row = (number, _said(passage.title), "\n".join(asked), passage.prose)
            self._db.execute(f"INSERT INTO whole(rowid, {COLUMNS}) VALUES (?, ?, ?, ?)", row)
            self._db.executemany("INSERT INTO question VALUES (?, ?)", [(line, number) for line in asked])

    def search(self, question: str, n: int = 3) -> tuple[Hit, ...]:
        """Return the ``n`` best passages, the best first; none that has too little of what was asked."""
        score: dict[int, float] = defaultdict(float)
        telling: dict[int, float] = defaultdict(float)
        alike: dict[int, float] = defaultdict(float)  # by learner's question
        passage_of: dict[int, int] = {}
        total = 0.0
        for term in _terms(question):
            found = self._found(f"SELECT rowid, bm25(whole, {WEIGHTS}) FROM whole WHERE whole MATCH ?", term)
            rarity = math.log(1 + (len(self.passages) - len(found) + 0.5) / (len(found) + 0.5))
            total += rarity
            for number, rank in found:
                score[number] -= rank
                telling[number] += rarity
            sql = "SELECT rowid, bm25(question), passage FROM question WHERE question MATCH ?"
            for line, rank, number in self._found(sql, term):
                alike[line] -= rank
                passage_of[line] = number
        best: dict[int, float] = defaultdict(float)
        for line, number in passage_of.items():
            best[number] = max(best[number], alike[line])
        hits = [
            Hit(self.passages[number], score[number] + ONE_QUESTION * best[number], telling[number] / total)
            for number in score
        ]
        return tuple(sorted((h for h in hits if h.covered >= FLOOR), key=lambda h: -h.score)[:n])

    def _found(self, sql: str, term: str) -> list[Any]:
        return self._db.execute(sql, (f'"{term}"',)).fetchall()


@cache
def library() -> Library:
    """Return the lessons' own library; its numbers are computed, no model is opened."""
    bench, more = Bench(), _table("asked.toml")
    return Library(
        Passage(each.number, section.id, section.title, _asked(section, more), bench.prose(section))
        for each in lessons()
        for section in each.sections
    )


def _asked(section: Section, more: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The questions in the lesson itself, and those that were gathered besides."""
    return (*section.asked, *more.get(section.id, ()))


def _terms(question: str) -> list[str]:
    """The words of a question that tell something, and what learners mean by some of them."""
    words = WORD.findall(_said(question).casefold())
    kept = [word for word in dict.fromkeys(words) if word not in _vocabulary()["stop"]]
    return kept[:MOST_WORDS]


def _said(text: str) -> str:
    """A text, and behind it the terms that its everyday words stand for."""
    plain = f" {' '.join(WORD.findall(text.casefold()))} "
    meant = [
        term
        for term, ways in _vocabulary()["meant"].items()
        if any(f" {way} " in plain or f" {way}s " in plain for way in ways)
    ]
    return " ".join([text, *meant])


def _table(name: str) -> dict[str, Any]:
    return tomllib.loads((files("riverhead.learning.tutor") / name).read_text("utf-8"))


@cache
def _vocabulary() -> Mapping[str, Any]:
    """The words that tell nothing (``stop``), and everyday words by the term they stand for (``meant``)."""
    raw = _table("words.toml")
    return {"stop": frozenset(raw["stop"].split()), "meant": raw["meant"]}
