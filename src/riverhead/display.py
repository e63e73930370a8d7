"""What an object may ask of those above it, plugged in by the façade: to be shown, to be derived."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Displayable", "Sheet", "derived", "plug"]

_render: Callable[[Any, str], str] | None = None
_scene_of: Callable[[Any], Any] | None = None
_derive: Callable[..., Any] | None = None


def plug(
    render: Callable[[Any, str], str], scene_of: Callable[[Any], Any], derive: Callable[..., Any]
) -> None:
    """Give every `Displayable` the functions that turn a scene into text, and an object into a scene.

    ``render(scene, format)`` is for all, ``scene_of(object)`` for those who stand too low to know scenes;
    ``derive(reading, head, focus)`` is what `derived` calls.
    """
    global _render, _scene_of, _derive
    _render, _scene_of, _derive = render, scene_of, derive


def derived(reading: Any, head: Any, focus: Any) -> Any:
    """Return the derivation of a head of ``reading``, which stands too low to know the words of a text."""
    if _derive is None:
        raise TypeError("nothing that derives a head is plugged in")  # pragma: no cover
    return _derive(reading, head, focus)


class Displayable:
    """Mixin: whoever has a ``scene()``, or one that is made above, prints as text and shows as HTML."""

    __slots__ = ()

    def scene(self) -> Any:
        """Return the scene that shows this object."""
        if _scene_of is None:
            raise TypeError(f"{type(self).__name__} has no scene()")  # pragma: no cover
        return _scene_of(self)

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
