"""`implementation`: whatever it is given, in a child or here, and what is said of what is not known."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from riverhead.checking.rules import Limits, Sizes, implementation
from riverhead.errors import InputError

HERE = r"test_implementation\.py:\d+"

MINE = """\
import numpy as np

print("loaded")

def attention(q, k, v, mask=None):
    scores = q @ k.swapaxes(-1, -2)
    scores = scores if mask is None else np.where(mask, scores, -1e30)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v
"""


def attention(q: Any, k: Any, v: Any) -> Any:
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v


@pytest.fixture
def mine(tmp_path: Path) -> str:
    (tmp_path / "wrong.py").write_text(MINE)
    return f"{tmp_path}/wrong.py:attention"


def test_a_file_is_loaded_in_the_child_alone(mine: str) -> None:
    import sys

    report = implementation(mine)
    assert report.mistakes[0] == "no-scale"
    assert report.target == mine
    assert report.noise == "loaded\n"
    assert "wrong" not in sys.modules


def test_in_a_child_and_here_the_same_is_found() -> None:
    one, two = (implementation(attention, isolated=isolated).to_dict() for isolated in (True, False))
    assert one == two
    assert one["ok"]


def test_the_seed_and_the_sizes_decide_the_cases() -> None:
    def wrong(q: Any, k: Any, v: Any) -> Any:
        return attention(q, k, v) + 1

    def found(**asked: Any) -> Any:
        return implementation(wrong, isolated=False, **asked).failed[0].found

    usual = found()
    assert found(seed=0) == usual
    assert found(seed=1) != usual
    assert found(sizes=Sizes(B=3, H=4, G=2, T_q=2, T_k=7, d_k=5, d_v=3)) != usual


def test_how_far_it_is_is_told() -> None:
    heard: list[tuple[int, int, str]] = []
    implementation(attention, isolated=False, tell=lambda *told: heard.append(told))
    numbers, of, names = zip(*heard, strict=True)
    assert list(numbers) == list(range(len(heard)))
    assert set(of) == {len(heard)}
    assert "plain" in names


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"kind": "atention"}, "kind is 'atention'; it is one of .*; did you mean attention?"),
        ({"expect": {"maks": "drop"}}, "expect is 'maks'; it is one of .*; did you mean mask?"),
        (
            {"expect": {"mask": "dropp"}},
            "expect mask is 'dropp'; it is one of .*drop, keep; did you mean drop?",
        ),
        ({"expect": {"mask": ""}}, "expect mask is ''; it is one of .*drop, keep"),
    ],
)
def test_what_is_not_known_is_said_with_what_is(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as refused:
        implementation(attention, **asked)
    assert re.fullmatch(said.replace("?", r"\?"), str(refused.value)), str(refused.value)


def test_a_convention_that_was_asked_for_and_is_not_kept_is_wrong(mine: str) -> None:
    assert "mask" not in {failure.rule for failure in implementation(mine).failed}
    assert "mask" in {failure.rule for failure in implementation(mine, expect={"mask": "drop"}).failed}


def test_a_crash_at_some_call_breaks_the_rule_that_it_is_about() -> None:
    def crashes(q: Any, k: Any, v: Any) -> Any:
        if abs(q).max() > 30:  # large scores, which nothing that finds out how it is called has
            os.kill(os.getpid(), signal.SIGSEGV)
        return attention(q, k, v)

    report = implementation(crashes)
    broken = {failure.rule: failure.detail for failure in report.failed}
    assert re.fullmatch(rf"its process was ended by SIGSEGV .*, at {HERE}", broken["large-scores"]), broken
    assert {"definition", "scale", "roles"} <= set(report.passed)


@pytest.mark.parametrize(
    ("at_once", "said"),
    [
        (lambda q, k, v: exec("while True: pass"), r"it could not be called: did not answer within 0\.5 s.*"),
        (lambda q, k, v: os._exit(3), "it could not be called: its process left with exit status 3, .*"),
    ],
    ids=["hang", "exit"],
)  # fmt: skip
def test_what_never_answers_is_refused(at_once: Any, said: str) -> None:
    with pytest.raises(InputError) as refused:
        implementation(at_once, limits=Limits(seconds=0.5))
    assert re.fullmatch(said, str(refused.value)), str(refused.value)
