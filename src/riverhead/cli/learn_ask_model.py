"""A model's answer on the terminal as it streams, its sums marked; or all of it as data for ``--json``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from riverhead.cli.flow import Flow
from riverhead.cli.opening import working
from riverhead.cli.output import console_here
from riverhead.learning.tutor.events import Done, Event, Notice, Offline, Sum, Text, ToolUsed, Unchecked
from riverhead.scene import Scene

__all__ = ["collect", "draw"]

MOST_OF_A_TOOL = 240  # characters of what it was given, and of what it found
ITS_MARKS = re.compile("[✓✔✗✘✅❌❎☑☒✖]\ufe0f?")  # in quotes: an unquoted mark is the engine's
SPELLED = {"✓": "(right)", "✗": "(wrong)"}  # where the terminal has no such sign
GOOD, SOFT, BAD, DOUBT, ASIDE = "bold green", "green", "bold red", "yellow", "dim"
RIGHT = ("exact", "rounded", "carried")


def draw(events: Iterable[Event], who: str = "") -> Done:
    """Print ``events`` as they come, in the terminal's width, colours and encoding; return the last.

    Behind each sum stands what is true of it: ✓, or ✗ with the exact value. What a terminal would obey is
    shown as a symbol, and a mark that the model sets itself in quotes. ``who`` is said to answer, and until
    then to be asked.
    """
    page = _Page(Flow(console_here()), who)
    for event in _awaited(iter(events), who):
        page.show(event)
        if isinstance(event, Done):
            return event
    raise TypeError("a conversation ends with Done")


def collect(events: Iterable[Event]) -> dict[str, Any]:
    """Return a whole conversation as plain data, ready for JSON."""
    came = list(events)
    done = next(event for event in came if isinstance(event, Done))
    offline = [event.answer for event in came if isinstance(event, Offline)]
    return {
        "reply": done.reply,
        "finish": done.finish,
        "sums": [one.to_dict() for one in done.sums],
        "unchecked": [one.to_dict() for one in done.unchecked],
        "tools": [event.to_dict() for event in came if isinstance(event, ToolUsed)],
        "notices": [event.text for event in came if isinstance(event, Notice)],
        "offline": offline[0].to_dict() if offline else None,
    }


def _awaited(events: Iterator[Event], who: str) -> Iterator[Event]:
    """The events; a line on the terminal says who is asked, and goes away when the first comes."""
    with working() as tell:
        tell(f"asking {who}" if who else "asking")
        first = next(events)
    yield first
    yield from events


class _Page:
    """What each event looks like."""

    def __init__(self, flow: Flow, who: str = "") -> None:
        self.flow, self.who = flow, who
        self.any_unchecked = False

    def show(self, event: Event) -> None:
        """Print one event."""
        match event:
            case Text(text):
                if self.who:
                    self.flow.line(f"{self.who} says; every sum is checked:", ASIDE)
                    self.flow.gap()
                    self.who = ""
                self.flow.write(ITS_MARKS.sub(lambda mark: f"“{mark[0]}”", text))
            case Sum():
                self.sum(event)
            case ToolUsed():
                self.flow.gap()
                self.flow.line(f"→ {event.name}: {_cut(event.arguments)} → {_cut(event.result)}", ASIDE)
                self.flow.gap()
            case Notice(text):
                self.flow.gap()
                self.flow.line(text, DOUBT)
            case Unchecked():
                self.unchecked(event)
            case Offline(answer):
                self.flow.scene(Scene("", answer.parts))
            case Done():
                self.done(event)

    def sum(self, one: Sum) -> None:
        """Print what is true of a sum right behind it; on a line of its own where that was known late."""
        said, style = self.verdict(one)
        if one.late:
            self.flow.line(f"({one.text}: {said})", style)
        else:
            self.flow.mark(said, style)

    def verdict(self, one: Sum) -> tuple[str, str]:
        """Return what is true of a sum in a few words, and how they look."""
        right, wrong = (sign if self.flow.can(sign) else SPELLED[sign] for sign in "✓✗")
        match one.standing:
            case "false":
                return f"{wrong} [it is {one.shown}]" if one.shown else wrong, BAD
            case "carried":
                return f"{right} [with rounded numbers]", SOFT
            case "not checkable":
                return "[not checkable]", DOUBT
            case "withdrawn":
                return "no claim after all", DOUBT
        return right, GOOD

    def unchecked(self, one: Unchecked) -> None:
        """Print a number that nobody vouches for, and its place."""
        if not self.any_unchecked:
            self.flow.gap()
            self.flow.line("Unchecked, for they were neither given nor computed:", DOUBT)
        self.any_unchecked = True
        self.flow.line(f"– {one.text} in line {one.line}: “{one.around}”", DOUBT)

    def done(self, done: Done) -> None:
        """Print how many sums were checked, if there were any."""
        right = sum(one.standing in RIGHT for one in done.sums)
        wrong = sum(one.is_wrong for one in done.sums)
        self.flow.end()
        if right + wrong and done.finish in ("stop", "length"):
            self.flow.gap()
            sums = "1 sum" if right + wrong == 1 else f"{right + wrong} sums"
            self.flow.line(f"{sums} checked: {right} right, {wrong} wrong.", BAD if wrong else ASIDE)


def _cut(text: str) -> str:
    """What JSON says in running words, as it is where it is none; a long text ends in …."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        data = text
    if isinstance(data, dict):
        data = ", ".join(f"{name} {value}" for name, value in data.items())
    line = " ".join(str(data).split())
    return line if len(line) <= MOST_OF_A_TOOL else line[: MOST_OF_A_TOOL - 1] + "…"
