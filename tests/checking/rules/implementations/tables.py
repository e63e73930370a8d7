"""Where the functions of this folder are kept: the wrong by their mistake, the right by their form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

__all__ = ["Implementation", "Table"]

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Implementation:
    """A function, or a class to be made; ``expect`` is asked for where a mistake is one only by agreement.

    ``weak`` are the rules of level "should" that it truly breaks beside, each with the reason.
    """

    thing: Callable[..., Any]
    kind: str = "attention"
    expect: Mapping[str, str] = field(default_factory=dict)
    weak: Mapping[str, str] = field(default_factory=dict)


class Table(dict[str, Implementation]):
    """Implementations by name: the id of a mistake, or a form in words."""

    def of(self, name: str, **about: Any) -> Callable[[F], F]:
        """Enter what is defined below under a name."""

        def entered(thing: F) -> F:
            assert name not in self, name
            self[name] = Implementation(thing, **about)
            return thing

        return entered
