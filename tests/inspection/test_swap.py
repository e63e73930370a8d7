"""Other nouns in a word's place, and weights on words against loops over single sentences."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fake_model import HEADS, LAYERS, LETTERS_A_TOKEN, WEIGHT_BOUND, FakeModel

from riverhead.inspection import swap
from riverhead.inspection.swap import Swap, swaps, weights_on
from riverhead.inspection.tables import nouns
from riverhead.inspection.words import Word, words_read


def read(fake: FakeModel, text: str) -> tuple[np.ndarray, tuple[Word, ...]]:
    ids = fake.tokenizer.ids(text)
    return np.array(ids), words_read(fake.tokenizer, text, ids)


def swapped(fake: FakeModel, text: str, which: int) -> tuple[Swap, list[str]]:
    there = read(fake, text)[1]
    found = swaps(fake, text, there[which], [word.text for word in there])
    return found, ["".join(fake.tokenizer.pieces(item[fake.opens :])) for item in found.token_ids]


def n_tokens(noun: str) -> int:
    return -(-len(noun) // LETTERS_A_TOKEN)


@pytest.mark.parametrize(("word", "count"), [("river", 1), ("riverbed", 2), ("riverbedriver", 3)])
def test_a_word_is_swapped_for_the_first_24_nouns_of_as_many_tokens(fake, word: str, count: int) -> None:
    found, texts = swapped(fake, f"The {word}, flooded", 1)
    fitting = [noun for noun in nouns() if n_tokens(noun) == count]
    assert found.nouns == tuple(fitting[:24])
    assert texts == [f"The {noun}, flooded" for noun in found.nouns]
    assert found.token_ids.shape == (len(found.nouns), len(fake.tokenizer.ids(f"The {word}, flooded")))


@pytest.mark.parametrize(
    ("word", "first"), [("river", "violin"), ("River", "Violin"), ("RIVER", "VIOLIN"), ("I", "Violin")]
)
def test_a_noun_is_written_like_the_word_it_replaces(fake, word: str, first: str) -> None:
    assert swapped(fake, f"(the {word})", 1)[1][0] == f"(the {first})"


def test_a_noun_that_is_there_already_makes_room_for_the_next(fake) -> None:
    found, texts = swapped(fake, "The Chair beside a violin broke", 1)
    assert found.nouns[0] == [noun for noun in nouns() if n_tokens(noun) == 1][2] == "window"
    assert len(found.nouns) == 24
    assert texts[0] == "The Window beside a violin broke"


def test_where_no_noun_fits_there_is_none(fake) -> None:
    found, _ = swapped(fake, "The " + "x" * 77, 1)
    assert found.nouns == ()
    assert found.token_ids.shape == (0, len(fake.tokenizer.ids("The " + "x" * 77)))


def test_a_noun_that_would_change_the_tokens_beside_it_is_not_used(
    fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut = fake.tokenizer.ids  # this tokenizer writes a mark after "violin"

    def glued(text: str, **options: bool) -> list[int]:
        return cut(text.replace("violin,", "violin;"), **options)

    monkeypatch.setattr(fake.tokenizer, "ids", glued)
    assert swapped(fake, "The river, flooded", 1)[0].nouns[0] == "chair"


@pytest.mark.parametrize("run_tokens", [1, 20, 10_000])
def test_weights_on_words_are_sums_over_their_tokens(
    fake, monkeypatch: pytest.MonkeyPatch, run_tokens: int
) -> None:
    monkeypatch.setattr(swap, "RUN_TOKENS", run_tokens)
    texts = ["The riverbed of clay flooded", "The piecrust of yarn vanished"]
    reads = [read(fake, text) for text in texts]
    there = reads[0][1]
    ids = np.stack([item for item, _ in reads])
    queries = np.array([there[2].last, there[3].last])
    found = weights_on(fake, ids, queries, there[:3])
    assert found.shape == (2, LAYERS, HEADS, 2, 3)
    for item, layer, head, q, w in np.ndindex(found.shape):
        row = fake.row(ids[item].tolist(), layer, head, int(queries[q]))
        expected = sum(row[there[w].start : there[w].stop])
        assert found[item, layer, head, q, w] == pytest.approx(expected, abs=2 * WEIGHT_BOUND)
    assert {T for _, T in fake.runs} == {queries[-1] + 1}, "what comes after the last query is not run"
    assert all(B == 1 or run_tokens >= B * T for B, T in fake.runs)


@pytest.mark.parametrize(("causal", "window"), [(False, None), (False, 3), (True, 3)])
def test_weights_on_words_are_the_model_s_own_where_it_sees_both_ways_or_has_a_window(
    tmp_path: Path, causal: bool, window: int | None
) -> None:
    fake = FakeModel(tmp_path, causal=causal, window=window)
    ids, there = read(fake, "The riverbed of clay flooded")
    queries = np.array([there[2].last])
    found = weights_on(fake, ids[None], queries, there)
    for layer, head, w in np.ndindex(LAYERS, HEADS, len(there)):
        row = [*fake.row(ids.tolist(), layer, head, int(queries[0])), *[0.0] * len(ids)]
        expected = sum(row[there[w].start : there[w].stop])
        assert found[0, layer, head, 0, w] == pytest.approx(expected, abs=2 * WEIGHT_BOUND)
    assert bool(found[..., -1].any()) is not causal  # the last word is later
