"""Worksheets: an id makes the same sheets anywhere; what is printed is the exercise, whole."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riverhead.checking.answers import solved
from riverhead.checking.answers.telling import shown
from riverhead.errors import InputError, MissingExtraError
from riverhead.learning.exercises import VERSION, exercise, kinds
from riverhead.learning.worksheets import Paper, Worksheet, pages
from riverhead.learning.worksheets.nodes import Nodes, runs
from riverhead.learning.worksheets.typeset import lacking, reports_pdf, sheets_pdf
from riverhead.learning.worksheets.worksheet import MOST_COUNT, MOST_STUDENTS, SEED, lettered
from riverhead.scene import Formula, Scene, Table, Text, Word

ID = "L1x3-1-k3m9q2"
GOLDEN_IDS = ["scaling-1-yd2urm", "values-1-cbhm8n", "scaling-1-3aqowe"]
GOLDEN_DIGEST = "1227f77bf578df0e"


def ids(id: str, student: int) -> list[str]:
    return [made.id for made in Worksheet.parse(id).exercises(student)]


def test_an_id_means_what_it_meant() -> None:
    """If this fails, sheets in people's hands would change: raise VERSION of the exercises, then these.

    What each exercise's id gives is held in test_exercises.
    """
    assert ids("scaling+valuesx3-1-k3m9q2", 7) == GOLDEN_IDS
    every = "+".join(kinds())
    found = ids(f"{every}x{len(kinds())}-1-k3m9q2", 1)
    assert [id.rsplit("-", 2)[0] for id in found] == list(kinds())
    assert hashlib.sha256(" ".join(found).encode()).hexdigest()[:16] == GOLDEN_DIGEST


def test_the_exercises_of_a_sheet_are_those_of_their_ids() -> None:
    for made in Worksheet.parse(ID).exercises(2):
        assert exercise(made.id) == made


def test_kinds_take_turns_and_students_differ() -> None:
    sheets = Worksheet.parse("dots+scaling+valuesx7-1-k3m9q2")
    found = [sheets.exercises(student) for student in range(1, 12)]
    for made in found:
        assert [each.kind.name for each in made] == ["dots", "scaling", "values"] * 2 + ["dots"]
        assert all(a.task != b.task for n, a in enumerate(made) for b in made[:n])
    assert len({tuple(each.id for each in made) for made in found}) == len(found)


@pytest.mark.parametrize("number", range(1, 7))
def test_a_lesson_gives_its_kinds(number: int) -> None:
    sheets = Worksheet(f"L{number}", 2, "k3m9q2")
    assert sheets.kinds == tuple(name for name, kind in kinds().items() if kind.lesson == number)
    assert sheets.lesson == number


@settings(max_examples=30)
@given(
    what=st.one_of(
        st.sampled_from(["L1", "L6"]),
        st.lists(st.sampled_from(list(kinds())), min_size=1, unique=True).map("+".join),
    ),
    count=st.integers(1, MOST_COUNT),
    seed=st.text(SEED, min_size=6, max_size=6),
)
def test_an_id_reads_back_also_typed_in_capitals(what: str, count: int, seed: str) -> None:
    sheets = Worksheet(what, count, seed)
    assert Worksheet.parse(sheets.id) == sheets == Worksheet.parse(f" {sheets.id.upper()} ")


@settings(max_examples=50)
@given(st.text(max_size=40))
def test_any_other_text_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        Worksheet.parse(text)


@pytest.mark.parametrize(
    ("id", "said"),
    [
        ("L7x2-1-k3m9q2", "there is no lesson 7; they go from 1 to 6"),
        ("L2x0-1-k3m9q2", f"1 to {MOST_COUNT} exercises"),
        ("L2x31-1-k3m9q2", f"1 to {MOST_COUNT} exercises"),
        (f"L2x8-{VERSION + 1}-k3m9q2", f"this riverhead makes version {VERSION}"),
        ("nothingx2-1-k3m9q2", "no kind of exercise 'nothing'"),
        ("dots+dotsx2-1-k3m9q2", "names a kind twice"),
        ("softmax-1-k3m9q2", "looks like L2x8-1-k3m9q2"),
    ],
)
def test_what_is_wrong_with_an_id_is_said(id: str, said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        Worksheet.parse(id)


@pytest.mark.parametrize("student", [0, -1, MOST_STUDENTS + 1])
def test_a_student_has_a_number(student: int) -> None:
    with pytest.raises(InputError, match=f"count from 1, up to {MOST_STUDENTS}"):
        Worksheet.parse(ID).exercises(student)


def test_where_a_kind_has_too_few_exercises_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    from riverhead.learning.worksheets import worksheet

    only = exercise("values-1-k3m9q2")
    monkeypatch.setattr(worksheet, "fresh", lambda kind, seed: only)
    assert len(Worksheet.parse("valuesx1-1-k3m9q2").exercises(1)) == 1
    with pytest.raises(InputError, match="not 2 different exercises of values"):
        Worksheet.parse("valuesx2-1-k3m9q2").exercises(1)


@pytest.fixture(scope="module")
def every() -> Paper:
    """A sheet with an exercise of every kind."""
    return Worksheet.parse(f"{'+'.join(kinds())}x{len(kinds())}-1-aaaaaa").paper(3, "Zoë <b>|=1+1")


def test_every_cell_has_a_box_with_its_letter_in_the_order_of_the_work(every: Paper) -> None:
    tables = [part for part in pages.sheet(every).parts if isinstance(part, Table)]
    found = [
        cell[:-1].split()[0] for t in tables for row in t.rows for cell in row if str(cell).endswith("…")
    ]
    assert found == [letter for made in every.exercises for letter in lettered(made.sheet)]
    for made in every.exercises:
        assert [cell.id for cell in lettered(made.sheet).values()] == [cell.id for cell in made.sheet.asked]


def test_the_sheet_has_the_task_and_no_answer(every: Paper) -> None:
    parts = pages.sheet(every).parts
    for made in every.exercises:
        assert set(made.task) <= set(parts)
    tasks = sum(str(Scene("", made.task)).count("=") for made in every.exercises)
    assert str(pages.sheet(every)).count("=") == tasks + every.name.count("=")


def test_the_key_has_every_answer_with_its_arithmetic(every: Paper) -> None:
    tables = [part for part in pages.key(every).parts if isinstance(part, Table)]
    assert len(tables) == len(every.exercises)
    for made, table in zip(every.exercises, tables, strict=True):
        for cell, (_, number, sum) in zip(made.sheet.asked, table.rows, strict=True):
            assert str(number) == shown(cell, cell.truth)
            assert str(Scene("", (Formula(sum),))).replace("\n", " ").rstrip().endswith(str(number))


def test_json_keeps_the_answers_for_who_asks_for_them(every: Paper) -> None:
    assert all("answers" not in each for each in pages.as_data(every, with_key=False)["exercises"])
    keyed = pages.as_data(every, with_key=True)["exercises"]
    assert [each["answers"] for each in keyed] == [solved(made.sheet) for made in every.exercises]


def test_symbols_among_words() -> None:
    assert [str(run) for run in runs("y_1, W_q and e^score")] == ["y_1", ", ", "W_q", " and ", "e^score"]
    assert runs("find_me a b") == ("find_me a b",)
    assert Nodes(ours=False).words("x_1")["items"] == [{"is": "plain", "text": "x_1"}]


# PDF


@pytest.fixture(scope="module")
def typst() -> None:
    pytest.importorskip("typst", reason="needs typst (pip install 'riverhead[pdf]')")


def text_of(pdf: bytes, folder: Path) -> str:
    if shutil.which("pdftotext") is None:
        pytest.skip("needs pdftotext (Debian: poppler-utils)")
    (folder / "sheets.pdf").write_bytes(pdf)
    command = ["pdftotext", "-layout", "sheets.pdf", "-"]
    return subprocess.run(command, cwd=folder, capture_output=True, check=True, text=True).stdout


def test_a_pdf_has_every_task_the_id_on_every_page_and_the_key_last(typst: None, tmp_path: Path) -> None:
    paper = Worksheet.parse("L6x4-1-k3m9q2").paper(3, "Zoë <b>|=1+1")
    pdf = sheets_pdf([paper], with_key=True)
    assert pdf.startswith(b"%PDF-")
    leaves = text_of(pdf, tmp_path).split("\f")[:-1]
    first_key = next(n for n, leaf in enumerate(leaves) if "Key:" in leaf)
    sheets, key = "\n".join(leaves[:first_key]), "\n".join(leaves[first_key:])
    assert all(paper.worksheet.id in leaf for leaf in leaves)
    assert f"page {first_key} of {first_key}" in leaves[first_key - 1]
    assert paper.name in sheets
    assert f"Student 3, {paper.name}" in key
    for number, made in enumerate(paper.exercises, 1):
        assert re.search(rf"{number} +{made.title}", sheets)
        assert re.search(rf"{number} +{made.title}", key)
    for part in paper.exercises[-1].task:
        if isinstance(part, Text):
            assert str(part.runs[0])[:40] in " ".join(sheets.split())
    wanted = {shown(cell, cell.truth) for made in paper.exercises for cell in made.sheet.asked}
    assert {number for number in wanted if number not in key} == set()


def test_a_pdf_begins_each_sheet_on_a_page_of_its_own_in_duplex_on_a_front(
    typst: None, tmp_path: Path
) -> None:
    papers = [Worksheet.parse(ID).paper(student) for student in (1, 2)]

    def owners(pdf: bytes) -> list[str]:
        found = [re.search(r"student \d", leaf) for leaf in text_of(pdf, tmp_path).split("\f")[:-1]]
        return [owner.group() if owner else "" for owner in found]

    assert owners(sheets_pdf(papers)) == ["student 1", "student 2"]
    assert owners(sheets_pdf(papers, double=True)) == ["student 1", "", "student 2"]
    assert b"/MediaBox" in sheets_pdf(papers[:1], paper="letter")


def test_what_a_name_or_an_answer_would_do_to_typst_it_shows(typst: None, tmp_path: Path) -> None:
    hostile = '#read("x") $x$ *b* \\ ]; "'
    paper = Paper(Worksheet.parse(ID), 1, Worksheet.parse(ID).exercises(1), hostile)
    assert hostile in text_of(sheets_pdf([paper], with_key=True), tmp_path)
    scene = Scene(hostile, (Text((hostile,)), Table((hostile,), ((Word(hostile),),))))
    assert text_of(reports_pdf(paper.worksheet, [(hostile, scene)]), tmp_path).count("#read") == 5


def test_letters_that_no_font_has_are_known(typst: None) -> None:
    assert lacking("Zoë\U0010fffe √x′ \u0378 γ\u0378") == "\U0010fffe\u0378"  # both unassigned
    assert lacking("Ada\nBo\r\n") == ""  # where a line ends is no letter


def test_without_typst_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "typst", None)
    with pytest.raises(MissingExtraError, match=re.escape("pip install 'riverhead[pdf]'")):
        sheets_pdf([Worksheet.parse(ID).paper(1)])


# LaTeX, Markdown, text


def test_latex_compiles(tmp_path: Path) -> None:
    if shutil.which("lualatex") is None:
        pytest.skip("needs lualatex (Debian: texlive-luatex texlive-latex-recommended lmodern)")
    paper = Worksheet.parse("softmax+layer-normx2-1-k3m9q2").paper(1, r"\input{x} & 50 %")
    scenes = [pages.sheet(paper), pages.key(paper)]
    (tmp_path / "sheets.tex").write_text(pages.bound(scenes, "latex"), encoding="utf-8")
    flags = ["-no-shell-escape", "-interaction=nonstopmode", "-halt-on-error"]
    run = subprocess.run(["lualatex", *flags, "sheets.tex"], cwd=tmp_path, capture_output=True, timeout=300)
    assert run.returncode == 0, run.stdout.decode(errors="replace")[-2000:]
    assert b"Missing character" not in run.stdout


@pytest.mark.parametrize("format", ["latex", "markdown", "text"])
def test_sheets_are_bound_in_order(format: str) -> None:
    scenes = [pages.sheet(Worksheet.parse("valuesx1-1-k3m9q2").paper(n)) for n in (1, 2, 3)]
    bound = pages.bound(scenes, format)
    assert re.findall(r"student (\d)", bound) == ["1", "2", "3"]
    assert bound.count(r"\clearpage") == (2 if format == "latex" else 0)
