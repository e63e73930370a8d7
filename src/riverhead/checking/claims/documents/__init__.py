"""A document's text, in which claims are looked for, and where each character of it stands."""

from __future__ import annotations

import re
from pathlib import PurePath

from riverhead.checking.claims.documents.html import html, markup
from riverhead.checking.claims.documents.notebook import notebook
from riverhead.checking.claims.documents.page import Page, Part, Place, Writer
from riverhead.checking.claims.documents.plain import clean, latex, markdown
from riverhead.errors import InputError

__all__ = ["KINDS", "Page", "Place", "kind_of", "read"]

KINDS = ("markdown", "html", "latex", "notebook", "text")
ENDINGS = {
    "markdown": ".md .markdown .mdown .mkd .mdx .qmd .rmd",
    "html": ".html .htm .xhtml",
    "latex": ".tex .latex .ltx",
    "notebook": ".ipynb",
    "text": ".txt .text .rst .adoc .log .py",
}
BYTE_ORDER_MARK = "\ufeff"  # what some editors put before a text; it is none of it

NOTEBOOK = re.compile(r'\s*+\{(?=\s*+"(?:cells|nbformat|nbformat_minor|metadata|worksheets)")')
LATEX = re.compile(r"^[ \t]*\\(?:documentclass\b|begin\{document\})", re.MULTILINE)
HTML = re.compile(
    r"\s*+(?:<!--(?:(?!-->).)*+-->\s*+)*+<(?:!doctype|\?xml|html|head|body)\b", re.IGNORECASE | re.DOTALL
)
FRAGMENT = re.compile(
    r"\s*+<(?:article|div|h[1-6]|main|math|meta|ol|p|pre|section|span|style|table|ul)\b", re.IGNORECASE
)
MARKDOWN = re.compile(r"^(?:\#{1,6} |```|~~~|[*-] |\d{1,3}\. |\$\$|\|)", re.MULTILINE)


def kind_of(filename: str) -> str | None:
    """Return the kind of document that a file's name says it is, None if it says nothing.

    >>> kind_of("notes/Softmax.MD"), kind_of("answer")
    ('markdown', None)
    """
    ending = PurePath(filename).suffix.lower()
    return next((kind for kind, endings in ENDINGS.items() if ending and ending in endings.split()), None)


def read(source: str, kind: str | None = None) -> Page:
    """Return the page that ``source`` is: a ``kind`` of `KINDS`, or what it looks like (else Markdown).

    Raises InputError for an unknown kind and for a notebook that is none.

    >>> read("weights: [0.54, 0.46] <!-- was 0.55 -->").text
    'weights: [0.54, 0.46] '
    """
    source = source.removeprefix(BYTE_ORDER_MARK)
    if kind is None:
        kind = _guessed(source)
    if kind not in KINDS:
        raise InputError(f"kind={kind!r} is unknown; a document is one of {', '.join(KINDS)}")
    if kind == "notebook":
        return Page.of(notebook(source, _part))
    return Page.of([_part(source, kind)])


def _part(source: str, kind: str, name: str = "") -> Part:
    text = clean(source)
    if kind == "html":
        return html(source, text, name)
    if kind == "markdown":
        return markup(source, markdown(text), name)
    writer = Writer(source)
    writer.keep(latex(text) if kind == "latex" else text, 0)
    return writer.part(name)


def _guessed(source: str) -> str:
    if NOTEBOOK.match(source) and ('"cells"' in source or '"worksheets"' in source):
        return "notebook"
    if LATEX.search(source):
        return "latex"
    if HTML.match(source) or (FRAGMENT.match(source) and not MARKDOWN.search(source)):
        return "html"
    return "markdown"
