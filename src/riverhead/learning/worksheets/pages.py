"""A student's sheet and its key as scenes, for every format but PDF."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from riverhead.checking.answers import Cell, solved
from riverhead.checking.answers.telling import shown
from riverhead.learning.exercises import Exercise
from riverhead.learning.exercises.catalogue import asked_as
from riverhead.learning.exercises.hints import hints
from riverhead.learning.exercises.layout import blocks
from riverhead.learning.worksheets.nodes import runs
from riverhead.learning.worksheets.worksheet import Paper, lettered
from riverhead.numbers import Number
from riverhead.render import latex, render
from riverhead.scene import Formula, Math, Part, Row, Scene, Table, Text, Word

__all__ = ["SCHEMA", "answers", "as_data", "bound", "key", "letters", "sheet", "written_as"]

SCHEMA = "riverhead.worksheet/1"
ROOM = " ………………"  # to write a number on
BETWEEN = {"markdown": "\n---\n\n", "text": "\n"}  # two sheets


def sheet(paper: Paper) -> Scene:
    """Lay out what a student works on: each task, and a box with a letter for each number asked for.

    >>> from riverhead.learning.worksheets import Worksheet
    >>> print(str(sheet(Worksheet.parse("valuesx1-1-k3m9q2").paper(7))).splitlines()[-1])
      she′, component   a ………………   b ………………   exactly
    """
    about = f"{paper.worksheet.id} · {paper.whose}"
    parts: list[Part] = [Text(("Name ………………………………………   Date ………………",)), Text((about,), "note")]
    for number, exercise in enumerate(paper.exercises, 1):
        parts += [Text((f"{number}  ", *runs(exercise.title)), "heading"), *exercise.task, *_boxes(exercise)]
    return Scene(paper.worksheet.title, tuple(parts))


def key(paper: Paper) -> Scene:
    """Lay out the answers to a student's sheet, each with its arithmetic."""
    parts: list[Part] = [Text((f"{paper.worksheet.id} · {paper.whose}",), "note")]
    for number, exercise in enumerate(paper.exercises, 1):
        parts.append(Text((f"{number}  ", *runs(exercise.title)), "heading"))
        parts.append(Table(("", "", ""), tuple(answers(exercise))))
    return Scene(f"Key: {paper.worksheet.title}", tuple(parts))


def bound(scenes: Sequence[Scene], format: str) -> str:
    """Return sheets as one document, LaTeX, Markdown or text."""
    if format == "latex":
        return latex.pages(scenes)
    return BETWEEN[format].join(str(render(scene, format)) for scene in scenes)


def answers(exercise: Exercise) -> Iterator[tuple[str, Number, Math]]:
    """Yield the letter of each box, what belongs there, and how it comes about."""
    for letter, cell in lettered(exercise.sheet).items():
        (worked,) = hints(exercise, cell=cell.id)[-1].parts
        assert isinstance(worked, Formula)  # the last hint is the cell's arithmetic
        yield letter, Number(cell.truth, shown(cell, cell.truth)), worked.math


def written_as(exercise: Exercise, cell: Cell) -> str:
    """Say how a number is to be written: its unit, and how exactly."""
    return ", ".join(filter(None, (cell.unit, asked_as(exercise.sheet, cell))))


def as_data(paper: Paper, *, with_key: bool) -> dict[str, Any]:
    """Return a student's sheet as plain data: each exercise's, and which cell has which letter."""
    return {
        "student": paper.student,
        "name": paper.name,
        "exercises": [
            {
                "number": number,
                **exercise.to_dict(),
                "letters": {letter: cell.id for letter, cell in lettered(exercise.sheet).items()},
                **({"answers": solved(exercise.sheet)} if with_key else {}),
            }
            for number, exercise in enumerate(paper.exercises, 1)
        ],
    }


def letters(exercise: Exercise) -> Mapping[str, str]:
    """Return the letter of each cell, by its id."""
    return {cell.id: letter for letter, cell in lettered(exercise.sheet).items()}


def _boxes(exercise: Exercise) -> Iterator[Table]:
    """The boxes to write into, under the words that their columns share."""
    letter = letters(exercise)
    for block in blocks(exercise.sheet):
        width = max(len(line.cells) for line in block.lines)
        heads = [_label(column) for column in block.columns] or [""]
        rows = []
        for line in block.lines:
            boxes = [letter[cell.id] + ROOM for cell in line.cells]
            rest = [None] * (width - len(boxes))
            rows.append((_label(line.label), *boxes, *rest, written_as(exercise, line.cells[0])))
        yield Table(("", *heads[:width], ""), tuple(rows))


def _label(text: str) -> str | Math:
    """Words whose symbols are a formula's."""
    pieces = runs(text)
    if all(isinstance(piece, str) for piece in pieces):
        return text
    return Row(tuple(Word(piece.strip()) if isinstance(piece, str) else piece for piece in pieces))
