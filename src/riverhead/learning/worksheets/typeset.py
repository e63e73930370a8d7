"""Sheets, keys and reports as a PDF, set by typst from data alone."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from importlib.resources import files
from typing import Any, Literal

from riverhead.errors import MissingExtraError, RiverheadError
from riverhead.learning.exercises import Exercise
from riverhead.learning.exercises.layout import blocks
from riverhead.learning.worksheets.nodes import Node, Nodes
from riverhead.learning.worksheets.pages import answers, letters, written_as
from riverhead.learning.worksheets.worksheet import Paper, Worksheet
from riverhead.render.letters import visible
from riverhead.scene import Scene

__all__ = ["PAPERS", "check_typst", "lacking", "reports_pdf", "sheets_pdf"]

PAPERS = {"a4": "a4", "letter": "us-letter"}

LATIN = "\u024f"  # up to here the fonts within typst have every letter
NOWHERE = "\U0010fffd"  # a letter that no font has
ALONE = b"""#set page(width: auto, height: auto, margin: 0pt)
#set text(font: ("New Computer Modern", "DejaVu Sans"))
#for letter in json(bytes(sys.inputs.data)).letters { page(text(letter)) }
"""


def check_typst() -> None:
    """Raise `MissingExtraError` where typst is not installed: said before any sheet is made."""
    try:
        import typst  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("a PDF is set by typst: pip install 'riverhead[pdf]'") from error


def sheets_pdf(
    papers: Sequence[Paper], *, with_key: bool = False, paper: str = "a4", double: bool = False
) -> bytes:
    """Return the sheets as a PDF, their key behind them; ``double`` begins each on the front of a leaf.

    ``paper`` is one of `PAPERS`. Raises `MissingExtraError` without typst.
    """
    keys = [_key(each) for each in papers] if with_key else []
    return _set(papers[0].worksheet, [_sheet(each) for each in papers], keys, paper=paper, double=double)


def reports_pdf(worksheet: Worksheet, reports: Iterable[tuple[str, Scene]], *, paper: str = "a4") -> bytes:
    """Return what goes back to each student, and whose it is, each on pages of its own."""
    written = Nodes(ours=False)
    pages = [
        {
            "is": "report",
            "title": written.words(scene.title),
            "corner": _corner(worksheet),
            "id": worksheet.id,
            "whose": visible(whose),
            "parts": [written.walk(part) for part in scene.parts],
        }
        for whose, scene in reports
    ]
    return _set(worksheet, pages, [], paper=paper)


def lacking(text: str) -> str:
    """Return the letters of ``text`` that no font here has: a PDF shows them as boxes."""
    lines = map(visible, text.splitlines())  # where a line ends is no letter
    letters = list(dict.fromkeys(letter for line in lines for letter in line if letter > LATIN))
    if not letters:
        return ""
    drawn = _compile(ALONE, {"letters": [NOWHERE, *letters]}, "svg")
    assert isinstance(drawn, list)  # a picture a letter
    return "".join(letter for letter, picture in zip(letters, drawn[1:], strict=True) if picture == drawn[0])


def _sheet(paper: Paper) -> Node:
    return {
        "is": "sheet",
        "title": Nodes().words(paper.worksheet.title),
        "corner": _corner(paper.worksheet),
        "id": paper.worksheet.id,
        "whose": f"student {paper.student}",
        "name": visible(paper.name),
        "exercises": [_to_work(number, exercise) for number, exercise in enumerate(paper.exercises, 1)],
    }


def _key(paper: Paper) -> Node:
    whose = visible(paper.whose)
    exercises = [_solved(number, exercise) for number, exercise in enumerate(paper.exercises, 1)]
    return {"whose": whose[:1].upper() + whose[1:], "exercises": exercises}


def _to_work(number: int, exercise: Exercise) -> Node:
    nodes, letter = Nodes(), letters(exercise)
    return {
        "number": number,
        "title": nodes.words(exercise.title),
        "task": [nodes.walk(part) for part in exercise.task],
        "boxes": [
            {
                "columns": [nodes.words(column) for column in block.columns],
                "lines": [
                    {
                        "label": nodes.words(line.label),
                        "letters": [letter[cell.id] for cell in line.cells],
                        "as": written_as(exercise, line.cells[0]),
                    }
                    for line in block.lines
                ],
            }
            for block in blocks(exercise.sheet)
        ],
    }


def _solved(number: int, exercise: Exercise) -> Node:
    nodes = Nodes()
    rows = [
        {"letter": letter, "number": nodes.run(right), "sum": nodes.run(sum)}
        for letter, right, sum in answers(exercise)
    ]
    return {"number": number, "title": nodes.words(exercise.title), "answers": rows}


def _corner(worksheet: Worksheet) -> str:
    return "" if worksheet.lesson is None else f"Lesson {worksheet.lesson}"


def _set(
    worksheet: Worksheet,
    pages: Sequence[Node],
    keys: Sequence[Node],
    *,
    paper: str,
    double: bool = False,
) -> bytes:
    data: dict[str, Any] = {
        "id": worksheet.id,
        "title": f"{worksheet.title} · {worksheet.id}",
        "heading": Nodes().words(worksheet.title),
        "corner": _corner(worksheet),
        "paper": PAPERS[paper],
        "double": double,
        "pages": pages,
        "keys": keys,
    }
    template = (files("riverhead.learning.worksheets") / "sheet.typ").read_bytes()
    drawn = _compile(template, data, "pdf")
    assert isinstance(drawn, bytes)
    return drawn


def _compile(template: bytes, data: dict[str, Any], format: Literal["pdf", "svg"]) -> bytes | list[bytes]:
    """What typst makes of a template and its data; of several pages as pictures, a list."""
    check_typst()
    import typst

    inputs = {"data": json.dumps(data)}
    try:
        # tags would make a PDF seven times as large, and are of no use on paper
        drawn: bytes | list[bytes] = typst.compile(template, format=format, sys_inputs=inputs, pdf_tags=False)
    except typst.TypstError as error:
        raise RiverheadError(f"typst could not set the sheets: {error}") from error
    return drawn
