"""Words and the tokens that spell them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from riverhead.errors import InputError
from riverhead.inspection.words import Word, find, words, words_read


def letters(text: str) -> list[tuple[int, int]]:
    """One token a character."""
    return [(i, i + 1) for i in range(len(text))]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The river, flooded!", ["The", "river", "flooded"]),
        ("It's 3.5 m", ["It's", "3", "5", "m"]),
        ("'quoted' well-known", ["quoted", "well", "known"]),
        ("l’été — naïve", ["l’été", "naïve"]),
        ("नदी का", ["नदी", "का"]),  # vowel signs are marks
        ("مرحبا بك", ["مرحبا", "بك"]),
        ("a 😀 b", ["a", "b"]),
        ("😀 …", []),
        ("", []),
    ],
)
def test_words_are_runs_of_letters_marks_and_digits(text: str, found: list[str]) -> None:
    seen = words(text, letters(text))
    assert [word.text for word in seen] == found
    assert all(text[slice(*word.place)] == word.text for word in seen)


def test_a_word_has_every_token_that_spells_a_part_of_it() -> None:
    text = "an aardvark, twice"
    cut = [(0, 2), (2, 5), (5, 9), (9, 11), (11, 12), (12, 18)]
    assert words(text, cut) == (
        Word("an", 0, 1, (0, 2)),
        Word("aardvark", 1, 4, (3, 11)),
        Word("twice", 5, 6, (13, 18)),
    )


def test_special_tokens_and_the_opening_are_no_words() -> None:
    places = [(0, 0), (0, 1), (1, 4), (4, 7)]
    tokenizer = SimpleNamespace(offsets=lambda text: ([0, 1, 0, 2], places), special_ids={0})
    assert [(w.text, w.start) for w in words_read(tokenizer, "a<s> bc", [0, 1, 0, 2])] == [
        ("a", 1),
        ("bc", 3),
    ]
    with pytest.raises(InputError, match="the 3 tokens are not those of the text"):
        words_read(tokenizer, "a<s> bc", [0, 1, 2])


@pytest.fixture
def banks() -> tuple[Word, ...]:
    text = "Bank by bank by BANK by bank"
    return words(text, letters(text))


@pytest.mark.parametrize(
    ("name", "start"),
    [("bank", 24), ("bank#1", 8), ("bank#2", 24), ("Bank", 0), (" bank ", 24), ("bANK#3", 16)],
)
def test_a_name_finds_the_last_of_its_kind_or_the_one_numbered(banks, name: str, start: int) -> None:
    assert find(banks, name).start == start


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("river", "no word 'river'; its words are: Bank, by, bank, BANK"),
        ("bank#3", "'bank' 2 times; choose from #1 to #2"),
        ("bank#0", "#1 to #2"),
        ("bank#" + "9" * 5000, "#1 to #2"),
        ("", "no word ''"),
    ],
)
def test_a_name_that_finds_nothing_says_what_there_is(banks, name: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        find(banks, name)
