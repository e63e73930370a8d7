"""A head of a real model as the same derivation as on the whiteboard."""

from __future__ import annotations

from riverhead.derivation import Derivation, derive
from riverhead.inspection.words import Word, find, words_read
from riverhead.transformer import HeadName, Reading

__all__ = ["head_derivation"]


def head_derivation(reading: Reading, head: HeadName, focus: Word | str) -> Derivation:
    """Derive what one head does for one word: its row of scores, weights and the output, over all it can see.

    A word of several tokens asks with its last one; where the model is bidirectional it sees the later ones
    too, and with a window only the nearest. Raises `InputError` naming the head or the word.
    """
    chosen = reading.head(head)
    if isinstance(focus, str):
        focus = find(words_read(reading.model.tokenizer, reading.text, reading.token_ids), focus)
    asking, seen = slice(focus.last, focus.stop), chosen.seen(focus.last)
    return derive(
        chosen.q[asking],  # (1, d_k)
        chosen.k[seen],  # (T_k, d_k)
        chosen.v[seen],  # (T_k, d_v)
        tokens=list(reading.tokens[asking]),
        tokens_k=list(reading.tokens[seen]),
        scale=chosen.scale,
        title=chosen.name,
    )
