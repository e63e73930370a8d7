"""HTML, and the HTML inside Markdown, read as the text that a browser shows.

The tokens come from one regular expression whose every repetition is possessive, so that no input takes
more than linear time, and each token has its place. ``html.parser`` gives neither: until Python 3.11.14 an
unclosed tag costs it quadratic time, and it does not say where in a stretch of text an entity stands.
"""

from __future__ import annotations

import re
from html import unescape

from riverhead.checking.claims.documents.mathml import LAYOUT, Formula
from riverhead.checking.claims.documents.page import Part, Writer
from riverhead.checking.claims.documents.plain import MEANT
from riverhead.checking.claims.documents.tags import BLOCKS, KNOWN, NOT_SHOWN, RAW, SCRIPTS, TABLE, VOID

__all__ = ["html", "markup"]

VALUE = r"""(?:"[^"]*+"|'[^']*+'|[^\s"'=<>`]++)"""
ATTRIBUTES = rf"""(?:\s++[^\s"'<>/=]++(?:\s*+=\s*+{VALUE})?+)*+"""
TOKEN = re.compile(
    rf"<(?P<end>/?+)(?P<tag>[A-Za-z][\w:.-]*+)(?:(?P<attributes>{ATTRIBUTES})\s*+(?P<empty>/?+)>|(?P<loose>[^<>]*+)>)"
    r"|(?P<comment><!--)"
    r"|<[!?][^<>]*+>"
    r"|(?P<entity>&(?:\#[0-9]{1,8}+|\#[xX][0-9A-Fa-f]{1,6}+|[A-Za-z][A-Za-z0-9]{1,31}+);?+)"
)
ONLY_VALUES = re.compile(
    rf"(?:\s++[\w:.@-]++\s*+=\s*+{VALUE})*+"
)  # what text like "1<b and c>2" does not have

# What is printed a second time, and the numbers of lines.
NOT_SHOWN_CLASSES = {
    *(
        "katex-html",
        "MathJax_Preview",
        "rouge-gutter",
        "lineno",
        "linenos",
        "linenumber",
        "line-numbers-rows",
    ),
    *("hljs-ln-numbers", "blob-num", "footnote-ref", "footnote-reference"),
}
MATHJAX_CLASSES = {
    "MathJax",
    "MathJax_Display",
    "MathJax_SVG",
    "MathJax_CHTML",
    "MJXc-display",
}  # beside its TeX
CLASS = re.compile(rf"\sclass\s*+=\s*+({VALUE})")
KATEX_TEXT = re.compile(r"([^<]*+)</span>")  # its MathML without tags: line by line, then the TeX
WHITE_SPACE = re.compile(r"white-space\s*:\s*(?:pre|break-spaces)")
FOOTNOTE = re.compile(r"\s*+(?:</sup>|<a\b|\[)")


def html(source: str, text: str, name: str = "") -> Part:
    """Return what a browser shows of ``text``, which is as long as ``source`` and stands in its places."""
    return Reader(source, text, flows=True).read().part(name)


def markup(source: str, text: str, name: str = "") -> Part:
    """Return Markdown with its HTML read: known tags only, lines as they are."""
    return Reader(source, text, flows=False).read().part(name)


class Reader(Writer):
    """Reads tokens one by one; ``flows``: the end of a line is a space, as in HTML."""

    def __init__(self, source: str, text: str, *, flows: bool) -> None:
        super().__init__(source)
        self.markup, self.flows = text, flows
        self.formula: Formula | None = None
        self.around_formula = " "
        self.left_out, self.depth = "", 0  # the element that is skipped, and how many of its name are open
        self.pre = 0
        self.scripts = 0  # braces open
        self.in_row = self.in_cell = False
        self.row_of_markdown = False
        self.break_is_due = False
        self.has_tex = "math/tex" in text
        self.unended_comment = text.rfind("-->")  # no comment ends behind it
        self.position = 0

    def read(self) -> Reader:
        """Read all of it."""
        kept = 0
        while token := TOKEN.search(self.markup, self.position):
            start = token.start()
            self.position = token.end()
            if not self._counts(token):
                self.position = start + 1
                continue
            self._text(kept, start)
            self._token(token)
            kept = self.position
        end = len(self.markup)
        self._text(kept, end)
        if self.formula:
            self.formula.close(end)
        if self.in_row:
            self._end_of_row("tr", end)
        self._close_cell(end)
        return self

    # ---- tokens ----------------------------------------------------------------------------------

    def _counts(self, token: re.Match[str]) -> bool:
        """Whether it is markup, and not text that looks like it."""
        if token["comment"]:
            return token.start() < self.unended_comment
        if self.flows or token["entity"]:
            return True
        tag = token["tag"]
        if tag is None or token["loose"] is not None:
            return tag is None
        return tag.lower() in KNOWN and ONLY_VALUES.fullmatch(token["attributes"]) is not None

    def _token(self, token: re.Match[str]) -> None:
        at = token.start()
        if token["comment"]:
            self.position = self.markup.index("-->", at) + 3
        elif token["entity"]:
            self._entity(token["entity"], at)
        elif token["tag"]:
            tag = token["tag"].lower()
            attributes = token["attributes"] or token["loose"] or ""
            if token["end"]:
                self._end(tag, at)
            else:
                self._start(tag, attributes, at)
                if token["empty"] or attributes.endswith("/"):
                    self._end(tag, at)

    def _text(self, start: int, end: int) -> None:
        if start == end or self.left_out:
            return
        text = self.markup[start:end]
        if self.formula:
            self.formula.text(text, start, verbatim=True)
            return
        if self.break_is_due and not text.isspace():
            self._separate(start)
        if not self.flows and (start == 0 or "\n" in text):
            self.row_of_markdown = text[text.rfind("\n") + 1 :].lstrip(" ").startswith("|")
        if (self.flows or self.in_row) and not self.pre:
            text = text.replace("\n", " ")
            if text.isspace() and (self.last.endswith("\n") or (self.in_row and not self.in_cell)):
                return
        self.keep(text, start)

    def _entity(self, entity: str, at: int) -> None:
        if self.left_out:
            return
        meant = unescape(entity)
        meant = MEANT.get(meant, meant)
        if self.formula:
            self.formula.text(meant, at, verbatim=meant == entity)
        elif meant == entity:
            self._text(at, at + len(entity))
        else:
            if self.break_is_due:
                self._separate(at)
            self.write(meant, at)

    # ---- elements --------------------------------------------------------------------------------

    def _start(self, tag: str, attributes: str, at: int) -> None:
        if self.left_out:
            self.depth += tag == self.left_out
        elif self.formula and tag in LAYOUT:
            self.formula.start(tag, attributes, at)
        elif tag == "math":
            self._start_formula(attributes, at)
        elif tag in NOT_SHOWN or (attributes and tag not in VOID and self._is_not_shown(tag, attributes)):
            self._leave_out(tag, attributes, at)
        elif tag in SCRIPTS:
            self._start_script(tag, at)
        elif tag in TABLE:
            self._row(tag, at)
        elif tag in BLOCKS:
            self._end_line(at)
        if tag == "pre" or (attributes and "white-space" in attributes and WHITE_SPACE.search(attributes)):
            self.pre += tag == "pre" or not self.pre
        if "katex-mathml" in attributes and (plain := KATEX_TEXT.match(self.markup, self.position)):
            self._last_line(plain)

    def _end(self, tag: str, at: int) -> None:
        if self.left_out:
            self.depth -= tag == self.left_out
            if not self.depth:
                self.left_out = ""
        elif self.formula and tag in LAYOUT:
            self.formula.end(tag, at)
        elif tag == "math" and self.formula:
            self.formula.close(at)
            self.formula = None
            self.write(self.around_formula, at)
        elif tag in SCRIPTS and self.scripts:
            self.scripts -= 1
            self.write("}", at)
        elif tag in TABLE:
            self._end_of_row(tag, at)
        elif tag in BLOCKS:
            self._end_line(at)
            self.pre -= tag == "pre" and self.pre > 0

    def _is_not_shown(self, tag: str, attributes: str) -> bool:
        if not (found := CLASS.search(attributes)):
            return False
        classes = set(found[1].strip("\"'").split())
        if self.has_tex and tag in ("span", "div") and classes & MATHJAX_CLASSES:
            return True
        return not classes.isdisjoint(NOT_SHOWN_CLASSES) or (tag == "td" and "gutter" in classes)

    def _leave_out(self, tag: str, attributes: str, at: int) -> None:
        """Pass over an element, but for TeX in a script."""
        if tag not in RAW:
            self._skip(tag)
            return
        close = re.compile(rf"</{tag}\b[^<>]*+>|\Z", re.IGNORECASE).search(self.markup, self.position)
        start, self.position = self.position, close.end() if close else len(self.markup)
        if "math/tex" in attributes and close:
            self.write("\n" if "display" in attributes else " ", at)
            self._text(start, close.start())
            self.write("\n" if "display" in attributes else " ", close.start())

    def _skip(self, tag: str) -> None:
        self.left_out, self.depth = tag, 1

    def _last_line(self, plain: re.Match[str]) -> None:
        """Of KaTeX's MathML that lost its tags, keep the TeX."""
        end = plain.start() + len(plain[1].rstrip())
        start = self.markup.rfind("\n", plain.start(), end) + 1
        self._text(max(start, plain.start()), end)
        self.position = plain.end(1)

    def _start_formula(self, attributes: str, at: int) -> None:
        if self.break_is_due:
            self._separate(at)
        if self.formula:
            self.formula.close(at)
        self.around_formula = "\n" if "block" in attributes and not self.in_cell else " "
        self.write(self.around_formula, at)
        self.formula = Formula(self, self._skip)

    def _start_script(self, tag: str, at: int) -> None:
        if FOOTNOTE.match(self.markup, self.position):
            self._skip(tag)
        else:
            self.scripts += 1
            self.write(SCRIPTS[tag], at)

    # ---- lines and rows --------------------------------------------------------------------------

    def _end_line(self, at: int) -> None:
        """End the line; in a cell of a table what follows is kept apart by a semicolon."""
        if self.scripts:
            self.write("}" * self.scripts, at)
            self.scripts = 0
        if self.in_row or self.row_of_markdown:
            self.break_is_due |= self.last.strip() not in ("", "|")
        elif self.texts and not self.last.endswith("\n"):
            self.write("\n", at)

    def _separate(self, at: int) -> None:
        self.break_is_due = False
        self.write("; ", at)

    def _row(self, tag: str, at: int) -> None:
        """Begin a table, a row, or a cell, and end what was left open."""
        if tag in ("td", "th"):
            if not self.in_row:
                self._row("tr", at)
            self._close_cell(at)
            self.write("| ", at)
            self.in_cell = True
        else:
            self._end_of_row("tr", at)
            self.in_row = tag == "tr"

    def _end_of_row(self, tag: str, at: int) -> None:
        if tag in ("td", "th"):
            self._close_cell(at)
        else:
            if self.in_row:
                self._close_cell(at)
                self.write("|", at)
            self.in_row = self.break_is_due = False
            self._end_line(at)

    def _close_cell(self, at: int) -> None:
        self.write("}" * self.scripts + " " * self.in_cell, at)
        self.scripts, self.in_cell, self.break_is_due = 0, False, False
