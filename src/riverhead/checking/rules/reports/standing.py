"""How a report stands: what counts as wrong, beside what was accepted and what is only weak."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from riverhead.checking.rules.report import Failure, Report
from riverhead.checking.rules.reports.known import NOTHING, Accepted, Known

__all__ = ["Standing"]


@dataclass(frozen=True)
class Standing:
    """A report beside the failures that are ``known``; with ``strict`` a weakness is as wrong as an error."""

    report: Report
    known: Known = NOTHING
    strict: bool = False

    @cached_property
    def accepted(self) -> tuple[tuple[Failure, Accepted], ...]:
        """The failures that a line of the file accepts, with that line."""
        found = ((failure, self.known.accepts(failure)) for failure in self.report.failed)
        return tuple((failure, line) for failure, line in found if line is not None)

    @cached_property
    def wrong(self) -> tuple[Failure, ...]:
        """The failures that count."""
        return tuple(failure for failure in self._open if self.strict or failure.level != "should")

    @cached_property
    def weak(self) -> tuple[Failure, ...]:
        """The failures of what should hold, where that does not count."""
        return tuple(failure for failure in self._open if not self.strict and failure.level == "should")

    @cached_property
    def stale(self) -> tuple[Accepted, ...]:
        """The lines of the file that accept nothing."""
        return self.known.stale(self.report)

    @property
    def fine(self) -> bool:
        """Whether there is no finding: nothing wrong and no stale line."""
        return not self.wrong and not self.stale

    @property
    def _open(self) -> tuple[Failure, ...]:
        accepted = [failure for failure, _ in self.accepted]
        return tuple(failure for failure in self.report.failed if not any(failure is x for x in accepted))

    @property
    def summary(self) -> str:
        """How many rules hold and how many do not, in a sentence.

        >>> Standing(Report("f", "attention", ("scale", "roles"))).summary
        '2 rules asked: 2 hold.'
        """
        report = self.report
        asked = len(report.passed) + len(report.failed)
        counts = {
            "hold": len(report.passed), "broken": len(self.wrong), "weak": len(self.weak),
            "accepted": len(self.accepted),
        }  # fmt: skip
        said = [f"{asked} rule{'' if asked == 1 else 's'} asked"]
        said[0] += ": " + ", ".join(f"{n} {what}" for what, n in counts.items() if n) if asked else ""
        if report.not_offered:
            said.append(f"{len(report.not_offered)} not offered")
        if report.not_judged:
            said.append(f"{len(report.not_judged)} not judged")
        if self.stale:
            said.append(f"{len(self.stale)} stale in {self.known.name}")
        return "; ".join(said) + "."
