"""What happens while a model answers, as plain frozen data: whoever draws needs nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from riverhead.checking.claims import Claim
from riverhead.checking.claims.reports.shown import as_data, in_words

__all__ = ["Done", "Event", "Notice", "Offline", "Sum", "Text", "ToolUsed", "Unchecked"]

Standing = Literal["exact", "rounded", "carried", "false", "not checkable", "withdrawn"]


@dataclass(frozen=True, slots=True)
class Text:
    """More of the reply; all of them together are the reply, character for character."""

    text: str


@dataclass(frozen=True, slots=True)
class Sum:
    """A sum of the reply, checked: ``text`` reaches from ``start`` to ``end`` of the reply.

    It comes as soon as the text up to ``end`` has come. ``late``: it came later, because what stands behind
    it made a claim of it, or changed what is true of it; then it counts in place of what was said before.
    A ``standing`` of "withdrawn" is always late: the text went on to say that it does not claim this.
    """

    text: str
    start: int
    end: int
    standing: Standing
    exact: Any = None  # the right value: a number, a vector, a matrix; None where it is not known
    cause: str = ""
    late: bool = False

    @property
    def is_wrong(self) -> bool:
        """Whether it is a false sum."""
        return self.standing == "false"

    @property
    def shown(self) -> str:
        """The right value in words, to as many digits as the claim has; empty where it is not known."""
        return "" if self.exact is None else in_words(self.exact, self.text)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, ready for JSON."""
        named = {name: getattr(self, name) for name in ("text", "start", "end", "standing", "cause")}
        return named | {"exact": as_data(self.exact)}

    @classmethod
    def of(cls, claim: Claim, start: int, end: int) -> Sum:
        """Return the sum that a claim is, at these places of the reply."""
        standing: Any = claim.how or claim.verdict.value
        return cls(claim.text, start, end, standing, claim.exact, claim.cause)


@dataclass(frozen=True, slots=True)
class Unchecked:
    """A number of the reply that is in no checked sum, was not given, and was not computed by a tool."""

    text: str
    start: int
    line: int  # of the reply, from 1
    around: str  # the words it stands in

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, ready for JSON."""
        return {"text": self.text, "start": self.start, "line": self.line, "around": self.around}


@dataclass(frozen=True, slots=True)
class ToolUsed:
    """The engine computed something for the model; where not ``ok`` the result says why not."""

    name: str
    arguments: str
    result: str
    ok: bool

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, ready for JSON."""
        return {"name": self.name, "arguments": self.arguments, "result": self.result, "ok": self.ok}


@dataclass(frozen=True, slots=True)
class Notice:
    """A line the reader must see; ``failed``: the model's answer ends here, and the offline one follows."""

    text: str
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Offline:
    """The answer without a model, as `riverhead.learning.tutor.offline` gives it."""

    answer: Any


@dataclass(frozen=True, slots=True)
class Done:
    """The end: the whole reply, every sum of it as it finally stands, and the unchecked numbers.

    ``finish``: "stop" the model was done, "length" the reply is cut, "failed" it could not answer,
    "stopped" the reader stopped it.
    """

    reply: str
    sums: tuple[Sum, ...]
    unchecked: tuple[Unchecked, ...]
    finish: Literal["stop", "length", "failed", "stopped"]


Event: TypeAlias = Text | Sum | Unchecked | ToolUsed | Notice | Offline | Done
