"""An object that shows itself, in a notebook or a debugger, through a renderer plugged in from above."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Displayable", "Sheet", "plug"]

_render: Callable[[Any, str], str] | None = None


def plug(render: Callable[[Any, str], str]) -> None:
    """Give every `Displayable` the function that turns a scene into text: ``render(scene, format)``."""
    global _render
    _render = render


class Displayable:
    """Mixin: whoever has a ``scene()`` prints as text and shows as HTML."""

    def scene(self) -> Any:
        """Return the scene that shows this object."""
        raise TypeError(f"{type(self).__name__} has no scene()")  # pragma: no cover

    def __str__(self) -> str:
        return object.__repr__(self) if _render is None else _render(self.scene(), "text")

    def _repr_html_(self) -> str | None:
        return None if _render is None else _render(self.scene(), "html-fragment")


class Sheet(Displayable):
    """A scene that shows itself: as text at a prompt, as HTML in a notebook."""

    def __init__(self, scene: Any) -> None:
        self._scene = scene

    def scene(self) -> Any:
        return self._scene

    __repr__ = Displayable.__str__
