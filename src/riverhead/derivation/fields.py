"""What is given, as the plain fields of a file or a document, read and written."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from riverhead.derivation.given import Given, Printed, PrintedRow, given
from riverhead.derivation.tokens import position, texts
from riverhead.errors import InputError
from riverhead.numbers import Rounding, read

__all__ = ["data", "load", "undata"]


def load(text: str, format: str) -> dict[str, Any]:
    """Return the fields of a TOML or JSON text; whatever is wrong with it is an `InputError`."""
    try:
        found = tomllib.loads(text) if format == "toml" else json.loads(text, parse_constant=_no_constant)
    except RecursionError as error:
        raise InputError(f"the {format.upper()} is nested too deeply; vectors need three levels") from error
    except ValueError as error:
        raise InputError(f"this is not {format.upper()}: {error}") from error
    if not isinstance(found, dict):
        raise InputError(f"the JSON is a {type(found).__name__}; it has to be an object with fields")
    return found


def data(g: Given) -> dict[str, Any]:
    """Return what is given as plain fields, as a file holds them; `undata` reads them again."""
    plain = {field.name: field.default for field in fields(Given)}
    found = {name: value for name, value in g.raw.items() if value != plain[name]}
    if g.printed:
        found["printed"] = {
            "where": g.printed.where,
            "digits": {step: str(rounding) for step, rounding in g.printed.digits},
            "rows": [{"step": row.step, "row": row.row, "numbers": row.texts} for row in g.printed.rows],
        }
    return found


def undata(raw: Mapping[str, Any]) -> Given:
    """Check and freeze the fields of a file."""
    found = given({name: value for name, value in raw.items() if name != "printed"})
    if raw.get("printed") is None:
        return found
    return given(found.raw | {"printed": _printed(raw["printed"], found)})


def _printed(raw: Any, found: Given) -> Printed:
    """What another source prints, as ``{where, digits, rows = [{step, row, numbers}]}``."""
    top = _fields("printed", raw, {"where": str, "digits": dict, "rows": list})
    rows = []
    for n, item in enumerate(top["rows"]):
        row = _fields(f"printed.rows[{n}]", item, {"step": str, "row": str | int, "numbers": list | tuple})
        numbers = texts(f"printed.rows[{n}].numbers", row["numbers"])
        for text in numbers:
            read(text)
        tokens = found.keys if row["step"] in ("k", "v") else found.tokens
        rows.append(PrintedRow(row["step"], position(tokens, row["row"], "row"), numbers))
    digits = []
    for step, spec in top["digits"].items():
        digits.append((step, Rounding.parse(*texts(f"printed.digits.{step}", [spec]))))
    return Printed(top["where"], tuple(digits), tuple(rows))


def _fields(name: str, raw: Any, kinds: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(raw, dict) or set(raw) != set(kinds):
        found = ", ".join(map(str, raw)) if isinstance(raw, dict) else type(raw).__name__
        raise InputError(f"{name} has {found[:80] or 'no fields'}; it has the fields {', '.join(kinds)}")
    for field, kind in kinds.items():
        if not isinstance(raw[field], kind) or isinstance(raw[field], bool):
            raise InputError(
                f"{name}.{field} is {str(raw[field])[:40]!r}, which is a {type(raw[field]).__name__}"
            )
    return raw


def _no_constant(name: str) -> float:
    raise InputError(f"{name} is no JSON number; every number has to be finite")
