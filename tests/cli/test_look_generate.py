"""``riverhead look generate`` as a user runs it, on the real model."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import sysconfig
from pathlib import Path

import pytest

from riverhead.cli.main import main
from riverhead.transformer import Model

pytestmark = pytest.mark.model

RIVERHEAD = str(Path(sysconfig.get_path("scripts")) / "riverhead")
PROMPT = "The river bank"


@pytest.fixture
def environment(smollm2_folder: Path) -> dict[str, str]:
    return {"RIVERHEAD_CACHE": str(smollm2_folder.parent.parent), "RIVERHEAD_OFFLINE": "1", "COLUMNS": "80"}


@pytest.fixture
def run(
    tmp_path: Path,
    environment: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
):
    """Run ``riverhead look generate`` in an empty folder, offline."""
    monkeypatch.chdir(tmp_path)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    def run(*words: str, code: int = 0) -> tuple[str, str]:
        with pytest.raises(SystemExit) as ended:
            main(["look", "generate", *words])
        out, err = capfd.readouterr()
        assert ended.value.code == code, (out, err)
        return out, err

    return run


def test_every_step_has_its_token_where_it_looked_and_the_cache(run, smollm2: Model) -> None:
    page, _ = run(PROMPT, "--tokens", "3")
    tokens = list(smollm2.generate(PROMPT, max_tokens=3))
    for position, token in enumerate(tokens, start=3):
        assert f'{position}  "{token.text}"  p = {token.probability:.3f}' in page
    n_heads, n_kv_heads, a_token = 9, 3, 30 * 3 * (64 + 64) * 4
    assert page.count(f"{a_token:,} bytes appended") == 2
    assert f"{3 * a_token:,} bytes appended, {3 * a_token:,} held" in page
    for n in (3, 4, 5):
        sizes = (n * a_token, n * a_token * n_heads // n_kv_heads, n * a_token // n_kv_heads)
        assert re.search(" +".join(f"{size:,}" for size in sizes), page)
    assert page.count("no claim") == 2 * 3 + 1
    assert len(re.findall(r'^  " \w+" +L\d+\.H\d +0\.\d{3} +0\.\d{3}$', page, re.M)) == 3
    assert f'"{PROMPT}{"".join(token.text for token in tokens)}"' in page
    assert max(map(len, page.splitlines())) <= 80


def test_a_file_holds_all_steps(run, tmp_path: Path) -> None:
    assert run(PROMPT, "--tokens", "2", "-o", "steps.csv") == ("", "")
    rows = list(csv.DictReader((tmp_path / "steps.csv").read_text("utf-8").splitlines()))
    assert [row["query"] for row in rows] == [" bank", rows[0]["token"]]
    chat = json.loads(run("Hi", "--chat", "--tokens", "1", "--json")[0])
    assert chat["schema"] == "riverhead.look.generate/1"
    assert "<|im_start|>" in chat["generation"]["prompt"]


def test_ctrl_c_keeps_what_was_printed(environment: dict[str, str]) -> None:
    command = [RIVERHEAD, "look", "generate", PROMPT, "--tokens", "4000"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **environment}
    ) as process:
        try:
            printed = b""
            while b"held" not in printed:
                line = process.stdout.readline()
                assert line, process.stderr.read().decode()
                printed += line
            process.send_signal(signal.SIGINT)
            rest, err = process.communicate()
        except BaseException:
            process.kill()
            raise
    assert process.returncode == 130
    assert err.decode() == "riverhead: stopped\n"
    assert b"MQA" not in rest


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([PROMPT, "--tokens", "0"], "0 is not in the range"),
        ([PROMPT, "--tokens", "9000"], "--tokens is 9000; the prompt has 3 tokens and smollm2 reads 8192"),
        (["--file", "over.txt"], "8201 tokens, smollm2 reads at most 8192; nothing was cut"),
        (["--file", "full.txt"], "the prompt has 8192 tokens, as many as smollm2 reads: none can follow"),
        ([PROMPT, "--top-k", "3"], "--top-k does nothing at temperature 0"),
        ([PROMPT, "--top-p", "0.5", "--temperature", "0"], "--top-p does nothing at temperature 0"),
        ([PROMPT, "--seed", "0"], "--seed does nothing at temperature 0"),
        ([PROMPT, "--temperature", "-1"], "-1"),
        ([PROMPT, "--top-p", "0"], "0"),
        ([" "], "the text is empty"),
        ([PROMPT, "--stop", "two tokens"], "it has to be one"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_usage_exits_2_and_says_what_is_wrong(run, tmp_path: Path, words: list[str], says: str) -> None:
    (tmp_path / "over.txt").write_text("river " * 8200, "utf-8")
    (tmp_path / "full.txt").write_text(" river" * 8192, "utf-8")
    out, err = run(*words, code=2)
    assert says in err
    assert out == ""
