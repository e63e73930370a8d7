"""Exercises by hand: the same from an id anywhere, clean, fair, and each mistake told apart."""

from __future__ import annotations

import hashlib
import json
import random
from functools import cache

import numpy as np
import pytest

from riverhead.checking.answers import (
    Kind,
    Sheet,
    blurs,
    dot_sheet,
    grade,
    masked_sheet,
    mistaken,
    mistakes,
    softmax_sheet,
    solved,
)
from riverhead.checking.answers.diagnosis import trails
from riverhead.checking.answers.steps import follow
from riverhead.checking.answers.working import truth
from riverhead.errors import InputError
from riverhead.learning.exercises import VERSION, clean, exercise, fresh, kinds
from riverhead.learning.exercises.catalogue import Made
from riverhead.learning.exercises.draw import Draw
from riverhead.learning.exercises.words import padding, sentence
from riverhead.numbers import Interval

KINDS = (
    *("dots", "score-grid", "scaling", "softmax", "two-token", "values", "attention", "causal", "padded"),
    "layer-norm",
)
SEEDS = [f"{n:04d}ab" for n in range(6)]
every_kind = pytest.mark.parametrize("kind", KINDS)


@cache
def made(kind):
    return [fresh(kind, seed) for seed in SEEDS]


def many(kind):
    return [fresh(kind, f"{n:06d}") for n in range(40)]


def numbers(sheet: Sheet, grid: str):
    return [cell.truth for cell in sheet.cells if cell.grid == grid]


# The same anywhere


def digest(kind: str) -> str:
    """What an id gives, numbers to nine digits: the last bits of an exponential are the machine's own."""
    made = fresh(kind, "k3m9q2")
    cells = [(c.id, c.step, c.parents, f"{c.truth + 0.0:.9g}", c.asked) for c in made.sheet.cells]
    text = json.dumps([made.to_dict(), cells], ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


GOLDEN = {
    "dots": "f4885850d8e95e0c",
    "score-grid": "0685caff484b49f8",
    "scaling": "094b41f9bdc79be5",
    "softmax": "c956c0406638ac99",
    "two-token": "28f8566f05d299e2",
    "values": "80dc1271440e9c7d",
    "attention": "877887f6de718d40",
    "causal": "211ccc6537e4875a",
    "padded": "c4f64f3c7ba10c4f",
    "layer-norm": "c5a263a25f8a8dfc",
}


@every_kind
def test_an_id_gives_what_it_always_gave(kind):
    """If this fails, ids in people's hands would change: raise VERSION of the exercises, then the digests."""
    assert digest(kind) == GOLDEN[kind]


@every_kind
def test_an_id_makes_its_exercise_again_and_another_another(kind):
    found = made(kind)
    assert exercise(found[5].id) == found[5]
    assert found[5].id == f"{kind}-{VERSION}-{SEEDS[5]}"
    assert len({f"{item.sheet}{item.task}" for item in found}) == len(found)


def test_a_draw_is_pythons_oldest_stream_and_nothing_else():
    draw, stream = Draw("softmax-1-k3m9q2"), random.Random("softmax-1-k3m9q2")
    assert [draw.integer(-4, 6) for _ in range(9)] == [-4 + int(stream.random() * 11) for _ in range(9)]
    assert sorted(draw.shuffled("riverhead")) == sorted("riverhead")
    assert len(set(draw.sample(range(50), 20))) == 20


@pytest.mark.parametrize(
    ("id", "said"),
    [
        ("softmax", "is no exercise; an id is kind-version-seed"),
        ("softmax-1-K3M9Q2", "is no exercise"),
        ("softmax-1-k3m9q2\n", "is no exercise"),
        ("softmax-9-k3m9q2", "was made by version 9 of the exercises"),
        ("nonsense-1-k3m9q2", "there is no kind of exercise 'nonsense'; there are dots"),
        ("</script>-1-k3m9q2", "is no exercise"),
    ],
)
def test_what_is_no_id_is_refused_in_words(id, said):
    with pytest.raises(InputError, match=said.replace("</script>", "")):
        exercise(id)


def test_a_kind_that_never_makes_a_good_one_says_so(monkeypatch):
    monkeypatch.setattr(type(kinds()["softmax"]), "make", lambda self, draw: None)
    with pytest.raises(InputError, match="take another seed"):
        fresh("softmax", "k3m9q2")


@pytest.mark.parametrize("bad", [[[3.5, -0.5, 1.5]], [[0.5, 1.5]]])  # saturated; the largest its own
def test_a_draw_that_is_not_clean_or_not_clear_is_taken_again(monkeypatch, bad):
    drawn = iter([bad, [[1.5, -0.5, 0.5]]])
    monkeypatch.setattr(
        type(kinds()["softmax"]), "make", lambda self, draw: Made((), softmax_sheet(next(drawn)))
    )
    assert fresh("softmax", "k3m9q2").sheet["scores.0.0"].truth == 1.5


# Clean numbers


@every_kind
def test_numbers_are_small_whole_or_halves_and_few_are_0(kind):
    for item in made(kind):
        given = {c.id: c.truth for c in item.sheet.cells if c.step == "given" and c.grid in GIVEN}
        assert all(abs(x) <= (6 if kind != "scaling" else 40) for x in given.values()), item.id
        assert all((2 * x).is_integer() or c.startswith("weights") for c, x in given.items())
        assert len(set(given.values())) > 1


GIVEN = ("q", "k", "v", "dots", "scores", "weights", "x", "gain", "shift")


@every_kind
def test_no_weight_is_all_or_nothing_unless_a_mask_makes_it_so(kind):
    for item in made(kind):
        asked = [c for c in item.sheet.asked if c.grid == "weights"]
        seen = [c.truth for c in asked if not (c.exact and c.truth == 0)]
        assert all(0.02 <= weight <= 0.9 for weight in seen)
        assert len(seen) != 1
        if kind in ("causal", "padded"):
            assert len(seen) < len(asked)


@pytest.mark.parametrize("kind", ["softmax", "two-token", "attention", "causal", "padded"])
def test_exponentials_fit_the_paper(kind):
    for item in made(kind):
        exps = [cell.truth for cell in item.sheet.asked if cell.grid == "exp" and cell.truth]
        assert all(0.04 < exp < 55 for exp in exps)


@every_kind
def test_no_query_or_key_is_all_zeros_and_no_two_are_the_same(kind):
    for item in made(kind):
        for grid in ("q", "k"):
            rows: dict[int, list[float]] = {}
            for cell in item.sheet.cells:
                if cell.grid == grid:
                    rows.setdefault(cell.at[0], []).append(cell.truth)
            assert all(any(row) for row in rows.values())
            assert len({tuple(row) for row in rows.values()}) == len(rows)


def test_scaling_comes_to_d_k_64_and_divides_by_8():
    widths = {item.sheet["d_k"].truth: item.sheet["divisor"].truth for item in many("scaling")}
    assert widths[64.0] == 8.0
    assert all(divisor == width**0.5 and divisor.is_integer() for width, divisor in widths.items())


def test_softmax_has_two_to_five_tokens_and_attention_three_or_four():
    assert {len(numbers(item.sheet, "scores")) for item in many("softmax")} == {2, 3, 4, 5}
    assert {len(numbers(item.sheet, "v")) // 2 for item in made("attention")} == {3, 4}


def test_a_weight_that_saturates_and_numbers_that_could_be_swapped_are_seen():
    assert clean.saturates(softmax_sheet([[0.0, 0.5], [0.0, 9.0]]))
    assert not clean.saturates(masked_sheet([[1.0, 9.0]], [[True, False]], query=0))
    assert not clean.sees_apart(dot_sheet([[1.0, 0.0]], [[2.0, 5.0], [2.0, 1.0]]))
    assert not clean.sees_apart(dot_sheet([[1.0, 0.0], [0.0, 1.0]], [[1.0, 2.0], [2.0, 5.0]]))  # transposed
    assert clean.sees_apart(dot_sheet([[1.0, 0.0], [0.0, 1.0]], [[1.0, 3.0], [2.0, 5.0]]))


def test_sentences_are_words_of_which_none_comes_twice():
    draw = Draw("words")
    for n in (2, 3, 4, 5):
        found = {sentence(draw, n) for _ in range(100)}
        assert len(found) > 10
        assert all(len(set(words)) == n for words in found)
    assert len(padding(2)) == 2


# Fair


@every_kind
def test_the_truth_scores_1_and_nothing_is_blurred(kind):
    for item in made(kind):
        report = grade(item.sheet, solved(item.sheet))
        assert report.score == 1.0
        assert {mark.kind for mark in report.marks} == {Kind.RIGHT}
        assert blurs(item.sheet) == ()


@every_kind
def test_each_mistake_that_a_sheet_can_show_is_diagnosed_as_itself(kind):
    for item in made(kind)[:1]:
        shows = {
            trail.mistake.id for trail in trails(item.sheet, truth) if any(map(trail.makes, item.sheet.asked))
        }
        for mistake in shows & set(mistakes()):
            try:
                answers = mistaken(item.sheet, mistake)
            except InputError:  # no numbers would show it
                continue
            report = grade(item.sheet, answers)
            first = next(mark for mark in report.marks if mark.credit == 0)
            said = (
                "no-scale"
                if mistake == "scaled-after-softmax" and first.cell.startswith("scores")
                else mistake
            )
            assert said in first.mistakes, (item.id, mistake)
            assert mistake in report.mistakes, (item.id, mistake)


def rounded_all_along(sheet: Sheet, pick) -> dict[str, str] | None:
    """Every asked number rounded; gone on from it, or from the calculator's, as ``pick`` says."""
    held: dict[str, float] = {}
    answers: dict[str, str] = {}
    for cell in sheet.cells:
        made = (
            truth(cell)
            if cell.step == "given"
            else follow(cell.step, [Interval.point(held[p]) for p in cell.parents])
        )
        if made is None:
            return None
        held[cell.id] = made.lo
        if cell.asked:
            answers[cell.id] = f"{made.lo:.{cell.decimals}f}"
            held[cell.id] = float(answers[cell.id]) if pick() else made.lo
    return answers


@every_kind
def test_a_learner_who_rounds_every_step_is_never_marked_down(kind):
    for item, share in zip(made(kind), 2 * [1.0, 0.5, 0.0], strict=True):
        chance = random.Random(item.id)
        answers = rounded_all_along(item.sheet, lambda chance=chance, share=share: chance.random() < share)
        assert answers is not None
        report = grade(item.sheet, answers)
        assert {mark.kind for mark in report.marks} <= {Kind.RIGHT, Kind.FOLLOWS}, item.id


# As data


@pytest.mark.parametrize("kind", kinds())
def test_as_data_it_says_all_but_the_answers(kind):
    item = fresh(kind, "k3m9q2")
    found = json.loads(json.dumps(item.to_dict()))
    assert (found["schema"], found["id"], found["kind"]) == ("riverhead.exercise/1", f"{kind}-1-k3m9q2", kind)
    assert (found["title"], found["lesson"]) == (kinds()[kind].title, kinds()[kind].lesson)
    assert found["task"]
    assert [cell["id"] for cell in found["cells"]] == [cell.id for cell in item.sheet.asked]
    assert all(set(cell) == {"id", "name", "unit", "as"} for cell in found["cells"])
    assert all(cell["name"] in str(item.scene()).replace("\n", " ") for cell in found["cells"])


@pytest.mark.parametrize("kind", ["causal", "padded"])
def test_how_a_number_is_asked_for_does_not_say_which_are_hidden(kind):
    for item in made(kind)[:5]:
        forms = {(cell["id"].split(".")[0], cell["as"]) for cell in item.to_dict()["cells"]}
        assert forms == {
            ("masked", "exactly"), ("exp", "2 decimals"), ("sum", "2 decimals"), ("weights", "2 decimals"),
        }  # fmt: skip


def test_a_causal_row_hides_what_comes_after_and_a_padded_one_the_padding():
    for item in made("causal"):
        asked = [cell for cell in item.sheet.asked if cell.grid == "masked"]
        assert all(np.isinf(cell.truth) == (cell.at[1] > cell.at[0]) for cell in asked)
        assert sum(np.isinf(cell.truth) for cell in asked) >= 2
    for item in made("padded"):
        hidden = [cell.name for cell in item.sheet.asked if cell.grid == "masked" and np.isinf(cell.truth)]
        assert hidden
        assert all(padding(1)[0] in name for name in hidden)
