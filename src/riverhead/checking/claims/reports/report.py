"""What was found in a file: each claim on its line, which are accepted, and how much was checked."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from riverhead.checking.claims.claim import Claim, Truth
from riverhead.checking.claims.reports.shown import as_data

__all__ = ["Report", "Spot", "counts", "report", "summary"]

EXCERPT = 300  # characters that are kept of a longer line, around the claim
CHECKED = ("exact", "rounded", "carried", "false")  # what a claim that was checked can be

# `riverhead: ignore` in a comment of HTML or Markdown, of LaTeX, of Python; a reason may follow
_COMMENT = re.compile(r"(?:<!--|(?<!\\)%|#)\s*riverhead:\s*ignore\b")
_ALONE = re.compile(r"\s*(?:<!--(?:(?!-->).)*-->|(?:%|#).*)\s*")


@dataclass(frozen=True, slots=True)
class Spot:
    """A claim on its line: ``start`` to ``end`` of ``line``, of which a long one is cut around it, with ….

    ``ignored``: it is not simply true, and a comment on its line, or alone on the line above, accepts it.
    """

    claim: Claim
    line: str
    start: int
    end: int
    ignored: bool = False

    @property
    def standing(self) -> str:
        """Return exact, rounded, carried, false, "not checkable", or ignored."""
        return "ignored" if self.ignored else self.claim.how or self.claim.verdict

    def to_dict(self) -> dict[str, Any]:
        """Return the claim as plain data, whole."""
        named = ("line", "column", "end_line", "end_column", "place", "text", "verdict", "how", "cause")
        data = {name: getattr(self.claim, name) for name in named}
        return data | {"exact": as_data(self.claim.exact), "ignored": self.ignored}


@dataclass(frozen=True, slots=True)
class Report:
    """The claims of a file in their order, or the ``problem``: why it could not be read."""

    name: str
    spots: tuple[Spot, ...] = ()
    problem: str = ""

    def of(self, standing: str) -> tuple[Spot, ...]:
        """Return the claims that are exact, rounded, carried, false, "not checkable" or ignored."""
        return tuple(spot for spot in self.spots if spot.standing == standing)

    def place(self, spot: Spot) -> str:
        """Return ``file:line:column``, of a notebook ``file:cell 3:line:column``."""
        claim = spot.claim
        return ":".join(filter(None, (self.name, claim.place, f"{claim.line}:{claim.column}")))

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data: every claim, true or not."""
        claims = [spot.to_dict() for spot in self.spots]
        return {
            "file": self.name,
            "problem": self.problem or None,
            "counts": counts([self]),
            "claims": claims,
        }


def report(name: str, claims: Sequence[Claim], line: Callable[[int, str], str]) -> Report:
    """Return the report of ``claims``; ``line(number, place)`` is a line of the source they stand in.

    >>> found = Claim(1, 5, "1 + 1 = 3", Truth.FALSE, "", 2.0, "", end_line=1, end_column=14)
    >>> made = report("a.md", [found], lambda number, place: "and 1 + 1 = 3 <!-- riverhead: ignore -->")
    >>> made.spots[0].standing
    'ignored'
    """
    source = lru_cache(4)(line)  # a line may be megabytes long, and hold thousands of claims

    @lru_cache(4)
    def accepts(number: int, place: str) -> bool:
        if _COMMENT.search(source(number, place)):
            return True
        above = source(number - 1, place) if number > 1 else ""
        return bool(_COMMENT.search(above) and _ALONE.fullmatch(above))

    def spot(claim: Claim) -> Spot:
        ignored = _mentioned(claim) and accepts(claim.line, claim.place)
        return Spot(claim, *_excerpt(source(claim.line, claim.place), claim), ignored)

    return Report(name, tuple(map(spot, claims)))


def _mentioned(claim: Claim) -> bool:
    return claim.verdict != Truth.TRUE or claim.how == "carried"


def _excerpt(line: str, claim: Claim) -> tuple[str, int, int]:
    """Return ``line``, cut around the claim where it is long, and where the claim starts and ends in it."""
    if goes_on := claim.end_line > claim.line:
        line = f"{line.rstrip()} …"
    start = min(claim.column - 1, len(line))
    end = len(line) if goes_on else max(min(claim.end_column - 1, len(line)), start)
    if len(line) <= EXCERPT:
        return line, start, end
    end = min(end, start + EXCERPT)
    room = max(EXCERPT - (end - start), EXCERPT // 3) // 2
    left, right = max(start - room, 0), min(end + room, len(line))
    dots = "…" if left else ""
    shift = len(dots) - left
    return dots + line[left:right] + ("…" if right < len(line) else ""), start + shift, end + shift


def counts(reports: Iterable[Report]) -> dict[str, int]:
    """Return how many claims are exact, rounded, carried, false, "not checkable" and ignored."""
    found = Counter(spot.standing for each in reports for spot in each.spots)
    return {standing: found[standing] for standing in (*CHECKED, Truth.UNCHECKED.value, "ignored")}


def summary(reports: Sequence[Report]) -> str:
    """Return in one sentence what was checked, and what was not.

    >>> summary([Report("a.md")])
    'No claim that could be checked was found.'
    """
    found = counts(reports)
    checked = {standing: found[standing] for standing in CHECKED if found[standing]}
    how_many = sum(checked.values())
    said = [f"{_counted(how_many, 'claim')}: " + ", ".join(f"{n:,} {what}" for what, n in checked.items())]
    if not how_many:
        said = ["no claim that could be checked was found"]
    if unchecked := found[Truth.UNCHECKED]:
        said.append(f"{_counted(unchecked, 'other' if how_many else 'claim')} not checkable")
    if ignored := found["ignored"]:
        said.append(f"{ignored:,} ignored, as a comment asks")
    if broken := sum(bool(each.problem) for each in reports):
        said.append(f"{_counted(broken, 'file')} could not be read")
    sentence = "; ".join(said)
    return f"{sentence[0].upper()}{sentence[1:]}."


def _counted(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"
