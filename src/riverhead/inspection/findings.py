"""What the three questions found, as plain data, and the sheet that shows it."""

from __future__ import annotations

import json
from dataclasses import dataclass

from riverhead.display import Displayable
from riverhead.inspection.words import Word
from riverhead.numbers import fixed
from riverhead.scene import Cell, Part, Scene, Table, Text

__all__ = ["Finding", "Findings", "excerpt", "quoted"]

EXCERPT = 240  # characters of a text above a table


@dataclass(frozen=True, slots=True)
class Finding:
    """One head's weight from the query word to the key word, and what chance and the place alone would give.

    ``swap_noun`` is the noun that got ``swap_max``; all three of swap are None where no noun fits.
    ``if_off_nats`` is how far the next-token odds move without the head. A model that predicts no next token
    has none, but ``if_off_vector_change``: ‖x′ − x‖ / ‖x‖ of a token's final vector, the tokens' mean.
    ``label``, ``says`` and ``finding`` follow from the thresholds in labels.toml.
    """

    head: str
    weight: float
    habit: float
    swap_mean: float | None
    swap_max: float | None
    swap_noun: str | None
    if_off_nats: float | None
    label: str
    says: str
    finding: bool
    if_off_vector_change: float | None = None

    @property
    def score(self) -> float:
        """What the weight has beyond the larger of habit and mean swap: the order of the heads."""
        return self.weight - max(self.habit, self.habit if self.swap_mean is None else self.swap_mean)


@dataclass(frozen=True)
class Findings(Displayable):
    """The heads of ``rows``, by score, looking from the word ``query`` to the word ``key`` in a text.

    ``head`` is the one to derive: the one asked for, or the first. ``next_token`` holds the likeliest next
    tokens with their probabilities, none of a model that predicts none; ``nouns`` are those that stood in the
    key's place, ``notes`` say what was decided on the way.
    """

    model: str
    text: str
    tokens: tuple[str, ...]
    query: Word
    key: Word
    head: str
    rows: tuple[Finding, ...]
    next_token: tuple[tuple[str, float], ...]
    nouns: tuple[str, ...]
    notes: tuple[str, ...]

    def scene(self) -> Scene:
        """Lay out the table of heads, the notes and the next tokens."""
        off = "if off" if self.next_token else "vectors"
        columns = (f"{self.query.text} → {self.key.text}", "weight", "habit", "swap", off, "")
        places = [row.head for row in self.rows]
        table = Table(columns, tuple(map(_cells, self.rows)), self.text, focus=places.index(self.head))
        notes: list[Part] = [Text((note,), role="note") for note in self.notes]
        return Scene(f"A real model: {self.model}", (table, *notes, self._next()))

    def _next(self) -> Text:
        if not self.next_token:
            return Text(("Next token: none, as the model predicts none",))
        odds = (f"{quoted(token)} {fixed(p, 2)}" for token, p in self.next_token)
        return Text(("Next token: " + "   ".join(odds),))


def quoted(token: str) -> str:
    """Put a token in quotes; one that spells part of a character has its escapes already."""
    quoted = json.dumps(token, ensure_ascii=False)
    return quoted.replace("\\\\", "\\")


def excerpt(text: str) -> str:
    """Put a text on one line: of a long one the beginning, and how long it is.

    >>> excerpt("a\\n b"), excerpt("river " * 60)[-33:]
    ('a b', 'er river river … (359 characters)')
    """
    line = " ".join(text.split())
    return line if len(line) <= EXCERPT else f"{line[:EXCERPT].rstrip()} … ({len(line):,} characters)"


def _cells(row: Finding) -> tuple[Cell, ...]:
    swap = "—" if row.swap_mean is None else fixed(row.swap_mean)
    moved = row.if_off_vector_change if row.if_off_nats is None else row.if_off_nats
    off = "—" if moved is None else fixed(moved)
    return (row.head, fixed(row.weight), fixed(row.habit), swap, off, row.says)
