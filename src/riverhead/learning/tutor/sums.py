"""Sums checked while a reply streams: text is given out as it comes, each sum with what is true of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from riverhead.checking.claims.checked import claims_on, page_of
from riverhead.learning.tutor.events import Sum, Text

__all__ = ["Sums"]

MAY_CLAIM = re.compile(r"[\d½¼¾⅓⅔…=≈≠→]")  # from here on a sentence is held until it ends
GOES_ON = r"[\s$&*`>|\\\[(]{0,40}(?:[=≈≠+×·÷/→⇒~]|\\approx|-+>|\\?\Z)"  # what a sum before it goes on with
SENTENCE_END = re.compile(
    r"(?<=\S)(?:[.!?;][\"'”’)\]*_`]{0,4}\s++|[^\S\n]*+\n\s*+)(?=\S)" + rf"(?!{GOES_ON})"
)
SPACE = re.compile(r"\s")
MOST_HELD = 2_000  # characters; a sentence that is longer is given out in pieces
SHARE = 16  # at most a part in so many of the text is new when it is checked again: linear in all


class Sums:
    """Takes a reply as it comes and gives it out again, character for character, its sums checked.

    From the first digit on a sentence is held until it ends; then everything so far is checked, for a sum may
    use what was said before. ``given`` is text that the reply may build on ("q_bank = (2, 1)"): it binds
    names, and is given out nowhere. What the text to come changes is said late; at the end ``found`` is
    exactly what `riverhead.check.claims` finds in the whole.

    >>> sums = Sums()
    >>> out = [event for part in ("So 2·2 + ", "1·0 = 5. Is ", "it?") for event in sums.feed(part)]
    >>> [event.text for event in out], [event.shown for event in out if isinstance(event, Sum)]
    (['So ', '2·2 + 1·0 = 5', '2·2 + 1·0 = 5', '. ', 'Is ', 'it?'], ['4'])
    >>> list(sums.close()), sums.reply
    ([], 'So 2·2 + 1·0 = 5. Is it?')
    """

    def __init__(self, given: str = "") -> None:
        self.given = given + "\n\n"
        self.reply = ""
        self.found: dict[tuple[int, int], Sum] = {}  # by start and end in the reply
        self._out = 0  # up to here the reply has been given out
        self._checked = 0  # and up to here checked

    def feed(self, text: str) -> Iterator[Text | Sum]:
        """Take more of the reply; yield what can be given out."""
        self.reply += text
        yield from self._words()
        end = self._last_end()
        if end - self._checked >= len(self.reply) / SHARE and end > self._out:
            yield from self._check(end)
            yield from self._words()

    def flush(self) -> Iterator[Text | Sum]:
        """Yield all that is held: nothing more comes before something else is shown."""
        if self._out < len(self.reply):
            yield from self._check(len(self.reply))

    def close(self) -> Iterator[Text | Sum]:
        """Yield the rest, and what the whole text made of sums that it cut off or took back."""
        yield from self.flush()
        whole = {(one.start, one.end): one for one in self._sums(len(self.reply))}
        for place, one in self.found.items():
            if place not in whole:
                yield replace(one, standing="withdrawn", exact=None, cause="", late=True)
        for place, one in whole.items():
            if one != self.found.get(place):
                yield replace(one, late=True)
        self.found = whole

    def _words(self) -> Iterator[Text]:
        """Give out what claims nothing: up to the first sign that a sum may have."""
        found = MAY_CLAIM.search(self.reply, self._out)
        end = found.start() if found else len(self.reply)
        if end > self._out:
            yield self._given_out(end)

    def _given_out(self, end: int) -> Text:
        start, self._out = self._out, end
        return Text(self.reply[start:end])

    def _last_end(self) -> int:
        """Where the last sentence ends that is there as a whole; of one that is too long a piece."""
        end = -1
        for match in SENTENCE_END.finditer(self.reply, self._out):
            end = match.end()
        if end < 0 and len(self.reply) - self._out > MOST_HELD:
            spaces = [match.end() for match in SPACE.finditer(self.reply, self._out)]
            end = spaces[-1] if spaces else len(self.reply)
        return end

    def _check(self, end: int) -> Iterator[Text | Sum]:
        """Give out the text up to ``end`` with the sums that are new in it, each mark where its sum ends."""
        for one in self._sums(end):
            place = (one.start, one.end)
            if place in self.found:
                continue
            self.found[place] = one
            late = one.end < self._out
            if one.end > self._out:
                yield self._given_out(one.end)
            yield replace(one, late=late)
        if end > self._out:
            yield self._given_out(end)
        self._checked = end

    def _sums(self, end: int) -> list[Sum]:
        """Every sum of the reply up to ``end``, by where they end."""
        page = page_of(self.given + self.reply[:end], "markdown")
        lines, before = page.parts[0].lines, len(self.given)
        sums = []
        for claim in claims_on(page):
            start = lines[claim.line - 1] + claim.column - 1 - before
            stop = lines[claim.end_line - 1] + claim.end_column - 1 - before
            if start >= 0:
                sums.append(Sum.of(claim, start, stop))
        return sorted(sums, key=lambda one: (one.end, one.start))
