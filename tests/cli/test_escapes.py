"""What a terminal would obey comes out of no format and no message raw; the values stay as they are."""

from __future__ import annotations

import csv
import io
import json
import sys
import tempfile
from pathlib import Path

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverhead.cli.doctor import doctor
from riverhead.cli.escapes import as_json, printable
from riverhead.cli.main import main
from riverhead.cli.options import read_text
from riverhead.cli.output import Output, write
from riverhead.errors import InputError
from riverhead.scene import Scene

HOSTILE = "a\x1b]0;hi\x07 \x7f\x9b31m \u202ebank\u2066\u200f\U000e0041\ud800"


class Terminal(io.TextIOWrapper):
    """A standard output that keeps what is written to it."""

    def __init__(self, tty: bool) -> None:
        super().__init__(io.BytesIO(), "utf-8", newline="\n")
        self.tty = tty

    def isatty(self) -> bool:
        return self.tty

    def written(self) -> str:
        self.flush()
        return self.buffer.getvalue().decode()


def page(output: Output, text: str) -> None:
    output.page("page", Scene(text, ()), {"token": text}, rows=[{"token": text, "weight": 0.1}])
    output.close()


@given(st.text(st.characters(exclude_categories=())))
def test_json_is_printable_and_reads_the_same(text: str) -> None:
    for value in (text, [text], {text: {"x": text}}):
        written = as_json(value)
        assert written.replace("\n", "").isprintable()
        assert json.loads(written) == value


@given(st.text())
def test_what_is_printable_stays(text: str) -> None:
    shown = printable(text)
    assert shown.replace("\n", "").isprintable()
    assert (shown == text) == text.replace("\n", "").isprintable()


def test_a_page_as_json_obeys_nothing(tmp_path: Path) -> None:
    page(Output("json", tmp_path / "page.json", "s/1"), HOSTILE)
    written = (tmp_path / "page.json").read_text("utf-8")
    assert written.replace("\n", "").isprintable()
    assert json.loads(written) == {"schema": "s/1", "page": {"token": HOSTILE}}


def test_csv_shows_a_terminal_symbols_and_keeps_a_pipe_and_a_file_exact(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = HOSTILE.removesuffix("\ud800")  # no text that is UTF-8 has one
    written = {}
    for tty in (True, False):
        monkeypatch.setattr(sys, "stdout", Terminal(tty))
        page(Output("csv", None, "s/1"), text)
        written[tty] = sys.stdout.written()
    page(Output("csv", tmp_path / "page.csv", "s/1"), text)
    (row,) = csv.DictReader(io.StringIO(written[False]))
    assert row == {"token": text, "weight": "0.1"}
    assert (tmp_path / "page.csv").read_text("utf-8") == written[False]
    assert written[True].replace("\n", "").isprintable()
    assert written[True] == "token,weight\na␛]0;hi␇ ␡⟨009B⟩31m ⟨202E⟩bank⟨2066⟩⟨200F⟩⟨E0041⟩,0.1\n"


def test_the_doctors_json_obeys_nothing(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setenv("RIVERHEAD_CACHE", "/a\x7f\x9bcache")
    doctor(["--json"], standalone_mode=False)
    out = capsys.readouterr().out
    assert out.replace("\n", "").isprintable()
    assert json.loads(out)["cache"] == "/a\x7f\x9bcache"


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("none.txt", "none.txt: no such file or directory"),
        (".", ".: is a directory"),
        ("a\x1b[2J.txt", r"a\x1b[2J.txt: no such file or directory"),
    ],
)
def test_a_text_that_cannot_be_read_is_said_in_words(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys, name: str, says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as done:
        main(["show", "--file", name])
    assert (done.value.code, capsys.readouterr().err) == (3, f"riverhead: error: {says}\n")


@pytest.mark.parametrize("words", [["\x1b]0;hi\x07"], ["show", "--\x1b]0;hi\x07"]])
def test_wrong_usage_is_said_without_escape_sequences(capsys, words: list[str]) -> None:
    with pytest.raises(SystemExit) as done:
        main(words)
    assert done.value.code == 2
    err = capsys.readouterr().err
    assert r"\x1b]0;hi\x07" in err
    assert err.replace("\n", "").isprintable()


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (FileNotFoundError(2, "No such file or directory"), "its folder takes no new file"),
        (PermissionError(13, "Permission denied"), "permission denied"),
        (OSError(28, "No space left on device"), "no space left on device"),
    ],
)
def test_a_file_that_cannot_be_made_is_named_as_the_user_named_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: OSError, says: str
) -> None:
    def refuse(**_: object) -> None:
        error.filename = "/somewhere/.x.html.tmp"
        raise error

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "mkstemp", refuse)
    with pytest.raises(OSError, match=rf"^-o x\.html cannot be written: {says}$"):
        write("x", Path("x.html"))


# ---------------------------------------------------------------- the text


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\xef\xbb\xbfthe bank\n", "the bank"),
        (b"\xef\xbb\xbf\xef\xbb\xbfa", "\ufeffa"),
        (b"a\xef\xbb\xbfb", "a\ufeffb"),
    ],
)
def test_one_byte_order_mark_before_a_text_is_none_of_it(tmp_path: Path, data: bytes, text: str) -> None:
    (tmp_path / "text.txt").write_bytes(data)
    assert read_text(None, str(tmp_path / "text.txt")) == text


def test_a_byte_order_mark_alone_is_an_empty_text_and_moves_no_position(tmp_path: Path) -> None:
    file = tmp_path / "text.txt"
    for data, says in ((b"\xef\xbb\xbf", "the text is empty"), (b"\xef\xbb\xbfab\xff", "byte 5 is 0xff")):
        file.write_bytes(data)
        with pytest.raises((InputError, click.UsageError), match=says):
            read_text(None, str(file))
