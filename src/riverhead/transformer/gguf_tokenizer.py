"""The tokenizer a GGUF file describes, built from its own vocabulary: byte-level BPE, or SentencePiece's."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import tokenizers
from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers, processors

from riverhead.errors import ModelError
from riverhead.transformer.gguf import Header
from riverhead.transformer.tokens import BYTE_OF

__all__ = ["tokenizer_from"]

# Token types of https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
UNKNOWN, CONTROL, USER_DEFINED = 2, 3, 4
PIECE_LETTERS = 128  # of a SentencePiece token that is put together from others; in use are 16 to 64


@dataclass(frozen=True, slots=True)
class Cut:
    """How a text is cut before any merge, and what else goes with the name of it."""

    steps: tuple[Any, ...]
    normalizer: Any = None
    ignore_merges: bool = False  # a piece that is a token is one, whatever its merges
    add_bos: bool = False  # where the file does not say


def _split(pattern: str) -> tuple[Any, ...]:
    whole = pre_tokenizers.Split(Regex(pattern), behavior="isolated")
    return whole, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)


GPT2 = pre_tokenizers.ByteLevel(add_prefix_space=False)
LETTERS_AND_SIGNS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|%s"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
LLAMA3 = Cut(_split(LETTERS_AND_SIGNS % r"\p{N}{1,3}"), ignore_merges=True, add_bos=True)

# The file gives a name alone; what it stands for is the models' own tokenizer.json (SmolLM2: Digits, then
# ByteLevel; Llama 3 and Qwen2: a regex, and NFC for Qwen2) and llama.cpp's src/llama-vocab.cpp.
# transformers 5.24 does not know "smollm" and leaves digits uncut, which glues double spaces before them.
CUTS = {
    "gpt-2": Cut((GPT2,)),
    "smollm": Cut((pre_tokenizers.Digits(individual_digits=True), GPT2)),
    "llama-bpe": LLAMA3,
    "llama-v3": LLAMA3,
    "llama3": LLAMA3,
    "qwen2": Cut(_split(LETTERS_AND_SIGNS % r"\p{N}"), normalizers.NFC()),
}


def tokenizer_from(header: Header) -> tuple[tokenizers.Tokenizer, dict[str, Any]]:
    """Build the tokenizer a GGUF header describes, and the facts about texts that go with it."""
    kind, name = header.get("tokenizer.ggml.model", str), header.get("tokenizer.ggml.pre", str, "gpt-2")
    if kind != "llama" and (kind != "gpt2" or name not in CUTS):
        raise ModelError(
            f"{header.path.name}: tokenizer {kind!r:.60} with pre-tokenizer {name!r:.60}; read are 'llama', "
            f"and 'gpt2' with one of {', '.join(CUTS)}"
        )
    cut = Cut((), add_bos=True) if kind == "llama" else CUTS[name]
    tokens: list[str] = header.get("tokenizer.ggml.tokens", list)
    types = header.get("tokenizer.ggml.token_type", np.ndarray, np.ones(len(tokens)))
    special = {i for i, kind in enumerate(types) if kind in (UNKNOWN, CONTROL)}
    added = special | {i for i, kind in enumerate(types) if kind == USER_DEFINED}
    _check_vocabulary(header, tokens, types)
    if kind == "llama":
        unknown_id = next((i for i, kind in enumerate(types) if kind == UNKNOWN), None)
        backend = _sentencepiece(header, tokens, added, unknown_id)
    else:
        unknown_id, backend = None, _byte_level(header, tokens, added, cut)
    backend.add_tokens([AddedToken(tokens[i], normalized=False, special=i in special) for i in sorted(added)])
    text = {
        "bos_id": _token_id(header, "bos", len(tokens)),
        "eos_id": _token_id(header, "eos", len(tokens)),
        "unknown_id": unknown_id,
        "chat_template": header.get("tokenizer.chat_template", str, "") or None,
    }
    _surround(header, backend, tokens, text, cut.add_bos)
    return backend, text


def _byte_level(header: Header, tokens: list[str], added: Collection[int], cut: Cut) -> tokenizers.Tokenizer:
    letters = BYTE_OF.keys()
    odd = next((i for i, token in enumerate(tokens) if i not in added and not letters >= set(token)), None)
    if odd is not None:
        raise ModelError(
            f"{header.path.name}: token {odd} {tokens[odd]!r} is not spelled in GPT-2's byte letters"
        )
    merges = [tuple(merge.split(" ")) for merge in header.get("tokenizer.ggml.merges", list)]
    backend = _bpe(header, tokens, merges, ignore_merges=cut.ignore_merges)
    if cut.normalizer is not None:
        backend.normalizer = cut.normalizer
    backend.pre_tokenizer = pre_tokenizers.Sequence(list(cut.steps))
    backend.decoder = decoders.ByteLevel()
    return backend


def _sentencepiece(
    header: Header, tokens: list[str], added: Collection[int], unknown_id: int | None
) -> tokenizers.Tokenizer:
    """SentencePiece's BPE has scores for merges: of all neighbours, those whose token scores best are joined.

    Spaces are as in Llama 2's own tokenizer.json, and in llama.cpp: one goes before each text.
    """
    name = header.path.name
    if unknown_id is None:
        raise ModelError(f"{name}: tokenizer.ggml.token_type has no unknown token (type {UNKNOWN})")
    scores = header.get("tokenizer.ggml.scores", np.ndarray)
    if scores.shape != (len(tokens),) or scores.dtype.kind not in "fiu" or not np.isfinite(scores).all():
        raise ModelError(f"{name}: tokenizer.ggml.scores have to be {len(tokens)} finite numbers")
    merges = _merges(name, [t if i not in added else "" for i, t in enumerate(tokens)], scores.tolist())
    backend = _bpe(header, tokens, merges, unk_token=tokens[unknown_id], fuse_unk=True, byte_fallback=True)
    before = [normalizers.Prepend("▁")] if header.get("tokenizer.ggml.add_space_prefix", bool, True) else []
    backend.normalizer = normalizers.Sequence([*before, normalizers.Replace(" ", "▁")])
    after = [decoders.Strip(" ", 1, 0)] if before else []
    backend.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), *after]
    )
    return backend


def _merges(name: str, tokens: list[str], scores: list[float]) -> list[tuple[str, str]]:
    """Every way to put a token together from two, best score first, and the longest beginning first."""
    known, merges = frozenset(tokens) - {""}, []
    for token, score in zip(tokens, scores, strict=True):
        if len(token) > PIECE_LETTERS:
            raise ModelError(f"{name}: a token has {len(token)} letters, at most {PIECE_LETTERS} are read")
        splits = ((token[:at], token[at:]) for at in range(1, len(token)))
        merges += [(score, first, second) for first, second in splits if known.issuperset((first, second))]
    merges.sort(key=lambda merge: (-merge[0], -len(merge[1]), merge[1], merge[2]))
    for (one, *parts), (other, *others) in pairwise(merges):
        if one == other and "".join(parts) != "".join(others):
            raise ModelError(
                f"{name}: tokens {''.join(parts)!r} and {''.join(others)!r} have the same score {one}; which "
                "is made first is not said, so texts cannot be cut exactly"
            )
    return [(first, second) for _, first, second in merges]


def _bpe(header: Header, tokens: list[str], merges: list[Any], **options: Any) -> tokenizers.Tokenizer:
    vocabulary = {token: i for i, token in enumerate(tokens)}
    try:
        return tokenizers.Tokenizer(models.BPE(vocabulary, merges, **options))
    except Exception as error:  # the package raises nothing narrower
        raise ModelError(
            f"{header.path.name}: tokenizer.ggml.merges do not fit the tokens: {error}"
        ) from error


def _surround(
    header: Header, backend: tokenizers.Tokenizer, tokens: list[str], text: dict[str, Any], add_bos: bool
) -> None:
    """Put the first and the last token around every text, where the file or the kind wants one."""
    wanted = {"bos": add_bos, "eos": False}
    ids = {
        name: text[f"{name}_id"]
        for name, default in wanted.items()
        if header.get(f"tokenizer.ggml.add_{name}_token", bool, default) and text[f"{name}_id"] is not None
    }
    if ids:
        template = [tokens[ids["bos"]]] if "bos" in ids else []
        template += ["$A", *([tokens[ids["eos"]]] if "eos" in ids else [])]
        special = sorted({(tokens[i], i) for i in ids.values()})
        backend.post_processor = processors.TemplateProcessing(single=template, special_tokens=special)


def _check_vocabulary(header: Header, tokens: list[str], types: Any) -> None:
    name = header.path.name
    if len(types) != len(tokens):
        raise ModelError(f"{name}: {len(tokens)} tokens, but token_type has {len(types)}; each token has one")
    if not all(isinstance(token, str) and token for token in tokens) or len(set(tokens)) < len(tokens):
        raise ModelError(f"{name}: tokenizer.ggml.tokens has an empty token, a repeated one or none")


def _token_id(header: Header, name: str, n_tokens: int) -> int | None:
    key = f"tokenizer.ggml.{name}_token_id"
    if key not in header.metadata:
        return None
    token_id: int = header.get(key, int)
    if not 0 <= token_id < n_tokens:
        raise ModelError(f"{header.path.name}: {key} is {token_id}, the vocabulary has {n_tokens} tokens")
    return token_id
