"""What docstrings, README and docs print is what a reader gets: every example runs and is compared."""

from __future__ import annotations

import doctest
import importlib
import os
import pkgutil
import re
import shlex
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

import riverhead
from riverhead.errors import MissingExtraError

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
MODULES = ["riverhead", *(m.name for m in pkgutil.walk_packages(riverhead.__path__, "riverhead."))]
RIVERHEAD = Path(sysconfig.get_path("scripts")) / "riverhead"


@pytest.mark.parametrize("name", MODULES)
def test_docstrings_print_what_they_say(name: str) -> None:
    try:
        module = importlib.import_module(name)
    except MissingExtraError as error:
        pytest.skip(str(error))
    if needs_torch(module) and os.environ.get("RIVERHEAD_REQUIRE_ORACLES") != "1":
        pytest.importorskip("torch", reason=f"the docstrings of {name} need the [oracle] extra")
    failed, _ = doctest.testmod(module)
    assert not failed


def needs_torch(module: ModuleType) -> bool:
    tests = doctest.DocTestFinder(exclude_empty=True).find(module)
    return any("import torch" in example.source for test in tests for example in test.examples)


def test_doctests_are_found_at_all() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    rooms = [importlib.import_module(name) for name in MODULES if name != "riverhead.torch"]
    found = [test for room in rooms for test in finder.find(room) if test.examples]
    assert len(found) > 40


def test_public_names_are_few_sorted_there_and_documented() -> None:
    assert riverhead.__all__ == sorted(riverhead.__all__)
    assert len(riverhead.__all__) <= 30
    for name in riverhead.__all__:
        value = getattr(riverhead, name)
        if not name.startswith("__"):
            assert value.__doc__, name


def consoles() -> list[tuple[str, str, str]]:
    """Every ``$ command`` of a console block in the documents, with the output that stands under it."""
    found = []
    for page in PAGES:
        for block in re.findall(r"^```console\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S):
            for example in re.split(r"^\$ ", block, flags=re.M)[1:]:
                command, _, output = example.partition("\n")
                found.append((page.name, command, output))
    return found


@pytest.mark.model
@pytest.mark.parametrize(("page", "command", "output"), consoles(), ids=lambda value: value[:50])
def test_consoles_print_what_they_say(
    page: str, command: str, output: str, smollm2_folder: Path, tmp_path: Path
) -> None:
    words = shlex.split(command)
    assert words[0] == "riverhead", f"{page}: only riverhead's own output is promised"
    ran = subprocess.run(
        [RIVERHEAD, *words[1:]],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={
            **os.environ,
            "COLUMNS": "80",
            "NO_COLOR": "1",
            "RIVERHEAD_OFFLINE": "1",
            "RIVERHEAD_DATA": str(tmp_path),
        },
    )
    assert ran.returncode in (0, 1), ran.stderr
    assert ran.stdout.rstrip() == output.rstrip()


@pytest.mark.model
def test_the_picture_is_what_the_command_draws(tmp_path: Path, smollm2_folder: Path) -> None:
    drawn = tmp_path / "first-minute.svg"
    subprocess.run([RIVERHEAD, "show", "The river bank flooded", "-o", drawn], check=True)
    assert drawn.read_text("utf-8") == (ROOT / "docs" / "first-minute.svg").read_text("utf-8")


def pictures() -> list[tuple[str, str]]:
    """Every ``riverhead … -o docs/NAME.svg`` of the documents: the command and the picture's name."""
    pattern = r"^riverhead (.+) -o docs/(\S+\.svg)$"
    return [found for page in PAGES for found in re.findall(pattern, page.read_text("utf-8"), re.M)]


@pytest.mark.parametrize(("command", "picture"), pictures())
def test_pictures_are_what_their_commands_draw(command: str, picture: str, tmp_path: Path) -> None:
    drawn = tmp_path / picture
    subprocess.run([RIVERHEAD, *shlex.split(command), "-o", drawn], check=True)
    assert drawn.read_text("utf-8") == (ROOT / "docs" / picture).read_text("utf-8")


def test_the_readme_has_consoles() -> None:
    assert [command for page, command, _ in consoles() if page == "README.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_run(page: Path, smollm2_folder: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S)
    runner = doctest.DocTestRunner()
    for number, block in enumerate(blocks):
        test = doctest.DocTestParser().get_doctest(block, {}, f"{page.name}[{number}]", page.name, 0)
        assert test.examples, "a python block shows >>> examples with their output"
        runner.run(test)
    assert not runner.summarize(verbose=False).failed


def test_the_two_commands_stand_at_the_top_of_the_readme() -> None:
    first = (ROOT / "README.md").read_text("utf-8").split("```")[1]
    assert first.strip().splitlines() == [
        "sh",
        'python -m pip install . && riverhead show "The river bank flooded" --yes',
        "python -m pip install '.[test]' && python -m pytest",
    ]


def test_every_dependency_has_its_line_in_the_architecture() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    described = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    for requirement in project["dependencies"]:
        name = re.match(r"[a-z0-9-]+", requirement)
        assert name is not None
        assert f"| {name[0]} |" in described, requirement


def test_import_is_light() -> None:
    def loads(package: str, heavy: str) -> bool:
        code = f"import {package}, sys; sys.exit({heavy!r} in sys.modules)"
        return subprocess.run([sys.executable, "-c", code]).returncode == 1

    for heavy in ("numpy", "rich", "gguf", "tokenizers", "torch"):
        assert not loads("riverhead", heavy), heavy
    assert not loads("riverhead.cli", "numpy")
    assert loads("riverhead.core", "numpy")  # a check needs a control


def test_files_are_one_thing() -> None:
    lines = {path: len(path.read_text("utf-8").splitlines()) for path in (ROOT / "src").rglob("*.py")}
    assert {path: n for path, n in lines.items() if n > 400} == {}
