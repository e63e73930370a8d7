"""The tokenizers of other models: bytes, SentencePiece and WordPiece, beside transformers and plain loops."""

from __future__ import annotations

import json
from contextlib import suppress
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers
from checkpoint_files import WORDS, wordpiece, write_folder
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Regex, decoders, models, pre_tokenizers

from riverhead.errors import InputError, ModelError
from riverhead.inspection.words import words_read
from riverhead.transformer import open_model
from riverhead.transformer.convert import convert
from riverhead.transformer.gguf import Header
from riverhead.transformer.gguf_tokenizer import tokenizer_from
from riverhead.transformer.json_tokenizer import tokenizer_of
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


def read(folder: Path, config: dict[str, Any] | None = None) -> Tokenizer:
    """What riverhead makes of the tokenizer in a folder."""
    file = folder / "tokenizer_config.json"
    facts = json.loads(file.read_text()) if file.exists() else {}
    return opened(folder, *tokenizer_of(folder / "tokenizer.json", config or {}, facts, None))


# ---------------------------------------------------------------- tokenizer.json, against transformers


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


@pytest.mark.oracle
@pytest.mark.parametrize("kind", ["GPT2", "Qwen2", "Llama", "Bert"])
@given(text=TEXT)
@settings(max_examples=100, deadline=None)
def test_ids_and_places_are_transformers(
    tmp_path_factory: pytest.TempPathFactory, kind: str, text: str
) -> None:
    folder = tmp_path_factory.getbasetemp() / f"theirs-{kind}"
    if not folder.exists():
        theirs(kind).save_pretrained(folder)
    expected = theirs(kind)(text, return_offsets_mapping=True)
    ids, places = saved(folder).offsets(text)
    assert ids == expected["input_ids"]
    assert places == expected["offset_mapping"]
    if kind != "Bert":
        assert saved(folder).decode(ids) == theirs(kind).decode(ids, clean_up_tokenization_spaces=False)


saved = cache(read)


@pytest.mark.oracle
@pytest.mark.parametrize("flags", [{}, {"add_bos_token": False, "add_eos_token": True}])
def test_what_stands_around_a_text_is_tokenizer_json_s(tmp_path: Path, flags: dict[str, bool]) -> None:
    transformers = pytest.importorskip("transformers", reason="what stands around: needs the [oracle] extra")
    theirs("Llama").save_pretrained(tmp_path)
    file = tmp_path / "tokenizer_config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | flags))
    expected = transformers.AutoTokenizer.from_pretrained(tmp_path)("the ab")["input_ids"]
    assert read(tmp_path).ids("the ab") == expected


# ---------------------------------------------------------------- what a folder's tokenizer says


@pytest.fixture
def minilm_like(tmp_path: Path) -> Tokenizer:
    wordpiece().save(str(tmp_path / "tokenizer.json"))
    return read(tmp_path)


def test_word_pieces_are_shown_as_the_vocabulary_has_them(minilm_like: Tokenizer) -> None:
    ids, places = minilm_like.offsets("The RIVER flooded, ok")
    pieces = ("[CLS]", "the", "river", "flood", "##ed", ",", "[UNK]", "[SEP]")
    assert minilm_like.pieces(ids) == pieces
    assert places == [(0, 0), (0, 3), (4, 9), (10, 15), (15, 17), (17, 18), (19, 21), (0, 0)]
    assert minilm_like.spelled(ids[4]) == b"##ed"
    assert minilm_like.decode(ids[1:-1]) == "the river flooded, [UNK]"
    assert minilm_like.special_ids == {1, 2}  # an unknown word is a word
    found = words_read(minilm_like, "The RIVER flooded, ok", ids)
    assert [(w.text, w.start, w.stop) for w in found] == [
        ("The", 1, 2), ("RIVER", 2, 3), ("flooded", 3, 5), ("ok", 6, 7)
    ]  # fmt: skip


def test_accents_that_are_stripped_have_their_place(minilm_like: Tokenizer) -> None:
    text = "ŕíver bänk"
    ids, places = minilm_like.offsets(text)
    assert minilm_like.pieces(ids) == ("[CLS]", "river", "bank", "[SEP]")
    assert [text[slice(*place)] for place in places] == ["", "ŕíver", "bänk", ""]


def test_nothing_is_cut_short_and_nothing_padded(tmp_path: Path) -> None:
    backend = wordpiece()
    backend.enable_truncation(5)
    backend.enable_padding(length=9)
    backend.save(str(tmp_path / "tokenizer.json"))
    assert len(backend.encode("a b " * 7).ids) == 9
    assert len(read(tmp_path).ids("a b " * 7)) == 2 + 14
    assert len(Tokenizer(tmp_path / "tokenizer.json", NO_FACTS).ids("a")) == 3


NO_FACTS = {"bos_id": None, "eos_id": None, "chat_template": None}


@pytest.mark.parametrize(
    ("facts", "config", "ids"),
    [
        ({}, {}, (None, None)),
        ({"bos_token": "[CLS]", "eos_token": {"content": "[SEP]"}}, {}, (1, 2)),
        ({"eos_token": None}, {"bos_token_id": 3, "eos_token_id": [4, 5]}, (3, 4)),
        ({"eos_token": "nowhere"}, {"eos_token_id": 4}, (None, 4)),
        ({"eos_token": 7}, {"bos_token_id": 11, "eos_token_id": -1}, (None, None)),
        ({}, {"bos_token_id": True, "eos_token_id": []}, (None, None)),
    ],
)
def test_first_and_last_tokens(
    tmp_path: Path, facts: dict[str, Any], config: dict[str, Any], ids: tuple[int | None, int | None]
) -> None:
    wordpiece().save(str(tmp_path / "tokenizer.json"))
    _, text = tokenizer_of(tmp_path / "tokenizer.json", config, facts, None)
    assert (text["bos_id"], text["eos_id"]) == ids


TOOL = {"name": "tool", "template": "c"}


@pytest.mark.parametrize(
    ("facts", "template", "found"),
    [
        ({}, None, None),
        ({"chat_template": "a"}, None, "a"),
        ({"chat_template": "a"}, "b", "b"),
        (
            {"chat_template": [{"name": "tool", "template": "c"}, {"name": "default", "template": "d"}]},
            None,
            "d",
        ),
        ({"chat_template": [TOOL, 3]}, None, None),
        ({"chat_template": 3}, None, None),
    ],
)
def test_chat_templates(tmp_path: Path, facts: dict[str, Any], template: str | None, found: str) -> None:
    folder = write_folder(tmp_path)
    (folder / "tokenizer_config.json").write_text(json.dumps(facts))
    if template is not None:
        (folder / "chat_template.jinja").write_text(template)
    convert(folder, folder / "converted")
    assert open_model(folder / "converted").tokenizer.chat_template == found


def changed(model: Any, decoder: Any) -> tokenizers.Tokenizer:
    backend = tokenizers.Tokenizer(model)
    if decoder is not None:
        backend.decoder = decoder
    return backend


SPACES = decoders.Sequence([decoders.Replace("▁", " "), decoders.Fuse()])
LETTERS = {"a": 0, "b": 1, "▁": 2}


@pytest.mark.parametrize(
    ("backend", "words"),
    [
        (changed(models.WordLevel({"a": 0}, "a"), None), "a WordLevel vocabulary with no decoder"),
        (
            changed(models.BPE(LETTERS, []), None),
            r"a BPE vocabulary with no decoder, .*tokenizer.decoder = decoders.ByteLevel\(\)",
        ),
        (changed(models.BPE(LETTERS, []), decoders.CTC()), "a BPE vocabulary with the decoder CTC"),
        (
            changed(models.BPE(LETTERS, []), decoders.WordPiece()),
            "a BPE vocabulary with the decoder Word",
        ),
        (
            changed(models.WordPiece({"a": 0}), decoders.ByteLevel()),
            "a WordPiece vocabulary with the deco",
        ),
        (changed(models.WordPiece({"a": 0}), decoders.WordPiece()), "no token for unknown characters"),
        (changed(models.BPE(LETTERS, []), SPACES), "no token for unknown characters, and would drop them"),
        (changed(models.BPE(LETTERS, [], byte_fallback=True), SPACES), "no token for unknown characters"),
        (
            changed(models.Unigram([("a", 0.0)], None), decoders.Metaspace()),
            "no token for unknown characters",
        ),
        (changed(models.BPE(LETTERS, [], dropout=0.5), decoders.ByteLevel()), r"at random \(dropout 0.5\)"),
    ],
)
def test_vocabularies_that_would_lose_something_are_refused(
    tmp_path: Path, backend: tokenizers.Tokenizer, words: str
) -> None:
    backend.save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(ModelError, match=words):
        read(tmp_path)


@pytest.mark.parametrize("prefix", ["##", "@@"])
def test_a_wordpiece_that_leaves_its_decoder_out_joins_words_all_the_same(
    tmp_path: Path, prefix: str
) -> None:
    vocabulary = {"[UNK]": 0, "a": 1, "b": 2, f"{prefix}b": 3}
    backend = changed(models.WordPiece(vocabulary, unk_token="[UNK]", continuing_subword_prefix=prefix), None)
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    backend.save(str(tmp_path / "tokenizer.json"))
    tokenizer = read(tmp_path)
    assert tokenizer.ids("ab b") == [1, 3, 2]
    assert tokenizer.pieces([1, 3, 2]) == ("a", f"{prefix}b", "b")
    assert tokenizer.decode([1, 3, 2]) == "ab b"


def test_a_unigram_is_read(tmp_path: Path) -> None:
    backend = changed(models.Unigram([("<u>", 0.0), ("▁a", -1.0), ("b", -2.0)], 0), decoders.Metaspace())
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    backend.add_special_tokens(["<u>"])
    backend.save(str(tmp_path / "tokenizer.json"))
    tokenizer = read(tmp_path)
    ids, places = tokenizer.offsets("abc")
    assert (ids, places) == ([1, 2, 0], [(0, 1), (1, 2), (2, 3)])
    assert tokenizer.pieces(ids) == (" a", "b", "<u>")
    assert tokenizer.special_ids == frozenset()  # it stands for the c


# ---------------------------------------------------------------- from a GGUF file


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
