"""Where the functions of this folder are kept: the wrong by their mistake, the right by their form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from riverhead.checking.rules import Report, implementation

__all__ = ["Implementation", "Table"]

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Implementation:
    """A function, or a class and what it is made with; ``weak`` are the rules it truly breaks, and why.

    ``expect`` is asked for where a mistake is one only by agreement.
    """

    thing: Callable[..., Any]
    kind: str = "attention"
    expect: Mapping[str, str] = field(default_factory=dict)
    weak: Mapping[str, str] = field(default_factory=dict)
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def report(self, **how: Any) -> Report:
        """What the rules say of it, run in this very process."""
        about = {"kind": self.kind, "expect": self.expect, "arguments": self.arguments}
        return implementation(self.thing, isolated=False, **about, **how)


class Table(dict[str, Implementation]):
    """Implementations by name: the id of a mistake, or a form in words."""

    def of(self, name: str, **about: Any) -> Callable[[F], F]:
        """Enter what is defined below under a name."""

        def entered(thing: F) -> F:
            assert name not in self, name
            self[name] = Implementation(thing, **about)
            return thing

        return entered
