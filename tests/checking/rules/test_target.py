"""Which function is meant: by module or by file, and what is said where there is none."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from riverhead.checking.rules.running.target import load_target
from riverhead.errors import InputError

MINE = """\
import math
from dataclasses import dataclass

SIZE = 3

def attention(q, k, v):
    return "mine"

def helper(x):
    return math.sqrt(x)

class Heads:
    def forward(self, x):
        return "heads"

heads = Heads()
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of its own to stand in; what is imported from it is forgotten."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    (tmp_path / "mine.py").write_text(MINE)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def package(folder: Path) -> Path:
    inner = folder / "deep" / "parts"
    inner.mkdir(parents=True)
    (folder / "deep" / "__init__.py").write_text("")
    (inner / "__init__.py").write_text(
        "from .. import shared\n\ndef attention(q, k, v):\n    return shared.WORD\n"
    )
    (inner / "heads.py").write_text("from ..shared import WORD\n\ndef attention(q, k, v):\n    return WORD\n")
    (folder / "deep" / "shared.py").write_text("WORD = 'shared'\n")
    return inner


@pytest.mark.parametrize("text", ["mine:attention", "mine.py:attention", "./mine.py:attention", "mine"])
def test_a_function_of_a_module_or_a_file(text: str) -> None:
    assert load_target(text)(1, 2, 3) == "mine"


def test_an_absolute_path(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    assert load_target(f"{folder}/mine.py:attention")(1, 2, 3) == "mine"
    assert sys.path[0] == str(folder)


def test_an_attribute_of_an_object_and_a_class() -> None:
    assert load_target("mine:heads.forward")(1) == "heads"
    assert load_target("mine.py:Heads")().forward(1) == "heads"


@pytest.mark.parametrize("text", ["deep.parts.heads:attention", "deep/parts/heads.py:attention",
                                  "deep/parts/__init__.py:attention", "deep.parts:attention"])  # fmt: skip
def test_a_file_of_a_package_may_import_from_it(folder: Path, text: str) -> None:
    package(folder)
    assert load_target(text)(1, 2, 3) == "shared"


def test_a_file_may_import_the_file_beside_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "there").mkdir()
    (folder / "there" / "beside.py").write_text("WORD = 'beside'")
    (folder / "there" / "one.py").write_text("from beside import WORD\ndef attend(q, k, v): return WORD")
    assert load_target("there/one.py")(1, 2, 3) == "beside"


def test_a_file_named_as_a_module_of_python_s_is_the_file(folder: Path) -> None:
    (folder / "statistics.py").write_text(MINE)
    import statistics

    assert load_target("statistics.py:attention")(1, 2, 3) == "mine"
    assert sys.modules["statistics"] is statistics


def test_dataclasses_and_pickles_find_their_module(folder: Path) -> None:
    (folder / "kept.py").write_text(
        "from __future__ import annotations\nfrom dataclasses import dataclass\n"
        "@dataclass\nclass Attention:\n    size: int = 2\n    def __call__(self, q, k, v): return self.size\n"
    )
    assert load_target("kept.py")()(1, 2, 3) == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("mine.py:atention", "mine.py has no atention; did you mean attention?"),
        ("mine:heads.forwards", "mine has no heads.forwards; did you mean forward?"),
        ("mine:zzz", "mine has no zzz; it defines attention, helper, Heads"),
        ("mine:SIZE", "mine:SIZE cannot be called: it is 3"),
        ("min.py:attention", "min.py is not there; did you mean mine.py?"),
        ("min:attention", "there is no module min; did you mean mine?"),
        ("zzz.py", "zzz.py is not there"),
        ("mine.attention", "mine.attention is no module: give mine:attention"),
        ("mine.zzz", "there is no module mine.zzz"),
        (":attention", "':attention' names no module: give package.module:function, or "
                       "path/file.py:function"),
        ("notes.ipynb:f", "notes.ipynb is no Python file: put the function into one that ends in .py"),
        ("folder/:f", "folder is a folder: give a file in it"),
        ("two", "say which function is meant, as in two:f; it defines f, g"),
        ("none", "say which function is meant, as in none:function; it defines no function"),
        ("many", "say which function is meant, as in many:f0; it defines f0, f1, f2, f3, f4, f5, f6, f7 "
                 "and 3 more"),
        ("raises.py:f", "raises.py cannot be imported: ZeroDivisionError: division by zero (raises.py:2)"),
        ("raises:f", "raises cannot be imported: ZeroDivisionError: division by zero (raises.py:2)"),
        ("wants:f", "wants cannot be imported: ModuleNotFoundError: No module named 'no_such_thing' "
                    "(wants.py:1)"),
        ("leaves:f", "leaves left with exit status 3 while it was imported: keep what it runs under "
                     "`if __name__ == '__main__':`"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_said_with_what_is(folder: Path, text: str, said: str) -> None:
    (folder / "folder").mkdir()
    (folder / "notes.ipynb").write_text("{}")
    (folder / "two.py").write_text("def f(x): ...\ndef g(x): ...\n")
    (folder / "none.py").write_text("from math import sqrt\n")
    (folder / "many.py").write_text("".join(f"def f{n}(x): ...\n" for n in range(11)))
    (folder / "raises.py").write_text("def f(): ...\n1 / 0\n")
    (folder / "wants.py").write_text("import no_such_thing\n")
    (folder / "leaves.py").write_text("raise SystemExit(3)\n")
    with pytest.raises(InputError) as refused:
        load_target(text)
    assert str(refused.value) == said


def test_what_is_no_python_is_told_with_its_line(folder: Path) -> None:
    (folder / "broken.py").write_text("def f(:\n")
    with pytest.raises(
        InputError, match=r"^broken\.py cannot be imported: SyntaxError: .*broken\.py, line 1"
    ):
        load_target("broken.py:f")


def test_a_module_that_another_hides_is_said(folder: Path) -> None:
    package(folder)
    other = folder / "other"
    other.mkdir()
    package(other)
    load_target("deep/parts/heads.py:attention")
    with pytest.raises(InputError, match=r"is deep\.parts\.heads, which is imported from .* already"):
        load_target("other/deep/parts/heads.py:attention")


@pytest.mark.parametrize(
    "text",
    [
        "def mha(x): ...\ndef other(x): ...",
        "def f(query, key, value, mask=None): ...\ndef other(x): ...",
        "def f(q, k, v): ...\ndef other(q, v, k): ...",
        "class CausalSelfAttention: ...\ndef other(x): ...",
        "def _attention(q, k, v): ...\nfrom math import sqrt\ndef f(x): ...",
    ],
)
def test_the_one_that_looks_like_attention_needs_no_name(folder: Path, text: str) -> None:
    (folder / "found.py").write_text(text)
    assert load_target("found").__name__ in ("mha", "f", "CausalSelfAttention")
