"""Words and formulas as runs of styled letters, measured without a font and folded into lines, for SVG."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import groupby

from rich.cells import cell_len

from riverhead.numbers import Number
from riverhead.render.letters import visible
from riverhead.render.plain import PRIME, flat, loose, pieces, product, spaced
from riverhead.render.walk import Walker
from riverhead.scene import (
    Call,
    Fraction,
    Math,
    Operator,
    Power,
    Root,
    Row,
    Sub,
    Symbol,
    Vector,
    Word,
)

__all__ = ["Glyphs", "Run", "Runs", "flow", "runs_of", "width"]

SMALL = 0.74  # letters of an index, beside 1


@dataclass(frozen=True, slots=True)
class Run:
    """Visible letters of one style; ``rise`` (in em) and ``scale`` make indices and exponents."""

    text: str
    italic: bool = False
    rise: float = 0.0
    scale: float = 1.0


Runs = tuple[Run, ...]


class Glyphs(Walker[Runs]):
    """A formula on one line, with true indices and exponents."""

    def symbol(self, node: Symbol) -> Runs:
        """A letter in italics; a longer name upright."""
        return (Run(visible(node.name), italic=len(node.name) == 1), *_upright(PRIME * node.primes))

    def word(self, node: Word) -> Runs:
        """Upright text."""
        return _upright(visible(node.text) + PRIME * node.primes)

    def number(self, node: Number) -> Runs:
        """A number as it is printed."""
        return _upright(visible(node.text))

    def operator(self, node: Operator) -> Runs:
        """A sign."""
        return _upright(visible(node.sign))

    def row(self, node: Row) -> Runs:
        """Nodes in a row."""
        line: list[Run] = []
        items = flat(node)
        for at, item in enumerate(items):
            line += _upright(" ") if at and spaced(items, at) else ()
            line += self.walk(item)
        return tuple(line)

    def sub(self, node: Sub) -> Runs:
        """An index, lowered."""
        return (*self.tight(node.base), *_shifted(self.walk(node.index), -0.22))

    def power(self, node: Power) -> Runs:
        """An exponent, raised."""
        return (*self.tight(node.base), *_shifted(self.walk(node.exponent), 0.4))

    def fraction(self, node: Fraction) -> Runs:
        """A fraction, with a slash."""
        top = self.walk(node.top) if product(node.top) else self.tight(node.top)
        return (*top, *_upright("/"), *self.tight(node.bottom))

    def root(self, node: Root) -> Runs:
        """A square root."""
        return (*_upright("√"), *self.tight(node.of))

    def vector(self, node: Vector) -> Runs:
        """Components in parentheses."""
        inside = [run for item in node.items for run in (*_upright(", "), *self.walk(item))][1:]
        return (*_upright("("), *inside, *_upright(")"))

    def call(self, node: Call) -> Runs:
        """A function of one argument."""
        return (*_upright(f"{visible(node.name)}("), *self.walk(node.argument), *_upright(")"))

    def tight(self, node: Math) -> Runs:
        """``node`` as one piece."""
        return (*_upright("("), *self.walk(node), *_upright(")")) if loose(node) else self.walk(node)


def _upright(text: str) -> Runs:
    return (Run(text),) if text else ()


def _shifted(runs: Runs, rise: float) -> Iterable[Run]:
    return (replace(run, rise=rise + run.rise * SMALL, scale=run.scale * SMALL) for run in runs)


def runs_of(run: str | Math) -> Runs:
    """Return words or a formula as runs."""
    return _upright(visible(run)) if isinstance(run, str) else Glyphs().walk(run)


_NARROW, _BROAD = frozenset("iljtfrI.,:;'|!()[]{}/·-′ "), frozenset("mwMW@%—…")


def width(runs: Iterable[Run]) -> float:
    """Return how wide the runs are, in em: a little more than in the usual sans-serif fonts.

    >>> round(width([Run("0.539")]), 2), round(width([Run("日本")]), 2)
    (2.98, 2.2)
    """
    return sum(run.scale * sum(map(_advance, run.text)) for run in runs)


def _advance(char: str) -> float:
    if char in _NARROW:
        return 0.42
    if char in _BROAD:
        return 1.0
    return cell_len(char) * (0.55 if cell_len(char) == 2 else 0.74 if char.isupper() else 0.64)


def flow(runs: tuple[str | Math, ...], room: float) -> list[Runs]:
    """Return words and formulas as lines of at most ``room`` em, cut at spaces and signs where it can be."""
    lines: list[list[Run]] = [[]]
    for before, chunk in _chunks(runs, room):
        glue = _upright(" ") if before and lines[-1] else ()
        if lines[-1] and width((*lines[-1], *glue, *chunk)) > room:
            lines.append(list(chunk))
        else:
            lines[-1] += (*glue, *chunk)
    return [_joined(line) for line in lines]


def _joined(line: list[Run]) -> Runs:
    """Neighbours of one style as one run, so that words which run from right to left stay in order."""
    styles = groupby(line, key=lambda run: replace(run, text=""))
    return tuple(replace(style, text="".join(run.text for run in runs)) for style, runs in styles)


def _chunks(runs: tuple[str | Math, ...], room: float) -> list[tuple[bool, Runs]]:
    """What stays together, and whether a space stands before it."""
    found: list[tuple[bool, Runs]] = []
    space = True
    for run in runs:
        if isinstance(run, str):
            parts = [_upright(word) for word in visible(run).split(" ")]
        else:
            parts = [_begun(Glyphs().walk(piece)) for piece in pieces(run, 0)]
        for at, shown in enumerate(parts):
            space = space or at > 0
            if shown and (space or not found):
                found.append((True, shown))
            elif shown:
                found[-1] = (found[-1][0], (*found[-1][1], *shown))
            space = space and not shown
    return [(space and not n, cut) for space, chunk in found for n, cut in enumerate(_cut(chunk, room))]


def _begun(runs: Runs) -> Runs:
    """A piece of a formula without the space before the sign that it begins with."""
    return runs[1:] if runs[:1] == _upright(" ") else runs


def _cut(chunk: Runs, room: float) -> list[Runs]:
    """A chunk in pieces that fit ``room``, letter by letter where it must be."""
    if width(chunk) <= room:
        return [chunk]
    lines: list[list[Run]] = [[]]
    used = 0.0
    for letter in (replace(run, text=char) for run in chunk for char in run.text):
        step = width([letter])
        if used and used + step > room:
            lines, used = [*lines, []], 0.0
        used += step
        lines[-1].append(letter)
    return [_joined(line) for line in lines]
