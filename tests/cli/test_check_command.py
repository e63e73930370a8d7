"""``riverhead check article``: files and standard input, every format, exit status, what cannot be read."""

from __future__ import annotations

import importlib
import io
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from riverhead.cli import check_article
from riverhead.cli.main import main

ROOT = Path(__file__).parents[2]

RIGHT = "The score is 2·1 + 1·2 = 4.\n"
WRONG = "# Scores\n\nThe score is 2·1 + 1·2 = 5.\n"


class Run:
    """The command in this process: its exit status and what it printed."""

    def __init__(self, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
        self.capsys = capsysbinary

    def __call__(self, *argv: str) -> tuple[int, str, str]:
        self.capsys.readouterr()
        with pytest.raises(SystemExit) as done:
            main(["check", "article", *argv])
        out, err = self.capsys.readouterr()
        assert isinstance(done.value.code, int)
        return done.value.code, out.decode(), err.decode()

    def json(self, *argv: str) -> dict[str, Any]:
        _, out, _ = self(*argv, "--json")
        found: dict[str, Any] = json.loads(out)
        return found


@pytest.fixture
def run(capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    Path("right.md").write_text(RIGHT, "utf-8")
    Path("wrong.md").write_text(WRONG, "utf-8")
    return Run(capsysbinary)


def feed(monkeypatch: pytest.MonkeyPatch, data: str | bytes) -> None:
    data = data.encode() if isinstance(data, str) else data
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), "utf-8"))


# ---------------------------------------------------------------- what is found, and the exit status


def test_a_right_article_is_one_line_and_status_0(run: Run) -> None:
    assert run("right.md") == (0, "1 claim: 1 exact.\n", "")


def test_a_wrong_one_is_shown_where_it_stands_and_status_1(run: Run) -> None:
    code, out, err = run("wrong.md")
    assert (code, err) == (1, "")
    where, line, carets, *_, last = out.splitlines()
    assert where == "wrong.md:3:14: false: the exact value is 4"
    assert line == "    The score is 2·1 + 1·2 = 5."
    assert carets == "                 ^^^^^^^^^^^^^"
    assert last == "1 claim: 1 false."


def test_several_files_are_summed_up_in_one_line(run: Run) -> None:
    code, out, _ = run("right.md", "wrong.md", "right.md")
    assert code == 1
    assert out.count("wrong.md:3:14") == 1
    assert out.splitlines()[-1] == "3 claims: 2 exact, 1 false."


def test_all_shows_the_true_claims_too(run: Run) -> None:
    assert "2·1 + 1·2 = 4" not in run("right.md")[1]
    code, out, _ = run("right.md", "--all")
    assert code == 0
    assert re.search(r"^Exact\n  right\.md:1:14: 2·1 \+ 1·2 = 4$", out, re.M)


def test_an_accepted_claim_is_counted_and_is_no_finding(run: Run) -> None:
    Path("wrong.md").write_text(WRONG.replace("5.", "5. <!-- riverhead: ignore -->"), "utf-8")
    code, out, _ = run("wrong.md")
    assert (code, out) == (0, "No claim that could be checked was found; 1 ignored, as a comment asks.\n")


def test_a_text_without_claims_is_not_called_right(run: Run) -> None:
    Path("words.txt").write_text("no numbers here\n", "utf-8")
    assert run("words.txt") == (0, "No claim that could be checked was found.\n", "")


# ---------------------------------------------------------------- kinds and standard input


def test_the_kind_follows_the_name_or_is_given(run: Run) -> None:
    html = "<p>It is <b>2&times;3</b> = 7</p>"
    Path("page.html").write_text(html, "utf-8")
    Path("page.data").write_text(html, "utf-8")
    Path("page.txt").write_text(html, "utf-8")
    assert run("page.txt")[0] == 0  # a text is not read as what it looks like
    for argv in (("page.html",), ("page.data",), ("page.txt", "--kind", "html")):
        (claim,) = run.json(*argv)["article"]["files"][0]["claims"]
        assert (claim["column"], claim["end_column"], claim["exact"]) == (13, 30, 6)
    carets = run("page.html")[1].splitlines()[2]
    assert carets == "    " + " " * html.index("2&") + "^" * len("2&times;3</b> = 7")


def test_a_notebook_names_its_cell(run: Run) -> None:
    cells = [{"cell_type": "markdown", "metadata": {}, "source": [line]} for line in (RIGHT, WRONG)]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    Path("n.ipynb").write_text(json.dumps(notebook), "utf-8")
    code, out, _ = run("n.ipynb")
    assert code == 1
    assert out.startswith("n.ipynb:cell 2:3:14: false")


@pytest.mark.parametrize("data", [WRONG, WRONG.replace("\n", "\r\n"), f"\ufeff{WRONG}"])
def test_standard_input_may_have_any_line_ends_and_a_byte_order_mark(
    run: Run, monkeypatch: pytest.MonkeyPatch, data: str
) -> None:
    feed(monkeypatch, data)
    code, out, _ = run("-")
    assert code == 1
    assert out.startswith("<stdin>:3:14: false: the exact value is 4\n    The score is 2·1 + 1·2 = 5.\n")


def test_standard_input_can_be_given_a_name(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    feed(monkeypatch, "<p>2&times;3 = 7</p>")
    code, out, _ = run("-", "--stdin-name", "docs/page.html")
    assert (code, out.splitlines()[0]) == (1, "docs/page.html:1:4: false: the exact value is 6")


# ---------------------------------------------------------------- formats and files


def test_json_has_a_schema_and_every_claim(run: Run) -> None:
    found = run.json("right.md", "wrong.md", "gone.md")
    assert found["schema"] == "riverhead.check.article/1"
    assert found["article"]["counts"]["exact"] == found["article"]["counts"]["false"] == 1
    right, wrong, gone = found["article"]["files"]
    assert [claim["verdict"] for claim in right["claims"] + wrong["claims"]] == ["true", "false"]
    assert (right["problem"], gone["problem"], gone["claims"]) == (None, "no such file or directory", [])
    assert (wrong["claims"][0]["text"], wrong["claims"][0]["exact"]) == ("2·1 + 1·2 = 5", 4)


@pytest.mark.parametrize(
    ("format", "holds"),
    [
        ("markdown", "| wrong.md:3:14 | 2·1 + 1·2 = 5 | false |"),
        ("html", "<mark>2·1 + 1·2 = 5</mark>"),
        ("latex", r"wrong.md:3:14"),
        ("svg", "wrong.md:3:14"),
        ("sarif", '"ruleId": "false-claim"'),
    ],
)
def test_every_format_holds_the_finding_and_keeps_the_status(run: Run, format: str, holds: str) -> None:
    code, out, err = run("wrong.md", "--format", format)
    assert (code, err) == (1, "")
    assert holds in re.sub(" +", " ", out) or holds in out


@pytest.mark.parametrize(
    ("name", "start"),
    [("a.sarif", b'{\n  "$schema"'), ("a.json", b'{\n  "schema"'), ("a.md", b"# "), ("a.png", b"\x89PNG")],
)
def test_the_ending_of_the_output_says_the_format(run: Run, name: str, start: bytes) -> None:
    if name.endswith(".png"):
        pytest.importorskip("resvg_py")
    assert run("wrong.md", "-o", name) == (1, "", "")
    assert Path(name).read_bytes().startswith(start)
    assert sorted(path.name for path in Path().iterdir()) == sorted([name, "right.md", "wrong.md"])


def test_sarif_says_what_could_not_be_read(run: Run) -> None:
    code, out, _ = run("wrong.md", "gone.md", "--format", "sarif")
    (log,) = json.loads(out)["runs"]
    assert code == 3
    assert len(log["results"]) == 1
    assert log["invocations"][0]["executionSuccessful"] is False


def test_what_a_terminal_would_obey_comes_out_of_no_format_raw(run: Run) -> None:
    Path("h.md").write_text("a\x1b]0;x\x07 \u202e| 2 + 2 = 5 </script> \\input{x}\n", "utf-8")
    for format in check_article.FORMATS[:-1]:
        _, out, _ = run("h.md", "--format", format)
        assert "2 + 2 = 5" in re.sub(r"\\ |\xa0", " ", out), format
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", out), format


# ---------------------------------------------------------------- what cannot be read


def broken() -> dict[str, tuple[bytes | None, str]]:
    """File: (what it holds, what is said)."""
    return {
        "gone.md": (None, "gone.md: no such file or directory"),
        "latin.md": ("2 × 3 = 6".encode("latin-1"), "latin.md: is not UTF-8: byte 2 is 0xd7"),
        "utf16.txt": ("2 = 3".encode("utf-16"), "utf16.txt: is not UTF-8: byte 0 is 0xff"),
        "n.ipynb": (b'{"cells": [', "n.ipynb: "),
        "a\x1b[2J.md": (b"\xff", r"a\x1b[2J.md: is not UTF-8: byte 0 is 0xff"),
    }


@pytest.mark.parametrize("name", broken())
def test_what_cannot_be_read_is_named_in_one_line_and_the_others_are_checked(run: Run, name: str) -> None:
    data, says = broken()[name]
    if data is not None:
        Path(name).write_bytes(data)
    code, out, err = run(name, "wrong.md")
    assert code == 3
    assert err.startswith(f"riverhead: error: {says}")
    assert err.count("\n") == 1
    assert err[:-1].isprintable()
    assert "wrong.md:3:14: false" in out
    assert out.splitlines()[-1] == "1 claim: 1 false; 1 file could not be read."


def test_a_folder_is_said_in_words(run: Run) -> None:
    Path("folder").mkdir()
    assert run("folder")[2] == "riverhead: error: folder: is a directory\n"


def test_a_file_over_the_limit_is_refused_before_it_is_read(run: Run) -> None:
    with open("big.md", "wb") as file:
        file.truncate(2**40)  # a hole: it takes no room, and would not fit into memory
    code, _, err = run("big.md")
    assert code == 3
    assert "big.md: has 1,099,511,627,776 bytes; at most 10,485,760 are read" in err


def test_standard_input_over_the_limit_is_refused(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_article, "MAX_BYTES", 100)
    feed(monkeypatch, "x" * 101)
    code, _, err = run("-")
    assert (code, "<stdin>: has more than 100 bytes" in err) == (3, True)
    feed(monkeypatch, "x" * 100)
    assert run("-")[0] == 0


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        ((), "Missing argument"),
        (("a.md", "--kind", "word"), "'word' is not one of"),
        (("-", "-"), "give - once"),
        (("right.md", "--stdin-name", "x.md"), "give - as well"),
        (("right.md", "-o", "x.doc"), "its ending says no format"),
    ],
)
def test_wrong_usage_is_status_2(run: Run, argv: tuple[str, ...], says: str) -> None:
    code, out, err = run(*argv)
    assert (code, out) == (2, "")
    assert says in err


def test_the_kinds_and_endings_offered_are_those_that_are_read() -> None:
    documents = importlib.import_module("riverhead.checking.claims.documents")
    assert check_article.KINDS == documents.KINDS


# ---------------------------------------------------------------- the hook, the group, the façade


def hook() -> dict[str, str]:
    """The one hook of ``.pre-commit-hooks.yaml``, read as the flat YAML that it is."""
    text = (ROOT / ".pre-commit-hooks.yaml").read_text("utf-8")
    assert re.fullmatch(r"- id: \S+\n(  \w+: [^#\n]+\n)+", text)
    return dict(re.findall(r"^[- ] (\w+): (.+)$", text, re.M))


def test_the_hook_is_what_pre_commit_asks_for() -> None:
    assert hook().keys() >= {"id", "name", "entry", "language", "types_or"}
    assert (hook()["id"], hook()["language"]) == ("riverhead-article", "python")
    assert set(re.findall(r"\w+", hook()["types_or"])) == {"markdown", "html", "jupyter", "tex"}
    yaml = pytest.importorskip("yaml")
    (read,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    assert read["entry"] == hook()["entry"]
    assert read["types_or"] == ["markdown", "html", "jupyter", "tex"]


def test_the_hook_runs(run: Run) -> None:
    command, *argv = shlex.split(hook()["entry"])
    assert command == "riverhead"
    with pytest.raises(SystemExit) as done:
        main([*argv, "right.md", "wrong.md"])
    assert done.value.code == 1


@pytest.mark.parametrize("argv", [["check"], ["check", "article"]])
def test_help_has_examples(capsys: pytest.CaptureFixture[str], argv: list[str]) -> None:
    with pytest.raises(SystemExit) as done:
        main([*argv, "--help"])
    assert done.value.code == 0
    assert re.search(r"^  Examples:\n    riverhead check article \S+", capsys.readouterr().out, re.M)


def test_every_option_has_help() -> None:
    options = [option for option in check_article.article.params if isinstance(option, click.Option)]
    assert all(option.help for option in options)


def test_the_facade_is_light_and_opens_the_room_when_asked() -> None:
    code = "import riverhead.check as c, sys; print('numpy' in sys.modules, c.claims('2 + 2 = 5')[0].verdict)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "False false\n"
    facade = importlib.import_module("riverhead.check")
    assert dir(facade) == facade.__all__ == sorted(facade.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'claim'"):
        _ = facade.claim
