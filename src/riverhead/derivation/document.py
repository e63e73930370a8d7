"""A derivation as a JSON document: what was given, and every number of every step."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from riverhead.derivation.fields import data, load, undata
from riverhead.derivation.given import Given
from riverhead.derivation.steps import Step
from riverhead.errors import InputError

__all__ = ["SCHEMA", "adopt", "dump", "restore"]

SCHEMA = "riverhead.derivation/1"
MOST_CHARACTERS = 128 << 20  # the largest derivation that is made has some four million numbers
TOLERANCE = 1e-9  # of the number, or of 1: another machine's exp and sum differ in their last bits


def dump(title: str, given: Given, steps: tuple[Step, ...]) -> str:
    """Return the document; −∞, which JSON lacks, is null."""
    plain = [
        {
            "name": step.name,
            "says": step.says,
            "values": [
                [[x if math.isfinite(x) else None for x in row] for row in head] for head in step.values
            ],
        }
        for step in steps
    ]
    document = {"schema": SCHEMA, "title": title, "given": data(given), "steps": plain}
    return json.dumps(document, allow_nan=False)


def restore(text: str) -> tuple[Given, list[Any]]:
    """Return what a document gives, checked, and the steps it claims to follow, not yet checked."""
    if len(text) > MOST_CHARACTERS:
        raise InputError(
            f"the document has {len(text):,} characters; a derivation has up to {MOST_CHARACTERS:,}"
        )
    found = load(text, "json")
    if found.get("schema") != SCHEMA:
        raise InputError(f"the schema is {str(found.get('schema'))[:60]!r}; this reads {SCHEMA!r}")
    fields = {"schema", "title", "given", "steps"}
    if set(found) != fields or not isinstance(found["given"], dict) or not isinstance(found["steps"], list):
        raise InputError(
            f"a derivation has the fields {', '.join(sorted(fields))}; found {', '.join(found)[:80]}"
        )
    return undata(found["given"]), found["steps"]


def adopt(steps: tuple[Step, ...], claimed: list[Any]) -> tuple[Step, ...]:
    """Return ``steps`` with the document's own numbers; refuse a document whose numbers do not follow."""
    if [item.get("name") if isinstance(item, dict) else None for item in claimed] != [
        step.name for step in steps
    ]:
        raise InputError(f"the steps of the document are not {', '.join(step.name for step in steps)}")
    return tuple(_adopted(step, item) for step, item in zip(steps, claimed, strict=True))


def _adopted(step: Step, item: Mapping[str, Any]) -> Step:
    values = item.get("values")
    for where, worked, found in _pairs(step.name, step.values, values):
        number = -math.inf if found is None else found
        if isinstance(number, bool) or not isinstance(number, int | float) or not _near(number, worked):
            raise InputError(
                f"{where} is {str(found)[:40]} in the document; what it gives makes it {worked!r}"
            )
    numbers = (tuple(tuple(_float(x) for x in row) for row in head) for head in values or ())
    return replace(step, values=tuple(numbers))


def _pairs(where: str, worked: Any, found: Any) -> Iterator[tuple[str, float, Any]]:
    """Walk two nestings side by side; the document's must have the shape of the worked one."""
    if not isinstance(worked, tuple):
        yield where, worked, found
        return
    if not isinstance(found, list) or len(found) != len(worked):
        size = len(found) if isinstance(found, list) else "none"
        raise InputError(f"{where} has {size} entries in the document; what it gives makes {len(worked)}")
    for n, (inner, item) in enumerate(zip(worked, found, strict=True)):
        yield from _pairs(f"{where}[{n}]", inner, item)


def _near(number: float, worked: float) -> bool:
    room = TOLERANCE * max(1.0, abs(worked))
    return number == worked or worked - room <= number <= worked + room  # safe for an int of any length


def _float(number: Any) -> float:
    return -math.inf if number is None else float(number)
