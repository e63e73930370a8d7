"""A lesson in a terminal: section by section, a pause where one thinks first, exercises in their places."""

from __future__ import annotations

from typing import TYPE_CHECKING

from riverhead.cli.learn_data import keeping, opened
from riverhead.cli.opening import working
from riverhead.cli.screen import Screen
from riverhead.learning.lessons import Pause, Try
from riverhead.scene import Part, Table, Text

if TYPE_CHECKING:
    from riverhead.learning.lessons import Bench, Item, Lesson, Section

__all__ = ["read"]

KEYS = "Enter goes on · b back · ? the sections · q leaves, your place is kept"


def read(lesson: Lesson, bench: Bench, start: int | None = None, again: bool = False) -> None:
    """Read ``lesson`` from the section ``start``, or from where it was left unless ``again``."""
    reader = Reader(lesson, bench)
    try:
        try:
            at = reader.begin(start, again)
        except Turn as turn:
            at = turn.to
        while at < len(lesson.sections):
            try:
                reader.section(at)
                at += 1
            except Turn as turn:
                at = turn.to
        reader.end()
    except Left:
        reader.leave()


class Turn(Exception):  # noqa: N818 - no error: the page is turned
    """To another section, by its index."""

    def __init__(self, to: int) -> None:
        self.to = to


class Left(Exception):  # noqa: N818
    """The reader goes."""


class Reader:
    """One reading of a lesson; the section one is at is kept as soon as it is opened."""

    def __init__(self, lesson: Lesson, bench: Bench) -> None:
        self.lesson, self.bench = lesson, bench
        self.progress = opened()
        self.screen = Screen(self.heed)
        self.at = 0

    def begin(self, start: int | None, again: bool) -> int:
        """Greet, and return the index of the section to begin with."""
        lesson, kept = self.lesson, self._kept()
        at = start if start is not None else 0 if again else kept
        title = f"{lesson.number}  {lesson.title}"
        if at:
            words = f"On with section {at + 1} of {len(lesson.sections)}; --again begins at the first."
            self.screen.show(Text((words,), "note"), title=title)
            return at
        self.screen.show(
            Text((lesson.question,), "heading"),
            Text((self.bench.words(lesson.answer, lesson.sections[0].given),)),
            Text(("Afterwards you can",), "heading"),
            *(Text((f"– {outcome}",)) for outcome in lesson.outcomes),
            Text((f"{len(lesson.sections)} sections. {KEYS}.",), "note"),
            title=title,
        )
        self.ask("Enter begins")
        return 0

    def _kept(self) -> int:
        """The section that was reached last; the first one of a lesson that is finished, or was rewritten."""
        ids = [section.id for section in self.lesson.sections]
        place = self.progress.place(self.lesson.number)
        done = self.lesson.number in self.progress.finished()
        return ids.index(place) if place in ids and not (done and place == ids[-1]) else 0

    def section(self, at: int) -> None:
        """Show a section to its end, and wait there."""
        section, self.at = self.lesson.sections[at], at
        self._reached(at)
        sitting = [Text((section.sitting,), "heading")] * (section.sitting != self._sitting(at - 1))
        heading = Text((f"{at + 1}/{len(self.lesson.sections)}  {section.title}",), "heading")
        self._items([*sitting, heading, *self._made(section)])
        if at + 1 < len(self.lesson.sections):
            if self._sitting(at + 1) != section.sitting:
                self.screen.show(Text((f"So far “{section.sitting}”: a good place to rest.",), "note"))
            following = self.lesson.sections[at + 1].title
            try:
                self.ask(f"Enter: {following}")
            except Left:  # this one was read
                self._reached(at + 1)
                raise

    def _made(self, section: Section) -> list[Item]:
        """The items of a section; what a real model takes a while for is said meanwhile."""
        if section is self.lesson.sections[-1]:
            self.bench.model  # noqa: B018 - it may ask whether to fetch it
        with working():
            return self.bench.items(section)

    def _items(self, items: list[Item]) -> None:
        parts: list[Part] = []
        for item in items:
            if not isinstance(item, Pause | Try):
                parts.append(item)
                continue
            if isinstance(item, Pause):
                self.screen.show(*parts)
                self.screen.show(Text((item.question,)))
                self.think()
            else:
                self.screen.show(*parts)
                self._exercise(item)
            parts = []
        self.screen.show(*parts)

    def _exercise(self, item: Try) -> None:
        """Offer an exercise, and work it here."""
        from riverhead.cli.learn_exercise import drawn
        from riverhead.cli.learn_work import work
        from riverhead.learning.exercises import fresh, kinds

        self.screen.show(Text((f"Exercise: {kinds()[item.kind].title}",), "heading"))
        if self.ask("Enter works it · s skips", others=("s",)) != "s":
            work(fresh(item.kind, item.seed) if item.seed else drawn(item.kind), self.progress, self.screen)

    def _sitting(self, at: int) -> str:
        return self.lesson.sections[at].sitting if at >= 0 else ""

    def _reached(self, at: int, done: bool = False) -> None:
        with keeping():
            self.progress.reached(self.lesson.number, self.lesson.sections[at].id, done)

    def think(self) -> None:
        """Wait for an answer: any words, a lone b or q too; only ? is none, and comes back here."""
        while (typed := self.screen.ask("Think first; then Enter")) == "?":
            self._contents()
        if typed is None:
            raise Left

    def ask(self, prompt: str, others: tuple[str, ...] = ()) -> str:
        """Wait for Enter or one of ``others``; what turns the page is heeded."""
        while True:
            typed = self.screen.ask(prompt)
            self.heed(typed)
            if not typed or typed.lower() in others:
                return (typed or "").lower()
            if typed != "?":
                self.screen.show(Text((KEYS,), "note"))

    def heed(self, typed: str | None) -> None:
        """Turn the page, list the sections, or leave, where that was typed."""
        if typed is None or typed.lower() == "q":
            raise Left
        if typed.lower() == "b":
            raise Turn(max(self.at - 1, 0))
        if typed == "?":
            self._contents()

    def _contents(self) -> None:
        """List the sections, and go to the one that is chosen."""
        marks = [("▸" if n == self.at else "") for n in range(len(self.lesson.sections))]
        rows = [
            (mark, f"{n}", section.title)
            for n, (mark, section) in enumerate(zip(marks, self.lesson.sections, strict=True), 1)
        ]
        self.screen.show(Table(("", "", "section"), tuple(rows)))
        typed = self.screen.ask("A number goes there · Enter stays")
        if typed is None or typed.lower() == "q":
            raise Left
        if typed in (numbers := [row[1] for row in rows]):
            raise Turn(numbers.index(typed))

    def end(self) -> None:
        """The lesson is finished: what one can do now, and what comes next."""
        from riverhead.learning.exercises import kinds
        from riverhead.learning.lessons import lessons

        self._reached(len(self.lesson.sections) - 1, done=True)
        number, following = self.lesson.number, self.lesson.number + 1
        more = [(f"riverhead learn exercise {kind}", kinds()[kind].title) for kind in self.lesson.tested_by]
        titles = {each.number: each.title for each in lessons()}
        if following in titles:
            more.append((f"riverhead learn {following}", titles[following]))
        self.screen.show(
            Text((f"Lesson {number} is finished. You can",), "heading"),
            *(Text((f"– {outcome}",)) for outcome in self.lesson.outcomes),
            Text(("Next",), "heading"),
            Table(("", ""), tuple(more)),
        )

    def leave(self) -> None:
        """Say how to come back."""
        words = f"Your place is kept: riverhead learn {self.lesson.number} goes on from there."
        self.screen.show(Text((words,), "note"))
