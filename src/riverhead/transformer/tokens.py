"""Text to token ids and back, for the three ways vocabularies spell: bytes, SentencePiece, WordPiece."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import tokenizers

from riverhead.errors import InputError, ModelError

__all__ = ["BYTE_OF", "Tokenizer", "spelling_of"]

Span = tuple[int, int]


def _byte_letters() -> dict[str, int]:
    """GPT-2's spelling of bytes: printable Latin-1 as itself, the others as U+0100 and on, in order."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + i): byte for i, byte in enumerate(others)}


BYTE_OF = _byte_letters()
FALLBACK = {f"<0x{byte:02X}>": byte for byte in range(256)}  # SentencePiece's tokens of single bytes


def _bytes_of_letters(token: str) -> bytes:
    return bytes(BYTE_OF[letter] for letter in token) if BYTE_OF.keys() >= set(token) else token.encode()


def _bytes_of_sentencepiece(token: str) -> bytes:
    return bytes([FALLBACK[token]]) if token in FALLBACK else token.replace("▁", " ").encode()


SPELLINGS: dict[str, Callable[[str], bytes]] = {
    "bytes": _bytes_of_letters,
    "sentencepiece": _bytes_of_sentencepiece,
    "wordpiece": str.encode,  # as the vocabulary has it: "##ing" may stand for "ing", "ING" or "Íng"
}
STEPS = {"Replace", "ByteFallback", "Fuse", "Strip", "Metaspace"}  # of decoders that undo SentencePiece


def spelling_of(backend: tokenizers.Tokenizer) -> str | None:
    """Return which of the three ways the vocabulary spells, from what undoes it; None: another way."""
    decoder = json.loads(backend.decoder.__getstate__()) if backend.decoder else {}
    steps = {step["type"] for step in decoder.get("decoders", [decoder]) if step}
    if steps == {"ByteLevel"}:
        return "bytes"
    if steps == {"WordPiece"}:
        return "wordpiece"
    return "sentencepiece" if steps and steps <= STEPS else None


class Tokenizer:
    """The tokenizer of a converted model; it never cuts a text short, and never pads one.

    ``bos_id`` begins a text and ``eos_id`` ends one; ``special_ids`` stand for no text, where the token for
    what a vocabulary does not know stands for some.
    """

    def __init__(self, path: Path, text: dict[str, Any]) -> None:
        try:
            self._backend = tokenizers.Tokenizer.from_file(str(path))
            self.bos_id: int | None = text["bos_id"]
            self.eos_id: int | None = text["eos_id"]
            self.chat_template: str | None = text["chat_template"]
            self._spelling = spelling_of(self._backend)
            self._bytes_of = SPELLINGS[str(self._spelling)]
        except Exception as error:  # the package raises nothing narrower
            raise ModelError(f"{path}: not a tokenizer: {error}; convert the model again") from error
        self._backend.no_truncation()
        self._backend.no_padding()
        added = self._backend.get_added_tokens_decoder()
        special = {index for index, token in added.items() if token.special}
        self.special_ids = frozenset(special - {text.get("unknown_id")})
        self._literal = frozenset(added)
        letters = BYTE_OF.items() if self._spelling == "bytes" else ()
        self._missing = {byte for letter, byte in letters if self._backend.token_to_id(letter) is None}

    def ids(self, text: str, *, add_bos: bool = True) -> list[int]:
        """Return the token ids of ``text``, with the model's special tokens around them where it wants some.

        Raises `InputError` naming a character the vocabulary cannot spell; the package would drop it.
        """
        return self.offsets(text, add_bos=add_bos)[0]

    def offsets(self, text: str, *, add_bos: bool = True) -> tuple[list[int], list[Span]]:
        """Return the token ids of ``text`` and the characters ``[start, stop)`` each stands for.

        Half a character counts as one; what the model puts around every text stands for none: ``(0, 0)``.
        """
        try:
            lost = self._missing.intersection(text.encode())
        except UnicodeEncodeError as error:
            raise InputError(f"the text cannot be written as UTF-8: {error}") from error
        if lost:
            odd = next(letter for letter in text if lost.intersection(letter.encode()))
            raise InputError(f"the vocabulary has no token for {odd!r} (U+{ord(odd):04X}): take it out")
        encoding = self._backend.encode(text, add_special_tokens=add_bos)
        return encoding.ids, encoding.offsets

    def spelled(self, token_id: int) -> bytes:
        """Return the bytes a token stands for; one token may be only part of a character.

        A WordPiece token stands for what was lower-cased and stripped of accents, so it is as the vocabulary
        has it, ``b"##ing"``: where it stands in the text is told by `offsets`.
        """
        token = self._backend.id_to_token(token_id)
        if token is None:
            raise InputError(f"token {token_id}: the vocabulary ends at {self._backend.get_vocab_size() - 1}")
        return str(token).encode() if token_id in self._literal else self._bytes_of(str(token))

    def pieces(self, token_ids: Iterable[int]) -> tuple[str, ...]:
        """Return each token as it is shown: ``" river"``; bytes that are no whole character as ``\\xf0``.

        WordPiece has its own way, kept: ``"flood", "##ing"`` is one word, ``"river", "bank"`` are two.
        """
        return tuple(self.spelled(token_id).decode("utf-8", "backslashreplace") for token_id in token_ids)

    def decode(self, token_ids: Iterable[int]) -> str:
        """Return the text of ``token_ids``; bytes that never become a character show as U+FFFD."""
        if self._spelling == "bytes":
            return b"".join(map(self.spelled, token_ids)).decode("utf-8", "replace")
        ids = list(token_ids)
        self.pieces(ids)  # refuses what is no token; the package would drop it
        return str(self._backend.decode(ids, skip_special_tokens=False))

    def id_of(self, token: str) -> int:
        """Return the id of a text that is exactly one token."""
        ids = self.ids(token, add_bos=False)
        if len(ids) != 1:
            raise InputError(f"{token!r} is {len(ids)} tokens {self.pieces(ids)}, it has to be one")
        return ids[0]
