"""Text to token ids and back: byte-level BPE, built from a GGUF file's own vocabulary and merges."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import tokenizers
from tokenizers import AddedToken, decoders, models, pre_tokenizers, processors

from riverhead.errors import InputError, ModelError

if TYPE_CHECKING:
    from riverhead.transformer.gguf import Header  # whose gguf package a converted model does not need

__all__ = ["Tokenizer", "tokenizer_from"]

CONTROL, USER_DEFINED = 3, 4  # token types of https://github.com/ggml-org/ggml/blob/master/docs/gguf.md

# How a text is cut before any merge. The file gives a name alone; what it stands for is the model's own
# tokenizer.json (SmolLM2: Digits, then ByteLevel) and llama.cpp's regex of the same name (digits first, too).
# transformers 5.24 does not know "smollm" and leaves digits uncut, which glues double spaces before them.
PRE_TOKENIZERS: dict[str, list[Any]] = {
    "gpt-2": [pre_tokenizers.ByteLevel(add_prefix_space=False)],
    "smollm": [
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False),
    ],
}


def _byte_letters() -> dict[str, int]:
    """GPT-2's spelling of bytes: printable Latin-1 as itself, the others as U+0100 and on, in order."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + i): byte for i, byte in enumerate(others)}


BYTE_OF = _byte_letters()


class Tokenizer:
    """The tokenizer of a converted model.

    ``bos_id`` begins a text and ``eos_id`` ends one; ``special_ids`` stand for no text.
    """

    def __init__(self, path: Path, text: dict[str, Any]) -> None:
        try:
            self._backend = tokenizers.Tokenizer.from_file(str(path))
            self.bos_id: int | None = text["bos_id"]
            self.eos_id: int | None = text["eos_id"]
            self.chat_template: str | None = text["chat_template"]
        except Exception as error:  # the package raises nothing narrower
            raise ModelError(f"{path}: not a tokenizer: {error}; convert the model again") from error
        added = self._backend.get_added_tokens_decoder()
        self.special_ids = frozenset(index for index, token in added.items() if token.special)
        self._literal = frozenset(added)
        self._missing = {b for letter, b in BYTE_OF.items() if self._backend.token_to_id(letter) is None}

    def ids(self, text: str, *, add_bos: bool = True) -> list[int]:
        """Return the token ids of ``text``, with the model's first token before them where it wants one.

        Raises `InputError` naming a character the vocabulary cannot spell; the package would drop it.
        """
        try:
            lost = self._missing.intersection(text.encode())
        except UnicodeEncodeError as error:
            raise InputError(f"the text cannot be written as UTF-8: {error}") from error
        if lost:
            odd = next(letter for letter in text if lost.intersection(letter.encode()))
            raise InputError(f"the vocabulary has no token for {odd!r} (U+{ord(odd):04X}): take it out")
        ids: list[int] = self._backend.encode(text, add_special_tokens=add_bos).ids
        return ids

    def spelled(self, token_id: int) -> bytes:
        """Return the bytes a token stands for; one token may be only part of a character."""
        token = self._backend.id_to_token(token_id)
        if token is None:
            raise InputError(f"token {token_id}: the vocabulary ends at {self._backend.get_vocab_size() - 1}")
        if token_id in self._literal:
            return str(token).encode()
        return bytes(BYTE_OF[letter] for letter in token)

    def pieces(self, token_ids: Iterable[int]) -> tuple[str, ...]:
        """Return each token as it is shown: ``" river"``; bytes that are no whole character as ``\\xf0``."""
        return tuple(self.spelled(token_id).decode("utf-8", "backslashreplace") for token_id in token_ids)

    def decode(self, token_ids: Iterable[int]) -> str:
        """Return the text of ``token_ids``; bytes that never become a character show as U+FFFD."""
        return b"".join(map(self.spelled, token_ids)).decode("utf-8", "replace")

    def id_of(self, token: str) -> int:
        """Return the id of a text that is exactly one token."""
        ids = self.ids(token, add_bos=False)
        if len(ids) != 1:
            raise InputError(f"{token!r} is {len(ids)} tokens {self.pieces(ids)}, it has to be one")
        return ids[0]


def tokenizer_from(header: Header) -> tuple[tokenizers.Tokenizer, dict[str, Any]]:
    """Build the tokenizer a GGUF header describes, and the facts about texts that go with it."""
    kind, cut = header.get("tokenizer.ggml.model", str), header.get("tokenizer.ggml.pre", str, "gpt-2")
    if kind != "gpt2" or cut not in PRE_TOKENIZERS:
        raise ModelError(
            f"{header.path.name}: tokenizer {kind!r} with pre-tokenizer {cut!r}; read is 'gpt2' "
            f"with one of {sorted(PRE_TOKENIZERS)}"
        )
    tokens: list[str] = header.get("tokenizer.ggml.tokens", list)
    types = header.get("tokenizer.ggml.token_type", np.ndarray, np.ones(len(tokens)))
    added = {i for i, kind in enumerate(types) if kind in (CONTROL, USER_DEFINED)}
    _check_vocabulary(header, tokens, types, added)
    merges = [tuple(merge.split(" ")) for merge in header.get("tokenizer.ggml.merges", list)]
    try:
        backend = tokenizers.Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, merges))
    except Exception as error:  # the package raises nothing narrower
        raise ModelError(
            f"{header.path.name}: tokenizer.ggml.merges do not fit the tokens: {error}"
        ) from error
    backend.pre_tokenizer = pre_tokenizers.Sequence(PRE_TOKENIZERS[cut])
    backend.decoder = decoders.ByteLevel()
    backend.add_tokens(
        [AddedToken(tokens[i], normalized=False, special=bool(types[i] == CONTROL)) for i in sorted(added)]
    )
    text = {
        "bos_id": _token_id(header, "bos", len(tokens)),
        "eos_id": _token_id(header, "eos", len(tokens)),
        "chat_template": header.get("tokenizer.chat_template", str, "") or None,
    }
    if (first := text["bos_id"]) is not None and header.get("tokenizer.ggml.add_bos_token", bool, False):
        name = tokens[first]
        backend.post_processor = processors.TemplateProcessing(
            single=[name, "$A"], special_tokens=[(name, first)]
        )
    return backend, text


def _check_vocabulary(header: Header, tokens: list[str], types: Any, added: set[int]) -> None:
    name = header.path.name
    if len(types) != len(tokens):
        raise ModelError(f"{name}: {len(tokens)} tokens, but token_type has {len(types)}; each token has one")
    if not all(isinstance(token, str) and token for token in tokens) or len(set(tokens)) < len(tokens):
        raise ModelError(f"{name}: tokenizer.ggml.tokens has an empty token, a repeated one or none")
    letters = BYTE_OF.keys()
    odd = next((i for i, token in enumerate(tokens) if i not in added and not letters >= set(token)), None)
    if odd is not None:
        raise ModelError(f"{name}: token {odd} {tokens[odd]!r} is not spelled in GPT-2's byte letters")


def _token_id(header: Header, name: str, n_tokens: int) -> int | None:
    key = f"tokenizer.ggml.{name}_token_id"
    if key not in header.metadata:
        return None
    token_id: int = header.get(key, int)
    if not 0 <= token_id < n_tokens:
        raise ModelError(f"{header.path.name}: {key} is {token_id}, the vocabulary has {n_tokens} tokens")
    return token_id
