"""The findings of files as a scene: each false claim on its line, the others counted; or all as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from riverhead.checking.claims.reports.report import Report, Spot, summary
from riverhead.checking.claims.reports.shown import in_words
from riverhead.scene import Part, Quote, Scene, Table, Text

__all__ = ["scene", "table"]

TITLE = "Every number checked"
LONG = 60  # characters of a claim in a table; JSON has all of them

# what stands in a list of its own: its heading, and whether only --all shows it
LISTS = {
    "carried": ("Right only if rounded numbers are carried forward", False),
    "not checkable": ("Not checkable", True),
    "ignored": ("Ignored", True),
    "exact": ("Exact", True),
    "rounded": ("Rounded", True),
}


def scene(reports: Sequence[Report], everything: bool = False, title: str = "") -> Scene:
    """Return the false claims in full, a list of the carried ones, with ``everything`` of all others too.

    A document, which has a ``title``, also says why a file could not be read.
    """
    parts: list[Part] = [_false(each, spot) for each in reports for spot in each.of("false")]
    for standing, (heading, asked) in LISTS.items():
        listed = [_listed(each, spot) for each in reports for spot in each.of(standing)]
        if listed and (everything or not asked):
            parts += [Text((heading,), "heading"), *listed]
    return Scene(
        title, (*parts, *(_problems(reports) if title else ()), Text((summary(reports),), "heading"))
    )


def table(reports: Sequence[Report], everything: bool = False) -> Scene:
    """Return the same as one table under the summary, a row a claim."""
    shown = ("false", *(name for name, (_, asked) in LISTS.items() if everything or not asked))
    rows = tuple(
        (each.place(spot), _short(spot), spot.standing, _exact(spot), spot.claim.cause)
        for each in reports
        for spot in each.spots
        if spot.standing in shown
    )
    found = (Table(("where", "claim", "", "exact value", "cause"), rows),) if rows else ()
    return Scene(TITLE, (Text((summary(reports),)), *_problems(reports), *found))


def _false(each: Report, spot: Spot) -> Quote:
    exact, cause = _exact(spot), spot.claim.cause
    said = f"the exact value is {exact}" if exact else cause
    note = f"likely cause: {cause}" if exact and cause else ""
    said = f"false: {said}" if said else "false"
    return Quote(each.place(spot), said, spot.line, spot.start, spot.end, note)


def _listed(each: Report, spot: Spot) -> Text:
    said = [f"{each.place(spot)}: {_short(spot)}"]
    if spot.claim.how == "carried" and (exact := _exact(spot)):
        said.append(f"exactly {exact}")
    return Text(("; ".join([*said, *filter(None, [spot.claim.cause])]),))


def _short(spot: Spot) -> str:
    """The claim in one line, as long as a cell may be."""
    text = " ".join(spot.claim.text.split())
    return text if len(text) <= LONG else f"{text[: LONG - 1]}…"


def _exact(spot: Spot) -> str:
    exact = spot.claim.exact
    return "" if exact is None else in_words(exact, spot.claim.text)


def _problems(reports: Sequence[Report]) -> Iterator[Part]:
    for each in reports:
        if each.problem:
            yield Text((f"Not read: {each.name}: {each.problem}",), "note")
