"""``riverhead look map`` as a user runs it, on a model that reads words as random vectors."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from riverhead.cli import look_map
from riverhead.inspection import maps

TEXT = "the river bank flooded and the other bank stood by the river all the long day"


class Reading:
    def __init__(self, text: str) -> None:
        places = [match.span() for match in re.finditer(r" ?\w+", text)]
        self.text, self.tokens = text, tuple(text[a:b] for a, b in places)
        self.token_ids = tuple(range(len(places)))
        tokenizer = SimpleNamespace(
            offsets=lambda text: (list(self.token_ids), places), special_ids=frozenset()
        )
        self.model = SimpleNamespace(config=MODEL.config, name="fake", title="A fake", tokenizer=tokenizer)

    def head(self, name: str) -> Any:
        rng = np.random.default_rng(list(name.encode()))
        q, k = rng.standard_normal((2, len(self.tokens), 5), np.float32)
        return SimpleNamespace(name=name, q=q, k=k, scale=0.5, causal=True, window=None)


MODEL = SimpleNamespace(config=SimpleNamespace(n_layers=2, n_heads=3, d_k=5), read=Reading)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(look_map, "opened", lambda name, **how: MODEL)
    monkeypatch.chdir(tmp_path)

    def run(*words: str, fine: bool = True) -> Result:
        ran = CliRunner().invoke(look_map.map, [TEXT, *words])
        assert (ran.exception is None) == fine, ran.output
        return ran

    return run


def weights() -> np.ndarray:
    return np.asarray(maps.head_maps(Reading(TEXT), ["L1.H2"]).heads[0].weights)


def test_a_page_is_written_and_what_it_holds_is_said(run):
    ran = run("--head", "L1.H2", "-o", "map.html")
    page = Path("map.html").read_text(encoding="utf-8")
    assert "<title>L1.H2 of A fake, 16 tokens</title>" in page
    assert ran.stdout == ""
    assert ran.stderr.startswith(f"map.html: {len(page.encode()) / 1e6:.2f} MB. Exact to float32")
    run("--head", "L1.*", "--precision", "rounded", "-o", "map.html")
    assert "To three decimals" in Path("map.html").read_text(encoding="utf-8")


def test_json_and_csv_have_the_weights_of_the_window(run):
    window = ("--head", "L1.H2", "--rows", "4:7", "--keys", "river#1:flooded")
    written = json.loads(run(*window, "--json").stdout)
    found = written["map"]
    assert (written["schema"], found["rows"], found["keys"]) == ("riverhead.look.map/1", [4, 7], [1, 4])
    assert np.array_equal(found["weights"]["L1.H2"], weights()[4:7, 1:4])
    lines = list(csv.DictReader(io.StringIO(run(*window, "--format", "csv").stdout)))
    assert [(line["query"], line["key"]) for line in lines[:4]] == [
        ("4", "1"),
        ("4", "2"),
        ("4", "3"),
        ("5", "1"),
    ]
    assert [float(line["weight"]) for line in lines] == weights()[4:7, 1:4].ravel().tolist()
    assert (lines[0]["head"], lines[0]["query_token"], lines[0]["key_token"]) == ("L1.H2", " and", " river")


def test_text_and_pictures_show_the_window(run):
    text = run("--head", "L1.H2", "--rows", "4:7", "--keys", "1:4").stdout
    assert f"{weights()[5, 2]:.3f}" in text
    run("--head", "L1.H2", "--rows", "2:15", "-o", "map.svg")
    assert "queries 2 to 14, keys 0 to 14" in Path("map.svg").read_text(encoding="utf-8")
    run("--head", "L1.H2", "--head", "L0.*", "-o", "map.png")
    assert Path("map.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "Missing option '--head'"),
        (["--head", "L1.H2", "--format", "html", "--rows", "1:2"], "--rows does nothing with --format html"),
        (["--head", "L1.H2", "--precision", "exact"], "--precision does nothing with --format text"),
        (["--head", "L1.H2", "--size", "0"], "Invalid value for '--size'"),
    ],
)
def test_what_cannot_be_met_is_a_usage_error(run, words, message):
    ran = run(*words, fine=False)
    assert ran.exit_code == 2
    assert message in ran.stderr


@pytest.mark.parametrize("name", ["map.xyz", "map.md", "map.tex", "map.py"])
def test_an_ending_that_is_no_format_of_a_map_names_those_that_are(run, name):
    ran = run("--head", "L1.H2", "-o", name, fine=False)
    assert str(ran.exception) == (
        f"-o {name}: its ending says no format of this command; use one of .csv .htm .html .json .png .svg "
        ".txt, or --format"
    )


def test_the_json_of_rows_alone_has_the_keys_that_they_see(run):
    found = json.loads(run("--head", "L1.H2", "--rows", "4:7", "--json").stdout)["map"]
    assert (found["rows"], found["keys"]) == ([4, 7], [0, 7])
    assert np.array_equal(found["weights"]["L1.H2"], weights()[4:7, :7])


@pytest.mark.parametrize("words", [["--head", "L9.H0"], ["--head", "L1.H2", "--rows", "flood"]])
def test_what_is_not_there_is_an_input_error(run, words):
    from riverhead.errors import InputError

    assert isinstance(run(*words, fine=False).exception, InputError)
