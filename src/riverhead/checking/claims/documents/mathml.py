"""MathML, read as one line of LaTeX."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from riverhead.checking.claims.documents.page import Writer

__all__ = ["LAYOUT", "Formula"]

# What stands before the first child, before each of the next, and behind the last.
PLACES = {
    "mfrac": (r"\frac{", "}{", "}"),
    "mroot": ("(", ")^{1/(", ")}"),
    "msup": ("", "^{", "}"),
    "msub": ("", "_{", "}"),
    "munder": ("", "_{", "}"),
    "mover": ("", ""),
    "msubsup": ("", "_{", "}^{", "}"),
    "munderover": ("", "_{", "}^{", "}"),
}
# What stands before the first child, between any two, and behind the last.
LISTS = {
    "msqrt": (r"\sqrt{", "", "}"),
    "mtable": (r"\begin{bmatrix}", r" \\ ", r"\end{bmatrix}"),
    "mtr": ("", " & ", ""),
    "mlabeledtr": ("", " & ", ""),
}
LINES = ("", "\n", "")  # a table that only aligns equations
LAYOUT = {*PLACES, *LISTS, "mfenced", "mrow", "mstyle", "mpadded", "menclose", "merror", "semantics", "mtd"}
WORDS = {"mtext", "ms", "annotation"}  # their spaces count
LEAVES = WORDS | {"mi", "mn", "mo", "mspace"}
NOT_SHOWN = {"mphantom", "annotation-xml", "maction"}
LAYOUT |= LEAVES | NOT_SHOWN

OPENING, CLOSING = "[(", "])"
TEX = "application/x-tex"
ATTRIBUTE = re.compile(r"""\s(open|close|separators)\s*=\s*(?:"([^"]*)"|'([^']*)')""")


@dataclass(slots=True)
class Element:
    """An element that is open: its ``texts`` as in `PLACES`, or as in `LISTS` if ``repeated``."""

    tag: str
    texts: tuple[str, ...] = ("", "", "")
    repeated: bool = True
    fenced: bool = False
    n_children: int = 0

    def before_child(self) -> str:
        self.n_children += 1
        if self.repeated:
            return self.texts[1] if self.n_children > 1 else ""
        return self.texts[self.n_children - 1] if 1 < self.n_children < len(self.texts) else ""

    def behind(self) -> str:
        if self.repeated:
            return self.texts[2]
        return "".join(self.texts[max(1, min(self.n_children, len(self.texts) - 1)) :])


class Formula:
    """One ``<math>`` on its way into ``writer``; ``skip`` leaves out all of the element that has just begun.

    TeX that stands beside it as an annotation takes the place of everything else.
    """

    def __init__(self, writer: Writer, skip: Callable[[str], None]) -> None:
        self.writer, self.skip = writer, skip
        self.before = len(writer.texts)
        self.open: list[Element] = []
        self.n_open: Counter[str] = Counter()
        self.fence_is_open = False  # a matrix has just ended whose bracket was taken away
        self.tex: bool | None = None  # True inside the annotation, False once it was read

    def start(self, tag: str, attributes: str, at: int) -> None:
        """Begin an element."""
        parent = self.open[-1] if self.open else None
        if tag == "annotation" and TEX in attributes and self.tex is None:
            self.writer.forget(self.before)
            self.tex = True
        elif (
            tag in NOT_SHOWN
            or tag == "annotation"
            or (parent and parent.tag == "mover" and parent.n_children == 1)
        ):
            self.skip(tag)
            return
        elif parent:
            self._write(parent.before_child(), at)
        element = self._element(tag, attributes)
        self._write(element.texts[0], at)
        if tag == "mspace":
            self._write(" ", at)
        self.open.append(element)
        self.n_open[tag] += 1

    def end(self, tag: str, at: int) -> None:
        """End an element, and those inside it that were left open."""
        while self.n_open[tag]:
            element = self.open.pop()
            self.n_open[element.tag] -= 1
            self._write(element.behind(), at)
            self.fence_is_open |= element.fenced
            if element.tag == "annotation" and self.tex:
                self.tex = False
            if element.tag == tag:
                break

    def close(self, at: int) -> None:
        """End the formula."""
        while self.open:
            self.end(self.open[-1].tag, at)

    def text(self, text: str, origin: int, *, verbatim: bool) -> None:
        """Add what a token of the formula shows."""
        if self.tex is False or not self.open or self.open[-1].tag not in LEAVES:
            return
        leaf, last = self.open[-1].tag, self.writer.last
        shown = text if leaf in WORDS else text.strip()
        if not shown:
            return
        bracket_is_gone, self.fence_is_open = self.fence_is_open, False
        if bracket_is_gone and leaf == "mo" and shown in CLOSING:
            return
        if last[-1:].isalnum() and shown[0].isalnum() and (leaf == "mn" or len(last) > 1 or len(shown) > 1):
            self.writer.write(" ", origin)
        if verbatim:
            self.writer.keep(shown.replace("\n", " "), origin + text.index(shown))
        else:
            self.writer.write(shown, origin)

    def _element(self, tag: str, attributes: str) -> Element:
        if tag == "mfenced":
            given = {name: double or single for name, double, single in ATTRIBUTE.findall(attributes)}
            comma = given.get("separators", ",").strip()[:1]
            return Element(tag, (given.get("open", "("), comma, given.get("close", ")")))
        if tag == "mtable":
            return self._table(attributes)
        if tag in PLACES:
            return Element(tag, PLACES[tag], repeated=False)
        return Element(tag, LISTS.get(tag, ("", "", "")))

    def _table(self, attributes: str) -> Element:
        """Return a matrix, its brackets taken away, or the lines of an aligned equation."""
        last = self.writer.last
        fenced = len(last) == 1 and last in OPENING and len(self.writer.texts) > self.before
        if fenced:
            self.writer.forget(len(self.writer.texts) - 1)
        aligned = not fenced and ("right" in attributes or last == "{")
        return Element("mtable", LINES if aligned else LISTS["mtable"], fenced=fenced)

    def _write(self, text: str, at: int) -> None:
        if text and self.tex is None:
            self.writer.write(text, at)
