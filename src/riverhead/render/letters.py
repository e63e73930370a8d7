"""Raw text before any format sees it: hidden characters made visible, right-to-left fenced off."""

from __future__ import annotations

import re
import unicodedata

from rich.cells import chop_cells

__all__ = ["isolate", "short", "visible", "visible_lines"]

FSI, PDI = "\u2068", "\u2069"  # Unicode's own brackets around text of another direction

# Controls, invisible formats, bidi overrides, lone surrogates and what XML forbids. The joiners
# U+200C and U+200D stay: emoji, Persian and Indic words are made of them.
_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ufdd0-\ufdef\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\ud800-\udfff\U000e0000-\U000e0fff]"
)


def _show(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"⟨{code:04X}⟩"


def visible(text: str) -> str:
    r"""Return ``text`` with every control and invisible character shown as a symbol.

    >>> visible("a\x1b[31m\n"), visible("\u202eabc"), visible("\u0301")
    ('a␛[31m␊', '⟨202E⟩abc', '◌́')
    """
    text = _HIDDEN.sub(_show, text)
    bare = text and unicodedata.category(text[0])[0] == "M"  # a mark needs something to stand on
    return "◌" + text if bare else text


def short(text: str, cells: int) -> str:
    """Return ``text``, made `visible`, in at most ``cells`` character cells; what is cut ends in ….

    >>> short("river", 8), short("a river bank", 8)
    ('river', 'a river…')
    """
    pieces = chop_cells(visible(text), cells)
    if len(pieces) > 1:
        pieces = [*chop_cells(pieces[0], cells - 1)[:1], "…"]
    return "".join(pieces)


def visible_lines(text: str) -> list[str]:
    """Return the lines of a source text, each made `visible`."""
    return [visible(line.expandtabs(4)) for line in re.split("\r\n|\n|\r", text)]


def isolate(text: str) -> str:
    """Return ``text`` fenced off if it holds right-to-left letters: its neighbours keep their order."""
    rtl = any(unicodedata.bidirectional(char) in {"R", "AL", "AN"} for char in text)
    return FSI + text + PDI if rtl else text
