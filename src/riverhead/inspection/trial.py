"""A sentence on trial: each head's weight from word to word, beside its habit and its swaps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from riverhead.errors import InputError
from riverhead.inspection.habit import Say, habit_of, silent
from riverhead.inspection.swap import swaps, weights_on
from riverhead.inspection.tables import function_words
from riverhead.inspection.words import find, words_read
from riverhead.transformer import Model

__all__ = ["MAX_TOKENS", "Swapped", "Trial", "best_pair"]

SEARCH_TOKENS = 1 << 14  # run in search of the best pair: some seconds; a sentence of 31 tokens took 2712
MAX_TOKENS = 256  # 24 swaps of a longer text take minutes

Array = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Swapped:
    """What each head gives to other nouns in the place of the word looked at."""

    nouns: tuple[str, ...]
    weights: Array  # (n_nouns, n_layers, H)


class Trial:
    """One text in one model, its words asking about those they see: the words before them, or both ways.

    With ``focus`` only that word asks. Raises `InputError` for a text too long, or where no word can.
    """

    def __init__(self, model: Model, text: str, focus: str | None = None, say: Say = silent):
        self.model, self.text, self.say = model, text, say
        ids = model.tokenize(text)
        if len(ids) > MAX_TOKENS:
            raise InputError(
                f"the text has {len(ids)} tokens; heads are tested on sentences of at most {MAX_TOKENS}: "
                "give a shorter one"
            )
        self.token_ids = np.array(ids, np.intp)
        self.words = words_read(model.tokenizer, text, ids)
        self.asking = self.words if focus is None else (find(self.words, focus),)
        self._queries = np.array([word.last for word in self.asking], np.intp)
        self.cut = False  # whether the search for the best pair ended before every pair had its chance
        self._n_searched = 0  # tokens run with other nouns
        self._swapped: dict[
            int, Swapped | None
        ] = {}  # by key: its weights have one more axis, the queries so far
        if not self.allowed.any():
            whom = "any word" if focus is None else repr(self.asking[0].text)
            missing = "other word to look at, the first token apart"
            if model.config.causal:
                missing = f"word to look at before {whom}, the first token apart, and the model is causal"
            raise InputError(f"there is no {missing}: give a longer text or another word")

    @cached_property
    def allowed(self) -> NDArray[np.bool_]:
        """Which pairs count, (n_queries, n_words): a word before, or after where the query sees both ways.

        A word of the first token is none of them.
        """
        ahead = not self.model.config.causal
        pairs = [
            [
                key.start > 0 and (key.stop <= query.start or (ahead and key.start >= query.stop))
                for key in self.words
            ]
            for query in self.asking
        ]
        return np.array(pairs, bool).reshape(len(self.asking), len(self.words))

    @cached_property
    def weight(self) -> Array:
        """Each head's weight from word to word, (n_layers, H, n_queries, n_words)."""
        weight: Array = weights_on(self.model, self.token_ids[None], self._queries, self.words)[0]
        return weight

    @cached_property
    def habit(self) -> Array:
        """What plain text gets in the same places, (n_layers, H, n_queries, n_words)."""
        T = len(self.token_ids)
        rows = habit_of(self.model, T, self.say).rows(self._queries)
        habit: Array = np.stack(
            [rows[..., word.start : word.stop].sum(axis=-1) for word in self.words], axis=-1
        )
        return habit

    def swapped(self, query: int, key: int) -> Swapped | None:
        """Return what ``query`` gives other nouns in the place of ``key``; None when no noun fits there."""
        if self._to_run(query, key):
            word = self.words[key]
            swap = swaps(self.model, self.text, word, [other.text for other in self.words])
            if not swap.nouns:
                self._swapped[key] = None
                return None
            if key not in self._swapped:
                self.say(f"swap: {len(swap.nouns)} other nouns for {word.text}")
            if self.model.config.causal:
                queries = self._queries[: query + 1]
                n_tokens = int(queries.max()) + 1
            else:  # it reads the whole text for one query as for all
                queries, n_tokens = self._queries, len(self.token_ids)
            weights = weights_on(self.model, swap.token_ids, queries, [word])[..., 0]
            self._swapped[key] = Swapped(swap.nouns, weights)
            self._n_searched += len(swap.nouns) * n_tokens
        known = self._swapped[key]
        return known and Swapped(known.nouns, known.weights[..., query])

    def _to_run(self, query: int, key: int) -> bool:
        if key not in self._swapped:
            return True
        known = self._swapped[key]
        return known is not None and known.weights.shape[-1] <= query

    def pair(self) -> tuple[int, int]:
        """Return the query and the key with the largest weight − max(habit, mean swap) in any head.

        A function word is looked at only where nothing else can be: a noun in its place tells nothing. Where
        no noun fits anywhere it is the pair with the largest weight − habit.
        """
        content = [word.text.casefold() not in function_words() for word in self.words]
        for allowed in (self.allowed & content, self.allowed):
            if pair := best_pair(self.weight, self.habit, allowed, self._tried):
                return pair
        allowed = self.allowed & content if (self.allowed & content).any() else self.allowed
        beyond = np.where(allowed, (self.weight - self.habit).max(axis=(0, 1)), -np.inf)
        query, key = np.unravel_index(beyond.argmax(), beyond.shape)
        return int(query), int(key)

    def _tried(self, query: int, key: int) -> Swapped | None:
        """What `swapped` returns, as long as the search is short."""
        if self._to_run(query, key) and self._n_searched >= SEARCH_TOKENS:
            self.cut = True
            return None
        return self.swapped(query, key)


def best_pair(
    weight: Array,
    habit: Array,
    allowed: NDArray[np.bool_],
    swapped: Callable[[int, int], Swapped | None],
) -> tuple[int, int] | None:
    """Find the pair (query, key) with the largest weight − max(habit, mean swap) over all heads.

    ``weight`` and ``habit`` are (n_layers, H, n_queries, n_words), ``allowed`` (n_queries, n_words). A pair's
    score cannot exceed weight − habit, so pairs are swapped in that order until none left can win; None where
    no allowed pair can be swapped.
    """
    bound = np.where(allowed, (weight - habit).max(axis=(0, 1)), -np.inf)  # (n_queries, n_words)
    best, pair = -np.inf, None
    for place in np.argsort(-bound, axis=None, kind="stable").tolist():
        query, key = divmod(place, bound.shape[1])
        if bound[query, key] <= best:
            break
        if (swap := swapped(query, key)) is None:
            continue
        score = weight[..., query, key] - np.maximum(habit[..., query, key], swap.weights.mean(axis=0))
        if score.max() > best:
            best, pair = score.max(), (query, key)
    return pair
