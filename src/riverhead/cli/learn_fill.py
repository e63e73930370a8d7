"""The cells of an exercise in a terminal: a grid in which arrow keys move and typing writes."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from prompt_toolkit.application import Application, get_app
from prompt_toolkit.data_structures import Point
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import FormattedTextControl, HSplit, Layout, Window
from prompt_toolkit.output.defaults import create_output
from prompt_toolkit.styles import Style

from riverhead.cli.learn_sheet import ROLES, Piece, sheet
from riverhead.learning.exercises.attempt import NOTHING
from riverhead.learning.exercises.catalogue import asked_as
from riverhead.learning.exercises.layout import blocks, moved
from riverhead.render.letters import isolate, visible

if TYPE_CHECKING:
    from prompt_toolkit.input import Input
    from prompt_toolkit.output import Output

    from riverhead.learning.exercises.attempt import Attempt

__all__ = ["Asked", "fill"]

Asked = Literal["check", "hint", "leave", "task"]

KEYS = "arrows move · Enter next · ? hint · F2 task · Ctrl-D checks · Ctrl-C leaves"


def fill(attempt: Attempt, at: str | None = None, **ends: Any) -> tuple[Asked, str]:
    """Let the open cells be filled in, from the cell ``at``; return what is asked for, and where one is.

    ``ends`` are prompt_toolkit's ``input`` and ``output``, for who has others than the terminal's.
    Raises `KeyboardInterrupt` on Ctrl-C.
    """
    grid = Grid(attempt, at)
    try:
        found: tuple[Asked, str] = grid.application(**ends).run()
    except EOFError:  # the terminal has gone
        return "leave", grid.at
    return found


class Grid:
    """Where one is, and how the page looks from there."""

    def __init__(self, attempt: Attempt, at: str | None) -> None:
        self.attempt = attempt
        self.blocks = blocks(attempt.exercise.sheet)
        self.at = at if at in attempt.open else attempt.open[0]
        self.arrived = True  # what is typed first replaces what stood there
        self.nothing = False  # to be checked: it is said until something is written

    def application(self, input: Input | None = None, output: Output | None = None) -> Application[Any]:
        """Return the page as something that reads keys until it has an answer."""
        sheet = FormattedTextControl(self.sheet, focusable=True, get_cursor_position=self.cursor)
        told = FormattedTextControl(self.told)
        above = Window(height=1)
        layout = HSplit([above, Window(sheet), Window(told, wrap_lines=True, dont_extend_height=True)])
        if output is None:
            output = create_output()
            output.enable_cpr = False  # type: ignore[attr-defined]  # nothing here needs to ask where it stands
        return Application(
            Layout(layout),
            style=Style([(role, shown) for role, (shown, _) in ROLES.items() if role]),
            key_bindings=self.keys(),
            erase_when_done=True,
            input=input,
            output=output,
        )

    # keys

    def keys(self) -> KeyBindings:
        """What each key does."""
        found = KeyBindings()

        def on(*keys: Keys | str) -> Callable[[Callable[[KeyPressEvent], None]], None]:
            def bind(act: Callable[[KeyPressEvent], None]) -> None:
                for key in keys:
                    found.add(key)(act)

            return bind

        on("right", "tab")(lambda event: self.move(right=1))
        on("left", "s-tab")(lambda event: self.move(right=-1))
        on("down")(lambda event: self.move(down=1))
        on("up")(lambda event: self.move(down=-1))
        on("enter", "c-j")(self.enter)  # what is typed ahead comes with the other
        on("backspace")(lambda event: self.write(self.text(self.at)[:-1]))
        on("delete", "c-u", "c-k")(lambda event: self.write(""))
        on("?", "f1")(lambda event: event.app.exit(result=("hint", self.at)))
        on("f2")(lambda event: event.app.exit(result=("task", self.at)))
        on("c-d")(self.check)
        on("c-c", "<sigint>")(lambda event: event.app.exit(exception=KeyboardInterrupt))
        on(Keys.BracketedPaste)(lambda event: self.paste(event.data))
        on(Keys.Any)(self.type)
        return found

    def enter(self, event: KeyPressEvent) -> None:
        """On to the next open cell; behind the last one, check."""
        if self.at == self.attempt.open[-1]:
            self.check(event)
        else:
            self.move(right=1)

    def check(self, event: KeyPressEvent) -> None:
        """Have it checked; where nothing is written that is said on the page, which stays."""
        self.nothing = not any(self.attempt.answers.values())
        if not self.nothing:
            event.app.exit(result=("check", self.at))

    def move(self, down: int = 0, right: int = 0) -> None:
        """To the next open cell that way, if there is one."""
        at = self.at
        while (following := moved(self.blocks, at, down, right)) != at:
            at = following
            if at in self.attempt.open:
                self.at, self.arrived = at, True
                return

    def type(self, event: KeyPressEvent) -> None:
        """Write behind what stands there, or in place of it where one has just arrived; not what a key is."""
        if not isinstance(event.key_sequence[-1].key, Keys):
            self.write(("" if self.arrived else self.text(self.at)) + event.data)

    def paste(self, text: str) -> None:
        """One number here, the others into the open cells that follow."""
        numbers = text.split()
        following = self.attempt.open[self.attempt.open.index(self.at) :]
        for cell, number in zip(following, numbers, strict=False):
            self.at = cell
            self.write(number)

    def write(self, text: str) -> None:
        """Put ``text`` into the cell one is at."""
        self.attempt.write(self.at, text)
        self.arrived = self.nothing = False

    def text(self, cell: str) -> str:
        """What stands in a cell."""
        return self.attempt.answers.get(cell, "")

    # what is seen

    def cursor(self) -> Point:
        """Where the cell one is at stands: its line is kept in sight."""
        return Point(*self.drawn()[1])

    def sheet(self) -> StyleAndTextTuples:
        """Every cell, in its line."""
        lines, _ = self.drawn()
        return [(f"class:{role}", text) for line in lines for role, text in (*line, ("", "\n"))]

    def drawn(self) -> tuple[list[list[Piece]], tuple[int, int]]:
        """The lines in the window as wide as it is, and where one is."""
        return sheet(self.attempt, self.blocks, self.at, _width())

    def told(self) -> StyleAndTextTuples:
        """The cell one is at in words, how its number is wanted, and the keys."""
        of = self.attempt.exercise.sheet
        cell = of[self.at]
        form = f": {cell.unit}{', ' * bool(cell.unit)}{asked_as(of, cell)}\n"
        keys = "\n".join(textwrap.wrap(KEYS, _width()))
        nothing = [("class:wrong", f"{NOTHING}\n")] * self.nothing
        return [*nothing, ("class:head", isolate(visible(cell.name))), ("", form), ("class:keys", keys)]


def _width() -> int:
    """How wide the window is now."""
    return max(get_app().output.get_size().columns, 1)
