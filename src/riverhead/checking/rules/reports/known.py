"""Accepted failures: a file with a rule a line; what no longer fails is stale, and a finding itself."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from riverhead.checking.rules.report import Failure, Report
from riverhead.checking.rules.reports.listing import rules_of
from riverhead.checking.rules.rule import Rule, rules
from riverhead.errors import InputError

__all__ = ["NOTHING", "Accepted", "Known", "accepted", "known"]

LONGEST = 2**20  # bytes of such a file: there are a few dozen rules


@dataclass(frozen=True, slots=True)
class Accepted:
    """A line of the file: a rule that may fail, by the mistake if one is named, of the target if one is."""

    line: int
    rule: str
    mistake: str = ""
    why: str = ""
    target: str = ""

    def takes(self, failure: Failure) -> bool:
        """Whether it is this failure that is accepted."""
        return failure.rule == self.rule and self.mistake in ("", failure.mistake)


@dataclass(frozen=True, slots=True)
class Known:
    """The accepted failures of a file called ``name``."""

    name: str = ""
    lines: tuple[Accepted, ...] = ()

    def of(self, target: str) -> Known:
        """Return the lines that are about this target: those that name it, and those that name none."""
        return Known(self.name, tuple(each for each in self.lines if each.target in ("", target)))

    def accepts(self, failure: Failure) -> Accepted | None:
        """Return the line that accepts a failure, if one does."""
        return next((each for each in self.lines if each.takes(failure)), None)

    def stale(self, report: Report) -> tuple[Accepted, ...]:
        """Return the lines that accept nothing that fails now.

        A rule that could not be judged because another one is broken may fail still: its line is not stale.
        Nor is one about a rule of another kind: a file may be about several functions.
        """
        asked = {rule.id for rule in rules_of(report.kind)} - {each.rule for each in report.not_judged}
        return tuple(
            each
            for each in self.lines
            if each.rule in asked and not any(each.takes(failure) for failure in report.failed)
        )

    def says(self, stale: Accepted, report: Report) -> str:
        """Return why a line is stale, and what to do."""
        place = f"{self.name}:{stale.line}"
        others = [failure for failure in report.failed if failure.rule == stale.rule]
        if others:
            found = others[0].mistake or "a mistake that is not known"
            return f"{place}: {stale.rule} is broken by {found}, not by {stale.mistake}: correct the line"
        return f"{place}: {stale.rule} no longer fails: take the line out"


NOTHING = Known()


def known(path: Path) -> Known:
    """Read a file of accepted failures; raises `InputError` for what is none, `OSError` for no file."""
    with open(path, "rb") as stream:
        data = stream.read(LONGEST + 1)
    if len(data) > LONGEST:
        raise InputError(f"{path} has more than {LONGEST:,} bytes; accepted failures are a rule a line")
    try:
        return accepted(data.decode("utf-8"), str(path))
    except UnicodeDecodeError as wrong:
        raise InputError(f"{path} is not UTF-8: byte {wrong.start} is {data[wrong.start]:#04x}") from None


def accepted(text: str, name: str) -> Known:
    """Read accepted failures, a line each: ``target rule mistake  # why``; the rule is needed.

    A target is a word with a colon in it. Raises `InputError` for a rule that there is not.

    >>> found = accepted("# of the old code\\nscale no-scale  # the checkpoints need it\\n", "known.txt")
    >>> found.lines
    (Accepted(line=2, rule='scale', mistake='no-scale', why='the checkpoints need it', target=''),)
    """
    found = (_read(line, number, name) for number, line in enumerate(re.split("\r\n|\n|\r", text), 1))
    return Known(name, tuple(filter(None, found)))


def _read(line: str, number: int, name: str) -> Accepted | None:
    said, _, why = line.partition("#")
    words = said.split()
    target = words.pop(0) if words and ":" in words[0] else ""
    if not words and not target:
        return None
    if not 1 <= len(words) <= 2:
        raise InputError(f"{name}:{number}: {said.strip()[:80]!r} is not a rule, or a rule and a mistake")
    if words[0] not in rules():
        raise InputError(f"{name}:{number}: {unknown_rule(words[0], rules())}")
    return Accepted(number, words[0], "".join(words[1:]), why.strip(), target)


def unknown_rule(id: str, rules: Mapping[str, Rule]) -> str:
    """Return what to say of a rule that there is not."""
    near = get_close_matches(id[:80], rules, 3)
    meant = f"did you mean {' or '.join(near)}?" if near else "riverhead check code --rules lists them"
    return f"there is no rule {id[:80]!r}; {meant}"
