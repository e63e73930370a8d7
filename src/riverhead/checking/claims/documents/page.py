"""A page: the text that claims are looked for in, and where each character of it stands in the source."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["Page", "Part", "Place", "Writer"]

LINE_END = re.compile(r"\r\n?|\n")  # what editors count; U+2028 is none of theirs


@dataclass(frozen=True, slots=True)
class Place:
    """A line and a column, both from 1; ``place`` is what lines count in: "cell 3", "" for a whole file."""

    line: int
    column: int
    place: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """Text out of one source that counts its own lines: a file, a cell of a notebook, an output of one.

    Piece i is the text from ``starts[i]`` on; it stands in the source from ``origins[i]`` on, character for
    character up to ``origins[i] + reaches[i]``: a reach of 0 is text that stands for that one place.
    """

    name: str
    source: str
    text: str
    starts: array[int]
    origins: array[int]
    reaches: array[int]
    lines: array[int]  # where each line of the source starts

    def where(self, offset: int) -> Place:
        """Return where the character at ``offset`` of this part's text stands."""
        piece = bisect_right(self.starts, offset) - 1
        origin = self.origins[piece] + min(offset - self.starts[piece], self.reaches[piece])
        line = bisect_right(self.lines, origin)
        return Place(line, origin - self.lines[line - 1] + 1, self.name)

    def line(self, number: int) -> str:
        """Return a line of the source, counted from 1, without its end."""
        end = self.lines[number] if number < len(self.lines) else len(self.source)
        return self.source[self.lines[number - 1] : end].rstrip("\r\n")


class Writer:
    """A part's text as it is put together, each stretch with the place in the source it came from."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.size = 0
        self.texts: list[str] = []
        self.starts, self.origins, self.reaches = array("Q"), array("Q"), array("Q")

    def keep(self, text: str, origin: int) -> None:
        """Add ``text``, whose characters stand in the source one by one from ``origin`` on."""
        self._add(text, origin, len(text))

    def write(self, text: str, origin: int) -> None:
        """Add ``text``, which stands for what is in the source at ``origin``."""
        self._add(text, origin, 0)

    def _add(self, text: str, origin: int, reach: int) -> None:
        if text:
            self.texts.append(text)
            self.starts.append(self.size)
            self.origins.append(origin)
            self.reaches.append(reach)
            self.size += len(text)

    @property
    def last(self) -> str:
        """The stretch added last, or nothing."""
        return self.texts[-1] if self.texts else ""

    def forget(self, n_stretches: int) -> None:
        """Take away all but the first ``n_stretches``."""
        if n_stretches < len(self.texts):
            self.size = self.starts[n_stretches]
            del self.texts[n_stretches:], self.starts[n_stretches:]
            del self.origins[n_stretches:], self.reaches[n_stretches:]

    def part(self, name: str = "") -> Part:
        """Return what was written."""
        if not self.texts:
            self.starts, self.origins, self.reaches = array("Q", [0]), array("Q", [0]), array("Q", [0])
        lines = array("Q", [0])
        lines.extend(match.end() for match in LINE_END.finditer(self.source))
        return Part(name, self.source, "".join(self.texts), self.starts, self.origins, self.reaches, lines)


@dataclass(frozen=True, slots=True)
class Page:
    """A document's ``text``, in parts that each count their own lines.

    >>> from riverhead.checking.claims.documents import read
    >>> page = read("<p>It is <b>2&times;3</b> = 6</p>", "html")
    >>> page.text.strip(), page.where(page.text.index("×"))
    ('It is 2×3 = 6', Place(line=1, column=14, place=''))
    """

    text: str
    parts: tuple[Part, ...]
    starts: tuple[int, ...]  # where each part's text starts in the page's

    @classmethod
    def of(cls, parts: Iterable[Part]) -> Page:
        """Return the page of these parts, an empty line between one and the next."""
        parts, starts, size = tuple(parts), [0], 0
        for part in parts:
            size += len(part.text) + len(GAP)
            starts.append(size)
        return cls(GAP.join(part.text for part in parts), parts, tuple(starts[: len(parts)]))

    def where(self, offset: int) -> Place:
        """Return where the character at ``offset`` of ``text`` stands, its end included."""
        if not 0 <= offset <= len(self.text):
            raise IndexError(
                f"offset {offset} is outside the page's text, which has {len(self.text)} characters"
            )
        if not self.parts:
            return Place(1, 1)
        number = bisect_right(self.starts, offset) - 1
        return self.parts[number].where(offset - self.starts[number])

    def source_line(self, line: int, place: str = "") -> str:
        """Return a line of the source as it stands there, counted from 1, without its end."""
        for part in self.parts:
            if part.name == place and 1 <= line <= len(part.lines):
                return part.line(line)
        raise IndexError(f"the page has no line {line}" + (f" in {place}" if place else ""))


GAP = "\n\n"
