"""docs/watching.ipynb runs from top to bottom, and shows what is stored in it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from real_models import fetched

DOCS = Path(__file__).parent.parent / "docs"
NOTEBOOK, RUN = DOCS / "watching.ipynb", DOCS / "run_notebook.py"
NUMBER = re.compile(r"\d+(?:\.\d+)?")


def run(notebook: Path, output: Path) -> subprocess.CompletedProcess[str]:
    alone = {"RIVERHEAD_OFFLINE": "1", "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}  # more would only spin
    env = {**os.environ, **alone}
    return subprocess.run(
        [sys.executable, RUN, notebook, "-o", output], capture_output=True, text=True, env=env
    )


def cells(notebook: Path) -> list[dict[str, Any]]:
    """Its cells, text as one string whether it was stored so or line by line."""
    text = notebook.read_text("utf-8")
    return json.loads(text, object_hook=lambda x: {name: joined(value) for name, value in x.items()})["cells"]


def joined(value: Any) -> Any:
    lines = isinstance(value, list) and all(isinstance(line, str) for line in value)
    return "".join(value) if lines and value else value


def differ(stored: Any, found: Any) -> bool:
    """Whether any word differs, or a number by more than one in its last decimal: processors round that."""
    one, other = (json.dumps(x, ensure_ascii=False, sort_keys=True) for x in (stored, found))
    words = NUMBER.sub("#", one) != NUMBER.sub("#", other)
    return words or any(map(apart, NUMBER.findall(one), NUMBER.findall(other)))


def apart(one: str, other: str) -> bool:
    n = len(one.partition(".")[2])
    rounded = n > 0 and n == len(other.partition(".")[2])
    return abs(Decimal(one) - Decimal(other)) > Decimal(10) ** -n if rounded else one != other


@pytest.mark.model
@pytest.mark.oracle
def test_every_cell_runs_and_shows_what_is_stored(tmp_path: Path) -> None:
    if os.environ.get("RIVERHEAD_REQUIRE_ORACLES") != "1":
        for package in ("torch", "transformers"):
            pytest.importorskip(package, reason="the notebook needs the [oracle] extra")
    for model in ("smollm2", "minilm"):
        fetched(model)
    again = tmp_path / "again.ipynb"
    ran = run(NOTEBOOK, again)
    assert ran.returncode == 0, ran.stderr
    for stored, found in zip(cells(NOTEBOOK), cells(again), strict=True):
        assert not differ(stored, found), (
            f"{stored['source']}\n\nshows {json.dumps(found['outputs'], ensure_ascii=False)}\n\n"
            f"stored is {json.dumps(stored['outputs'], ensure_ascii=False)}\n\n"
            "python docs/run_notebook.py stores what it shows; look at the difference before committing it"
        )


def test_the_stored_outputs_are_a_whole_run() -> None:
    code = [cell for cell in cells(NOTEBOOK) if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert sum(bool(cell["outputs"]) for cell in code) > len(code) / 2
    assert sum("assert" in cell["source"] or "agrees(" in cell["source"] for cell in code) > len(code) / 2


def written(folder: Path, *sources: str) -> Path:
    notebook = folder / "small.ipynb"
    kind = {"cell_type": "code", "execution_count": None, "outputs": [], "metadata": {}}
    made = [{**kind, "source": source.splitlines(keepends=True)} for source in sources]
    text = {"cell_type": "markdown", "metadata": {}, "source": ["1 / 0"]}
    notebook.write_text(json.dumps({"cells": [text, *made], "nbformat": 4, "nbformat_minor": 5}), "utf-8")
    return notebook


def test_a_cell_shows_what_it_prints_and_its_last_value(tmp_path: Path) -> None:
    page = "class Page:\n    def _repr_html_(self): return '<b>é</b>'"
    page += "\n    def __repr__(self): return 'page\\n'\nPage()"
    small = written(tmp_path, "x = 2\nprint('a')\nprint(x)\nx + 1", page, "x; None", "_ = x\nx = 3")
    ran = run(small, tmp_path / "ran.ipynb")
    assert ran.returncode == 0, ran.stderr
    printed = {"name": "stdout", "output_type": "stream", "text": "a\n2\n"}

    def result(number: int, **data: str) -> dict[str, Any]:
        shown = {f"text/{kind}": text for kind, text in data.items()}
        return {"data": shown, "execution_count": number, "metadata": {}, "output_type": "execute_result"}

    text, *code = cells(tmp_path / "ran.ipynb")
    assert "outputs" not in text
    assert [cell["outputs"] for cell in code] == [
        [printed, result(1, plain="3")],
        [result(2, plain="page", html="<b>é</b>")],
        [],
        [],
    ]


def test_a_cell_that_fails_is_named_and_nothing_is_stored(tmp_path: Path) -> None:
    small = written(tmp_path, "x = 2", "y = 3\nassert x == y", "print('not reached')")
    ran = run(small, tmp_path / "ran.ipynb")
    assert ran.returncode == 1
    assert 'File "<cell 2>", line 2' in ran.stderr
    assert "in cell 2:\ny = 3\nassert x == y" in ran.stderr
    assert not (tmp_path / "ran.ipynb").exists()


@pytest.mark.parametrize(
    ("stored", "found", "differs"),
    [
        ("0.634 of 12", "0.635 of 12", False),
        ("0.999", "1.000", False),
        ("0.634 of 12", "0.636 of 12", True),
        ("0.634 of 12", "0.634 of 13", True),
        ("0.634 of 12", "0.634 by 12", True),
        ("0.634", "0.6340", True),
        ("0.634", "−0.634", True),
        ("0.634", "0.634 0.1", True),
    ],
)
def test_a_last_decimal_may_be_rounded_the_other_way_and_nothing_else(
    stored: str, found: str, differs: bool
) -> None:
    assert differ({"text": stored}, {"text": found}) is differs
