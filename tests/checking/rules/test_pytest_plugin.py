"""``pytest --riverhead module:function``: each rule a test, in real runs of pytest."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

from riverhead.checking.rules.reports.listing import rules_of
from riverhead.checking.rules.rule import rules

ROOT = Path(__file__).parents[3]

WRONG = """
import numpy as np

def attention(q, k, v):
    with open("runs.txt", "a") as file:
        file.write("x")
    weights = np.exp(q @ k.swapaxes(-1, -2))
    return weights / weights.sum(axis=-1, keepdims=True) @ v
"""
# a report made by hand, so that a run takes no time; who asks for it is written down
BY_HAND = """
import riverhead.check
from riverhead.checking.rules.report import Failure, NotOffered, Report

def implementation(target, **asked):
    with open("asked.txt", "a") as file:
        print(target, sorted(asked.items()), file=file)
    return Report(
        "attention", "attention", ("definition", "roles"),
        (
            Failure("scale", "must", (0, 1), "out", 0.25, 0.5, mistake="no-scale", did="not \\x1b[31m done"),
            Failure("hidden-values", "should", detail="it moved"),
        ),
        (), (NotOffered("window", "takes no window"),), (NotOffered("softmax-axis", "follows from scale"),),
        target=target,
    )

riverhead.check.implementation = implementation
"""


class Result:
    """What a run printed, and how it ended."""

    def __init__(self, ran: subprocess.CompletedProcess[str]) -> None:
        self.code, self.out = ran.returncode, ran.stdout

    @property
    def outcomes(self) -> Mapping[str, str]:
        """Of each test how it ended, of a run with -v."""
        found = re.findall(r"^riverhead::(\S+) (PASSED|FAILED|SKIPPED|XFAIL|ERROR)", self.out, re.M)
        return {id.removeprefix("mine:attention::"): how for id, how in found}

    @property
    def counts(self) -> Mapping[str, int]:
        """The last line."""
        found = re.findall(
            r"(\d+) (passed|failed|skipped|xfailed|deselected|error)", self.out.splitlines()[-1]
        )
        return {what: int(n) for n, what in found}


class Runs:
    """A folder of its own, and pytest run in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.write("pytest.ini", "[pytest]\n")

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text, "utf-8")

    @property
    def asked(self) -> list[str]:
        path = self.folder / "asked.txt"
        return path.read_text("utf-8").splitlines() if path.exists() else []

    def __call__(self, *argv: str) -> Result:
        command = [sys.executable, "-m", "pytest", *USUAL, *argv]
        env = {**os.environ, **ALONE}
        return Result(subprocess.run(command, cwd=self.folder, env=env, capture_output=True, text=True))


USUAL = ("-p", "no:cacheprovider", "-p", "riverhead.pytest_plugin")
ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}  # without whatever is installed beside


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path)


@pytest.fixture
def by_hand(runs: Runs) -> Runs:
    runs.write("conftest.py", BY_HAND)
    return runs


N = len(rules_of("attention"))
ASK = ("--riverhead", "mine:attention", "--riverhead-kind", "attention")


def test_each_rule_passes_fails_with_its_sentence_or_says_why_it_was_not_asked(by_hand: Runs) -> None:
    found = by_hand(*ASK, "-v", "-rxsf")
    assert list(found.outcomes) == [rule.id for rule in rules_of("attention")]
    said = {"definition": "PASSED", "roles": "PASSED", "scale": "FAILED", "hidden-values": "XFAIL"}
    assert {id: how for id, how in found.outcomes.items() if how != "SKIPPED"} == said
    assert found.code == 1
    assert found.counts == {"passed": 2, "failed": 1, "xfailed": 1, "skipped": N - 4}
    rule = rules()["scale"]
    assert f"{rule.says} ({rule.source})\nout[0, 1] is 0.25; right is 0.5\n" in found.out
    assert "FAILED riverhead::mine:attention::scale - Failed: not ␛[31m done (no-scale)" in found.out
    assert "takes no window" in found.out
    assert "follows from scale" in found.out
    assert "\x1b" not in found.out
    assert len(by_hand.asked) == 1  # it ran once, for all of them


def test_what_is_accepted_is_expected_to_fail_and_a_stale_line_is_a_failure(by_hand: Runs) -> None:
    by_hand.write("k.txt", "scale no-scale # of old\nroles\nother:f definition\n")
    asked = ("--riverhead-expect", "mask=drop", "--riverhead-argument", "n=3", "--riverhead-strict")
    found = by_hand(*ASK, "--riverhead-known", "k.txt", *asked, "-v", "-rx")
    outcomes = found.outcomes
    assert (outcomes["scale"], outcomes["roles"], outcomes["definition"]) == ("XFAIL", "FAILED", "PASSED")
    assert outcomes["hidden-values"] == "FAILED"  # what should hold must
    assert "accepted: of old" in found.out
    assert "k.txt:2: roles no longer fails: take the line out" in found.out
    options = "[('arguments', {'n': 3}), ('expect', {'mask': 'drop'}), ('kind', 'attention')]"
    assert by_hand.asked == [f"mine:attention {options}"]


def test_what_is_wrong_in_an_option_is_said_before_anything_runs(by_hand: Runs) -> None:
    by_hand.write("k.txt", "scael\n")
    found = by_hand(*ASK, "--riverhead-known", "k.txt")
    assert found.code == 2
    hostile = by_hand("--riverhead", "a\x1b[2J:b", "--riverhead-kind", "door").out
    assert "a␛[2J:b: the kind is one of attention" in hostile
    assert "\x1b" not in hostile
    assert "mine:attention: k.txt:1: there is no rule 'scael'; did you mean scale" in found.out
    assert by_hand.asked == []


def test_tests_are_chosen_by_name_and_by_id_and_stand_beside_others(by_hand: Runs) -> None:
    by_hand.write("test_mine.py", "def test_roles():\n    pass\n\ndef test_b():\n    pass\n")
    found = by_hand(*ASK, "-k", "roles", "-v")
    assert found.counts == {"passed": 2, "deselected": N}
    assert found.outcomes == {"roles": "PASSED"}
    id, kind = "riverhead::mine:attention::", ("--riverhead-kind", "attention")
    by_id = by_hand(f"{id}roles", f"{id}scale", "test_mine.py", "--riverhead", "other:f", *kind, "-v")
    assert by_id.counts == {"passed": 3, "failed": 1}
    assert by_id.outcomes == {"scale": "FAILED", "roles": "PASSED"}
    assert "mine:attention is asked no rule 'scael'" in by_hand(f"{id}roles", f"{id}scael", *kind).out


def test_collecting_runs_nothing_and_an_ini_file_may_ask(runs: Runs) -> None:
    runs.write("mine.py", WRONG)
    runs.write("pytest.ini", "[pytest]\nriverhead =\n  mine:attention\n  mine.py:attention\n")
    found = runs("--collect-only", "-q", "--riverhead-kind", "attention")
    assert found.code == 0
    ids = [line for line in found.out.splitlines() if line.startswith("riverhead::")]
    assert ids == [
        f"riverhead::{target}::{rule.id}"
        for target in ("mine:attention", "mine.py:attention")
        for rule in rules_of("attention")
    ]
    assert not (runs.folder / "runs.txt").exists()


def test_a_wrong_function_fails_by_its_mistake_on_any_worker_as_it_is(runs: Runs) -> None:
    pytest.importorskip("xdist")
    runs.write("mine.py", WRONG)
    found = runs("--riverhead", "mine:attention", "-p", "xdist", "-n", "2", "--dist", "loadfile", "-rf", "-q")
    assert found.code == 1
    assert "FAILED riverhead::mine:attention::scale - Failed: the dots are not divided" in found.out
    assert found.counts["failed"] >= 1
    assert sum(found.counts.values()) == N, found.out
    assert "No mistake" not in found.out


def test_a_module_that_is_not_there_is_an_error_of_collecting(runs: Runs) -> None:
    found = runs("--riverhead", "gone:attention", "-q")
    assert found.code == 2
    assert "gone:attention: there is no module gone" in found.out


def test_it_is_light_until_it_is_asked_for(runs: Runs) -> None:
    code = (
        "import sys\ndef test_a():\n"
        "    assert {x for x in sys.modules if x.partition('.')[0] == 'riverhead'} == {\n"
        "        'riverhead', 'riverhead._version', 'riverhead.display', 'riverhead.pytest_plugin'}\n"
        "    assert not {'numpy', 'rich', 'click', 'torch'} & set(sys.modules)\n"
    )
    runs.write("test_light.py", code)
    found = runs("-q", "-W", "error")
    assert found.counts == {"passed": 1}, found.out


def test_the_entry_point_is_this_plugin() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["entry-points"]["pytest11"] == {"riverhead": "riverhead.pytest_plugin"}
