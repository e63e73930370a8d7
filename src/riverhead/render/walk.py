"""One method a node, one class a format: how every renderer goes through a scene."""

from __future__ import annotations

from typing import Generic, TypeVar, cast

from riverhead.errors import InputError
from riverhead.scene import Fold, Math, Part, Text

__all__ = ["Walker", "aside", "begins_with_formula", "unfolded"]

T = TypeVar("T")


class Walker(Generic[T]):
    """Hands a node to the method named after its type: `Table` to ``table``, `Power` to ``power``."""

    def walk(self, node: object) -> T:
        """Return what this format makes of ``node``, a part of a scene or of a formula."""
        kind = type(node).__name__
        method = getattr(self, kind.lower(), None)
        if method is None:
            raise InputError(f"{type(self).__name__} cannot show a {kind}: {node!r}")
        return cast(T, method(node))


def aside(part: Text) -> tuple[tuple[str | Math, ...], Math | None]:
    """Return a heading's words, and the formula that two spaces or more set apart at its end, if any.

    >>> from riverhead.scene import Symbol
    >>> aside(Text(("1 Score:  ", Symbol("x")), "heading"))
    (('1 Score:',), Symbol(name='x', primes=0))
    """
    match part.runs:
        case (*words, str(last), formula) if not isinstance(formula, str) and last.endswith("  "):
            return (*words, last.rstrip()), formula
    return part.runs, None


def begins_with_formula(part: Part) -> bool:
    """Whether ``part`` is running text that opens with a formula: it is shown like one."""
    return isinstance(part, Text) and part.role == "prose" and not isinstance((*part.runs, "")[0], str)


def unfolded(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Return ``parts`` without the closed folds: on paper and in pictures nobody can open them."""
    return tuple(part for part in parts if not isinstance(part, Fold) or part.open)
