"""One method a node, one class a format: how every renderer goes through a scene."""

from __future__ import annotations

from typing import Generic, TypeVar, cast

from riverhead.errors import InputError

__all__ = ["Walker"]

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
