"""The whole question to a fake model, against loops over every head and every pair of words."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from dataclasses import asdict, replace

import numpy as np
import pytest
from fake_model import HEADS, LAYERS, WEIGHT_BOUND, FakeModel

from riverhead.errors import InputError
from riverhead.inspection import Findings, control, telling, trial
from riverhead.inspection.labels import Label
from riverhead.inspection.tables import nouns
from riverhead.inspection.trial import Trial
from riverhead.transformer import head_name, parse_head

TEXT = "The river bank rose, then the bank dried"  # a token each word


def plain_answers(fake: FakeModel, plain: str) -> dict[tuple[int, int, int, int], tuple[float, float, float]]:
    """(layer, head, query, key) → weight, habit, mean swap."""
    ids = fake.tokenizer.ids(TEXT)
    T = len(ids)
    opening, closing = ids[: int(fake.opens)], ids[T - int(fake.closes) :]
    words = [t for t, piece in enumerate(fake.tokenizer.pieces(ids)) if piece.strip().isalpha()]
    swaps = [noun for noun in nouns() if len(noun) <= 6][:24]
    plain_ids = fake.tokenizer.ids(plain, add_bos=False)
    step = T - len(opening) - len(closing)
    windows = [opening + plain_ids[i : i + step] + closing for i in range(0, len(plain_ids) - step + 1, step)]
    answers = {}
    for layer, head in np.ndindex(LAYERS, HEADS):
        for query in words:
            rows = [fake.row(window, layer, head, query) for window in windows]
            for key in (key for key in words if 0 < key < (query if fake.causal else T) and key != query):
                given = []
                for noun in swaps:
                    (noun_id,) = fake.tokenizer.ids(f" {noun}", add_bos=False)
                    given.append(fake.row([*ids[:key], noun_id, *ids[key + 1 :]], layer, head, query)[key])
                answers[layer, head, query, key] = (
                    fake.row(ids, layer, head, query)[key],
                    math.fsum(row[key] for row in rows) / len(rows),
                    math.fsum(given) / len(given),
                )
    return answers


def score(answer: tuple[float, float, float]) -> float:
    weight, habit, swap = answer
    return weight - max(habit, swap)


def test_the_pair_and_the_heads_are_those_of_the_definition(any_fake: FakeModel, plain: str) -> None:
    fake = any_fake
    answers = plain_answers(fake, plain)
    found = telling(fake, TEXT)
    pieces = [piece.strip() for piece in fake.tokenizer.pieces(fake.tokenizer.ids(TEXT))]
    content = [place for place in answers if pieces[place[3]] not in ("then", "the")]
    best = max(content, key=lambda place: score(answers[place]))
    assert (found.query.last, found.key.last) == best[2:]
    at_pair = defaultdict(
        tuple, {place[:2]: answer for place, answer in answers.items() if place[2:] == best[2:]}
    )
    by_score = sorted(at_pair, key=lambda head: -score(at_pair[head]))
    assert {head_name(*head) for head in by_score[:3]} <= {row.head for row in found.rows}
    assert len(found.rows) == 5
    assert found.head == found.rows[0].head == head_name(*by_score[0])
    for row in found.rows:
        answer = at_pair[parse_head(row.head, fake.config)]
        assert (row.weight, row.habit, row.swap_mean) == pytest.approx(answer, abs=2 * WEIGHT_BOUND)
        assert row.score == pytest.approx(score(answer), abs=4 * WEIGHT_BOUND)
        assert row.swap_max >= row.swap_mean
        assert row.swap_noun in found.nouns
    scores = [row.score for row in found.rows]
    assert scores == sorted(scores, reverse=True)
    others = [row for row in found.rows if row.head not in {head_name(*head) for head in by_score[:3]}]
    assert not any(row.finding for row in others)


def test_a_focus_fixes_who_asks_and_the_pair_is_the_best_left(fake: FakeModel, plain: str) -> None:
    found = telling(fake, TEXT, focus="bank")
    pieces = [piece.strip() for piece in fake.tokenizer.pieces(fake.tokenizer.ids(TEXT))]
    answers = {
        place: answer
        for place, answer in plain_answers(fake, plain).items()
        if place[2] == found.query.last and pieces[place[3]] not in ("then", "the")
    }
    assert found.query.text == "bank"
    assert found.key.last == max(answers, key=lambda place: score(answers[place]))[3]
    assert "bank stands 2 times; asking is bank#2" in found.notes
    assert telling(fake, TEXT, focus="bank#1").query.last < found.query.last


def test_a_head_that_is_asked_for_is_the_one_to_derive_and_stands_last_if_it_was_not_chosen(fake) -> None:
    plainly = telling(fake, TEXT)
    chosen = {row.head for row in plainly.rows}
    other = next(name for name in (head_name(*h) for h in np.ndindex(LAYERS, HEADS)) if name not in chosen)
    found = telling(fake, TEXT, head=other)
    assert found.head == found.rows[-1].head == other
    assert found.rows[:-1] == plainly.rows
    assert f"{other} is here because it was asked for" in found.notes
    again = telling(fake, TEXT, head=parse_head(plainly.rows[1].head, fake.config))
    assert (again.rows, again.head) == (plainly.rows, plainly.rows[1].head)


def test_it_says_what_it_is_doing_and_measures_habits_once(fake: FakeModel) -> None:
    said: list[str] = []
    first = telling(fake, TEXT, progress=said.append)
    assert [line.partition(":")[0] for line in said if not line.startswith("swap")] == [
        "habit",
        "labels",  # plain text,
        "labels",  # and plain text that stands there twice
        "if off",
    ]
    said.clear()
    assert telling(fake, TEXT, progress=said.append) == first
    assert {line.partition(":")[0] for line in said} == {"swap", "if off"}


@pytest.mark.parametrize("n", [1, 2, 5, LAYERS * HEADS])
def test_n_heads_are_shown(fake: FakeModel, n: int) -> None:
    found = telling(fake, TEXT, n=n)
    assert len({row.head for row in found.rows}) == len(found.rows) <= n
    assert len(found.rows) >= n - n // 2


def test_none_is_no_number_of_heads(fake: FakeModel) -> None:
    with pytest.raises(InputError, match="n is 0; at least one"):
        telling(fake, TEXT, n=0)
    with pytest.raises(InputError, match=r"L2\.H0"):
        telling(fake, TEXT, head="L2.H0")


def test_a_word_of_several_tokens_is_said(bare: FakeModel) -> None:
    found = telling(bare, "The riverbed overflowed")
    assert (found.query.text, found.key.text) == ("overflowed", "riverbed")
    assert "riverbed, looked at, is 2 tokens: the weight is the sum over them" in found.notes
    assert "overflowed, asking, is 2 tokens: the last one asks" in found.notes


def test_who_is_not_seen_yet_is_said(bare: FakeModel) -> None:
    assert (
        "The model is causal: bank cannot see dried"
        in telling(bare, "The river bank dried", focus="bank").notes
    )
    assert not [note for note in telling(bare, "The river bank").notes if "causal" in note]


def test_fewer_nouns_than_24_are_said(bare: FakeModel) -> None:
    found = telling(bare, "So xylophonistic dark")
    assert found.key.text == "xylophonistic"
    assert 0 < len(found.nouns) < 24
    assert f"Only {len(found.nouns)} of the nouns that ship fit in the place of xylophonistic" in found.notes


def test_a_word_that_no_noun_can_replace_is_not_looked_at(bare: FakeModel) -> None:
    unspoken = "x" * 77
    assert telling(bare, f"So {unspoken} and dark").key.text == "and"
    found = telling(bare, f"So {unspoken} dark", focus="dark", n=LAYERS * HEADS)
    assert found.key.text == unspoken
    assert found.nouns == ()
    assert {(row.swap_mean, row.swap_max, row.swap_noun, row.finding) for row in found.rows} == {
        (None, None, None, False)
    }
    beyond = [row.weight - row.habit for row in found.rows]
    assert beyond == sorted(beyond, reverse=True)
    assert {row.says for row in found.rows} <= {
        "no swap possible, no finding",
        "hardly looks there",
        "previous-token head, no finding",
    }
    assert any(
        note.startswith(f"None of the nouns that ship is as many tokens as {unspoken}")
        for note in found.notes
    )
    table = found.scene().parts[0]
    assert {row[3] for row in table.rows} == {"—"}
    assert json.loads(json.dumps(asdict(found)))["rows"][0]["swap_mean"] is None


def test_a_long_search_is_cut_and_says_so(bare: FakeModel, monkeypatch: pytest.MonkeyPatch) -> None:
    cut = "The text is long: the search for the two words was cut, and not every pair was tried"
    text = "river bank " * 40
    whole = telling(bare, text)
    assert cut not in whole.notes
    bare.runs.clear()
    monkeypatch.setattr(trial, "SEARCH_TOKENS", 1)
    found = telling(bare, text)
    assert cut in found.notes
    assert sum(B for B, T in bare.runs) == 1 + 24 + 1 + len(found.rows), "one key was swapped"


def every_head(monkeypatch: pytest.MonkeyPatch, label: str) -> None:
    labels = {head: Label(label.format(*head), "") for head in np.ndindex(LAYERS, HEADS)}
    monkeypatch.setattr("riverhead.inspection.questions.labels_of", lambda model, say: labels)


@pytest.mark.parametrize(
    ("text", "looked_at", "previous"),
    [
        ("The river bank", "river", True),
        ("The riverbed bank", "riverbed", True),  # its last token stands before "bank"
        ("The river, bank", "river", False),
    ],
)
def test_a_previous_token_head_is_no_finding_on_the_token_before(
    bare: FakeModel, monkeypatch: pytest.MonkeyPatch, text: str, looked_at: str, previous: bool
) -> None:
    every_head(monkeypatch, "previous-token")
    found = telling(bare, text)
    assert found.key.text == looked_at
    assert {row.label for row in found.rows} == {"previous-token"}
    assert {row.says == "previous-token head, no finding" for row in found.rows} == {previous}


@pytest.mark.parametrize(
    ("text", "looked_at", "next_one"),
    [
        ("The bank river", "river", True),
        ("The bank riverbed", "riverbed", True),  # its first token stands after "bank"
        ("The bank, river", "river", False),
        ("The river bank", "river", False),
    ],
)
def test_a_next_token_head_is_no_finding_on_the_token_after(
    both_ways: FakeModel, monkeypatch: pytest.MonkeyPatch, text: str, looked_at: str, next_one: bool
) -> None:
    every_head(monkeypatch, "next-token")
    found = telling(both_ways, text, focus="bank")
    assert found.key.text == looked_at
    assert {row.says == "next-token head, no finding" for row in found.rows} == {next_one}


def test_a_head_has_the_label_that_the_table_of_all_heads_gives_it(
    bare: FakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    every_head(monkeypatch, "L{}.H{}")
    assert [(row.label, row.head) for row in telling(bare, TEXT).rows if row.label != row.head] == []


def test_both_ways_a_word_looks_ahead_too(both_ways: FakeModel, plain: str) -> None:
    found = telling(both_ways, TEXT, focus="river")  # only a function word stands before it
    answers = {
        place: answer
        for place, answer in plain_answers(both_ways, plain).items()
        if place[2] == found.query.last < place[3]
    }
    pieces = both_ways.tokenizer.pieces(both_ways.tokenizer.ids(TEXT))
    content = {place: x for place, x in answers.items() if pieces[place[3]].strip() not in ("then", "the")}
    best = max(content, key=lambda place: score(content[place]))
    assert (found.key.last, found.head) == (best[3], head_name(*best[:2]))
    assert found.rows[0].weight == pytest.approx(answers[best][0], abs=2 * WEIGHT_BOUND)


def test_a_model_that_predicts_nothing_is_shown_without_odds_and_says_so(both_ways: FakeModel) -> None:
    found = telling(both_ways, TEXT)
    ids = both_ways.tokenizer.ids(TEXT)
    whole = [both_ways.logits(ids, t) for t in range(len(ids))]
    for row in found.rows:
        off = [parse_head(row.head, both_ways.config)]
        moved = [
            np.linalg.norm(both_ways.logits(ids, t, off) - x) / np.linalg.norm(x) for t, x in enumerate(whole)
        ]
        assert row.if_off_vector_change == pytest.approx(math.fsum(moved) / len(moved), rel=1e-9)
        assert row.if_off_nats is None
    assert found.next_token == ()
    notes = " ".join(found.notes)
    assert "reads both ways: a word sees those after it too" in notes
    assert "vectors = how far the tokens' final vectors move" in notes
    assert not [word for word in ("causal", "cannot see", "nats", "odds") if word in notes]


def by_head(findings: Findings) -> dict[str, float]:
    return {row.head: row.weight for row in findings.rows}


def test_the_control_asks_the_same_heads_about_the_same_words(bare: FakeModel) -> None:
    found = telling(bare, "The river bank dried", focus="bank")
    other = control(bare, "By River Road a muddy river and a bank dried", found)
    assert (other.query.text, other.key.text, other.key.place[0]) == ("bank", "river", 22)
    assert [row.head for row in other.rows] == [row.head for row in found.rows]
    assert other.head == found.head
    ids = bare.tokenizer.ids(other.text)
    for name, weight in by_head(other).items():
        row = bare.row(ids, *parse_head(name, bare.config), other.query.last)
        assert weight == pytest.approx(row[other.key.last], abs=2 * WEIGHT_BOUND)


def test_the_control_looks_at_the_same_place_where_the_word_is_missing(bare: FakeModel) -> None:
    found = telling(bare, "The river, bank dried", focus="bank")
    other = control(bare, "A hot new, bank grew", found)
    assert other.key.text == "new"
    assert other.query.last - other.key.last == found.query.last - found.key.last
    assert f"{other.key.text} stands in the place of {found.key.text}" in other.notes


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("A river bank, old river and river", 18),  # the same side comes before the nearer word
        ("A river of mud and a bank", 2),
        ("The bank, money dried", 10),  # as many tokens ahead
    ],
)
def test_the_control_looks_ahead_where_the_text_did(both_ways: FakeModel, text: str, place: int) -> None:
    found = telling(both_ways, "The bank, river dried", focus="bank")
    found = replace(found, key=Trial(both_ways, found.text).words[2])  # whichever word it looked at most
    other = control(both_ways, text, found)
    assert (other.query.text, other.key.place[0]) == ("bank", place)
    ids = both_ways.tokenizer.ids(text)
    for name, weight in by_head(other).items():
        row = both_ways.row(ids, *parse_head(name, both_ways.config), other.query.last)
        assert weight == pytest.approx(row[other.key.last], abs=2 * WEIGHT_BOUND)


def test_a_control_with_nothing_there_says_beside(both_ways: FakeModel) -> None:
    found = telling(both_ways, "The bank, mud", focus="mud")
    with pytest.raises(InputError, match="beside 'mud' the control has neither 'bank' nor a word"):
        control(both_ways, "So mud grows", replace(found, key=Trial(both_ways, found.text).words[1]))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("The money grows", "no word 'bank'; its words are: The, money, grows"),
        ("Money bank grows", "before 'bank', the first token apart"),
        ("A hot new, bank grows", "neither 'river' nor a word in its place"),
    ],
)
def test_a_control_without_the_words_says_which(bare: FakeModel, text: str, says: str) -> None:
    found = telling(bare, "The river bank dried", focus="bank")
    with pytest.raises(InputError, match=says):
        control(bare, text, found)
