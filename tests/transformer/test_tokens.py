"""Token ids and the pieces they stand for: by hand on a vocabulary that fits on a page."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llamas import BEGIN, END, THINK, TOKENS, Sizes, write_llama

from riverhead.errors import InputError, ModelError
from riverhead.transformer import Model, open_model
from riverhead.transformer.convert import convert
from riverhead.transformer.tokens import BYTE_OF, Tokenizer

ID = {token: index for index, token in enumerate(TOKENS)}


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("the the", ["t", "he", "Ġthe"]),
        ("ab  12", ["ab", "Ġ", "Ġ", "1", "2"]),
        ("a1b", ["a", "1", "b"]),  # cut at the digit, or a and b would never meet
        ("a b", ["a", "Ġ", "b"]),
        ("é", ["Ã", "©"]),
        ("a\n", ["a", "Ċ"]),
        ("<|begin|>ab<think of it>", ["<|begin|>", "ab", "<think of it>"]),
        ("<|begin", ["<", "|", "b", "e", "g", "i", "n"]),
    ],
)
def test_ids_by_hand(llama: Model, text: str, tokens: list[str]) -> None:
    assert llama.tokenize(text) == [ID[token] for token in tokens]


def test_pieces_are_what_a_reader_sees(llama: Model) -> None:
    ids = [ID["Ġthe"], ID["Ċ"], BEGIN, THINK, *(ID[letter] for letter in "ðŁĮĬ")]
    expected = (" the", "\n", "<|begin|>", "<think of it>", "\\xf0", "\\x9f", "\\x8c", "\\x8a")
    assert llama.tokenizer.pieces(ids) == expected
    assert llama.tokenizer.decode(ids) == " the\n<|begin|><think of it>🌊"
    assert llama.tokenizer.decode(ids[:-1]) == " the\n<|begin|><think of it>\ufffd"
    assert llama.tokenizer.special_ids == {BEGIN, END}


@given(text=st.text())
@settings(max_examples=300, deadline=None)
def test_nothing_of_a_text_is_lost(llama: Model, text: str) -> None:
    ids = llama.tokenize(text)
    assert b"".join(map(llama.tokenizer.spelled, ids)) == text.encode()
    assert llama.tokenizer.decode(ids) == text


def places_of(text: str, spelled: list[bytes]) -> list[tuple[int, int]]:
    """The characters of which each token spells a byte, by counting bytes."""
    character = [i for i, c in enumerate(text) for _ in c.encode()]
    found, at = [], 0
    for part in spelled:
        own = character[at : at + len(part)]
        found.append((own[0], own[-1] + 1))
        at += len(part)
    return found


@given(text=st.text())
@settings(max_examples=300, deadline=None)
def test_each_token_knows_its_characters_and_half_a_one_counts(llama: Model, text: str) -> None:
    ids, places = llama.tokenizer.offsets(text)
    assert ids == llama.tokenize(text)
    assert places == places_of(text, [llama.tokenizer.spelled(i) for i in ids])


def test_a_lone_surrogate_is_refused(llama: Model) -> None:
    with pytest.raises(InputError, match="cannot be written as UTF-8"):
        llama.tokenize("a\ud800")


def test_what_the_vocabulary_cannot_spell_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tensors: dict[str, np.ndarray], sizes: Sizes
) -> None:
    """SmolLM2 has no token for some control characters; the package drops them without a word."""
    monkeypatch.setattr("llamas.TOKENS", [t if BYTE_OF.get(t) != 4 else "abab" for t in TOKENS])
    convert(write_llama(tmp_path / "no4.gguf", tensors, sizes), tmp_path / "model")
    model = open_model(tmp_path / "model")
    with pytest.raises(InputError, match=r"no token for '\\x04' \(U\+0004\)"):
        model.tokenize("ab\x04")


def test_the_first_token_where_the_model_wants_it(
    tmp_path: Path, tensors: dict[str, np.ndarray], sizes: Sizes
) -> None:
    convert(write_llama(tmp_path / "bos.gguf", tensors, sizes, add_bos=True), tmp_path / "model")
    model = open_model(tmp_path / "model")
    assert model.tokenize("ab") == [BEGIN, ID["ab"]]
    assert model.tokenizer.ids("ab", add_bos=False) == [ID["ab"]]
    for empty in (model.read, model.generate):
        with pytest.raises(InputError, match="is empty"):
            empty("")


def test_one_token_by_its_text(llama: Model) -> None:
    assert llama.tokenizer.id_of(" the") == ID["Ġthe"]
    with pytest.raises(InputError, match=r"'a b' is 3 tokens \('a', ' ', 'b'\), it has to be one"):
        llama.tokenizer.id_of("a b")
    with pytest.raises(InputError, match="token 263: the vocabulary ends at 262"):
        llama.tokenizer.pieces([263])


def test_a_damaged_tokenizer_file(llama: Model, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="not a tokenizer: 'bos_id'"):
        Tokenizer(llama.folder / "tokenizer.json", {})
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(ModelError, match=r"tokenizer.json: not a tokenizer: .* convert the model again"):
        Tokenizer(tmp_path / "tokenizer.json", {})


@pytest.mark.oracle
def test_letters_are_gpt2_s() -> None:
    pytest.importorskip("transformers", reason="byte letters against transformers: needs the [oracle] extra")
    from transformers.convert_slow_tokenizer import bytes_to_unicode

    assert {letter: byte for byte, letter in bytes_to_unicode().items()} == BYTE_OF
