"""The Python script of a derivation runs by itself, and its asserts hold what the derivation says."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest

from riverhead.derivation import Derivation, derive, example, examples, script

rng = np.random.default_rng(3)
vectors = rng.standard_normal((4, 3, 2)).tolist()

CASES = {
    **{known.name: known.derive for known in examples()},
    "causal": lambda: example("The river bank flooded").derive(causal=True),
    "scale and temperature": lambda: example("The river bank flooded").derive(scale=0.3, temperature=2),
    "grouped heads": lambda: derive(vectors, vectors[:2], vectors[2:], causal=True),
    "cross, aligned at the start": lambda: derive(vectors[0][:2], *vectors[1:3], causal=True, align="start"),
    "cross, aligned at the end": lambda: derive(vectors[0][:2], *vectors[1:3], causal=True),
    "a mask with an empty row": lambda: derive(e=vectors[0], mask=[[True] * 3, [False] * 3, [True] * 3]),
    "a mask for each head": lambda: derive(vectors, vectors, vectors, mask=rng.random((4, 3, 3)) < 0.5),
    "scores that overflow": lambda: derive([[1e4, 0], [-1e4, 1]], np.eye(2), [[1, 2], [3, 4]], causal=True),
    "projected heads": lambda: derive(
        x=vectors[0], W_q=rng.random((2, 8)), W_k=rng.random((2, 4)), W_v=rng.random((2, 6)),
        W_o=rng.random((12, 2)), n_heads=4, n_kv_heads=2,
    ),
    "two sequences": lambda: derive(
        x=vectors[0], x_k=[*vectors[1], [1, 2]], W_q=np.eye(2), W_k=np.eye(2), W_v=np.eye(2),
    ),
    "heads without parameters": lambda: derive(e=rng.random((3, 4)), n_heads=2),
    "one head and W_o": lambda: derive(e=vectors[0], W_o=[[1, 2, 3], [4, 5, 6]]),
    "hostile tokens": lambda: derive(
        e=vectors[0],
        tokens=["'''\n\"\"\"\\", "\ud800\u202e\x00", "</script>\\input{x}|🌊"],
        title="\"\"\"\nimport os\n'''\u2028#",
    ),
}  # fmt: skip


UTF_8 = {"PYTHONIOENCODING": "utf-8"}


def run(code: str) -> subprocess.CompletedProcess[str]:
    """Run a script in a process of its own, in UTF-8."""
    command = [sys.executable, "-I", "-W", "error", "-"]
    return subprocess.run(command, input=code, capture_output=True, encoding="utf-8", env=UTF_8)


@pytest.mark.parametrize("name", CASES)
def test_the_script_makes_the_numbers_again(name: str) -> None:
    derivation: Derivation = CASES[name]()
    code = script(derivation)
    ran = run(code)
    assert ran.returncode == 0, ran.stderr
    assert len(ran.stdout.splitlines()) == derivation.given.T_q
    assert code.count("\n") <= 23  # x, four matrices, and two lines for the heads


@pytest.mark.parametrize("name", ["river_bank_flooded", "two_heads"])
def test_its_asserts_can_fail(name: str) -> None:
    code = script(example(name).derive())
    assert code.count("assert ") == 2
    for wrong in (code.replace("np.sqrt(2)", "2"), code.replace("out = weights @ v", "out = weights @ k")):
        assert wrong != code
        assert "AssertionError" in run(wrong).stderr


def test_the_numbers_in_it_are_the_golden_ones_and_it_needs_numpy_alone() -> None:
    code = script(example("The river bank flooded").derive())
    assert "[0.064585, 0.538776, 0.265654, 0.130985]" in code
    assert "[0.604269, 0.265654]" in code
    assert re.findall(r"^import (\w+)", code, re.M) == ["numpy"]
    assert code.count("\n") <= 16
