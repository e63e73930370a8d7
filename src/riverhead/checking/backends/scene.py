"""An audit as a scene: one table, behaviours by backends, and below it what is wrong with what."""

from __future__ import annotations

from collections.abc import Iterator

from riverhead.checking.backends.auditing import Audit, Audited
from riverhead.checking.backends.cells import NOTHING
from riverhead.scene import Part, Scene, Table, Text

__all__ = ["scene"]

MARKS = {"": "", "weak": " !", "broken": " ✗"}
ABREAST = 4  # columns of a table: as many as a page has room for
LEVELS = {"must": MARKS["broken"], "should": MARKS["weak"], "convention": ""}
LEGEND = (
    "✗ breaks a rule that must hold, ! one that should; — it has no such thing; refused: it raised. "
    "Errors are the largest against float64, relative to the largest output, in units of the dtype's eps."
)


def scene(audit: Audit) -> Scene:
    """Return the table, what its marks mean, what does not run here, and how each backend was called."""
    here = [each for each in audit.backends if each.cells]
    parts: list[Part] = [_table(audit, here[at : at + ABREAST]) for at in range(0, len(here), ABREAST)]
    versions = ", ".join(f"{name} {version}" for name, version in audit.versions.items())
    parts.append(Text((f"Measured with {versions}. {LEGEND}",), "note"))
    if marked := tuple(_marked(audit, here)):
        parts += [Text(("What the marks mean",), "heading"), Table(("", ""), marked)]
    called = [(each.backend.name, each.backend.says) for each in here]
    called += [
        (each.backend.name, f"not available here: {each.backend.why}")
        for each in audit.backends
        if not each.cells
    ]
    parts += [Text(("How each was called",), "heading"), Table(("", ""), tuple(called))]
    return Scene(f"What {audit.of} does", tuple(parts))


def _table(audit: Audit, some: list[Audited]) -> Table:
    """Some backends beside each other, without the rows of what none of them has."""
    rows = [
        (row.title, *(f"{each.cells[i].text}{MARKS[each.cells[i].standing]}" for each in some))
        for i, row in enumerate(audit.rows)
        if any(each.cells[i] != NOTHING for each in some)
    ]
    return Table(("", *(each.backend.name for each in some)), tuple(rows))


def _marked(audit: Audit, here: list[Audited]) -> Iterator[tuple[str, str]]:
    """A row for each sentence that is said of cells, and for what the rules found beside the table."""
    said: dict[tuple[str, str], list[str]] = {}
    for i, row in enumerate(audit.rows):
        for each in here:
            cell = each.cells[i]
            if cell.standing:
                what = f"{row.title}: {cell.text}{MARKS[cell.standing]}"
                said.setdefault((what, cell.says), []).append(each.backend.name)
    for each in here:
        for failure in each.beside:
            what = f"{failure.rule}{LEVELS[failure.level]}"
            did = f"{failure.says} Here {failure.did}." if failure.did else failure.says
            said.setdefault((what, did), []).append(each.backend.name)
    for (what, says), names in said.items():
        yield f"{', '.join(names)}: {what}", says
