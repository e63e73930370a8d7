"""A notebook, cell by cell, with what its code printed; nothing in it is run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from riverhead.checking.claims.documents.page import Part
from riverhead.errors import InputError

__all__ = ["notebook"]

# The richest text first: the others of an output say the same again. Version 3 has the short names.
SHOWN = {
    "text/markdown": "markdown",
    "text/html": "html",
    "html": "html",
    "text/latex": "latex",
    "latex": "latex",
    "text/plain": "text",
    "text": "text",
}
KINDS = {
    "markdown": "markdown",
    "html": "html",
    "latex": "latex",
    "heading": "markdown",
}  # of cells; else text

ReadPart = Callable[[str, str, str], Part]  # source, kind, name


def notebook(source: str, read_part: ReadPart) -> Iterator[Part]:
    """Yield a part for each cell and each output that has text, named "cell 3" and "cell 3, output 1".

    Raises InputError, which says what is wrong where, if it is not a notebook (nbformat 3 or 4).
    """
    for number, cell in enumerate(_cells(_parsed(source)), 1):
        place = f"cell {number}"
        if not isinstance(cell, dict):
            raise _wrong(f"{place} has to be an object", cell)
        kind = KINDS.get(str(cell.get("cell_type")), "text")
        yield read_part(_joined(cell.get("source", cell.get("input", "")), f"{place}: source"), kind, place)
        outputs = cell.get("outputs", [])
        if not isinstance(outputs, list):
            raise _wrong(f"{place}: outputs has to be a list", outputs)
        for count, output in enumerate(outputs, 1):
            yield from _output(output, f"{place}, output {count}", read_part)


def _parsed(source: str) -> Any:
    try:
        return json.loads(source)
    except RecursionError:
        raise InputError("not a notebook: its JSON is nested too deep to be one") from None
    except json.JSONDecodeError as error:
        raise InputError(
            f"not a notebook: line {error.lineno}, column {error.colno} is not JSON ({error.msg})"
        ) from None
    except ValueError:
        raise InputError("not a notebook: its JSON has a whole number of thousands of digits") from None


def _cells(document: Any) -> list[Any]:
    if not isinstance(document, dict):
        raise _wrong("not a notebook: its JSON has to be an object", document)
    if "cells" not in document and isinstance(sheets := document.get("worksheets"), list):
        document = {"cells": [cell for sheet in sheets if isinstance(sheet, dict) for cell in _cells(sheet)]}
    if not isinstance(cells := document.get("cells"), list):
        raise _wrong('not a notebook: "cells" has to be a list', cells)
    return cells


def _output(output: Any, place: str, read_part: ReadPart) -> Iterator[Part]:
    if not isinstance(output, dict):
        raise _wrong(f"{place} has to be an object", output)
    data = output.get("data", output)
    if not isinstance(data, dict):
        raise _wrong(f"{place}: data has to be an object", data)
    for key, kind in SHOWN.items():
        if key in data:
            yield read_part(_joined(data[key], f"{place}: {key}"), kind, place)
            return


def _joined(text: Any, what: str) -> str:
    if isinstance(text, list) and all(isinstance(line, str) for line in text):
        return "".join(text)
    if not isinstance(text, str):
        raise _wrong(f"{what} has to be a text or a list of nothing but texts", text)
    return text


def _wrong(expected: str, found: Any) -> InputError:
    return InputError(f"{expected}, found {NAMES.get(type(found), 'a number')}")


NAMES = {type(None): "nothing", str: "a text", list: "a list", dict: "an object", bool: "true or false"}
