"""Texts with twenty planted errors in six notations: each is found at its line, no right number accused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from riverhead.checking.claims import claims

TEXTS = Path(__file__).parent / "texts"
NAMES = ("planted.md", "planted.html", "planted.tex", "planted.ipynb", "planted.txt", "planted.log")
KINDS = {"md": "markdown", "html": "html", "tex": "latex", "ipynb": "notebook", "txt": "text", "log": "text"}
PLANTED = re.compile("⟦(.*?)⇄(.*?)⟧")  # ⟦wrong⇄right⟧
N_RIGHT = 60  # there are more: a chain is several


def read(name: str, which: int) -> str:
    return PLANTED.sub(lambda match: match[which], (TEXTS / name).read_text("utf-8"))


def places(name: str) -> list[tuple[str, int]]:
    """Where the errors stand: the cell of a notebook, else nothing, and the line."""
    text = (TEXTS / name).read_text("utf-8")
    if not name.endswith("ipynb"):
        return [("", text[: match.start()].count("\n") + 1) for match in PLANTED.finditer(text)]
    sources = ["".join(cell["source"]) for cell in json.loads(text)["cells"]]
    return [
        (f"cell {number}", source[: match.start()].count("\n") + 1)
        for number, source in enumerate(sources, 1)
        for match in PLANTED.finditer(source)
    ]


def test_twenty_are_planted() -> None:
    assert sum(len(places(name)) for name in NAMES) == 20


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("told", [False, True])
def test_each_planted_error_is_found_and_nothing_else(name: str, told: bool) -> None:
    kind = KINDS[name.split(".")[1]] if told else None
    false = [claim for claim in claims(read(name, 1), kind) if claim.verdict == "false"]
    for place, line in places(name):
        assert [c for c in false if c.place == place and c.line <= line <= c.line + c.text.count("\n")], line
    for c in false:
        lines = range(c.line, c.line + c.text.count("\n") + 1)
        assert any((c.place, line) in places(name) for line in lines), c


@pytest.mark.parametrize("name", NAMES)
def test_the_same_text_put_right_has_no_false_number(name: str) -> None:
    assert [claim for claim in claims(read(name, 2)) if claim.verdict == "false"] == []


def test_the_right_numbers_are_found_right() -> None:
    found = [claim for name in NAMES for claim in claims(read(name, 2))]
    assert sum(claim.verdict == "true" for claim in found) >= N_RIGHT
    assert sum(claim.verdict == "not checkable" for claim in found) <= 6


def test_an_error_has_the_right_number_beside_it() -> None:
    """What it should be is known to the digits in which the right text has it."""
    for name in NAMES:
        for claim in claims(read(name, 1)):
            assert claim.verdict != "false" or claim.exact is not None
