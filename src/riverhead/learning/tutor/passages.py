"""The lessons searched: which passage answers a question that is asked in a learner's own words."""

from __future__ import annotations

import math
import re
import sqlite3
import threading
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any

from riverhead.learning.lessons import Bench, Section, lesson, lessons

__all__ = ["Hit", "Library", "Passage", "library"]

COMPUTED = re.compile(r"\{\{.*?\}\}|^```.*?^```$", re.M | re.S)
MOST_WORDS = 60  # of a question; what is longer is mostly a story
TITLE, ASKED, PROSE = 2.0, 1.0, 1.0  # how much a word counts, by where it stands
SMOOTH = 0.3  # of a count: what has not been said in a passage may still be meant
BEGINNING = 4  # letters that words of one family share
GAPS = (2, 3)  # telling words from one to the next of a pair
KNOWN = 0.6  # of a question's words at least: that any passage has them
COVERED = 0.25  # of them at least, by how rare they are: that the best passage has them


@dataclass(frozen=True, slots=True)
class Passage:
    """A section of a lesson, as it is searched: its title, learners' questions, its words without numbers."""

    lesson: int
    id: str
    title: str
    asked: tuple[str, ...]
    words: str

    @property
    def prose(self) -> str:
        """What it says, its numbers computed."""
        return Bench().prose(lesson(self.lesson)[self.id])


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage found; ``score`` is how much likelier the question is there than anywhere, as a logarithm."""

    passage: Passage
    score: float


class Library:
    """Passages by their titles, their words and what learners ask; SQLite's FTS5 gives the stems of words.

    A question goes to the passage in which its words and its pairs of words are most at home: Σ ln of how
    much likelier each is there than anywhere, the rare ones counting more (naive Bayes).

    >>> mask = Passage(1, "mask", "The mask", ("can it cheat?",), "Later tokens are hidden.")
    >>> norm = Passage(1, "norm", "The norm", ("why not let numbers grow?",), "Numbers are kept small.")
    >>> found = Library([mask, norm])
    >>> [hit.passage.id for hit in found.search("how does it not cheat", 1)], found.search("bread and butter")
    (['mask'], ())
    """

    def __init__(self, passages: Iterable[Passage]) -> None:
        self.passages = tuple(passages)
        self._stems = _Stems()
        self._counts: dict[str, dict[int, float]] = defaultdict(lambda: defaultdict(float))
        self._sizes = [0.0] * len(self.passages)
        texts = [(n, *text) for n, passage in enumerate(self.passages) for text in _texts(passage)]
        for (n, weight, _), words in zip(texts, self._stems.of([text for *_, text in texts]), strict=True):
            for feature in self._features(words):
                self._counts[feature][n] += weight
                self._sizes[n] += weight

    def search(self, question: str, n: int = 3) -> tuple[Hit, ...]:
        """Return the ``n`` best passages, the best first; nothing where the question's words are foreign."""
        (words,) = self._stems.of([question])
        features = list(self._features(words[:MOST_WORDS]))
        scores = [0.0] * len(self.passages)
        for feature in features:
            if feature in self._counts:
                for number, gain in enumerate(self._gains(feature)):
                    scores[number] += gain
        best = sorted(range(len(scores)), key=lambda number: -scores[number])[:n]
        covered, known = self._covered(features, best[0] if best else 0)
        if covered < COVERED or known < KNOWN:
            return ()
        return tuple(Hit(self.passages[number], scores[number]) for number in best)

    def _features(self, words: Sequence[str]) -> Iterator[str]:
        """What counts of a text: words, the ideas meant by them, how they begin, and pairs, near or not."""
        stop, meant = self._stems.stop, self._stems.meant
        telling = [word for word in words if word not in stop]
        yield from words
        yield from dict.fromkeys(f"={idea}" for word in words for idea in meant.get(word, ()))
        yield from (f"{word[:BEGINNING]}…" for word in telling if len(word) > BEGINNING)
        yield from (" ".join(pair) for pair in pairwise(words) if not stop.issuperset(pair))
        for gap in GAPS:
            pairs = zip(telling, telling[gap:], strict=False)
            yield from dict.fromkeys(" & ".join(sorted(pair)) for pair in pairs)

    def _gains(self, feature: str) -> list[float]:
        """How much likelier a feature is in each passage than anywhere, as logarithms, by how rare it is."""
        counts, kinds = self._counts[feature], len(self._counts)
        anywhere = (sum(counts.values()) + SMOOTH) / (sum(self._sizes) + SMOOTH * kinds)
        rarity = math.sqrt(self._rarity(feature))
        return [
            rarity * math.log((counts.get(n, 0.0) + SMOOTH) / (size + SMOOTH * kinds) / anywhere)
            for n, size in enumerate(self._sizes)
        ]

    def _rarity(self, feature: str) -> float:
        """ln of one over the share of passages that have it; what none has is the rarest."""
        return math.log(1 + len(self.passages) / (len(self._counts.get(feature, ())) + 0.5))

    def _covered(self, features: Sequence[str], number: int) -> tuple[float, float]:
        """The share of a question's words that a passage has, by how rare they are; and that any has."""
        words = [word for word in features if word.isalnum() and word not in self._stems.stop]
        total = sum(map(self._rarity, words))
        has = sum(self._rarity(word) for word in words if number in self._counts.get(word, ()))
        known = sum(word in self._counts for word in words)
        return (has / total, known / len(words)) if words else (0.0, 0.0)


class _Stems:
    """Texts as the stems of their words, by SQLite's FTS5: Porter's, without accents."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # a library is made once, for all threads
        self._db = sqlite3.connect(":memory:", check_same_thread=False)
        self._db.execute(
            "CREATE VIRTUAL TABLE text USING fts5(words, tokenize = 'porter unicode61 remove_diacritics 2')"
        )
        self._db.execute("CREATE VIRTUAL TABLE stem USING fts5vocab(text, 'instance')")
        (stop,) = self.of([_table("words.toml")["stop"]])
        self.stop = frozenset(stop)
        self.meant: dict[str, list[str]] = {}  # stem: the ideas that learners mean by it
        alike = _table("words.toml")["alike"]
        for idea, stems in zip(alike, self.of(list(alike.values())), strict=True):
            for stem in dict.fromkeys(stems):
                self.meant.setdefault(stem, []).append(idea)

    def of(self, texts: Sequence[str]) -> list[list[str]]:
        """Return the stems of each text, in order."""
        found: list[list[str]] = [[] for _ in texts]
        with self._lock:
            self._db.execute("DELETE FROM text")
            self._db.executemany(
                "INSERT INTO text(rowid, words) VALUES (?, ?)", enumerate(map(_unicode, texts))
            )
            for stem, row in self._db.execute("SELECT term, doc FROM stem ORDER BY doc, offset"):
                found[row].append(stem)
        return found


def _unicode(text: str) -> str:
    """A text as UTF-8 can hold it: an argument of a command may hold half a character."""
    return text.encode("utf-8", "replace").decode("utf-8")


@cache
def library() -> Library:
    """Return the lessons' own library; its numbers are computed, no model is opened."""
    more = _table("asked.toml")
    return Library(
        Passage(each.number, section.id, section.title, _asked(section, more), _words(section))
        for each in lessons()
        for section in each.sections
    )


def _asked(section: Section, more: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The questions in the lesson itself, and those that were gathered besides."""
    return (*section.asked, *more.get(section.id, ()))


def _words(section: Section) -> str:
    """The words of a section as they are written, without what is computed and without figures."""
    return COMPUTED.sub(" ", section.source)


def _texts(passage: Passage) -> Iterator[tuple[float, str]]:
    """The texts of a passage, each with how much its words count."""
    yield TITLE, passage.title
    yield PROSE, passage.words
    for question in passage.asked:
        yield ASKED, question


def _table(name: str) -> dict[str, Any]:
    return tomllib.loads((files("riverhead.learning.tutor") / name).read_text("utf-8"))
