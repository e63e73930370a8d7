"""The pair of words with the largest weight − max(habit, mean swap)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fake_model import HEADS, LAYERS, WEIGHT_BOUND, FakeModel
from hypothesis import given
from hypothesis import strategies as st

from riverhead.errors import InputError
from riverhead.inspection.habit import habit_of
from riverhead.inspection.trial import MAX_TOKENS, Swapped, Trial, best_pair


def silent(message: str) -> None:
    pass


@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(1, 4))
def test_the_best_pair_is_the_one_that_trying_all_finds(seed: int, n_queries: int, n_words: int) -> None:
    rng = np.random.default_rng(seed)
    shape = (2, 3, n_queries, n_words)
    weight, habit = rng.random(shape, np.float32), rng.random(shape, np.float32) * np.float32(0.5)
    swap = rng.random((7, *shape), np.float32)
    allowed = rng.random((n_queries, n_words)) < 0.7
    no_noun = rng.random(n_words) < 0.2
    asked = []

    def swapped(query: int, key: int) -> Swapped | None:
        asked.append((query, key))
        return None if no_noun[key] else Swapped((), swap[..., query, key])

    scores = {
        (query, key): (weight - np.maximum(habit, swap.mean(axis=0)))[..., query, key].max()
        for query, key in np.argwhere(allowed & ~no_noun).tolist()
    }
    if not scores:
        assert best_pair(weight, habit, allowed, swapped) is None
        return
    assert scores[best_pair(weight, habit, allowed, swapped)] == max(scores.values())
    bound = (weight - habit).max(axis=(0, 1))
    assert all(allowed[pair] and bound[pair] >= max(scores.values()) for pair in asked), "others cannot win"
    assert len(set(asked)) == len(asked)


def test_a_pair_that_cannot_win_is_not_swapped() -> None:
    weight = np.array([[[[0.9, 0.2], [0.3, 0.4]]]], np.float32)
    asked = []

    def swapped(query: int, key: int) -> Swapped:
        asked.append((query, key))
        return Swapped((), np.full((1, 1, 1), 0.1 if query else 0.55, np.float32))

    assert best_pair(weight, np.zeros_like(weight), np.ones((2, 2), bool), swapped) == (0, 0)
    assert asked == [(0, 0), (1, 1)], "0.9 − 0.55 = 0.35 beats the bound 0.3 of (1, 0), not 0.4 of (1, 1)"


def test_a_word_looks_at_the_words_before_it_without_the_first_token(fake: FakeModel) -> None:
    trial = Trial(fake, "Every riverbed bank flooded, again")
    assert [word.text for word in trial.words] == ["Every", "riverbed", "bank", "flooded", "again"]
    first = int(fake.opens)  # the opening is then the first token, and "Every" may be looked at
    expected = [
        [first <= 1 and (key > 0 or fake.opens) and key < query for key in range(5)] for query in range(5)
    ]
    assert trial.allowed.tolist() == expected


def test_both_ways_it_looks_at_every_word_but_itself_and_the_first_token(
    both_ways: FakeModel, tmp_path: Path, plain: str
) -> None:
    text = "Every riverbed bank flooded, again"
    others = [[key != query for key in range(5)] for query in range(5)]
    assert Trial(both_ways, text).allowed.tolist() == others, "the opening is the first token"
    unopened = FakeModel(tmp_path, causal=False)
    assert Trial(unopened, text).allowed.tolist() == [
        [key > 0 and is_other for key, is_other in enumerate(row)] for row in others
    ]


def test_weights_habits_and_swaps_are_those_of_single_sentences(any_fake: FakeModel) -> None:
    fake = any_fake
    trial = Trial(fake, "The tall riverbed of clay flooded")
    ids = trial.token_ids.tolist()
    rows = habit_of(fake, len(ids), silent).rows(np.arange(len(ids)))
    pairs = [(3, 1), (3, 2), (5, 1), (5, 2)] if fake.causal else [(3, 2), (1, 2), (1, 5), (0, 4)]
    for layer, head, query, key in [
        (layer, head, query, key) for layer in range(LAYERS) for head in range(HEADS) for query, key in pairs
    ]:
        asking, looked_at = trial.words[query], trial.words[key]
        span = slice(looked_at.start, looked_at.stop)
        weight = sum(fake.row(ids, layer, head, asking.last)[span])
        assert trial.weight[layer, head, query, key] == pytest.approx(weight, abs=2 * WEIGHT_BOUND)
        habit = rows[layer, head, asking.last, span].sum()
        assert trial.habit[layer, head, query, key] == pytest.approx(float(habit), abs=1e-6)
        swap = trial.swapped(query, key)
        for noun, given_ in zip(swap.nouns, swap.weights, strict=True):
            text = trial.text.replace(looked_at.text, noun)
            expected = sum(fake.row(fake.tokenizer.ids(text), layer, head, asking.last)[span])
            assert given_[layer, head] == pytest.approx(expected, abs=2 * WEIGHT_BOUND)


def test_with_a_focus_only_that_word_asks(fake: FakeModel) -> None:
    text = "The river bank by the bank flooded"
    everyone, one = Trial(fake, text), Trial(fake, text, "bank#1")
    assert one.asking == (everyone.words[2],)
    np.testing.assert_allclose(one.weight[:, :, 0], everyone.weight[:, :, 2], atol=WEIGHT_BOUND)
    np.testing.assert_array_equal(one.habit[:, :, 0], everyone.habit[:, :, 2])
    assert one.pair()[0] == 0


def test_a_key_is_swapped_again_only_for_a_later_query_and_said_once(fake: FakeModel) -> None:
    said: list[str] = []
    trial = Trial(fake, "The river bank flooded again", say=said.append)
    for query, n_runs in ((2, 1), (2, 1), (3, 2), (4, 3), (3, 3)):
        trial.swapped(query, 1)
        assert len(fake.runs) == n_runs
    assert said == ["swap: 24 other nouns for river"]


def test_both_ways_one_run_swaps_a_key_for_every_query(both_ways: FakeModel) -> None:
    trial = Trial(both_ways, "The river bank flooded again")
    for query in (0, 2, 4, 3):
        trial.swapped(query, 1)
        assert both_ways.runs == [(24, 8)], "six tokens, opened and closed"


def test_both_ways_the_search_counts_whole_texts(
    both_ways: FakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    for limit, cut in ((24 * 5 + 1, False), (24 * 5, True)):
        monkeypatch.setattr("riverhead.inspection.trial.SEARCH_TOKENS", limit)
        trial = Trial(both_ways, "bank, mud", "bank")
        trial.pair()
        trial._tried(0, 0)
        assert trial.cut == cut


@pytest.mark.parametrize(
    ("text", "focus", "says"),
    [
        ("", None, "before any word"),
        ("a", None, "before any word"),
        ("…", None, "before any word"),
        ("a bank", "river", "no word 'river'; its words are: a, bank"),
        ("a " * (MAX_TOKENS + 1), None, f"at most {MAX_TOKENS}"),
    ],
)
def test_a_text_that_cannot_be_tried_says_why(
    fake: FakeModel, text: str, focus: str | None, says: str
) -> None:
    with pytest.raises(InputError, match=says):
        Trial(fake, text, focus)
    assert not fake.runs


def test_the_first_word_has_none_to_look_at(fake: FakeModel) -> None:
    with pytest.raises(InputError, match=r"before 'The', .* the model is causal"):
        Trial(fake, "The river bank", "The")


@pytest.mark.parametrize(("text", "focus"), [("", None), ("bank", None), ("bank …", "bank")])
def test_both_ways_a_lone_word_has_no_other_to_look_at(
    both_ways: FakeModel, text: str, focus: str | None
) -> None:
    with pytest.raises(InputError, match="is no other word to look at, the first token apart: give"):
        Trial(both_ways, text, focus)


def test_a_function_word_is_looked_at_only_where_nothing_else_can_be(fake: FakeModel) -> None:
    mixed, only = Trial(fake, "The bank of the flooded"), Trial(fake, "The of the again")
    assert mixed.words[mixed.pair()[1]].text == "bank"
    assert only.words[only.pair()[1]].text in ("of", "the")
