"""Words as they come, on a console: lines fold at spaces, and what a terminal would obey is made visible."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from riverhead.scene import Scene

__all__ = ["Flow"]

INDENT = 2
BROAD = 100  # characters of a line of prose, however wide the window
DEEPEST = 20  # spaces that a line may begin with
PIECES = re.compile(r"\n|[^\S\n]+|\S+")


class Flow:
    """Writes to ``console`` word by word; a word is written when it is known to be whole."""

    def __init__(self, console: Console) -> None:
        from riverhead.render.terminal import Terminal

        self.console = console
        self._letters = Terminal(console)
        self._width = min(self._letters.width, BROAD)
        self._column = 0
        self._spaces = 0  # before the next word
        self._held = ""
        self._empty = True  # whether the line above is: two of them are one, and the page begins with none

    def write(self, text: str, style: str = "") -> None:
        """Write the words of ``text`` but the last, which may go on."""
        pieces = PIECES.findall(self._held + text)
        self._held = pieces.pop() if pieces and not pieces[-1].isspace() else ""
        for piece in pieces:
            self._piece(piece, style)
        self.console.file.flush()

    def mark(self, text: str, style: str = "") -> None:
        """Write ``text`` one space behind the last word, which is whole then."""
        self._whole()
        self._spaces = 1
        self.write(text, style)
        self._whole(style)
        self._spaces = 0
        self.console.file.flush()

    def line(self, text: str, style: str = "") -> None:
        """Write ``text`` on lines of its own."""
        self.end()
        for piece in PIECES.findall(" ".join(text.split())):
            self._piece(piece, style)
        self.end()

    def end(self) -> None:
        """End the line, if anything stands on it."""
        self._whole()
        if self._column:
            self._piece("\n")
        self._spaces = 0
        self.console.file.flush()

    def gap(self) -> None:
        """End the line, and leave one empty line below it."""
        self.end()
        self._piece("\n")

    def scene(self, scene: Scene) -> None:
        """Show a scene, an empty line above it."""
        from riverhead.render import terminal

        self.gap()
        terminal.show(scene, self.console)
        self._empty = False

    def can(self, sign: str) -> bool:
        """Whether the console's encoding has a sign."""
        return self._letters.spell(sign) == sign

    def _whole(self, style: str = "") -> None:
        """Write the word that was held."""
        held, self._held = self._held, ""
        self._piece(held, style)

    def _piece(self, piece: str, style: str = "") -> None:
        if piece == "\n":
            if self._column or not self._empty:
                self._print("\n")
            self._empty = not self._column
            self._column = self._spaces = 0
        elif piece.isspace():
            so_far = self._spaces + len(piece.expandtabs(4))
            self._spaces = 1 if self._column else min(so_far, DEEPEST)
        elif piece:
            self._word(piece, style)

    def _word(self, word: str, style: str) -> None:
        from rich.cells import cell_len

        shown = self._letters.leaf(word)
        size = cell_len(shown)
        if self._column and self._column + self._spaces + size > self._width:
            self._piece("\n")
        lead = self._spaces if self._column else INDENT + self._spaces
        self._print(" " * lead)
        self._print(shown, style)
        self._column += lead + size
        self._spaces = 0

    def _print(self, text: str, style: str = "") -> None:
        self.console.print(text, style=style, end="", markup=False, highlight=False, soft_wrap=True)
