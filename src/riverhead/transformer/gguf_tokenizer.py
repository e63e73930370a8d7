"""The tokenizer a GGUF file describes, built from its own vocabulary and merges."""

from __future__ import annotations

from typing import Any

import numpy as np
import tokenizers
from tokenizers import AddedToken, decoders, models, pre_tokenizers, processors

from riverhead.errors import ModelError
from riverhead.transformer.gguf import Header
from riverhead.transformer.tokens import BYTE_OF

__all__ = ["tokenizer_from"]

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
