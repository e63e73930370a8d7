"""``riverhead learn progress``: shown, exported, deleted; and learning that goes on without."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import platformdirs
import pytest

from riverhead.cli import learn_data
from riverhead.cli.main import main
from riverhead.errors import ProgressError
from riverhead.learning.progress import Progress

Run = Callable[..., tuple[int, str, str]]

AT = datetime.now(UTC) - timedelta(days=40)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("COLUMNS", "100")

    def progress(*argv: str) -> tuple[int, str, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as done:
            main(["learn", "progress", *argv])
        out, err = capsys.readouterr()
        assert isinstance(done.value.code, int)
        return done.value.code, out, err

    return progress


@pytest.fixture(autouse=True)
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RIVERHEAD_DATA", str(tmp_path / "data"))
    learn_data._say_once.cache_clear()
    return tmp_path / "data" / "progress.sqlite3"


@pytest.fixture
def learned(path: Path) -> Path:
    with Progress(path) as progress:
        progress.record("softmax-1-k3m9q2", "softmax", 2, ("softmax",), 0.25, {"base-2": 3}, 1, AT)
        progress.record("causal-1-k3m9q3", "causal", 4, ("masks", "softmax"), None, {}, 0, AT)
        progress.reached(2, "variance")
    return path


def test_with_nothing_learned_it_says_how_to_begin_and_makes_no_file(run: Run, path: Path) -> None:
    code, out, err = run()
    assert (code, err) == (0, "")
    assert "riverhead learn 1" in out
    assert "riverhead learn exercise" in out
    assert str(path) in "".join(out.split())
    assert run("--json")[0] == 0
    assert not path.parent.exists()


def test_it_shows_what_was_learned_what_is_due_and_where_it_lies(run: Run, learned: Path) -> None:
    code, out, err = run()
    assert (code, err) == (0, "")
    lines = [line.split() for line in out.splitlines()]
    assert ["softmax", "now", "2", "25", "%", "██▌"] in lines
    assert ["2^score", "for", "e^score", "3", "1"] in lines
    assert "2 exercises tried; due now: softmax." in out
    assert str(learned) in "".join(out.split())


def test_json_is_everything_that_is_kept(run: Run, learned: Path, tmp_path: Path) -> None:
    code, out, err = run("--json")
    assert (code, err) == (0, "")
    with Progress(learned) as progress:
        assert json.loads(out) == progress.export()
    file = tmp_path / "mine.json"
    assert run("--export", str(file))[:2] == (0, "")
    assert file.read_text() == out


def test_csv_has_a_row_for_each_exercise_tried(run: Run, learned: Path) -> None:
    code, out, _ = run("--format", "csv")
    assert code == 0
    first, second = csv.DictReader(io.StringIO(out))
    assert first == {
        "at": AT.isoformat(timespec="microseconds"),
        "exercise": "softmax-1-k3m9q2",
        "kind": "softmax",
        "lesson": "2",
        "score": "0.25",
        "hints": "1",
        "skills": "softmax",
        "mistakes": "base-2 ×3",
    }
    assert (second["skills"], second["score"], second["mistakes"]) == ("masks; softmax", "", "")


def test_csv_of_nothing_is_said(run: Run) -> None:
    code, out, err = run("--format", "csv")
    assert (code, out) == (2, "")
    assert "no exercise was tried yet" in err


@pytest.mark.parametrize("ending", ["md", "html", "tex", "svg", "txt"])
def test_every_format_holds_the_same(run: Run, learned: Path, tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"progress.{ending}"
    assert run("-o", str(file)) == (0, "", "")
    assert "softmax" in file.read_text()
    assert "25" in file.read_text()


def test_delete_asks_and_a_no_keeps_it(run: Run, learned: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for answer, kept in (("n\n", True), ("\n", True), ("y\n", False)):
        monkeypatch.setattr(sys, "stdin", at_a_terminal(answer))
        code, out, err = run("--delete")
        assert (code, out) == (0, "")
        assert f"Delete 2 exercises tried and 1 lesson begun, in {learned}?" in err
        assert learned.exists() == kept
    assert list(learned.parent.iterdir()) == []


def at_a_terminal(text: str) -> io.StringIO:
    stream = io.StringIO(text)
    stream.isatty = lambda: True  # type: ignore[method-assign]
    return stream


def test_delete_that_nobody_can_answer_is_refused(run: Run, learned: Path) -> None:
    code, out, err = run("--delete")  # pytest's standard input is no terminal
    assert (code, out) == (2, "")
    assert "nobody is there to answer; give --yes" in err
    assert learned.exists()


def test_delete_with_yes(run: Run, learned: Path) -> None:
    code, out, err = run("--delete", "--yes")
    assert (code, out) == (0, "")
    assert err == f"{learned} deleted: 2 exercises tried and 1 lesson begun\n"
    assert list(learned.parent.iterdir()) == []
    assert run("--delete", "--yes") == (0, "", f"nothing is kept in {learned}\n")


def test_delete_and_export_do_not_go_together(run: Run, learned: Path, tmp_path: Path) -> None:
    code, _, err = run("--delete", "--yes", "-o", str(tmp_path / "a.json"))
    assert code == 2
    assert "export first" in err
    assert learned.exists()


@pytest.mark.parametrize("argv", [(), ("--json",), ("--delete", "--yes")])
def test_another_programs_file_is_named_and_left(run: Run, path: Path, argv: tuple[str, ...]) -> None:
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE bookmarks (url TEXT)")
    before = path.read_bytes()
    code, out, err = run(*argv)
    assert (code, out) == (3, "")
    assert err.startswith(f"riverhead: error: {path} is a database of another program; it was left as it is")
    assert path.read_bytes() == before


def test_learning_goes_on_where_nothing_can_be_kept_and_says_so_once(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path.parent.write_text("a file where the folder should be")
    for open_it in (learn_data.opened, learn_data.opened, learn_data.looked_at):
        with open_it() as progress:
            progress.reached(1, "a")
            assert progress.place(1) == "a"
    out, err = capsys.readouterr()
    assert out == ""
    (line,) = err.splitlines()
    assert line.startswith("riverhead: nothing of this is kept: ")
    assert line.endswith("let RIVERHEAD_DATA name a folder where it is allowed")
    assert path.parent.is_file()


def test_a_write_that_fails_is_said_once_and_learning_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        with learn_data.keeping():
            raise ProgressError("the disk\x1b[31m is full")
    assert capsys.readouterr() == ("", "riverhead: nothing of this is kept: the disk\\x1b[31m is full\n")
    with pytest.raises(ZeroDivisionError), learn_data.keeping():
        _ = 1 / 0  # what is no matter of keeping is not swallowed


def test_opened_is_kept_and_looked_at_makes_nothing(path: Path) -> None:
    with learn_data.looked_at() as progress:
        assert progress.finished() == ()
    assert not path.exists()
    with learn_data.opened() as progress:
        progress.reached(3, "a", done=True)
    with learn_data.looked_at() as progress:
        assert progress.finished() == (3,)


def test_it_lies_in_the_users_data_folder_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RIVERHEAD_DATA", "~/elsewhere")
    assert learn_data.data_folder() == Path.home() / "elsewhere"
    monkeypatch.setenv("RIVERHEAD_DATA", "")
    assert learn_data.data_folder() == Path(platformdirs.user_data_dir("riverhead", appauthor=False))
