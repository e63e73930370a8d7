"""``riverhead look compare`` as a user runs it, on the real model."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from riverhead.cli import look_compare
from riverhead.errors import InputError
from riverhead.transformer import Model

MONEY, RIVER = "The money bank grows", "The river bank flows"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, smollm2: Model):
    monkeypatch.setattr(look_compare, "opened", lambda name, **how: smollm2)
    monkeypatch.chdir(tmp_path)

    def run(*words: str, code: int = 0, stdin: str = "") -> Result:
        ran = CliRunner(env={"COLUMNS": "80"}).invoke(look_compare.compare, words, input=stdin)
        assert ran.exit_code == code, ran.output
        return ran

    return run


@pytest.mark.model
def test_the_sheet_says_which_heads_changed_where_the_word_splits_and_what_comes_next(
    run, smollm2: Model
) -> None:
    page = run(MONEY, RIVER).stdout
    counts = re.findall(
        r"^  (changed|follows positions|changed a little|the same in both) .* (\d+)   L", page, re.M
    )
    assert sum(int(n) for _, n in counts) == 270
    assert int(dict(counts)["changed"]) > 10
    assert int(dict(counts)["follows positions"]) > 50
    assert (
        len(re.findall(r"^  L\d+\.H\d +0\.\d{3}   ?money +river +0\.\d{3}  +0\.\d{3}  +0\.\d{3}", page, re.M))
        == 8
    )
    assert re.search(r"^  embedding +1\.000", page, re.M)
    assert len(re.findall(r"^  L\d+ +0\.\d{3}", page, re.M)) == 30
    for text in (MONEY, RIVER):
        token, p = smollm2.read(text).next_token(1)[0]
        assert f"{p:.3f}" in next(line for line in page.splitlines() if line.startswith(f'  "{token}"'))
    assert re.search(r"KL\(A ‖ B\) = \d\.\d{3} nats", page)
    assert max(map(len, page.splitlines())) <= 80


@pytest.mark.model
@pytest.mark.parametrize("format", ["html", "json", "csv"])
def test_a_format_holds_every_head_or_the_page(run, format: str) -> None:
    shown = run(MONEY, RIVER, "--format", format).stdout_bytes
    if format == "json":
        data = json.loads(shown)
        assert data["schema"] == "riverhead.look.compare/1"
        assert len(data["compare"]["heads"]) == 270
    elif format == "csv":
        rows = list(csv.DictReader(io.StringIO(shown.decode())))
        assert len(rows) == 270 * 3  # the first token, money or river, the word
        of_one = [float(row["weight_a"]) for row in rows if row["head"] == "L9.H7"]
        assert sum(of_one) == pytest.approx(1, abs=1e-6)
    else:
        assert shown.startswith(b"<!doctype html>")


@pytest.mark.model
def test_texts_come_from_files_and_standard_input(run, tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text(RIVER)
    page = run("-", "--file", "b.txt", stdin=MONEY).stdout
    assert f"A: {MONEY}\n  B: {RIVER}\n" in page


@pytest.mark.model
def test_one_text_in_two_models(run) -> None:
    page = run(MONEY, "--beside-model", "other", "--word", "bank", "--heads", "3", "--sort", "layer").stdout
    assert "bank in two models" in page
    assert re.search(r"^  money +(0\.\d{3})  (L\d+\.H\d) +(0\.\d{3}) +0\.\d{3} +\1  \2 +\3 ", page, re.M)
    assert re.findall(r"^  (L\d+\.H\d) +0\.000", page, re.M) == ["L0.H0", "L0.H1", "L0.H2"]


@pytest.mark.model
@pytest.mark.parametrize(
    "words", [[MONEY], [MONEY, RIVER, MONEY], [MONEY, RIVER, "--beside-model", "other"], []]
)
def test_another_number_of_texts_is_a_usage_error(run, words: list[str]) -> None:
    assert f"here are {sum(' ' in word for word in words)}" in run(*words, code=2).stderr


@pytest.mark.model
def test_a_word_that_is_not_in_both_is_refused(run) -> None:
    refused = run(MONEY, RIVER, "--word", "river", code=1).exception
    assert isinstance(refused, InputError)
    assert "no word 'river'; its words are: The, money, bank, grows" in str(refused)
