"""``riverhead check code``: options, formats, exit status, what is accepted, a newcomer's wrong function."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import click
import numpy as np
import pytest

from riverhead.checking.rules import implementation
from riverhead.checking.rules.report import Agreed, Failure, NotOffered, Report
from riverhead.checking.rules.running.limits import Limits
from riverhead.checking.rules.studies import STUDIES
from riverhead.cli import check_code
from riverhead.cli.main import main
from riverhead.errors import InputError

ROOT = Path(__file__).parents[2]

BROKEN = Report(
    "attention", "attention", ("definition", "roles"),
    (
        Failure("scale", "must", (0, 1), "out", 0.25, 0.5, mistake="no-scale", did="they are not divided"),
        Failure("hidden-values", "should", detail="it moved"),
    ),
    (Agreed("mask", "keep", "True means: may attend"),), (NotOffered("window", "takes no window"),),
    target="mine.py:attention",
)  # fmt: skip


class Run:
    """The command in this process, with a report made by hand: its exit status and what it printed."""

    def __init__(self, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
        self.capsys = capsysbinary
        self.report: Report | Exception = BROKEN
        self.asked: dict[str, Any] = {}

    def implementation(self, target: str, **asked: Any) -> Report:
        self.asked = {"target": target, **asked}
        asked["tell"](1, 2, "\x1b[31mplain")
        if isinstance(self.report, Exception):
            raise self.report
        return self.report

    def __call__(self, *argv: str) -> tuple[int, str, str]:
        self.capsys.readouterr()
        with pytest.raises(SystemExit) as done:
            main(["check", "code", *argv])
        out, err = self.capsys.readouterr()
        assert isinstance(done.value.code, int)
        return done.value.code, out.decode(), err.decode()


@pytest.fixture
def run(capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    made = Run(capsysbinary)
    monkeypatch.setattr("riverhead.check.implementation", made.implementation)
    return made


# ---------------------------------------------------------------- what is asked for


def test_options_reach_the_function_that_does_the_work(run: Run) -> None:
    run(
        "mine:A", "--kind", "heads", "--arrays", "torch", "--expect", "mask=drop", "--argument", "n_heads=3",
        "--argument", "norm=rms", "--argument", "sizes=[1, 2]", "--seed", "7", "--seconds", "0.5",
        "--memory", "0.5",
    )  # fmt: skip
    run.asked.pop("tell")
    assert run.asked == {
        "target": "mine:A", "kind": "heads", "arrays": "torch", "expect": {"mask": "drop"}, "seed": 7,
        "arguments": {"n_heads": 3, "norm": "rms", "sizes": [1, 2]}, "limits": Limits(0.5, 2**29),
    }  # fmt: skip
    run("mine:A")
    assert (run.asked["kind"], run.asked["expect"], run.asked["arguments"]) == (None, {}, {})
    assert run.asked["limits"] == Limits()


def test_an_argument_is_never_evaluated(run: Run) -> None:
    run("mine:A", "--argument", "x=__import__('os').abort()")
    assert run.asked["arguments"] == {"x": "__import__('os').abort()"}


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        ((), "give what to check: module:function, file.py:function; or --rules"),
        (("a:f", "--kind", "door"), "'door' is not one of"),
        (("a:f", "--expect", "mask"), "'mask': mask is"),
        (("a:f", "--expect", "colour=red"), "'colour=red' is no convention; what may be asked for is"),
        (("a:f", "--expect", "mask=maybe"), "'mask=maybe': mask is"),
        (
            ("a:f", "--expect", "mask=keep", "--expect", "mask=drop"),
            "mask=keep and mask=drop are asked for: give one",
        ),
        (("a:f", "--argument", "3=4"), "the argument '3=4' is no NAME=VALUE"),
        (("a:f", "--argument", "n=4", "--argument", "n=5"), "the argument n is given twice"),
        (("a:f", "--seconds", "0"), "0 is not in the range"),
        (("a:f", "-o", "x.doc"), "its ending says no format"),
        (("--rules", "--format", "junit"), "there is no junit of it"),
    ],
)
def test_wrong_usage_is_status_2_before_anything_runs(run: Run, argv: tuple[str, ...], says: str) -> None:
    code, out, err = run(*argv)
    assert (code, out, run.asked) == (2, "", {})
    assert says in re.sub(r"\s+", " ", err)


# ---------------------------------------------------------------- exit status


def test_a_broken_rule_is_status_1_and_a_weak_one_with_strict(run: Run) -> None:
    assert run("mine.py:attention")[0] == 1
    run.report = replace(BROKEN, failed=BROKEN.failed[1:])
    assert run("mine.py:attention")[0] == 0
    assert run("mine.py:attention", "--strict")[0] == 1
    run.report = replace(BROKEN, failed=())
    assert run("mine.py:attention", "--strict")[0] == 0


def test_what_cannot_be_called_is_status_3(run: Run) -> None:
    run.report = InputError("there is no module mi\x1bne")
    assert run("mine:f") == (3, "", "riverhead: error: mine:f: there is no module mi\\x1bne\n")


def test_ctrl_c_is_status_130(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: Any, **__: Any) -> Report:
        raise KeyboardInterrupt

    monkeypatch.setattr("riverhead.check.implementation", stopped)
    assert run("mine:f") == (130, "", "riverhead: stopped\n")


def test_accepted_failures_are_a_file_and_a_stale_line_is_status_1(run: Run) -> None:
    Path("k.txt").write_text("scale no-scale  # of old\nmine.py:other roles\n", "utf-8")
    code, out, _ = run("mine.py:attention", "--known", "k.txt")
    assert code == 0
    assert "scale by no-scale: of old (k.txt:1)" in out
    Path("k.txt").write_text("scale\nmine.py:attention roles\n", "utf-8")
    code, out, _ = run("mine.py:attention", "--known", "k.txt")
    assert (code, "k.txt:2: roles no longer fails: take the line out" in out) == (1, True)
    Path("k.txt").write_text("scael\n", "utf-8")
    code, out, err = run("mine.py:attention", "--known", "k.txt")
    assert (code, out) == (2, "")
    assert err.startswith("riverhead: error: k.txt:1: there is no rule 'scael'; did you mean scale")
    assert run("mine.py:attention", "--known", "gone.txt")[0] == 3


# ---------------------------------------------------------------- formats


def test_the_text_ends_with_the_counts(run: Run) -> None:
    _, out, err = run("mine.py:attention")
    assert out.startswith("mine.py:attention\n\nBroken: Scores are q·k times 1/√d_k")
    assert out.splitlines()[-1] == "4 rules asked: 2 hold, 1 broken, 1 weak; 1 not offered."
    assert err == ""


def test_json_has_a_schema_and_everything(run: Run) -> None:
    code, out, _ = run("mine.py:attention", "--json")
    found = json.loads(out)
    assert (code, found["schema"]) == (1, "riverhead.check.code/1")
    assert found["code"]["failed"][0]["mistake"] == "no-scale"
    assert found["code"]["target"] == "mine.py:attention"


@pytest.mark.parametrize(
    ("name", "start"),
    [("a.json", b'{\n  "schema"'), ("a.md", b"# "), ("a.html", b"<!doctype"), ("a.tex", b"\\documentclass"),
     ("a.svg", b"<svg"), ("a.png", b"\x89PNG"), ("a.txt", b"mine.py:attention\n")],
)  # fmt: skip
def test_the_ending_of_the_output_says_the_format(run: Run, name: str, start: bytes) -> None:
    if name.endswith(".png"):
        pytest.importorskip("resvg_py")
    assert run("mine.py:attention", "-o", name) == (1, "", "")
    assert Path(name).read_bytes().startswith(start)


def test_junit_goes_to_a_file_too(run: Run) -> None:
    code, out, _ = run("mine.py:attention", "--format", "junit")
    assert code == 1
    assert run("mine.py:attention", "--format", "junit", "-o", "rules.xml")[0] == 1
    assert Path("rules.xml").read_text("utf-8") == out
    assert ElementTree.fromstring(out)[0].attrib["failures"] == "1"


def test_the_rules_are_listed_without_a_function(run: Run) -> None:
    code, out, _ = run("--rules", "--kind", "attention")
    assert (code, run.asked) == (0, {})
    assert "\nscale: Scores are q·k times 1/√d_k, d_k the width of one head.\n  Must hold; Vaswani" in out
    assert re.search(r"no-scale +the dots are not divided by √d_k", out)
    listed = json.loads(run("--rules", "--json")[1])["rules"]
    assert {each["kind"] for each in listed} == set(STUDIES)


def test_the_kinds_offered_are_those_that_there_are() -> None:
    assert set(check_code.KINDS) == set(STUDIES)
    arrays: Mapping[str, Any] = importlib.import_module("riverhead.checking.rules.adapting.arrays").KINDS
    assert set(check_code.ARRAYS) == set(arrays)


def test_help_has_examples_and_every_option_says_what_it_does(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as done:
        main(["check", "code", "--help"])
    assert done.value.code == 0
    assert re.search(
        r"^  Examples:\n    riverhead check code mine\.py:attention$", capsys.readouterr().out, re.M
    )
    options = [option for option in check_code.code.params if isinstance(option, click.Option)]
    assert all(option.help for option in options)


# ---------------------------------------------------------------- a newcomer with a wrong function


def test_a_wrong_function_gets_its_mistakes_in_one_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(ROOT)
    with pytest.raises(SystemExit) as done:
        main(["check", "code", "docs/checking/mine.py:attention", "--json"])
    assert done.value.code == 1
    failed = json.loads(capsys.readouterr().out)["code"]["failed"]
    assert [each["mistake"] for each in failed if each["level"] == "must"][:2] == [
        "no-scale",
        "mask-after-softmax",
    ]
    assert [each["beside"] for each in failed[:2]] == [[], ["no-scale"]]
    monkeypatch.chdir(tmp_path)
    script = failed[0]["reproduce"].replace("'docs/checking'", repr(str(ROOT / "docs" / "checking")))
    scope: dict[str, Any] = {}
    exec(compile(script, "script", "exec"), scope)
    said = capsys.readouterr().out.splitlines()
    assert said == [f"out[0, 0] is {failed[0]['found']}", f"right is {failed[0]['right']}"]


def test_nothing_is_agreed_about_an_empty_row_that_gives_nan() -> None:
    def attention(q: Any, k: Any, v: Any, mask: Any = None) -> Any:
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
        scores = scores if mask is None else np.where(mask, scores, -np.inf)
        exps = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return exps / exps.sum(axis=-1, keepdims=True) @ v

    report = implementation(attention, isolated=False)
    assert report.mistakes[:1] == ("empty-row-nan",)
    assert not [agreed for agreed in report.conventions if agreed.aspect == "empty-row"]


def test_the_wrong_function_stands_in_the_docs_as_it_is() -> None:
    source = (ROOT / "docs" / "checking" / "mine.py").read_text("utf-8")
    assert f"```py\n{source}```" in (ROOT / "docs" / "checking-code.md").read_text("utf-8")
