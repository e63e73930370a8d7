"""Swap: the same sentence with other nouns in a word's place, and what the heads give them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from riverhead.core.fused import forward
from riverhead.inspection.tables import nouns
from riverhead.inspection.words import Word
from riverhead.transformer import Model

__all__ = ["N_NOUNS", "Swap", "swaps", "weights_on"]

N_NOUNS = 24
RUN_TOKENS = 2048  # tokens that pass through the model together: what bounds the memory of a run

Array = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Swap:
    """A sentence with each of some nouns in a word's place; ``token_ids`` is (n_nouns, T)."""

    nouns: tuple[str, ...]
    token_ids: NDArray[np.intp]


def swaps(model: Model, text: str, word: Word, present: Collection[str]) -> Swap:
    """Put the shipped nouns in the place of ``word``, each that leaves all other tokens as they were.

    They are written like the word (Capital, CAPITALS), are none of the words ``present``, and are as many
    as fit, at most 24.
    """
    ids = model.tokenizer.ids(text)
    first, end = word.place
    taken = {other.casefold() for other in present}
    found: dict[str, list[int]] = {}
    for noun in nouns():
        if noun in taken:
            continue
        other = model.tokenizer.ids(text[:first] + _written_like(word.text, noun) + text[end:])
        if len(other) == len(ids) and _outside(other, word) == _outside(ids, word):
            found[noun] = other
        if len(found) == N_NOUNS:
            break
    return Swap(tuple(found), np.array(list(found.values()), np.intp).reshape(len(found), len(ids)))


def weights_on(
    model: Model, token_ids: NDArray[np.intp], queries: NDArray[np.intp], words: Sequence[Word]
) -> Array:
    """Return each head's weight from each query token to each word, (B, n_layers, H, T_q, n_words).

    A word of several tokens gets the sum over them. ``token_ids`` is (B, T), ``queries`` (T_q,).
    """
    if model.config.causal:  # what comes after the last query changes nothing
        token_ids = token_ids[:, : queries.max() + 1]
    n, T = token_ids.shape
    spells = np.array([[word.start <= t < word.stop for word in words] for t in range(T)], np.float32)
    step = max(1, RUN_TOKENS // T)
    return np.concatenate(
        [_weights(model, token_ids[at : at + step], queries, spells) for at in range(0, n, step)]
    )


def _weights(model: Model, token_ids: NDArray[np.intp], queries: NDArray[np.intp], spells: Array) -> Array:
    layers: list[Array] = []

    def watch(layer: int, q: Array, k: Array, v: Array) -> None:
        # With the words for values attention hands over its own weights, summed by word: no T × T is made.
        words = np.broadcast_to(spells, (k.shape[-3], *spells.shape))  # (G, T, n_words)
        on_words = forward(q, k, words, **model.config.attention(layer))[..., queries, :]
        layers.append(on_words.astype(np.float32, copy=False))

    model.run(token_ids, watch=watch)
    return np.stack(layers, axis=1)


def _outside(ids: list[int], word: Word) -> list[int]:
    return ids[: word.start] + ids[word.stop :]


def _written_like(word: str, noun: str) -> str:
    if len(word) > 1 and word.isupper():
        return noun.upper()
    return noun.capitalize() if word[0].isupper() else noun
