"""``riverhead look without`` as a user runs it, on a tiny model and on the real one."""

from __future__ import annotations

import csv
import io
import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

from riverhead.cli.main import main
from riverhead.inspection.off import if_off_nats
from riverhead.transformer import Model
from tiny import write_gguf

SENTENCE = "The river bank flooded"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]):
    """Run ``riverhead look without`` in a folder with ``tiny.gguf``, offline, with a cache of its own."""
    write_gguf(tmp_path / "tiny.gguf")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RIVERHEAD_OFFLINE", "1")
    monkeypatch.setenv("COLUMNS", "80")

    def run(*words: str, code: int = 0, cache: Path | None = None, stdin: bytes = b"") -> tuple[str, str]:
        monkeypatch.setenv("RIVERHEAD_CACHE", str(cache or tmp_path / "cache"))
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        model = () if cache else ("--model", "tiny.gguf")
        with pytest.raises(SystemExit) as ended:
            main(["look", "without", *words, *model])
        out, err = (stream.decode() for stream in capfdbinary.readouterr())
        assert ended.value.code == code, (out, err)
        return out, err

    return run


def test_one_head_off_shows_odds_loss_and_tokens(run) -> None:
    page = run("abcde", "--head", "L0.H1")[0]
    assert page.startswith("Without L0.H1: ")
    assert re.search(r"odds, KL in nats +0\.\d{4}\n", page)
    assert re.search(r"loss, nats a token +\d+\.\d{4} +\d+\.\d{4} +[+−]\d+\.\d{4}\n", page)
    assert len(re.findall(r'^ +[1-3]  "[c-e]" ', page, re.M)) == 3
    assert max(map(len, page.splitlines())) <= 80


def test_all_ranks_every_head_and_csv_and_json_hold_them(run) -> None:
    rows = list(csv.DictReader(io.StringIO(run("abcde", "--all", "--format", "csv")[0])))
    assert [set(row) for row in rows] == [{"head", "kl_nats", "loss_change_nats", "vector_change"}] * 2
    moved = [float(row["kl_nats"]) for row in rows]
    assert moved == sorted(moved, reverse=True)
    data = json.loads(run("abcde", "--all", "--by", "loss", "--json")[0])
    assert data["schema"] == "riverhead.look.without/1"
    assert [head["head"] for head in data["ranking"]["heads"]] == ["L0.H0", "L0.H1"]
    for row in rows:
        one = json.loads(run("abcde", "--head", row["head"], "--json")[0])["without"]
        # logits here stay below 20, in sums of 10 float32 terms: 20 · 2⁻²⁴ · 10 is 1e-5
        assert one["kl_nats"] == pytest.approx(float(row["kl_nats"]), abs=1e-5)
        change = one["loss_without_nats"] - one["loss_nats"]
        assert change == pytest.approx(float(row["loss_change_nats"]), abs=1e-5)


def test_heads_named_together_are_off_together(run) -> None:
    both = json.loads(run("abcde", "--head", "L0.H1", "--head", "l0.h0", "--json")[0])["without"]
    assert both["heads"] == ["L0.H0", "L0.H1"]


def test_a_file_says_its_format_by_its_ending(run, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("abcde\n")
    for name in ("page.html", "page.svg", "page.tex", "page.md", "page.png"):
        assert run("--file", "text.txt", "--all", "-o", name)[0] == ""
        assert (tmp_path / name).stat().st_size > 500
    ElementTree.fromstring((tmp_path / "page.svg").read_text("utf-8"))
    assert run("-", "--all", stdin=b"abcde")[0] == run("abcde", "--all")[0]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["abc"], "give the heads to switch off, --head L9.H7, or --all"),
        (["abc", "--all", "--head", "L0.H0"], "give the heads to switch off, --head L9.H7, or --all"),
        (["abc", "--head", "L0.H0", "--by", "loss"], "they go with --all"),
        (["abc", "--head", "L1.H0"], "the model has 1"),
        (["abc", "--head", "first"], "names no head"),
        (["abc", "--head", "L0.H0", "--mode", "median"], "median"),
        (
            ["abc", "--all", "--by", "vectors"],
            "--by is 'vectors'; with this model and text heads are ranked by odds or loss",
        ),
        (
            ["c", "--all", "--by", "loss"],
            "--by is 'loss'; with this model and text heads are ranked by odds\n",
        ),
        (["abcdefghij" * 2, "--all"], "reads at most 16"),
        (["--all"], "give the text once"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_usage_exits_2_and_says_what_is_wrong(run, words: list[str], says: str) -> None:
    out, err = run(*words, code=2)
    assert says in err
    assert out == ""


@pytest.mark.model
def test_a_head_of_the_real_model_moves_the_odds_as_show_says(
    run, smollm2: Model, smollm2_folder: Path
) -> None:
    cache = smollm2_folder.parent.parent
    data = json.loads(run(SENTENCE, "--head", "L9.H7", "--json", cache=cache)[0])["without"]
    ids = np.array(smollm2.tokenize(SENTENCE))
    _, nats = if_off_nats(smollm2, ids, [(9, 7)])
    # logits of up to 30, after sums of some thousand float32 terms whose roundings mostly cancel
    assert data["kl_nats"] == pytest.approx(nats[0], abs=1e-4)
    assert [token["token"] for token in data["tokens"]] == ["The", " river", " bank", " flooded"]
    assert data["next_token"][0]["token"] == ","
