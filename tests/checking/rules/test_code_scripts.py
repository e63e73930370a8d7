"""A script of a failure runs, and shows the difference."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reported import REPORT, SCALE, WEAK

from riverhead.checking.rules.adapting import Asked, adapt
from riverhead.checking.rules.call import Call
from riverhead.checking.rules.draw import Draw, Sizes
from riverhead.checking.rules.reports.reproduce import reproduce
from riverhead.errors import InputError


def ran(script: str, cwd: Path) -> list[str]:
    (cwd / "script.py").write_text(script, "utf-8")
    done = subprocess.run([sys.executable, "script.py"], cwd=cwd, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


CODE = "def f(q, k=None):\n    return [[x * 2 for x in row] for row in q]\n\nclass A:\n    g = f\n"


@pytest.mark.parametrize(
    ("file", "target"),
    [
        ("mine.py", "mine:f"),
        ("mine.py", "mine:A.g"),
        ("mine.py", "mine.py:f"),
        ("mine.py", "mine.py"),
        ("sub/mine.py", "sub/mine.py:f"),
        ("pack/__init__.py", "pack:f"),
        ("not a-name.py", "not a-name.py:f"),
    ],
)
def test_a_script_finds_the_function_and_prints_both_numbers(tmp_path: Path, file: str, target: str) -> None:
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(CODE, "utf-8")
    failure = replace(SCALE, script="q = [[1.0]]\nout = f(q)", cell=(0, 0))
    script = reproduce(replace(REPORT, name="f", target=target), failure)
    assert ran(script, tmp_path) == ["out[0, 0] is 2.0", "right is 0.2744"]


def test_a_script_of_a_file_in_a_package_finds_what_stands_beside_it(tmp_path: Path) -> None:
    (tmp_path / "pack").mkdir()
    for name, source in (("__init__", ""), ("two", "TWO = 2\n"), ("mine", f"from .two import TWO\n{CODE}")):
        (tmp_path / "pack" / f"{name}.py").write_text(source, "utf-8")
    failure = replace(SCALE, script="out = f([[1.0]])", cell=(0, 0))
    script = reproduce(replace(REPORT, target=str(tmp_path / "pack" / "mine.py:f")), failure)
    assert ran(script, tmp_path) == ["out[0, 0] is 2.0", "right is 0.2744"]


def test_a_script_holds_what_is_no_number_of_pythons(tmp_path: Path) -> None:
    script = "q = np.array([[nan, -inf]])\nout = f(q)"
    failure = replace(SCALE, script=script, cell=(0, 1), found=math.inf, right=math.nan, beside=("a", "b"))
    (tmp_path / "mine.py").write_text("def f(q):\n    return -q\n", "utf-8")
    written = reproduce(replace(REPORT, target="mine:f"), failure)
    assert ran(written, tmp_path) == ["out[0, 1] is inf", "with a and b alone it would be nan"]


def test_a_script_is_only_there_where_the_call_can_be_written_down() -> None:
    assert reproduce(REPORT, SCALE) == ""
    unknown = reproduce(replace(REPORT, target=""), replace(SCALE, script="out = f([[1.0]])"))
    assert unknown.splitlines()[0] == "f = ...  # 'attention', which was checked"
    raised = reproduce(REPORT, replace(WEAK, script="out = f([[1.0]])", detail="ValueError:\nno"))
    assert raised.endswith("out = f([[1.0]])\n# ValueError:\n# no\n")


def attend(q: Any, k: Any, v: Any, mask: Any = None) -> Any:
    """Something like attention, of arrays or tensors, heads before tokens."""
    scores = q @ k.swapaxes(-1, -2)
    weights = 1.0 if mask is None else mask * 1.0
    return (weights + scores / 9) @ v


def tokens_first(q: Any, k: Any, v: Any, mask: Any = None) -> Any:
    if q.ndim != 4:
        raise ValueError("(B, T, H, d)")
    return attend(*(x.swapaxes(1, 2) for x in (q, k, v)), mask).swapaxes(1, 2)


def side_by_side(q: Any, k: Any, v: Any, n_heads: int) -> Any:
    if q.ndim != 3:
        raise ValueError("(B, T, H·d)")
    heads = (x.reshape(*x.shape[:2], n_heads, -1) for x in (q, k, v))
    return tokens_first(*heads).reshape(*q.shape[:2], -1)


def of_lists(queries: Any, keys: Any, values: Any) -> Any:
    return attend(*(np.array(x) for x in (queries, keys, values))).tolist()


def with_weights(q: Any, k: Any, v: Any, need_weights: bool = False) -> Any:
    return {"output": attend(q, k, v), "attn": q @ k.swapaxes(-1, -2)} if need_weights else attend(q, k, v)


@pytest.mark.parametrize("arrays", ["numpy", "torch"])
@pytest.mark.parametrize("function", [attend, tokens_first, side_by_side, with_weights, of_lists])
def test_a_script_makes_the_very_call(function: Any, arrays: str) -> None:
    torch = pytest.importorskip("torch") if arrays == "torch" else None
    adapter = adapt(function, Asked(arrays="list" if function is of_lists else arrays))
    draw, tried = Draw(Sizes(B=2, H=3, G=3)), []
    masks: list[dict[str, Any]] = [{}, {"mask": draw.numbers("mask", 3, 5) > 0}]
    for axes, more, want in product(((), (2,), (2, 3)), masks, ((), ("weights",))):
        call = Call({**draw.qkv(*axes), **more}, want=want)
        try:
            right = adapter.run(call)
        except (InputError, ValueError, KeyError):  # it takes no such call
            continue
        script = str(adapter.run(replace(call, want=(*want, "script"))).facts["script"])
        scope: dict[str, Any] = {"f": function, "np": np, "torch": torch}
        exec(compile(script, "script", "exec"), scope)
        for name, array in right.arrays.items():
            assert np.array_equal(np.array(scope[name].tolist()), array), script
        tried.append((len(axes), *more, *want))
    assert tried
