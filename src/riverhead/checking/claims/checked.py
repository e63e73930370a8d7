"""A whole text: read, its claims found and judged, attention recomputed, all in the order of the lines."""

from __future__ import annotations

from dataclasses import replace

from riverhead.checking.claims import documents
from riverhead.checking.claims.claim import Claim, Finding, Truth
from riverhead.checking.claims.find import find
from riverhead.checking.claims.recomputed import attention, rules, tables
from riverhead.errors import InputError

__all__ = ["MAX_CHARACTERS", "claims", "claims_on", "page_of"]

MAX_CHARACTERS = 12_000_000  # ten megabytes and some: a book; a longer text is refused, not cut

_WORST_FIRST = {Truth.FALSE: 0, Truth.TRUE: 1, Truth.UNCHECKED: 2}


def claims(text: str, kind: str | None = None) -> list[Claim]:
    """Return every arithmetic claim of ``text``, in its order: true, false or not checkable.

    ``kind`` is ``markdown``, ``html``, ``latex``, ``notebook`` or ``text``; None guesses it from the text.
    Raises `InputError` for another kind, a broken notebook, or more than `MAX_CHARACTERS` characters.

    >>> [(claim.text, claim.verdict.value, claim.how) for claim in claims("e^0.5 = 1.65, and 2·2 + 1·0 = 5")]
    [('e^0.5 = 1.65', 'true', 'rounded'), ('2·2 + 1·0 = 5', 'false', '')]
    """
    return claims_on(page_of(text, kind))


def page_of(text: str, kind: str | None = None) -> documents.Page:
    """Return the page that ``text`` is, of which `claims_on` finds the claims; raises as `claims` does."""
    if not isinstance(text, str):
        raise InputError(f"text is {type(text).__name__}, not a string; read a file's bytes as UTF-8 first")
    if len(text) > MAX_CHARACTERS:
        raise InputError(
            f"the text has {len(text):,} characters; up to {MAX_CHARACTERS:,} are checked at a time"
        )
    return documents.read(text, kind)


def claims_on(page: documents.Page) -> list[Claim]:
    """Return every arithmetic claim of a page, in its order."""
    sheets = tables.tables(page.text)
    labelled = {named.name: named.value for sheet in sheets for named in tables.bindings(sheet)}
    found = find(page.text, labelled)
    known = found.findings + attention.findings(page.text, found.bindings, sheets)
    known += rules.findings(page.text, found.bindings, sheets, known)
    return [_claim(page, finding) for finding in _once(known)]


def _once(findings: list[Finding]) -> list[Finding]:
    """The findings by place; of several about one stretch the gravest.

    A result that is carried from the terms beside it, and that attention recomputed says is right, is right.
    """
    right = {
        one.end: one for one in findings if one.verdict is Truth.TRUE and one.how in ("exact", "rounded")
    }
    best: dict[tuple[int, int], Finding] = {}
    for finding in findings:
        known = right.get(finding.end)
        if finding.how == "carried" and known is not None and known.start >= finding.start:
            finding = replace(finding, how=known.how, exact=known.exact)
        place = (finding.start, finding.end)
        if place not in best or _WORST_FIRST[finding.verdict] < _WORST_FIRST[best[place].verdict]:
            best[place] = finding
    return [best[place] for place in sorted(best)]


def _claim(page: documents.Page, finding: Finding) -> Claim:
    place, last = page.where(finding.start), page.where(max(finding.end - 1, finding.start))
    text = page.text[finding.start : finding.end]
    return Claim(
        line=place.line, column=place.column, text=text, verdict=finding.verdict, how=finding.how,
        exact=finding.exact, cause=finding.cause, place=place.place,
        end_line=last.line, end_column=last.column + 1,
    )  # fmt: skip
