"""A formula as native MathML, which browsers draw and read aloud without any script."""

from __future__ import annotations

from riverhead.numbers import Number
from riverhead.render.markup import raw, tag
from riverhead.render.plain import PRIME, flat, loose, spaced
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

__all__ = ["mathml"]


def mathml(node: Math, display: bool = False) -> str:
    """Return ``node`` as a ``<math>`` element, as tall as on a line of its own if ``display``.

    >>> from riverhead.scene import Sub, Symbol
    >>> mathml(Sub(Symbol("d"), Symbol("k")))
    '<math><msub><mi>d</mi><mi>k</mi></msub></math>'
    """
    return tag("math", MathML().walk(node), displaystyle="true" if display else None)


def _primed(base: str, primes: int) -> str:
    return tag("msup", base, tag("mo", PRIME * primes)) if primes else base


def _bracketed(inside: str) -> str:
    """Parentheses, which grow only around what is tall: where they need not, they keep closer."""
    grow = None if "<mfrac>" in inside else "false"
    return tag("mrow", tag("mo", "(", stretchy=grow), inside, tag("mo", ")", stretchy=grow))


class MathML(Walker[str]):
    """One element a node."""

    def symbol(self, node: Symbol) -> str:
        """A variable; a single letter is drawn italic."""
        return _primed(tag("mi", raw(node.name)), node.primes)

    def word(self, node: Word) -> str:
        """Upright text."""
        return tag("mtext", raw(node.text) + PRIME * node.primes)

    def number(self, node: Number) -> str:
        """A number as it is printed."""
        return tag("mn", raw(node.text))

    def operator(self, node: Operator) -> str:
        """A sign; the browser knows its spacing."""
        return tag("mo", raw(node.sign))

    def row(self, node: Row) -> str:
        """Nodes in a row, with a space where words would run together."""
        items, line = flat(node), ""
        for at, item in enumerate(items):
            if isinstance(item, Operator):
                between = at > 0 or item.sign not in "+−"
                line += tag("mo", raw(item.sign), form="infix" if between else None)
                continue
            touch = at > 0 and not isinstance(items[at - 1], Operator)
            line += tag("mspace", width="0.25em") if touch and spaced(items, at) else ""
            line += self.walk(item)
        return tag("mrow", line)

    def sub(self, node: Sub) -> str:
        """An index."""
        return tag("msub", self.base(node.base), self.walk(node.index))

    def power(self, node: Power) -> str:
        """An exponent."""
        return tag("msup", self.base(node.base), self.walk(node.exponent))

    def base(self, node: Math) -> str:
        """What carries an index or an exponent."""
        return _bracketed(self.walk(node)) if loose(node) else self.walk(node)

    def fraction(self, node: Fraction) -> str:
        """A fraction."""
        return tag("mfrac", self.walk(node.top), self.walk(node.bottom))

    def root(self, node: Root) -> str:
        """A square root."""
        return tag("msqrt", self.walk(node.of))

    def vector(self, node: Vector) -> str:
        """Components in parentheses."""
        return _bracketed(tag("mo", ",").join(map(self.walk, node.items)))

    def call(self, node: Call) -> str:
        """A function of one argument; U+2061 says to screen readers that it is applied."""
        name = tag("mi", raw(node.name))
        return tag("mrow", name, tag("mo", "\u2061"), _bracketed(self.walk(node.argument)))
