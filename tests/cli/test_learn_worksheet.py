"""``riverhead learn worksheet`` and ``learn grade``: printed, written, filled in, graded."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from riverhead.checking.answers import solved
from riverhead.cli.main import main
from riverhead.learning.worksheets import Worksheet
from riverhead.learning.worksheets.pages import letters

Run = Callable[..., tuple[int, str, str]]

ID = "scaling+valuesx2-1-k3m9q2"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("COLUMNS", "100")

    def learn(*argv: object) -> tuple[int, str, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as done:
            main(["learn", *map(str, argv)])
        out, err = capsys.readouterr()
        assert isinstance(done.value.code, int)
        return done.value.code, out, err

    return learn


@pytest.fixture
def answers(run: Run, tmp_path: Path) -> Path:
    """The CSV of a class of three, each with the right answers."""
    path = tmp_path / "answers.csv"
    assert run("worksheet", ID, "--students", 3, "--csv", path)[0] == 0
    rows = list(csv.reader(io.StringIO(path.read_text("utf-8-sig"))))
    for row in rows[1:]:
        made = Worksheet.parse(ID).exercises(int(row[1]))[int(row[3]) - 1]
        for cell, text in solved(made.sheet).items():
            row[rows[0].index(letters(made)[cell])] = text
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return path


def test_a_new_worksheet_says_its_id_and_its_seed_makes_it_again(run: Run) -> None:
    code, out, err = run("worksheet", "--lesson", 1, "--count", 2)
    assert code == 0
    id = re.findall(r"L1x2-1-[a-z0-9]{6}", err)[0]
    assert f"{id} · student 1" in out
    assert "Key" not in out
    assert run("worksheet", "--lesson", 1, "--count", 2)[1] != out
    assert run("worksheet", id)[1] == out
    assert run("worksheet", "--lesson", 1, "--count", 2, "--seed", id[-6:])[1] == out


def test_kinds_take_turns(run: Run) -> None:
    asked = ("--kind", "scaling", "--kind", "values", "--count", 2, "--seed", "k3m9q2")
    assert run("worksheet", *asked)[1] == run("worksheet", ID)[1]


def test_one_students_sheet_is_the_same_as_in_the_class(run: Run) -> None:
    everyone = run("worksheet", ID, "--students", 3, "--key")[1]
    alone = run("worksheet", ID, "--student", 3)[1].strip()
    assert alone in everyone
    assert everyone.index("Key") > everyone.index(alone)  # the key behind all sheets
    assert everyone.count("Key") == 3


def test_names_stand_on_the_sheets_and_in_the_csv(run: Run, tmp_path: Path) -> None:
    (tmp_path / "class.txt").write_bytes("Zoë\r\n\r\n=1+1\r\n".encode("latin-1"))
    code, out, _ = run("worksheet", ID, "--names", tmp_path / "class.txt", "--csv", tmp_path / "a.csv")
    assert (code, out) == (0, "")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "a.csv").read_text("utf-8-sig"))))
    assert [row["name"] for row in rows] == ["Zoë", "Zoë", "'=1+1", "'=1+1"]
    code, out, _ = run("worksheet", ID, "--names", tmp_path / "class.txt", "--students", 3, "--json")
    found = json.loads(out)
    assert [each["name"] for each in found["students"]] == ["Zoë", "=1+1", ""]
    assert (found["schema"], found["worksheet"]) == ("riverhead.worksheet/1", ID)
    code, _, err = run("worksheet", ID, "--names", tmp_path / "class.txt", "--students", 1)
    assert code == 2
    assert "2 names, and --students says 1" in err


@pytest.mark.parametrize(
    ("ending", "begins"), [("md", "# Scaling"), ("tex", r"\documentclass"), ("txt", "Scaling"), ("json", "{")]
)
def test_a_files_ending_says_the_format(run: Run, tmp_path: Path, ending: str, begins: str) -> None:
    path = tmp_path / f"sheets.{ending}"
    assert run("worksheet", ID, "--key", "-o", path)[0] == 0
    assert path.read_text("utf-8").startswith(begins)
    assert ID in path.read_text("utf-8")


def test_a_pdf(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("typst", reason="needs typst (pip install 'riverhead[pdf]')")
    path = tmp_path / "sheets.pdf"
    assert run("worksheet", ID, "--students", 2, "--key", "--paper", "letter", "--duplex", "-o", path)[0] == 0
    assert path.read_bytes().startswith(b"%PDF-")


def test_without_typst_nothing_is_made_and_the_extra_is_named(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "typst", None)
    code, _, err = run("worksheet", ID, "-o", tmp_path / "sheets.pdf", "--csv", tmp_path / "a.csv")
    assert (code, list(tmp_path.iterdir())) == (3, [])
    assert "pip install 'riverhead[pdf]'" in err


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ((), "--lesson N, or --kind KIND"),
        (("--lesson", 2, "--kind", "dots"), "--lesson N, or --kind KIND"),
        (("--lesson", 7), "there is no lesson 7"),
        (("--kind", "dot"), "no kind of exercise 'dot'"),
        (("--lesson", 2, "--seed", "x"), "looks like L2x8"),
        ((ID, "--count", 3), "an id says it all"),
        ((ID, "--student", 3, "--students", 3), "one sheet alone"),
        ((ID, "--students", 301), "up to 300"),
        ((ID, "--paper", "letter"), "for a PDF"),
        ((ID, "--semicolons"), "give --csv FILE"),
        (("softmax-1-k3m9q2",), "is no worksheet"),
    ],
)
def test_what_is_wrong_is_said(run: Run, argv: tuple[object, ...], said: str) -> None:
    code, out, err = run("worksheet", *argv)
    assert (code, out) == (2, "")
    assert said in err


def test_a_class_is_graded(run: Run, answers: Path) -> None:
    code, out, err = run("grade", ID, answers)
    assert (code, err) == (0, "")
    assert "3 students graded, 100 % right on average." in out
    assert "By student" in out
    assert "By mistake" not in out
    code, out, _ = run("grade", ID, answers, "--format", "csv")
    assert [row["score"] for row in csv.DictReader(io.StringIO(out))] == ["1.0"] * 3
    found = json.loads(run("grade", ID, answers, "--json")[1])
    assert (found["schema"], found["score"]) == ("riverhead.class/1", 1.0)


def test_it_is_graded_from_standard_input_with_its_mistakes_and_remarks(
    run: Run, answers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = answers.read_text("utf-8") + f"{ID},2,,3,,1\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    code, out, _ = run("grade", ID, "-")
    assert code == 0
    assert "its exercise is '3'" in out
    assert re.search(r"^ +8 +its", out, re.M)


@pytest.mark.parametrize(("ending", "begins"), [("md", b"# Student 1"), ("tex", b"\\doc"), ("pdf", b"%PDF-")])
def test_reports_to_hand_back(run: Run, answers: Path, tmp_path: Path, ending: str, begins: bytes) -> None:
    if ending == "pdf":
        pytest.importorskip("typst", reason="needs typst (pip install 'riverhead[pdf]')")
    path = tmp_path / f"feedback.{ending}"
    assert run("grade", ID, answers, "--feedback", path)[0] == 0
    assert path.read_bytes().startswith(begins)


def test_what_cannot_be_graded_is_said(run: Run, answers: Path, tmp_path: Path) -> None:
    assert run("grade", ID, tmp_path / "none.csv")[0] == 3
    assert "looks like L2x8" in run("grade", "class", answers)[2]
    code, _, err = run("grade", ID, answers, "--feedback", tmp_path / "feedback.doc")
    assert code == 2
    assert "its ending has to be .pdf, .md, .tex or .txt" in err
    (tmp_path / "sheet.csv").write_bytes(b"PK\x03\x04")
    assert "save it as CSV" in run("grade", ID, tmp_path / "sheet.csv")[2]
    (tmp_path / "long.csv").write_bytes(b"x" * 10_000_000)
    assert "more than a class can have" in run("grade", ID, tmp_path / "long.csv")[2]


def test_too_many_sheets_are_refused_before_one_is_made(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Worksheet, "exercises", lambda *of: pytest.fail("a sheet was made"))
    assert "up to 300" in run("worksheet", ID, "--students", 301)[2]


def test_a_terminal_obeys_no_name_in_a_csv(run: Run, answers: Path) -> None:
    rows = list(csv.reader(io.StringIO(answers.read_text("utf-8"))))
    rows[1][2] = "\x1b]0;hi\x07Ann"
    with answers.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    assert "\x1b" not in run("grade", ID, answers)[1]
    assert "\x1b" not in run("grade", ID, answers, "--json")[1]
