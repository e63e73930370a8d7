"""The sentences of the experiment on context: words and places as vectors, each sense with its nouns."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import permutations, product

import numpy as np

from riverhead.core.border import Floats

__all__ = ["Sentences", "sentences"]

LENGTH = 2.0  # of a word's vector, and of a place's: a power of two, so that dots and sums are exact


@dataclass(frozen=True, slots=True)
class Sentences:
    """A sentence with two nouns to fill in; the sense of its last word is that of the subject's kind."""

    frame: tuple[str, ...]  # its words, with {subject} and {other}
    nouns: dict[str, tuple[str, ...]]  # sense: the subjects that give it

    @property
    def senses(self) -> tuple[str, ...]:
        """What the last word can mean."""
        return tuple(self.nouns)

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """Every word once: those of the frame, then the nouns."""
        nouns = (noun for kind in self.nouns.values() for noun in kind)
        return tuple(dict.fromkeys((*(word for word in self.frame if "{" not in word), *nouns)))

    @property
    def d_model(self) -> int:
        """A dimension for each word and each place."""
        return len(self.vocabulary) + len(self.frame)

    @property
    def subject_place(self) -> int:
        """Where the subject stands."""
        return self.frame.index("{subject}")

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Two nouns of different senses, in every way."""
        one, other = self.nouns.values()
        return tuple(product(one, other))

    @property
    def all(self) -> tuple[tuple[str, str], ...]:
        """Every (subject, other) of two different nouns."""
        return tuple(permutations((noun for kind in self.nouns.values() for noun in kind), 2))

    def words(self, subject: str, other: str) -> tuple[str, ...]:
        """Fill in the two nouns.

        >>> " ".join(sentences().words("exam", "lunch"))
        'the exam after the lunch was a piece of cake'
        """
        return tuple(word.format(subject=subject, other=other) for word in self.frame)

    def sense(self, subject: str) -> int:
        """Return which of the senses the last word has with that ``subject``."""
        return next(sense for sense, kind in enumerate(self.nouns.values()) if subject in kind)

    def vectors(self, subject: str, other: str) -> Floats:
        """Return x (T, d_model): each token the vector of its word plus the vector of its place.

        All these vectors are at right angles, of length LENGTH.
        """
        words = self.words(subject, other)
        x = np.zeros((len(words), self.d_model))
        places = np.arange(len(words))
        x[places, [self.vocabulary.index(word) for word in words]] = LENGTH
        x[places, len(self.vocabulary) + places] = LENGTH
        return x


@cache
def sentences() -> Sentences:
    """Read the sentence and its nouns."""
    text = files("riverhead.experiments").joinpath("data", "context.toml").read_text(encoding="utf-8")
    found = tomllib.loads(text)
    nouns = {sense: tuple(kind) for sense, kind in found["nouns"].items()}
    return Sentences(tuple(found["sentence"].split()), nouns)
