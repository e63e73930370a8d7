"""Small vocabularies of each kind, texts for them, and the tokenizers transformers makes of them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from checkpoint_files import WORDS
from hypothesis import strategies as st

from riverhead.transformer.tokens import BYTE_OF, FALLBACK, Tokenizer

BYTE_MERGES = ["h e", "Ġ t", "Ġt he", "i s", "1 2", "12 3", "Ċ Ċ", "' s", "Ġ Ġ", "Ã ©", "e Ì", "s s"]
BYTE_TOKENS = [*BYTE_OF, *(merge.replace(" ", "") for merge in BYTE_MERGES), "<|end|>"]
# SentencePiece: every token of two letters or more can be made of two others, and has a score of its own.
PIECES = ["▁", *"abthe", "▁t", "he", "▁the", "ab", "th", "▁▁", "é", "the", "▁a", "aab"]
SP_TOKENS = ["<unk>", "<s>", "</s>", *FALLBACK, *PIECES]
SP_TYPES = [2, 3, 3, *[6] * 256, *[1] * len(PIECES)]
SP_SCORES = [0.0] * 259 + [-float(n) for n in range(len(PIECES))]

# What the vocabularies above have, what they have not, and what is cut in a way of its own.
TEXT = st.text(st.sampled_from("theab12 3\n\té'sÉß🌊½.,!中e\u0301"), max_size=23) | st.text(max_size=11)


def opened(folder: Path, backend: tokenizers.Tokenizer, text: dict[str, Any]) -> Tokenizer:
    backend.save(str(folder / "converted.json"))
    return Tokenizer(folder / "converted.json", text)


def merges_of(scored: dict[str, float]) -> list[tuple[str, str]]:
    best = sorted(scored, key=lambda token: -scored[token])
    return [
        (t[:at], t[at:]) for t in best for at in range(1, len(t)) if t[:at] in scored and t[at:] in scored
    ]


@cache
def theirs(kind: str) -> Any:
    transformers = pytest.importorskip("transformers", reason="tokenizers: needs the [oracle] extra")
    byte_level = {
        "vocab": {token: i for i, token in enumerate(BYTE_TOKENS)},
        "merges": [tuple(merge.split(" ")) for merge in BYTE_MERGES],
        "eos_token": "<|end|>",
        "unk_token": "<|end|>",
    }
    if kind == "GPT2":
        return transformers.GPT2Tokenizer(**byte_level, bos_token="<|end|>")
    if kind == "Qwen2":
        return transformers.Qwen2Tokenizer(**byte_level, pad_token="<|end|>")
    if kind == "Llama":
        scores = dict(zip(PIECES, SP_SCORES[259:], strict=True))
        vocabulary = {token: i for i, token in enumerate(SP_TOKENS)}
        return transformers.LlamaTokenizer(vocab=vocabulary, merges=merges_of(scores), add_bos_token=True)
    words = ["[PAD]", "[MASK]", *WORDS, "é", "e", "##he", "##b", "1", "##2"]
    return transformers.BertTokenizer(vocab={word: i for i, word in enumerate(words)})
