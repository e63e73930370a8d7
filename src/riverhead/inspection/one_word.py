"""One word of a text as a model reads it: what each head does for it, and its vector layer by layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from riverhead.core import AttentionMap
from riverhead.errors import InputError
from riverhead.inspection.habit import Say, habit_of
from riverhead.inspection.tables import function_words
from riverhead.inspection.words import Word, find
from riverhead.transformer import Model

__all__ = ["OneWord", "chosen", "read_word", "unit"]

Floats = NDArray[np.float32]
Wide = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class OneWord:
    """What `read_word` found: ``weights`` and ``habit`` are of the word's last token, which speaks for it.

    ``logits`` are the next token's, None of a model that predicts none. ``others`` is the mean direction of
    the text's other words, the first token apart: its dot product with a direction is that one's mean cosine
    with them; None where there is no other word.
    """

    text: str
    tokens: tuple[str, ...]
    words: tuple[Word, ...]
    word: Word
    weights: Wide  # (n_layers, H, n_keys), of a causal model up to the word itself
    habit: Floats  # (n_layers, H, n_keys), 0 where a token has none
    directions: Wide  # (n_layers + 1, d_model): the word's vector before each block and after the last
    others: Wide | None  # (n_layers + 1, d_model)
    logits: Wide | None  # (vocab_size,)


def read_word(
    model: Model, text: str, token_ids: Sequence[int], words: tuple[Word, ...], word: Word, say: Say
) -> OneWord:
    """Run ``text`` once and keep what concerns ``word``: rows of weights, vectors, the next token's odds.

    Raises `InputError` for a text longer than the model's context.
    """
    rows: list[Floats] = []
    n_keys = word.stop if model.config.causal else len(token_ids)

    def see(layer: int, A: AttentionMap) -> None:
        rows.append(A[0, :, word.last, :n_keys])  # (H, n_keys)

    run = model.run(np.array([token_ids], np.intp), see=see, keep=True)
    streams = [x[0] for x in (*run.x, run.final)]  # n_layers + 1 of (T, d_model)
    rest = [w.last for w in words if w.text.casefold() != word.text.casefold() and w.start > 0]
    return OneWord(
        text=text,
        tokens=model.tokenizer.pieces(token_ids),
        words=words,
        word=word,
        weights=np.array(rows, np.float64),
        habit=habit_of(model, len(token_ids), say).rows(np.array([word.last]))[:, :, 0, :n_keys],
        directions=np.array([unit(x[word.last]) for x in streams]),
        others=np.array([unit(x[rest]).mean(axis=0) for x in streams]) if rest else None,
        logits=run.logits([-1])[0, 0].astype(np.float64) if model.config.predicts else None,
    )


def chosen(
    models: Sequence[Model], texts: Sequence[str], words: Sequence[tuple[Word, ...]], name: str | None = None
) -> list[Word]:
    """Return the word to follow in each text: the one named, else the last that all share.

    A word that stands first, where a causal model sees nothing before it, is never chosen; content words go
    before function words. Raises `InputError` where no word is left, or the one named stands first.
    """
    if name is not None:
        found = [find(of_text, name) for of_text in words]
        for model, text, word in zip(models, texts, found, strict=True):
            if _first(model, word):
                raise InputError(
                    f"{word.text!r:.60} is the first token of {text!r:.80} and {model.name} is causal: it "
                    "sees nothing but itself; put a word before it, or follow another word"
                )
        return found
    followed = [
        {w.text.casefold(): w for w in of_text if not _first(model, w)}
        for model, of_text in zip(models, words, strict=True)
    ]
    shared = [key for key in followed[0] if all(key in other for other in followed)]
    if not shared:
        texts = tuple(dict.fromkeys(texts))
        what, give = ("texts share", "texts") if len(texts) > 1 else ("text has", "a text")
        raise InputError(
            f"the {what} no word with another before it: "
            + ", ".join(f"{text!r:.80}" for text in texts)
            + f"; give {give} with one that is not first"
        )
    content = [key for key in shared if key not in function_words()] or shared
    last = max(content, key=lambda key: followed[0][key].start)
    return [of_text[last] for of_text in followed]


def _first(model: Model, word: Word) -> bool:
    """Whether ``word`` begins a text for a model that does not look ahead, so that nothing can change it."""
    return bool(model.config.causal) and word.start == 0


def unit(rows: Floats) -> Wide:
    """Return the directions (..., d) of vectors (..., d), of length 1; zeros stay zeros.

    >>> unit(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    wide = rows.astype(np.float64)
    lengths = np.linalg.norm(wide, axis=-1, keepdims=True)
    directions: Wide = np.divide(wide, lengths, out=np.zeros_like(wide), where=lengths > 0)
    return directions
