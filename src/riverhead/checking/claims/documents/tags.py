"""The elements of HTML, by what becomes of their text."""

from __future__ import annotations

from riverhead.checking.claims.documents.mathml import LAYOUT

__all__ = ["BLOCKS", "KNOWN", "NOT_SHOWN", "RAW", "SCRIPTS", "TABLE", "VOID"]

# fmt: off
VOID = {
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr",
}
BLOCKS = {  # each begins a line, and ends one
    "address", "article", "aside", "blockquote", "body", "br", "button", "caption", "center", "dd",
    "details", "dialog", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form",
    "h1", "h2", "h3", "h4", "h5", "h6", "head", "header", "hr", "html", "legend", "li", "main",
    "nav", "ol", "option", "p", "pre", "section", "select", "summary", "tbody", "text", "textarea",
    "tfoot", "thead", "title", "ul",
}
INLINE = {
    "a", "abbr", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i",
    "img", "ins", "kbd", "label", "mark", "math", "q", "s", "samp", "small", "span", "strike",
    "strong", "time", "tt", "u", "var", "wbr",
}
# fmt: on
RAW = {"script", "style"}  # no tag counts inside but the one that ends it
NOT_SHOWN = RAW | {"mjx-math", "template", "iframe", "object"}
TABLE = {"table", "tr", "td", "th"}
SCRIPTS = {"sup": "^{", "sub": "_{"}
MATHJAX = {"mjx-container", "mjx-assistive-mml"}
KNOWN = BLOCKS | INLINE | NOT_SHOWN | TABLE | SCRIPTS.keys() | VOID | LAYOUT | MATHJAX
