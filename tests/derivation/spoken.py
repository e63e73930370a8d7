"""A scene as plain lines, to read in a test."""

from __future__ import annotations

from riverhead.render import render
from riverhead.render.plain import Plain
from riverhead.scene import Math, Scene

__all__ = ["page", "words"]


def page(scene: Scene, width: int = 160) -> str:
    """The scene as the terminal shows it, its blanks squeezed to one."""
    text = render(scene, "text", width=width)
    assert isinstance(text, str)
    return "\n".join(" ".join(line.split()) for line in text.splitlines())


def words(math: Math) -> str:
    """A formula on one line."""
    return Plain().walk(math)
