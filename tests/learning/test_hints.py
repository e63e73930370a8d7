"""Hints climb, say nothing before their turn, and know every step of every sheet."""

from __future__ import annotations

import re
from functools import cache

import pytest

from riverhead.checking.answers import solved
from riverhead.errors import InputError
from riverhead.learning.exercises import fresh, kinds
from riverhead.learning.exercises.hints import hints, saying
from riverhead.learning.exercises.written import written
from riverhead.numbers import plain
from riverhead.scene import Scene

SEEDS = ("k3m9q2", "b7b7b7")
every_kind = pytest.mark.parametrize("kind", kinds())
NUMBER = re.compile(r"−?\d[\d ]*(?:\.\d+)?|−∞")
LETTERS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789−")


@cache
def made(kind, seed=SEEDS[0]):
    return fresh(kind, seed)


def text(hint):
    return str(Scene(hint.title, hint.parts))


def told(hint, *names):
    """The numbers that a hint shows, apart from those in the names of cells: q_2, "component 2"."""
    words = re.sub(r"_\d+", "_", " ".join(text(hint).translate(LETTERS).split()))
    for name in sorted(names, key=len, reverse=True):
        words = words.replace(name.translate(LETTERS), "…")
    return set(NUMBER.findall(words))


def before(sheet, id):
    """What a learner has written who got as far as cell ``id``."""
    right = solved(sheet)
    ids = list(right)
    return {other: right[other] for other in ids[: ids.index(id)]}


@every_kind
def test_every_step_of_every_sheet_has_its_words_and_its_formula(kind):
    for seed in SEEDS:
        for cell in made(kind, seed).sheet.asked:
            said = saying(cell)
            assert said.which.endswith(".")
            assert said.numbers or written(cell.step, [plain(2)] * len(cell.parents)) is not None, cell.step


@every_kind
def test_five_hints_climb_and_the_last_has_the_answer(kind):
    sheet = made(kind).sheet
    right = solved(sheet)
    for cell in sheet.asked:
        found = hints(made(kind), before(sheet, cell.id), cell.id)
        assert [hint.level for hint in found] == [1, 2, 3, 4, 5]
        assert all(hint.parts for hint in found)
        assert len({text(hint) for hint in found}) == 5, cell.id
        assert cell.name in " ".join(text(found[0]).split())
        assert right[cell.id] in " ".join(text(found[4]).split())


@every_kind
def test_no_hint_before_the_last_has_the_answer_unless_it_stands_there_already(kind):
    for seed in SEEDS:
        sheet = made(kind, seed).sheet
        right = solved(sheet)
        names = {cell.name for cell in sheet.cells}
        for cell in sheet.asked:
            written_so_far = before(sheet, cell.id)
            known = {plain(sheet[id].truth).text for id in cell.parents if sheet[id].step == "given"}
            known |= {written_so_far.get(id, "") for id in cell.parents}
            known |= {"2", "4", str(len(cell.parents)), "−∞"}  # of e², of √4, of how many; the rule of a mask
            for hint in hints(made(kind, seed), written_so_far, cell.id)[:3]:
                assert right[cell.id] not in told(hint, *names) - known, (cell.id, text(hint))


@every_kind
def test_the_fourth_works_another_cell(kind):
    sheet = made(kind).sheet
    for cell in sheet.asked:
        fourth = hints(made(kind), before(sheet, cell.id), cell.id)[3]
        chain = " ".join(text(fourth).split())
        own = f"{cell.name} = "
        assert own not in chain or "With other numbers" in chain
        if own in chain:
            assert not chain.endswith(f"= {solved(sheet)[cell.id]}")


def test_the_third_has_the_learners_own_numbers_and_names_what_is_blank():
    softmax = made("softmax")
    third = hints(softmax, {"exp.0.0": "7.77", "sum.0": "9.5"}, "weights.0.0")[2]
    assert {"7.77", "9.5"} <= told(third)
    blank = text(hints(softmax, {"sum.0": "9.5"}, "weights.0.0")[2])
    assert softmax.sheet["exp.0.0"].name in " ".join(blank.split())
    assert f"{softmax.sheet['exp.0.0'].truth:.2f}" not in blank


def test_the_fourth_gives_no_number_away_but_of_the_cell_it_works():
    softmax = made("softmax")
    assert "With other numbers" in text(hints(softmax, {}, "weights.0.0")[3])
    wrong = {id: "9.99" for id in solved(softmax.sheet) if not id.startswith("weights")}
    assert "With other numbers" in text(hints(softmax, wrong, "weights.0.0")[3])
    assert "With other numbers" not in text(hints(softmax, before(softmax.sheet, "weights.0.0"))[3])


def test_what_cannot_be_read_is_blank_and_a_fraction_is_its_number():
    softmax = made("softmax")
    third = hints(softmax, {"exp.0.0": "<script>", "sum.0": "19/2"}, "weights.0.0")[2]
    assert "<script>" not in text(third)
    assert "9.50" in told(third)


def test_without_a_cell_the_first_blank_or_wrong_one_is_meant():
    softmax = made("softmax")
    right = solved(softmax.sheet)
    first, second, *_, last = right
    name = softmax.sheet[second].name
    assert softmax.sheet[first].name in " ".join(text(hints(softmax)[0]).split())
    assert name in " ".join(text(hints(softmax, {first: right[first]})[0]).split())
    for wrong in ("99", "two", " "):
        assert name in " ".join(text(hints(softmax, right | {second: wrong})[0]).split())
    assert softmax.sheet[last].name in " ".join(text(hints(softmax, right)[0]).split())


def test_what_divides_is_shown_as_the_root_it_is():
    scaling = made("scaling")
    third = text(hints(scaling)[2])
    assert f"√{scaling.sheet['d_k'].truth:.0f}" in third


def test_cells_that_are_not_asked_for_get_no_hint():
    with pytest.raises(InputError, match="not asked for"):
        hints(made("softmax"), cell="scores.0.0")
    with pytest.raises(InputError, match="there is no cell"):
        hints(made("softmax"), cell="nonsense")
