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
BEFORE = -1  # the index of the greeting, a page before the first section


def read(lesson: Lesson, bench: Bench, start: int | None = None, again: bool = False) -> None:
    """Read ``lesson`` from the section ``start``, or from where it was left unless ``again``."""
    reader = Reader(lesson, bench)
    at = BEFORE
    try:
        while at <= len(lesson.sections):
            try:
                at = reader.begin(start, again) if at == BEFORE else reader.page(at)
            except Turn as turn:
                at = turn.to
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
        self.solved = False  # an exercise, in this reading
        self.skipped: dict[tuple[int, str], None] = {}  # sections and kinds of exercises, in their order

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

    def page(self, at: int) -> int:
        """Show a section, or behind the last one the end; return the index of what follows."""
        self.at = at
        if at < len(self.lesson.sections):
            self.section(at)
        else:
            self.end()
        return at + 1

    def section(self, at: int) -> None:
        """Show a section to its end, and wait there."""
        section = self.lesson.sections[at]
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
        place = self.at, item.kind
        if self.ask("Enter works it · s skips", others=("s",)) == "s":
            self.skipped[place] = None
            return
        self.skipped.pop(place, None)
        found = fresh(item.kind, item.seed) if item.seed else drawn(item.kind)
        self.solved |= work(found, self.progress, self.screen)

    def _sitting(self, at: int) -> str:
        return self.lesson.sections[at].sitting if at >= 0 else ""

    def _reached(self, at: int, done: bool = False) -> None:
        with keeping():
            self.progress.reached(self.lesson.number, self.lesson.sections[at].id, done)

    def think(self) -> None:
        """Wait for an answer: any words, a lone b or q too; only ? is none, and comes back here."""
        while (typed := self.screen.ask("Think first; then Enter (Ctrl-D leaves)")) == "?":
            self._contents()
        if typed is None:
            raise Left

    def ask(self, prompt: str, others: tuple[str, ...] = ()) -> str:
        """Wait for Enter or one of ``others``; what turns the page is heeded."""
        while True:
            typed = self.screen.ask(prompt)
            stays = self.heed(typed)
            if not typed or typed.lower() in others:
                return (typed or "").lower()
            if not stays:
                self.screen.show(Text((KEYS,), "note"))

    def heed(self, typed: str | None) -> bool:
        """Turn the page, list the sections, or leave, where that was typed; return whether one stays."""
        if typed is None or typed.lower() == "q":
            raise Left
        if typed.lower() == "b":
            raise Turn(max(self.at - 1, 0))
        if typed == "?":
            self._contents()
        return typed == "?"

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
        """The lesson is finished: what was skipped, what one can do or has read, and what comes next."""
        from riverhead.learning.exercises import kinds
        from riverhead.learning.lessons import lessons

        self._reached(len(self.lesson.sections) - 1, done=True)
        number, following = self.lesson.number, self.lesson.number + 1
        skipped = list(dict.fromkeys(kind for _, kind in self.skipped))
        still = [kind for kind in self.lesson.tested_by if kind not in skipped]
        rows = [(f"riverhead learn exercise {kind}", kinds()[kind].title) for kind in [*skipped, *still]]
        more = rows[len(skipped) :]
        titles = {each.number: each.title for each in lessons()}
        if following in titles:
            more.append((f"riverhead learn {following}", titles[following]))
        said = "You can" if self._shown() else "You have read how to"
        parts: list[Part] = [Text((f"Lesson {number} is finished. {said}",), "heading")]
        parts += [Text((f"– {outcome}",)) for outcome in self.lesson.outcomes]
        if skipped:
            count = len(self.skipped)
            words = f"{count} exercises were skipped" if count > 1 else "1 exercise was skipped"
            parts += [Text((words,), "heading"), Table(("", ""), tuple(rows[: len(skipped)]))]
        if more:
            parts += [Text(("Next",), "heading"), Table(("", ""), tuple(more))]
        self.screen.show(*parts)

    def _shown(self) -> bool:
        """Whether an exercise of the lesson was solved: now, or before and right at the first check."""
        tried = self.progress.export()["attempts"]
        return self.solved or any(
            each["kind"] in self.lesson.tested_by and each["score"] == 1 for each in tried
        )

    def leave(self) -> None:
        """Say how to come back."""
        words = f"Your place is kept: riverhead learn {self.lesson.number} goes on from there."
        self.screen.show(Text((words,), "note"))
