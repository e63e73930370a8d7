"""What was found of a function: which rules hold, which do not and why, and what was agreed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from riverhead.checking.rules.arithmetic import Working
from riverhead.checking.rules.rule import Level, rules
from riverhead.display import Displayable

if TYPE_CHECKING:
    from riverhead.scene import Scene

__all__ = ["Agreed", "Failure", "NotOffered", "Report"]


@dataclass(frozen=True, slots=True)
class Failure:
    """A rule that does not hold, with the first cell that shows it.

    ``found`` and ``right`` are that cell's numbers (None where there is none to show), ``arithmetic`` the sum
    that the right one is, ``working`` the row behind it; ``mistake`` is the id of the way that gives exactly
    what was found, ``did`` its words; both are empty where no known one does. ``detail`` says what is no
    number: an exception, a shape. ``beside`` are the mistakes named before it, which ``right`` has too.
    ``given`` is the call, as plain lists; ``script`` the same as source that calls ``f``.
    """

    rule: str
    level: Level
    cell: tuple[int, ...] | None = None
    array: str = "out"
    found: float | None = None
    right: float | None = None
    arithmetic: str = ""
    working: Working | None = None
    mistake: str = ""
    did: str = ""
    detail: str = ""
    beside: tuple[str, ...] = ()
    given: Mapping[str, Any] = field(default_factory=dict)
    script: str = ""

    @property
    def says(self) -> str:
        """The rule's sentence."""
        return rules()[self.rule].says

    @property
    def source(self) -> str:
        """Where the rule comes from."""
        return rules()[self.rule].source


@dataclass(frozen=True, slots=True)
class Agreed:
    """A convention that the function keeps: neither right nor wrong unless one was asked for."""

    aspect: str
    name: str
    says: str


@dataclass(frozen=True, slots=True)
class NotOffered:
    """A rule that could not be asked, and why: the function does not take what it is about."""

    rule: str
    why: str


@dataclass(frozen=True, slots=True, eq=False)
class Report(Displayable):
    """What was found of one implementation; `ok` where no rule that must hold is broken."""

    name: str
    kind: str
    passed: tuple[str, ...] = ()
    failed: tuple[Failure, ...] = ()
    conventions: tuple[Agreed, ...] = ()
    not_offered: tuple[NotOffered, ...] = ()
    not_judged: tuple[NotOffered, ...] = ()
    notes: tuple[str, ...] = ()  # how it was called
    noise: str = ""  # what it printed
    target: str = ""  # where it was found: module:function

    @property
    def title(self) -> str:
        """What it is called: where it was found, else its name."""
        return self.target or self.name

    @property
    def ok(self) -> bool:
        """Whether every rule that must hold does, and every convention that was asked for."""
        return all(failure.level == "should" for failure in self.failed)

    @property
    def mistakes(self) -> tuple[str, ...]:
        """The ids of the mistakes found, in the order of their rules."""
        return tuple(dict.fromkeys(failure.mistake for failure in self.failed if failure.mistake))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        failed = [{**asdict(f), "says": f.says, "source": f.source} for f in self.failed]
        return {
            "name": self.name,
            "target": self.target,
            "kind": self.kind,
            "ok": self.ok,
            "passed": [
                {"rule": id, "says": rules()[id].says, "level": rules()[id].level} for id in self.passed
            ],
            "failed": failed,
            "conventions": [asdict(each) for each in self.conventions],
            "not_offered": [asdict(each) for each in self.not_offered],
            "not_judged": [asdict(each) for each in self.not_judged],
            "notes": list(self.notes),
            "noise": self.noise,
        }

    def scene(self) -> Scene:
        """Return the report as a scene."""
        from riverhead.checking.rules.reports.scene import scene
        from riverhead.checking.rules.reports.standing import Standing

        return scene(Standing(self))
