"""The words of a text and the tokens that spell them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from riverhead.errors import InputError

if TYPE_CHECKING:
    from riverhead.transformer.tokens import Tokenizer

__all__ = ["Word", "find", "tokens_back", "words", "words_read"]


@dataclass(frozen=True, slots=True)
class Word:
    """A word, the tokens ``start`` to ``stop`` that spell it, and its ``place`` in the text's characters."""

    text: str
    start: int
    stop: int
    place: tuple[int, int]

    @property
    def last(self) -> int:
        """The token that speaks for the word: only its last one has seen all of it."""
        return self.stop - 1


def words_read(tokenizer: Tokenizer, text: str, token_ids: Sequence[int]) -> tuple[Word, ...]:
    """Find the words of a text in the tokens a model reads it as; special tokens are no words.

    Raises `InputError` where the tokens are not those of the text.
    """
    ids, places = tokenizer.offsets(text)
    if ids != list(token_ids):
        raise InputError(f"the {len(token_ids)} tokens are not those of the text; its words cannot be placed")
    special = [i in tokenizer.special_ids for i in ids]
    return tuple(word for word in words(text, places) if not any(special[word.start : word.stop]))


def words(text: str, offsets: Sequence[tuple[int, int]]) -> tuple[Word, ...]:
    """Find the words of ``text``; ``offsets`` holds each token's first and last-plus-one character.

    A word is a run of letters, marks and digits; an apostrophe inside belongs to it, other signs do not.

    >>> [(w.text, w.start, w.stop) for w in words("Don't go!", [(0, 3), (3, 5), (5, 8), (8, 9)])]
    [("Don't", 0, 2), ('go', 2, 3)]
    """
    shape = "".join("w" if unicodedata.category(c)[0] in "LMN" else "'" if c in "'’" else " " for c in text)
    found = []
    for match in re.finditer(r"w+(?:'w+)*", shape):
        first, end = match.span()
        tokens = [t for t, (a, b) in enumerate(offsets) if a < end and b > first]
        if tokens:
            found.append(Word(text[first:end], tokens[0], tokens[-1] + 1, (first, end)))
    return tuple(found)


def tokens_back(asking: Word, looked_at: Word) -> int:
    """Return how many tokens back from the one that asks the word looked at is; below 0 it is ahead.

    >>> bank, flooded = words("bank flooded", [(0, 4), (4, 12)])
    >>> tokens_back(flooded, bank), tokens_back(bank, flooded)
    (1, -1)
    """
    return asking.last - (looked_at.last if looked_at.last < asking.last else looked_at.start)


def find(words: Sequence[Word], name: str) -> Word:
    """Find a word by ``name``, in the same case if there is one; ``bank#2`` is the second, ``bank`` the last.

    >>> text = "bank to bank"
    >>> find(words(text, [(0, 4), (4, 7), (7, 12)]), "bank#1").start
    0
    """
    wanted, _, ordinal = name.strip().partition("#")
    same = [w for w in words if w.text == wanted] or [
        w for w in words if w.text.casefold() == wanted.casefold()
    ]
    if not same:
        there = ", ".join(dict.fromkeys(w.text for w in words))
        raise InputError(f"the text has no word {wanted!r:.60}; its words are: {there or 'none'}")
    if not ordinal:
        return same[-1]
    ordinals = {str(n): word for n, word in enumerate(same, 1)}
    if ordinal not in ordinals:
        raise InputError(
            f"{name!r:.60}: the text has {wanted!r} {len(same)} times; choose from #1 to #{len(same)}"
        )
    return ordinals[ordinal]
