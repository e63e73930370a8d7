"""A word in two texts, against plain loops over whole weight matrices and vectors."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from plain_loops import CLOSE, A, B, plain_change, plain_cosine, plain_odds, plain_row
from small_model import small_model

from riverhead.errors import InputError
from riverhead.inspection import head_changes
from riverhead.inspection.comparing import compare
from riverhead.inspection.comparison import HeadChange
from riverhead.render import render
from riverhead.scene import Table
from riverhead.transformer import Model


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Where each kind of model keeps its habits, measured once for all tests."""
    return {kind: tmp_path_factory.mktemp(kind) for kind in ("llama", "bert")}


@pytest.fixture(params=["llama", "bert"])
def model(request: pytest.FixtureRequest, folders: dict[str, Path], plain: str) -> Model:
    return small_model(folders[request.param], architecture=request.param)


@pytest.fixture
def llama(folders: dict[str, Path], plain: str) -> Model:
    return small_model(folders["llama"])


def test_every_head_is_measured_as_loops_measure_it(model: Model) -> None:
    found = compare(model, A, B, word="bank")
    assert len(found.heads) == model.config.n_layers * model.config.n_heads
    for head in found.heads:
        (a, habit_a), (b, habit_b) = (plain_row(model, text, "bank", head.at) for text in (A, B))
        change, alone = plain_change(a, b)
        assert head.change == pytest.approx(change, abs=CLOSE)
        assert head.alone == pytest.approx(alone, abs=CLOSE)
        for off, row, habit in zip(head.from_habit, (a, b), (habit_a, habit_b), strict=True):
            assert off == pytest.approx(
                math.fsum(abs(row[place] - habit[place]) for place in habit) / 2, abs=CLOSE
            )
        for n, place in enumerate(found.places):
            key = "first" if place.distance is None else place.distance
            for side, row, habit in ((0, a, habit_a), (1, b, habit_b)):
                assert head.weights[side][n] == pytest.approx(row.get(key), abs=CLOSE)
                assert head.habit[side][n] == pytest.approx(habit.get(key), abs=CLOSE)
        ordinary = [place for place in a if place in b and place not in ("first", 0)]
        most = max(abs(a[place] - b[place]) for place in ordinary)
        moved = found.places[head.moved].distance
        assert abs(a[moved] - b[moved]) == pytest.approx(most, abs=CLOSE)
    changes = [head.change for head in found.heads]
    assert changes == sorted(changes, reverse=True)
    assert max(changes) > 0.1


def test_a_place_holds_the_tokens_that_stand_there(model: Model) -> None:
    found = compare(model, A, B, word="bank")
    by_distance = {place.distance: place.tokens for place in found.places}
    assert by_distance[None] == ("the", "so")
    assert by_distance[0] == (" bank", " bank")
    assert by_distance[2] == (" tall", " likes")
    assert by_distance[5] == (None, " the")
    later = {-1: (" grows", ","), -2: (None, " it")}
    assert {d: by_distance.get(d) for d in later} == (
        later if not model.config.causal else dict.fromkeys(later)
    )


def test_the_words_vectors_are_compared_before_the_first_block_and_after_each(model: Model) -> None:
    found = compare(model, A, B, word="bank")
    a, b = model.read(A), model.read(B)
    i, j = a.tokens.index(" bank"), b.tokens.index(" bank")
    assert [layer.layer for layer in found.layers] == [None, *range(model.config.n_layers)]
    before = None
    for n, layer in enumerate(found.layers):
        x, y = a.streams[n], b.streams[n]
        cosine = plain_cosine(x[i], y[j])
        others_b = [k for k in range(1, len(y)) if b.tokens[k] not in (" bank", ",")]
        others_a = [k for k in range(1, len(x)) if k != i]
        others = (
            math.fsum(plain_cosine(x[i], y[k]) for k in others_b) / len(others_b)
            + math.fsum(plain_cosine(y[j], x[k]) for k in others_a) / len(others_a)
        ) / 2
        assert layer.cosine == pytest.approx(cosine, abs=CLOSE)
        assert layer.others == pytest.approx(others, abs=CLOSE)
        assert layer.share == pytest.approx((1 - cosine) / (1 - others), abs=10 * CLOSE)
        assert layer.drop == pytest.approx(0 if before is None else before - cosine, abs=2 * CLOSE)
        before = cosine
    assert found.largest_drop.drop == max(layer.drop for layer in found.layers)
    assert found.splits in (None, *found.layers)
    assert all(layer.apart == (layer.share >= 0.3) for layer in found.layers)


def test_the_next_tokens_are_the_likeliest_of_either_with_both_odds(llama: Model) -> None:
    found = compare(llama, A, B)
    p, q = plain_odds(llama, A), plain_odds(llama, B)
    best = {i for odds in (p, q) for i in sorted(range(len(p)), key=lambda i: -odds[i])[:5]}
    pieces = llama.tokenizer.pieces(range(len(p)))
    assert found.odds is not None
    assert {token for token, _, _ in found.odds.rows} == {pieces[i] for i in best}
    for token, in_a, in_b in found.odds.rows:
        i = pieces.index(token)
        assert (in_a, in_b) == pytest.approx((p[i], q[i]), rel=CLOSE)
    kl = [math.fsum(x * math.log(x / y) for x, y in zip(*of, strict=True)) for of in ((p, q), (q, p))]
    assert found.odds.kl_nats == pytest.approx(kl, rel=10 * CLOSE)


def test_a_text_beside_itself_differs_in_nothing(model: Model) -> None:
    found = compare(model, A, A)
    assert {(head.change, head.alone, head.changed) for head in found.heads} == {(0, 0, False)}
    assert all(head.weights[0] == head.weights[1] for head in found.heads)
    # a cosine of a vector with itself is a float64 sum of 13 squares over their root, squared
    assert [layer.cosine for layer in found.layers] == pytest.approx([1] * len(found.layers), abs=1e-14)
    assert found.splits is None
    assert found.odds is None or found.odds.kl_nats == (0, 0)


def test_the_other_way_round_it_is_the_same(model: Model) -> None:
    there, back = compare(model, A, B, word="bank"), compare(model, B, A, word="bank")
    of_back = {head.head: head for head in back.heads}
    for head in there.heads:
        other = of_back[head.head]
        assert (head.change, head.alone, head.says) == (other.change, other.alone, other.says)
        assert (head.weights, head.habit) == (other.weights[::-1], other.habit[::-1])
        assert head.from_habit == other.from_habit[::-1]
    assert [layer.cosine for layer in there.layers] == [layer.cosine for layer in back.layers]
    if there.odds is not None and back.odds is not None:
        assert there.odds.kl_nats == back.odds.kl_nats[::-1]


def blind(folder: Path, keys_too: bool) -> Model:
    """A model whose queries, and with ``keys_too`` its keys, are the same for every word, then turned."""
    model = small_model(folder, qkv_bias=True)
    c = model.config
    for block in model.weights.blocks:
        block.W_qkv[:, : (c.n_heads + c.n_kv_heads * keys_too) * c.d_k] = 0
        if not keys_too:
            block.b_qkv[: c.n_heads * c.d_k] = 0
    return model


def test_heads_that_see_places_alone_are_said_to_follow_positions(tmp_path: Path, plain: str) -> None:
    found = compare(blind(tmp_path, keys_too=True), "the tall smith likes a bank", "so she sold the old bank")
    assert {head.says for head in found.heads} == {"follows positions"}
    assert max(head.change for head in found.heads) < CLOSE
    assert max(max(head.from_habit) for head in found.heads) < CLOSE
    assert len({head.weights for head in found.heads}) == len(found.heads)


def test_a_longer_text_alone_is_no_change(tmp_path: Path, plain: str) -> None:
    """Heads that look everywhere alike give 1/4 and 1/7; the places of both are shared alike."""
    found = compare(blind(tmp_path, keys_too=False), "the tall money bank", "so she sold it to the bank")
    for head in found.heads:
        assert head.change == pytest.approx(0, abs=CLOSE)
        assert head.alone == pytest.approx(3 / 7, abs=CLOSE)
        assert head.says == "follows positions"


@pytest.mark.parametrize(
    ("a", "b", "known", "said"),
    [
        (
            "money bank grows",
            "river bank flows",
            (False, False),
            "In A and B bank sees itself and the first",
        ),
        (
            "the tall bank grows",
            "river bank flows",
            (True, False),
            "In B bank sees itself and the first",
        ),
        ("the tall bank grows", "the old bank flows", (True, True), ""),
    ],
)
def test_without_a_place_that_has_a_habit_no_head_follows_positions(
    tmp_path: Path, plain: str, a: str, b: str, known: tuple[bool, bool], said: str
) -> None:
    found = compare(blind(tmp_path, keys_too=True), a, b, word="bank")
    assert {tuple(off is not None for off in head.from_habit) for head in found.heads} == {known}
    told = [note for note in found.notes if "no head can be said to follow positions" in note]
    assert [note[: len(said)] for note in told] == ([said] if said else [])
    says = {head.says for head in found.heads if head.alone < 0.5}
    assert says <= ({"follows positions"} if all(known) else {"the same in both"})


@pytest.mark.parametrize(
    ("change", "alone", "off", "says", "changed"),
    [
        (0.9, 0.5, 0.9, "too few in common", False),
        (0.2, 0.49, 0.0, "changed", True),
        (0.19, 0.0, 0.0, "changed a little", False),
        (0.09, 0.0, 0.1, "follows positions", False),
        (0.09, 0.0, 0.11, "the same in both", False),
    ],
)
def test_the_words_follow_from_the_thresholds(
    llama: Model, monkeypatch: pytest.MonkeyPatch, change: float, alone: float, off: float, says: str, changed
) -> None:
    shape = (llama.config.n_layers, llama.config.n_heads)
    lay_over = head_changes.lay_over

    def laid(*both: Any) -> Any:
        found = lay_over(*both)
        for name, value in (("change", change), ("alone", alone)):
            object.__setattr__(found, name, np.full(shape, value))
        object.__setattr__(found, "from_habit", (np.full(shape, off), np.zeros(shape)))
        return found

    monkeypatch.setattr("riverhead.inspection.comparing.lay_over", laid)
    assert {(head.says, head.changed) for head in compare(llama, A, B).heads} == {(says, changed)}


@pytest.mark.parametrize(
    ("a", "b", "name", "followed"),
    [
        (A, B, None, "bank"),
        ("the bank likes money", "a bank sold money, a bank", None, "money"),
        ("so it is the bank", "she likes the river", None, "the"),
        ("the Bank", "a bank", None, "Bank"),
        ("the bank, a bank", "no bank, his bank", "bank#1", "bank"),
    ],
)
def test_the_word_is_the_last_content_word_of_both_or_the_one_named(
    llama: Model, a, b, name, followed
) -> None:
    found = compare(llama, a, b, word=name)
    assert found.word == followed
    if name:
        assert [side.word.start for side in found.sides] == [1, 1]
        assert "bank stands 2 times in A; followed is #1" in found.notes


def test_where_nothing_stands_before_the_word_a_causal_model_is_refused(model: Model) -> None:
    if not model.config.causal:
        assert compare(model, "bank grows", "river bank").word == "bank"
        return
    with pytest.raises(InputError, match=r"'bank' is the first token of 'bank grows' and small is causal"):
        compare(model, "a bank", "bank grows", word="bank")
    with pytest.raises(InputError, match="share no word with another before it: 'a bank', 'bank grows'"):
        compare(model, "a bank", "bank grows")
    with pytest.raises(InputError, match="no word 'tree'"):
        compare(model, A, B, word="tree")
    with pytest.raises(InputError, match="at most 61"):
        compare(model, "a bank " * 31, B)


def notes_of(llama: Model, a: str, b: str) -> str:
    return "\n".join(compare(llama, a, b).notes)


def test_it_says_what_a_reader_would_trip_over(llama: Model) -> None:
    assert "both texts are the same, and the model is causal" in notes_of(
        llama, "a bank grows", "a bank sold it"
    )
    assert '"money" and "river" are first tokens' in notes_of(llama, "money bank", "river bank")
    assert "first tokens" not in notes_of(llama, "the money bank", "the river bank")
    assert "Places that B alone has: 2;" in notes_of(llama, "a bank", "so it is a bank".replace("so ", ""))
    assert 'ends in " Bank" in A and in " bank" in B' in notes_of(llama, "the Bank", "a bank")
    assert "neighbour is 2 tokens in B: the last one asks" in notes_of(llama, "a neighbour", "his neighbour")
    assert "windows of 32 tokens" not in notes_of(llama, A, B)
    assert "about this model, small" in notes_of(llama, A, B)


def test_a_model_that_predicts_nothing_says_so(folders: dict[str, Path], plain: str) -> None:
    found = compare(small_model(folders["bert"], architecture="bert"), A, B)
    assert found.odds is None
    assert "small predicts no next token: there are no odds to compare" in found.notes
    assert "The next token" not in str(found)


def test_of_long_texts_the_places_with_most_weight_are_listed(
    llama: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = compare(llama, A, B)
    monkeypatch.setattr(head_changes, "MAX_PLACES", 5)
    listed = compare(llama, A, B)
    left_out = len(whole.places) - len(listed.places)
    assert left_out > 0
    assert any(note.startswith(f"{left_out} places of less weight are not listed") for note in listed.notes)
    for one, other in zip(whole.heads, listed.heads, strict=True):
        assert (one.head, one.change, one.alone) == (other.head, other.change, other.alone)
        assert whole.places[one.moved] == listed.places[other.moved]


ORDERS: dict[str, Callable[[HeadChange], Any]] = {
    "change": lambda head: -head.change,
    "-change": lambda head: head.change,
    "alone": lambda head: -head.alone,
    "layer": lambda head: [int(n) for n in head.head[1:].split(".H")],
}


@pytest.mark.parametrize("by", ORDERS)
def test_heads_come_in_the_order_asked_for(llama: Model, by: str) -> None:
    keys = [ORDERS[by](head) for head in compare(llama, A, B).sorted(by).heads]
    assert keys == sorted(keys)


def test_an_order_there_is_not_is_refused(llama: Model) -> None:
    with pytest.raises(InputError, match="not sorted by 'beauty'; choose one of change"):
        compare(llama, A, B).sorted("beauty")


def test_it_is_plain_data_with_a_row_for_every_head_and_place(model: Model) -> None:
    found = compare(model, A, B)
    data = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert data["heads"][0]["weights"][0] == list(found.heads[0].weights[0])
    rows = found.rows()
    assert len(rows) == len(found.heads) * len(found.places)
    first = found.heads[0]
    assert [row["weight_b"] for row in rows if row["head"] == first.head] == list(first.weights[1])


def test_the_sheet_shows_the_heads_asked_for_beside_their_habit(llama: Model) -> None:
    found = compare(llama, A, B)
    counts, heads = [part for part in found.scene(7).parts if isinstance(part, Table)][:2]
    assert sum(row[2].value for row in counts.rows) == len(found.heads)
    assert len(heads.rows) == 7
    for row, head in zip(heads.rows, found.heads, strict=False):
        assert row[:2] == (head.head, row[1])
        assert row[1].value == head.change
        habit = max(row[head.moved] for row in head.habit)
        in_a, in_b = (row[head.moved] for row in head.weights)
        assert [cell.value for cell in row[4:7]] == [in_a, in_b, habit]


def test_of_a_long_text_the_headline_shows_what_stands_around_the_word(llama: Model) -> None:
    text = "she remembers " * 13 + "the bank" + " sold" * 13
    headline = compare(llama, text, "a bank").scene().parts[0].runs[0]
    assert "the bank sold" in headline
    assert headline.startswith("A: …")
    assert headline.endswith("…")
    assert len(headline) < len(text) + 3


@pytest.mark.parametrize("format", ["text", "html", "markdown", "latex", "svg"])
def test_hostile_words_are_shown_and_do_nothing(llama: Model, format: str) -> None:
    found = compare(llama, "</script> \\input{x} | bank", "\u202e\x1b[31m evil bank")
    shown = render(found.scene(), format)
    assert "bank" in shown
    assert "\x1b" not in shown
    if format in ("html", "svg"):
        assert "</script> \\input" not in shown
    if format == "latex":
        assert "\\input{x}" not in shown
