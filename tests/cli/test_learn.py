"""``riverhead learn``: a taste, the outcomes, where one stopped, what comes next."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from riverhead.cli.learn import VERBS
from riverhead.cli.main import main
from riverhead.learning.course import course
from riverhead.learning.lessons import lessons
from riverhead.learning.progress import Progress

NOW = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]):
    monkeypatch.setenv("RIVERHEAD_DATA", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))

    def run(*words: str, code: int = 0) -> str:
        with pytest.raises(SystemExit) as ended:
            main(["learn", *words])
        out, err = (stream.decode() for stream in capsysbinary.readouterr())
        assert ended.value.code == code, (out, err)
        return out

    return run


def test_a_taste_every_outcome_and_what_to_type_and_nothing_is_written(run, tmp_path: Path) -> None:
    text = " ".join(run().split())
    for lesson in lessons():
        assert f"{lesson.number} {lesson.title}" in text
        assert all(f"– {outcome}" in text for outcome in lesson.outcomes)
    assert lessons()[0].question in text
    assert lessons()[1].question not in text
    assert "riverhead learn 1 read and work lesson 1" in text
    assert list(tmp_path.iterdir()) == []


def test_json_has_the_course(run) -> None:
    found = json.loads(run("--json"))
    assert (found["schema"], found["next"]) == ("riverhead.learn/1", 1)
    assert [each["number"] for each in found["lessons"]] == [1, 2, 3, 4, 5, 6]
    assert all("{{" not in each["answer"] for each in found["lessons"])


def test_help_lists_the_lessons_and_the_verbs(run) -> None:
    text = run("--help")
    assert all(lesson.title in text for lesson in lessons())
    assert all(verb in text for verb in VERBS)
    assert "Usage: riverhead learn 2 " in run("2", "--help")


def test_it_goes_on_with_the_lesson_worked_on_last_and_says_where_it_was_left(run, tmp_path: Path) -> None:
    first, second, third = (lesson.sections for lesson in lessons()[:3])
    with Progress(tmp_path / "progress.sqlite3") as progress:
        progress.reached(3, third[2].id, at=NOW + timedelta(hours=1))
        progress.reached(2, second[1].id, at=NOW)
        progress.reached(1, first[-1].id, done=True, at=NOW + timedelta(hours=2))
        found = course(progress, NOW)
    assert found.next is lessons()[2]
    text = " ".join(run().split())
    assert f"2 {lessons()[1].title} · you stopped at “{second[1].title}”" in text
    assert f"1 {lessons()[0].title} · finished" in text
    assert "riverhead learn 3 go on with lesson 3" in text
    assert lessons()[2].question in text
    assert json.loads(run("--json"))["lessons"][2]["stopped_at"] == third[2].id


def test_after_the_last_lesson_there_is_practice() -> None:
    progress = Progress()
    for lesson in lessons():
        progress.reached(lesson.number, lesson.sections[-1].id, done=True)
    progress.record("softmax-1-k3m9q2", "softmax", 2, ("softmax",), 0.2, {}, 0, NOW)
    found = course(progress, NOW + timedelta(days=400))
    assert found.next is None
    assert "practise what is due: softmax" in " ".join(str(found.scene()).split())
    assert found.to_dict()["next"] is None


def test_a_damaged_file_of_progress_is_said_and_the_course_shown(run, tmp_path: Path) -> None:
    (tmp_path / "progress.sqlite3").write_bytes(b"no database" * 100)
    assert lessons()[0].title in run()
    assert (tmp_path / "progress.sqlite3").read_bytes() == b"no database" * 100


def test_the_verbs_are_imported_only_when_called() -> None:
    code = "import sys; sys.argv[1:] = ['--help']\n"
    code += "from riverhead.cli.main import riverhead\n"
    code += "try: riverhead()\nexcept SystemExit: pass\n"
    code += "print({'numpy', 'prompt_toolkit', 'riverhead.learning'} & set(sys.modules), file=sys.stderr)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "learn" in ran.stdout
    assert ran.stderr == "set()\n"
