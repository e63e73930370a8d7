"""Findings as SARIF 2.1.0, the form in which code hosts and editors take the findings of a checker.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html; sections are named beside what follows them.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

from riverhead._version import __version__
from riverhead.checking.claims.claim import Truth
from riverhead.checking.claims.reports.report import Report, Spot, counts, summary
from riverhead.checking.claims.reports.shown import as_data, in_words

__all__ = ["sarif"]

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

RULES = {  # what a claim is: its rule's id, name and level, what it says of a claim, and what it is for
    "false": (
        "false-claim",
        "FalseClaim",
        "error",
        "This number is wrong.",
        "The two sides differ by more than the rounding of the numbers that are printed.",
    ),
    "carried": (
        "carried-rounding",
        "CarriedRounding",
        "note",
        "This number is right only if rounded numbers are carried forward.",
        "The exact result rounds to another number; with the printed, rounded terms it is right.",
    ),
    "not checkable": (
        "not-checkable",
        "NotCheckable",
        "note",
        "This claim could not be checked.",
        "Something in it is given no number in the text, so it is neither right nor wrong here.",
    ),
    "exact": ("exact-claim", "ExactClaim", "none", "This number is exact.", "The two sides are equal."),
    "rounded": (
        "rounded-claim",
        "RoundedClaim",
        "none",
        "This number is right.",
        "The exact result rounds to the number that is printed.",
    ),
}
TRUE = ("exact", "rounded")


def sarif(reports: Sequence[Report], everything: bool = False) -> dict[str, Any]:
    """Return a SARIF log: a result for each claim that is false, carried or not checkable.

    With ``everything`` also for the true ones, and for the ignored ones, marked as suppressed: GitHub
    shows them all the same, so without it they are only counted. Paths are relative to the working folder.
    """
    results = [_result(*found) for each in reports for found in _numbered(each, everything)]
    used = {result["ruleId"] for result in results}
    rules = [_rule(*rule) for standing, rule in RULES.items() if standing not in TRUE or rule[0] in used]
    places = {rule["id"]: index for index, rule in enumerate(rules)}
    for result in results:
        result["ruleIndex"] = places[result["ruleId"]]
    driver = {"name": "riverhead", "semanticVersion": __version__, "rules": rules}
    run = {
        "tool": {"driver": driver},
        "invocations": [_invocation(reports)],
        "columnKind": "unicodeCodePoints",
        "results": results,
        "properties": {"summary": summary(reports), "counts": counts(reports)},
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(id: str, name: str, level: str, short: str, full: str) -> dict[str, Any]:
    accepting = "A comment `riverhead: ignore` on its line, or alone on the line above, accepts a claim."
    return {
        "id": id,
        "name": name,
        "shortDescription": {"text": short},
        "fullDescription": {"text": full},
        "help": {"text": f"{full} {accepting}"},
        "defaultConfiguration": {"level": level},
    }


def _invocation(reports: Sequence[Report]) -> dict[str, Any]:
    """Say what could not be read (§3.20), or a file without results would pass for one without findings."""
    broken = [each for each in reports if each.problem]
    notifications = [
        {
            "level": "error",
            "message": {"text": _plain(f"{each.name} could not be read: {each.problem}")},
            "locations": [{"physicalLocation": {"artifactLocation": {"uri": _uri(each.name)}}}],
        }
        for each in broken
    ]
    return {"executionSuccessful": not broken, "toolExecutionNotifications": notifications}


def _numbered(each: Report, everything: bool) -> Iterator[tuple[Report, Spot, int]]:
    """Each claim that gets a result, and how many of the same words stand before it in the file."""
    before: Counter[str] = Counter()
    for spot in each.spots:
        words = _words(spot)
        if everything or spot.standing not in (*TRUE, "ignored"):
            yield each, spot, before[words]
        before[words] += 1


def _result(each: Report, spot: Spot, repeats: int) -> dict[str, Any]:
    claim = spot.claim
    id, _, level, says, _ = RULES[claim.how or claim.verdict]
    location: dict[str, Any] = {"physicalLocation": {"artifactLocation": {"uri": _uri(each.name)}}}
    if claim.place:  # lines count within it, and the file's own are not known
        location["logicalLocations"] = [{"fullyQualifiedName": claim.place, "kind": "cell"}]
        says = f"{claim.place}, line {claim.line}, column {claim.column}: {says}"
    else:
        location["physicalLocation"]["region"] = _region(spot)
    result = {
        "ruleId": id,
        "kind": "pass" if level == "none" else "fail",
        "level": level,
        "message": {"text": _plain(" ".join([says, *_more(spot)]))},
        "locations": [location],
        "partialFingerprints": {"riverheadClaim/v1": _fingerprint(id, spot, repeats)},
        "properties": {"how": claim.how, "exact": as_data(claim.exact)},
    }
    return result | ({"suppressions": [{"kind": "inSource"}]} if spot.ignored else {})


def _more(spot: Spot) -> Iterator[str]:
    claim = spot.claim
    if claim.exact is not None and claim.how != "exact":
        yield f"The exact value is {in_words(claim.exact, claim.text)}."
    if claim.cause:
        guessed = claim.verdict == Truth.FALSE and claim.exact is not None
        yield f"{'Likely cause: ' if guessed else ''}{claim.cause}."


def _region(spot: Spot) -> dict[str, Any]:
    """Return where the claim stands (§3.30); columns count code points, the end is the column after it."""
    claim = spot.claim
    start = {"startLine": claim.line, "startColumn": claim.column}
    end = {"endLine": claim.end_line, "endColumn": claim.end_column} if claim.end_line else {}
    whole = claim.end_line == claim.line and spot.end - spot.start == claim.end_column - claim.column
    return start | end | ({"snippet": {"text": spot.line[spot.start : spot.end]}} if whole else {})


def _fingerprint(id: str, spot: Spot, repeats: int) -> str:
    """Name a result by its words, and by how often they stood before (§3.27.17): its line may move."""
    return sha256(f"{id}\0{_words(spot)}\0{repeats}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _words(spot: Spot) -> str:
    return " ".join(spot.claim.text.split())


def _plain(text: str) -> str:
    r"""Return ``text`` with no placeholder and no link in it (§3.11.5, §3.11.6).

    >>> _plain("{0} [a](b)")
    '{{0}} \\[a](b)'
    """
    return text.replace("{", "{{").replace("}", "}}").replace("[", "\\[")


def _uri(name: str) -> str:
    """Return a path as a URI reference (§3.4.3): relative where it lies in the working folder.

    >>> _uri("docs/a b%.md"), _uri("/elsewhere/c.md")
    ('docs/a%20b%25.md', 'file:///elsewhere/c.md')
    """
    return _reference(os.path.abspath(name), os.getcwd())


@lru_cache(16)  # of one file come thousands of results
def _reference(path: str, here: str) -> str:
    if Path(path).is_relative_to(here):
        return quote(os.fsencode(Path(path).relative_to(here).as_posix()))
    return Path(path).as_uri()
