"""A failure as a script of a few lines: it imports the function, calls it, and prints both numbers."""

from __future__ import annotations

import re
from pathlib import Path

from riverhead.checking.rules.report import Failure, Report

__all__ = ["reproduce"]


def reproduce(report: Report, failure: Failure) -> str:
    """Return Python source that shows a failure, run from the folder that the report was made in.

    Empty where the call cannot be written down. Of a function that was given as an object, the first line
    has to be filled in.

    >>> failure = Failure("scale", "must", (0, 1), "out", 0.25, 0.5, script="q = [[1.0]]\\nout = f(q)")
    >>> print(reproduce(Report("attention", "attention", target="mine:attention"), failure), end="")
    import sys
    <BLANKLINE>
    sys.path.insert(0, '.')
    from mine import attention as f
    <BLANKLINE>
    q = [[1.0]]
    out = f(q)
    print("out[0, 1] is", float(out[0][1]))
    print("right is", 0.5)
    """
    if not failure.script:
        return ""
    imports, function = _function(report)
    imports += [line for line, used in IMPORTS.items() if re.search(used, failure.script)]
    blocks = [imports, function, [failure.script, *_compared(failure)]]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


IMPORTS = {  # by what a script uses
    "from math import inf, nan": r"\b(nan|inf)\b",
    "import numpy as np": r"\bnp\.",
    "import torch": r"\btorch\.",
}


def _function(report: Report) -> tuple[list[str], list[str]]:
    """How the function is found: imported from a module, or from a file, whatever its name."""
    place, name = (report.target, "") if report.target.endswith(".py") else report.target.rpartition(":")[::2]
    if not place:
        return [], [f"f = ...  # {report.name!r}, which was checked"]
    name = name or report.name
    first, dot, rest = name.partition(".")
    folder, module = _module(place) if place.endswith(".py") else (".", place)
    if not all(part.isidentifier() for part in (*module.split("."), *name.split("."))):
        return ["import runpy"], [f"f = runpy.run_path({place!r})[{first!r}]{dot}{rest}"]
    found = [f"from {module} import {first}", f"f = {name}"] if dot else [f"from {module} import {name} as f"]
    return ["import sys"], [f"sys.path.insert(0, {folder!r})", *found]


def _module(place: str) -> tuple[str, str]:
    """The folder that must be on the path, and the dotted name of a file in it."""
    path = Path(place)
    root, parts = path.parent, [path.stem]
    while (root / "__init__.py").is_file():
        parts.insert(0, root.name)
        root = root.parent
    return str(root), ".".join(parts)


def _compared(failure: Failure) -> list[str]:
    if failure.cell is None or failure.right is None:
        return [f"# {line}" for line in failure.detail.splitlines()]
    at = "".join(f"[{index}]" for index in failure.cell)
    place = f"{failure.array}[{', '.join(map(str, failure.cell))}]"
    would = f"with {' and '.join(failure.beside)} alone it would be" if failure.beside else "right is"
    return [
        f'print("{place} is", float({failure.array}{at}))',
        f'print("{would}", {_number(failure.right)})',
    ]


def _number(x: float) -> str:
    """A number as Python reads it."""
    return repr(x) if x - x == 0 else f'float("{x}")'
