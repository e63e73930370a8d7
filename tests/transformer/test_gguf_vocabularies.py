"""The tokenizers GGUF files describe, byte-level or SentencePiece, beside transformers and plain loops."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers
from hypothesis import given, settings
from tokenizers import AddedToken, Regex, models, pre_tokenizers
from vocabularies import (
    BYTE_MERGES,
    BYTE_TOKENS,
    PIECES,
    SP_SCORES,
    SP_TOKENS,
    SP_TYPES,
    TEXT,
    opened,
    theirs,
)

from riverhead.errors import InputError, ModelError
from riverhead.inspection.words import words_read
from riverhead.transformer.gguf import Header
from riverhead.transformer.gguf_tokenizer import tokenizer_from
from riverhead.transformer.tokens import Tokenizer


def from_gguf(folder: Path, **metadata: Any) -> Tokenizer:
    named = {f"tokenizer.ggml.{name}": value for name, value in metadata.items()}
    return opened(folder, *tokenizer_from(Header(Path("x.gguf"), named, {})))


def byte_level(pre: str, **more: Any) -> dict[str, Any]:
    types = np.array([1] * (len(BYTE_TOKENS) - 1) + [3])
    return {
        "model": "gpt2", "pre": pre, "tokens": BYTE_TOKENS, "merges": BYTE_MERGES, "token_type": types,
        "bos_token_id": len(BYTE_TOKENS) - 1, **more,
    }  # fmt: skip


def sentencepiece(**more: Any) -> dict[str, Any]:
    scores, types = np.array(SP_SCORES), np.array(SP_TYPES)
    given = {"model": "llama", "tokens": SP_TOKENS, "scores": scores, "token_type": types}
    return given | {"bos_token_id": 1, "eos_token_id": 2} | more


@pytest.mark.oracle
@given(text=TEXT)
@settings(max_examples=100, deadline=None)
def test_qwen_from_gguf_is_qwen(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    folder = tmp_path_factory.getbasetemp()
    ours = made("qwen2", folder)
    assert ours.ids(text) == theirs("Qwen2")(text)["input_ids"]


@cache
def made(pre: str, folder: Path) -> Tokenizer:
    return from_gguf(folder, **byte_level(pre))


@pytest.mark.oracle
@given(text=TEXT)
@settings(max_examples=100, deadline=None)
def test_llama_3_from_gguf_is_cut_as_llama_3_cuts(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    pytest.importorskip("transformers", reason="Llama 3's regex: needs the [oracle] extra")
    from transformers.integrations.gguf.gguf_tokenizer_mapping import GGUF_PRE_TOKENIZER_SPLITS

    expected = tokenizers.Tokenizer(
        models.BPE(
            {token: i for i, token in enumerate(BYTE_TOKENS)},
            [tuple(merge.split(" ")) for merge in BYTE_MERGES],
            ignore_merges=True,
        )
    )
    split = pre_tokenizers.Split(Regex(GGUF_PRE_TOKENIZER_SPLITS["llama-bpe"]), "isolated")
    expected.pre_tokenizer = pre_tokenizers.Sequence(
        [split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    expected.add_special_tokens([AddedToken("<|end|>", normalized=False)])
    ids = made("llama-bpe", tmp_path_factory.getbasetemp()).ids(text)
    assert ids == [len(BYTE_TOKENS) - 1, *expected.encode(text).ids]  # llama.cpp puts the first token there


def test_a_piece_that_is_a_token_is_one_in_llama_3_alone(tmp_path: Path) -> None:
    tokens = [*BYTE_TOKENS[:-1], "hen", "<|end|>"]
    more = {"tokens": tokens, "token_type": np.array([1] * (len(tokens) - 1) + [3])}
    hen = tokens.index("hen")
    for pre, expected in (("llama-bpe", [hen]), ("qwen2", [tokens.index("he"), tokens.index("n")])):
        tokenizer = from_gguf(tmp_path, **byte_level(pre) | more | {"add_bos_token": False})
        assert tokenizer.ids("hen") == expected


def plainly_cut(text: str) -> list[int]:
    """SentencePiece's rule: join the two neighbours whose token scores best, the first of equals."""
    symbols = list("▁" + text.replace(" ", "▁")) if text else []
    score = dict(zip(PIECES, SP_SCORES[259:], strict=True))
    while True:
        joined = [a + b for a, b in pairwise(symbols)]
        best = max((score[pair] for pair in joined if pair in score), default=None)
        if best is None:
            break
        at = next(i for i, pair in enumerate(joined) if score.get(pair) == best)
        symbols[at : at + 2] = [joined[at]]
    ids = []
    for symbol in symbols:
        known = symbol in SP_TOKENS
        ids += [SP_TOKENS.index(symbol)] if known else [3 + byte for byte in symbol.encode()]
    return ids


@given(text=TEXT.filter(lambda text: "<" not in text))
@settings(max_examples=200, deadline=None)
def test_sentencepiece_from_gguf_joins_what_scores_best(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    ids = spelled(tmp_path_factory.getbasetemp()).ids(text)
    assert ids == [1, *plainly_cut(text)]


@cache
def spelled(folder: Path) -> Tokenizer:
    return from_gguf(folder, **sentencepiece())


@pytest.mark.oracle
@given(text=TEXT.filter(lambda text: "<" not in text and not text.startswith((" ", "▁"))))
@settings(max_examples=100, deadline=None)
def test_sentencepiece_from_gguf_is_llama_s(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    """But for a space at the start, which transformers takes for the one it would put there."""
    assert spelled(tmp_path_factory.getbasetemp()).ids(text) == theirs("Llama")(text)["input_ids"]


def test_sentencepiece_as_a_reader_sees_it(tmp_path: Path) -> None:
    tokenizer = from_gguf(tmp_path, **sentencepiece())
    text = "the  é🌊</s>the"
    ids, places = tokenizer.offsets(text)
    assert tokenizer.pieces(ids) == (
        "<s>", " the", "  ", "é", "\\xf0", "\\x9f", "\\x8c", "\\x8a", "</s>", " the"
    )  # fmt: skip
    assert places[1:] == [(0, 3), (3, 5), (5, 6), *[(6, 7)] * 4, (7, 11), (11, 14)]
    assert tokenizer.decode(ids[1:8]) == "the  é🌊"
    assert (tokenizer.special_ids, tokenizer.bos_id, tokenizer.eos_id) == ({1, 2}, 1, 2)
    assert [w.text for w in words_read(tokenizer, text, ids)] == ["the", "é", "the"]
    with pytest.raises(InputError, match="token 999: the vocabulary ends at"):
        tokenizer.decode([999])


@pytest.mark.parametrize(
    ("switches", "expected"),
    [
        ({}, ["<s>", "▁the"]),
        ({"add_bos_token": False}, ["▁the"]),
        ({"add_eos_token": True}, ["<s>", "▁the", "</s>"]),
        ({"add_space_prefix": False}, ["<s>", "the"]),
    ],
)
def test_switches_of_sentencepiece(tmp_path: Path, switches: dict[str, bool], expected: list[str]) -> None:
    tokenizer = from_gguf(tmp_path, **sentencepiece(**switches))
    assert tokenizer.ids("the") == [SP_TOKENS.index(token) for token in expected]
    assert tokenizer.decode(tokenizer.ids("the")[1:2] or [0]) != ""


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"scores": None}, "metadata tokenizer.ggml.scores is missing"),
        ({"scores": np.array(SP_SCORES[1:])}, "scores have to be 275 finite numbers"),
        ({"scores": np.array([*SP_SCORES[1:], np.nan])}, "scores have to be 275 finite numbers"),
        ({"scores": np.zeros(len(SP_TOKENS))}, r"have the same score -?0.0; which is made first is not said"),
        ({"token_type": np.ones(len(SP_TOKENS))}, r"has no unknown token \(type 2\)"),
        ({"tokens": [*SP_TOKENS[:-1], "a" * 129]}, "a token has 129 letters, at most 128 are read"),
    ],
)
def test_sentencepiece_that_cannot_be_built_exactly(tmp_path: Path, more: dict[str, Any], words: str) -> None:
    with pytest.raises(ModelError, match=f"x.gguf: .*{words}"):
        from_gguf(tmp_path, **sentencepiece(**more))


ODD = ["", 0, -1, 0.5, True, [], ["a"], np.array([7, 7]), np.zeros(0), np.zeros(len(SP_TOKENS)), None]


def test_any_metadata_is_read_or_refused() -> None:
    for metadata in (sentencepiece(), byte_level("llama-bpe"), byte_level("qwen2")):
        whole = {f"tokenizer.ggml.{name}": value for name, value in metadata.items()}
        for key in whole:
            for value in ODD:
                with suppress(ModelError):  # anything else would be a fault of ours
                    tokenizer_from(Header(Path("x.gguf"), whole | {key: value}, {}))
