"""A terminal that is read in: a screenful at a time, and the lines that are typed there."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Sequence
from itertools import dropwhile
from typing import TYPE_CHECKING

from riverhead.cli.output import console_here

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text as Line

    from riverhead.scene import Part

__all__ = ["Screen", "is_terminal"]

LONGEST_LINE = 4096  # bytes of a typed line that are read; a terminal itself gives no more
FEWEST_ROWS = 5  # of a screenful, however low the window


def is_terminal() -> bool:
    """Whether somebody sits there: both what is shown and what is typed are a terminal's."""
    return sys.stdin.isatty() and sys.stdout.isatty()


class Screen:
    """Shows parts in the window as it is at that moment; what is typed comes a line at a time."""

    def __init__(self, heed: Callable[[str | None], bool] = lambda typed: False) -> None:
        """``heed`` is given what is typed between two screenfuls; it returns whether to ask once more."""
        self._heed = heed
        self._used = 0  # rows since something was typed
        self._begun = False

    def show(self, *parts: Part, title: str = "") -> None:
        """Show parts; where they fill the window, wait for Enter before what would push them out."""
        from riverhead.render import terminal
        from riverhead.scene import Scene

        console = console_here()
        self._print(terminal.lines(Scene(title, parts), console), console)

    def draw(self, lines: Sequence[Sequence[tuple[str, str]]]) -> None:
        """Show lines of pieces: what is written, and in which style of rich."""
        from rich.text import Text as Line

        from riverhead.render import terminal

        console = console_here()
        spell = terminal.Terminal(console).spell
        drawn = [Line.assemble(*((spell(text), style) for text, style in line)) for line in lines]
        self._print(drawn, console)

    def turn(self) -> None:
        """Count rows anew: all that is there was seen."""
        self._used = 0

    def ask(self, prompt: str) -> str | None:
        """Return what was typed behind ``prompt``, without the spaces around it; None at the end of input."""
        from riverhead.render import terminal

        console = console_here()
        shown = terminal.Terminal(console).leaf(f"{prompt} › ")
        console.print(shown, style="dim", end="", markup=False, highlight=False, soft_wrap=True)
        console.file.flush()
        self.turn()
        try:
            typed = sys.stdin.buffer.readline(LONGEST_LINE)
        except KeyboardInterrupt:
            console.print()  # what comes next begins a line of its own
            raise
        if not typed:
            console.print()
            return None
        return typed.decode("utf-8", "replace").strip()

    def _print(self, lines: list[Line], console: Console) -> None:
        if self._begun and lines:
            lines.insert(0, type(lines[0])())
        self._begun = True
        while lines:
            rows = max(shutil.get_terminal_size().lines - 2, FEWEST_ROWS)  # the last two: a line, a prompt
            fits = len(lines) if len(lines) <= rows - self._used else _cut(lines, rows - self._used, rows)
            for line in lines[:fits]:
                console.print(line, soft_wrap=True, highlight=False)
            self._used += fits
            lines = lines[fits:]
            if lines:
                while self._heed(self.ask("Enter: more")):
                    pass
                lines = list(dropwhile(_empty, lines))


def _cut(lines: Sequence[Line], room: int, rows: int) -> int:
    """How many of ``lines`` to show in ``room`` rows: up to an empty line, where one stands well down."""
    if room <= rows // 3:  # what little would fit goes with the rest
        return 0
    return next((at for at in range(room, rows // 3, -1) if _empty(lines[at])), room)


def _empty(line: Line) -> bool:
    return not line.plain.strip()
