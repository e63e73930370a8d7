"""Where the functions of this folder are kept: the wrong by their mistake, the right by their form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from riverhead.checking.rules import Report, implementation

__all__ = ["Implementation", "Table"]

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, eq=False)
class Implementation:
    """A function, or a class to be made; ``mistake`` is the id of what is wrong in it.

    ``expect`` is asked for where a mistake is one only by agreement. ``weak`` are the rules of level "should"
    that a right form truly breaks, and why.
    """

    thing: Callable[..., Any]
    kind: str = "attention"
    mistake: str = ""
    expect: Mapping[str, str] = field(default_factory=dict)
    weak: Mapping[str, str] = field(default_factory=dict)

    def report(self, **how: Any) -> Report:
        """What the rules say of it, run in this very process."""
        return implementation(self.thing, kind=self.kind, expect=self.expect, isolated=False, **how)


class Table(dict[str, Implementation]):
    """Implementations by name: the id of a mistake, and words where several make it; a form in words."""

    def of(self, name: str, **about: Any) -> Callable[[F], F]:
        """Enter what is defined below under a name."""

        def entered(thing: F) -> F:
            assert name not in self, name
            self[name] = Implementation(thing, mistake=name.partition(":")[0], **about)
            return thing

        return entered
