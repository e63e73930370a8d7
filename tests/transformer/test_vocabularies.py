"""The tokenizer.json of other models: bytes, SentencePiece and WordPiece, beside transformers."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from checkpoint_files import wordpiece, write_folder
from hypothesis import given, settings
from tokenizers import decoders, models, pre_tokenizers
from vocabularies import TEXT, opened, theirs

from riverhead.errors import ModelError
from riverhead.inspection.words import words_read
from riverhead.transformer import open_model
from riverhead.transformer.convert import convert
from riverhead.transformer.json_tokenizer import tokenizer_of
from riverhead.transformer.tokens import Tokenizer


def read(folder: Path, config: dict[str, Any] | None = None) -> Tokenizer:
    """What riverhead makes of the tokenizer in a folder."""
    file = folder / "tokenizer_config.json"
    facts = json.loads(file.read_text()) if file.exists() else {}
    return opened(folder, *tokenizer_of(folder / "tokenizer.json", config or {}, facts, None))


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
