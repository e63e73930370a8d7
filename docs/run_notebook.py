"""Run a notebook from top to bottom and store what its cells show.

    python docs/run_notebook.py [NOTEBOOK] [-o FILE]

Without a name it is docs/watching.ipynb; without -o it is stored where it was. What a cell prints and its
last value are stored, as in Jupyter; what goes to standard error is not. The first cell that fails ends it,
and then nothing is stored. No Jupyter is needed, so the tests run it too, and compare.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).with_name("watching.ipynb")
LAST = "_riverhead_last"  # the name that the value of a cell's last expression gets


def run(notebook: dict[str, Any]) -> None:
    """Run every code cell in one namespace and put what it shows into ``notebook``."""
    names: dict[str, Any] = {"__name__": "__main__"}
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(code, start=1):
        cell["execution_count"] = number
        source = "".join(cell["source"])
        try:
            cell["outputs"] = outputs(source, names, number)
        except Exception as error:  # whatever a cell raises: it goes on, with the cell as a note
            error.add_note(f"in cell {number}:\n{source}")
            raise


def outputs(source: str, names: dict[str, Any], number: int) -> list[dict[str, Any]]:
    """Run a cell and return its outputs: what it printed, then its last expression unless that is None."""
    file = f"<cell {number}>"
    tree = ast.parse(source, file)
    if tree.body and isinstance(last := tree.body[-1], ast.Expr):
        tree.body[-1] = ast.copy_location(ast.Assign([ast.Name(LAST, ast.Store())], last.value), last)
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(ast.fix_missing_locations(tree), file, "exec", dont_inherit=True), names)
    value = names.pop(LAST, None)
    shown: list[dict[str, Any]] = []
    if text := printed.getvalue():
        shown.append({"name": "stdout", "output_type": "stream", "text": lines(text)})
    if value is not None:
        result = {"data": data(value), "execution_count": number, "metadata": {}}
        shown.append(result | {"output_type": "execute_result"})
    return shown


def data(value: Any) -> dict[str, list[str]]:
    """A value as text, and as HTML where it has some."""
    as_html = getattr(value, "_repr_html_", lambda: None)()
    html = {"text/html": lines(as_html)} if as_html else {}
    return html | {"text/plain": lines(repr(value).rstrip("\n"))}


def lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("notebook", type=Path, nargs="?", default=NOTEBOOK)
    options.add_argument("-o", "--output", type=Path)
    given = options.parse_args()
    notebook = json.loads(given.notebook.read_text("utf-8"))
    run(notebook)
    stored = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
    (given.output or given.notebook).write_text(stored, "utf-8")


if __name__ == "__main__":
    main()
