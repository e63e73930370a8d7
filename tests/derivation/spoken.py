"""A scene as plain lines, part after part: what a scene says does not hang on how a renderer lays it out."""

from __future__ import annotations

from riverhead.render.plain import Plain
from riverhead.scene import Bar, Cell, Code, Fold, Formula, Math, Matrix, Part, Plane, Scene, Table, Text

__all__ = ["page", "words"]


def words(math: Math) -> str:
    """A formula on one line."""
    return Plain().walk(math)


def page(scene: Scene | tuple[Part, ...]) -> str:
    """The scene line by line, blanks squeezed to one; ``▸`` marks the row in focus."""
    parts = scene.parts if isinstance(scene, Scene) else scene
    lines = [scene.title] if isinstance(scene, Scene) else []
    for part in parts:
        lines += _lines(part)
    return "\n".join(" ".join(line.split()) for line in lines)


def _lines(part: Part) -> list[str]:
    match part:
        case Text(runs):
            return ["".join(run if isinstance(run, str) else words(run) for run in runs)]
        case Formula(math, terms):
            return [words(math), *(f"{words(symbol)} {meaning}" for symbol, meaning in terms)]
        case Table(columns, rows, caption, focus):
            return [caption, *_grid([columns, *rows], None if focus is None else focus + 1)]
        case Matrix(name, labels, columns, cells, focus):
            rows = [(name, *columns), *((label, *row) for label, row in zip(labels, cells, strict=True))]
            return _grid(rows, None if focus is None else focus + 1)
        case Plane(arrows, axes, caption):
            return [
                caption,
                " ".join(axes),
                *(f"{arrow.label} {arrow.start} → {arrow.end}" for arrow in arrows),
            ]
        case Fold(summary, inner):
            return [summary, *(line for item in inner for line in _lines(item))]
        case Code(text):
            return text.splitlines()
    raise AssertionError(part)


def _grid(rows: list[tuple[Cell, ...]], focus: int | None) -> list[str]:
    return [("▸ " if n == focus else "") + " ".join(map(_cell, row)) for n, row in enumerate(rows)]


def _cell(cell: Cell) -> str:
    if cell is None or isinstance(cell, Bar):
        return ""
    return cell if isinstance(cell, str) else words(cell)
