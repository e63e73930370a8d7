"""The tables of docs/checking-backends.md, and what of a fresh run has to stand there."""

from __future__ import annotations

import re
from pathlib import Path

from riverhead.checking.backends import Audit
from riverhead.checking.backends.cells import NOTHING
from riverhead.checking.backends.scene import MARKS

PAGE = Path(__file__).parents[2] / "docs" / "checking-backends.md"


def printed(of: str) -> dict[str, dict[str, str]]:
    """The tables of a section of the page, as one: cells by row and by column."""
    text = PAGE.read_text("utf-8")
    found: dict[str, dict[str, str]] = {}
    for table in text.split(f"## What {of} does\n")[1].split("\n\nMeasured with")[0].strip().split("\n\n"):
        header, _, *body = (
            [cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()
        )
        for title, *cells in body:
            found.setdefault(title, {}).update(zip(header[1:], cells, strict=True))
    return found


def fresh(audit: Audit) -> dict[str, dict[str, str]]:
    """The same of a run."""
    here = [each for each in audit.backends if each.cells]
    return {
        row.title: {
            each.backend.name: f"{each.cells[i].text}{MARKS[each.cells[i].standing]}" for each in here
        }
        for i, row in enumerate(audit.rows)
    }


def compare(audit: Audit) -> None:
    """Every cell of a run stands on the page; errors, which differ between processors, by their size."""
    page = printed(audit.of)
    for title, cells in fresh(audit).items():
        for name, cell in cells.items():
            if title.startswith("largest error"):
                worst = float(re.fullmatch(r"([\d.]+) eps", cell)[1])  # type: ignore[index]
                assert 0 < worst < 16, (title, name)  # sums of 64 and of 129 terms, relative to the largest
                assert page[title][name].endswith(" eps")
            else:
                assert page[title].get(name, NOTHING.text) == cell, (title, name)
