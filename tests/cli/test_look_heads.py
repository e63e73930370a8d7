"""``riverhead look heads`` as a user runs it: the real process, on the real model."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sysconfig
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

RIVERHEAD = str(Path(sysconfig.get_path("scripts")) / "riverhead")
TWICE = "The tall smith sold two clocks. " * 2


@pytest.fixture
def run(tmp_path: Path, smollm2_folder: Path):
    """Run ``look heads`` in an empty folder, offline, with the model there."""

    def run(*words: str, code: int = 0, stdin: bytes = b"", cache: Path | None = None):
        folder = str(cache or smollm2_folder.parent.parent)
        environment = {"RIVERHEAD_CACHE": folder, "RIVERHEAD_OFFLINE": "1", "COLUMNS": "100"}
        ran = subprocess.run(
            [RIVERHEAD, "look", "heads", *words],
            input=stdin,
            capture_output=True,
            cwd=tmp_path,
            env={**os.environ, **environment},
        )
        assert ran.returncode == code, (ran.stdout.decode(), ran.stderr.decode())
        return ran

    return run


@pytest.mark.model
def test_the_heads_that_copy_what_followed_come_first_by_induction(run) -> None:
    page = run(TWICE, "--sort", "induction", "--top", "6", "--map", "induction").stdout.decode()
    assert max(map(len, page.splitlines())) <= 100
    rows = re.findall(r"^  (L\d+\.H\d+) +(\S+) ", page, re.M)[:6]
    assert [label for _, label in rows].count("induction") >= 4
    assert "Shown: 6 of 270 heads" in page
    assert "induction ≥ 0.3" in page


@pytest.mark.model
def test_csv_and_json_hold_every_row_with_every_digit(run, tmp_path: Path) -> None:
    run(TWICE, "-o", "heads.csv")
    table = list(csv.DictReader(io.StringIO((tmp_path / "heads.csv").read_text("utf-8"))))
    found = json.loads(run(TWICE, "--json").stdout)
    assert found["schema"] == "riverhead.look.heads/1"
    rows = found["heads"]["rows"]
    assert len(table) == len(rows) == found["heads"]["n_layers"] * found["heads"]["n_heads"] == 270
    assert [float(row["first_weight"]) for row in table] == [row["first_weight"] for row in rows]
    assert [row["surprise"] for row in rows] == sorted((row["surprise"] for row in rows), reverse=True)
    assert all(row["next_weight"] is None for row in rows)
    assert dict(found["heads"]["labels"])["sink"] == "first ≥ 0.5"


@pytest.mark.model
def test_rows_are_chosen_by_conditions_and_labels(run) -> None:
    chosen = run(TWICE, "--where", "layer>=17", "--label", "induction", "--label", "duplicate", "--json")
    rows = json.loads(chosen.stdout)["heads"]["rows"]
    assert {row["label"] for row in rows} == {"induction"}
    assert all(row["layer"] >= 17 for row in rows)
    none = run(TWICE, "--where", "previous>=2", code=2).stderr.decode()
    assert "none of the 270 heads meets previous>=2" in none


@pytest.mark.model
def test_a_picture_has_the_heat_map_and_the_rows_of_a_text_from_standard_input(run) -> None:
    sheet = run("-", "--map", "first", "--format", "svg", stdin=TWICE.encode()).stdout.decode()
    ElementTree.fromstring(sheet)
    assert "mean weight on the first token" in sheet
    assert "Shown: 12 of 270 heads" in sheet


@pytest.mark.model
def test_a_file_is_read_whole_and_one_that_is_too_long_is_refused(run, tmp_path: Path) -> None:
    (tmp_path / "book.txt").write_text(TWICE, "utf-8")
    found = json.loads(run("--file", "book.txt", "--json").stdout)["heads"]
    assert (found["text"], found["n_tokens"]) == (TWICE, 17)
    (tmp_path / "book.txt").write_text("river " * 8200, "utf-8")
    said = run("--file", "book.txt", code=2).stderr.decode()
    assert "8201 tokens" in said
    assert "8192" in said
    assert "nothing was cut" in said


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "give the text once"),
        (["a b", "--sort", "colour"], "the columns are entropy"),
        (["a b", "--where", "first"], "no condition"),
        (["a b", "--label", "cat"], "one of previous-token"),
        (["a b", "--map", "colour"], "the columns are entropy"),
        (["a b", "--top", "3", "--all"], "--top and --all"),
        (["a b", "-o", "heads.pdf"], ".svg"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_usage_is_said_before_any_model_is_asked_for(tmp_path: Path, words, says) -> None:
    environment = {**os.environ, "RIVERHEAD_CACHE": str(tmp_path), "RIVERHEAD_OFFLINE": "1"}
    ran = subprocess.run([RIVERHEAD, "look", "heads", *words], capture_output=True, env=environment)
    assert ran.returncode == 2, ran.stderr
    assert says in ran.stderr.decode()


def test_without_the_model_it_says_how_to_fetch_it(tmp_path: Path) -> None:
    environment = {**os.environ, "RIVERHEAD_CACHE": str(tmp_path), "RIVERHEAD_OFFLINE": "1"}
    ran = subprocess.run([RIVERHEAD, "look", "heads", "a b"], capture_output=True, env=environment)
    assert ran.returncode == 3
    assert b"riverhead models fetch smollm2" in ran.stderr
