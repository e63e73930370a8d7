"""Rows and cells of the tables in a text, however they are ruled: by pipes, by ampersands, by spaces."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from riverhead.checking.claims.reading.expression import Expression, Items, Number, Operation
from riverhead.checking.claims.reading.numerals import numeral
from riverhead.checking.claims.reading.parse import expression

__all__ = ["Cell", "Sheet", "literal", "sheets"]

LONGEST_LINE = 4000  # characters; longer lines are no rows of a table
WIDEST = 66  # cells of a row
LONGEST_CELL = 200
_RULE = re.compile(r"[\s|:+─━┼═=-]*")
_MARKUP = re.compile(r"(?:[\s*`$]|</?(?:b|i|em|strong|sub|sup|code)>)*")
_MARKUP_BEHIND = re.compile(r"(?:[\s*`$]|</?(?:b|i|em|strong|sub|sup|code)>)*$")
_WORD = re.compile(r"[^\s,\[\]()|│┃]+")
_NUMERAL = re.compile(r"[-−+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?%?|[-−](?:inf|∞)", re.ASCII)
_PLAIN = re.compile(r"[-−]?\d{1,12}(?:\.\d{1,12})?", re.ASCII)
_MINUS_INFINITY = re.compile(r"[-−–]\s*(?:∞|inf|\\infty|Inf|infinity)")
_LATEX_RULES = re.compile(r"\\(?:hline|toprule|midrule|bottomrule|cline\{[^}]*\})")


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell: its words without markup, and its value where it is a number, or a list of numbers."""

    text: str
    start: int
    end: int
    value: Number | Items | None


@dataclass(frozen=True, slots=True)
class Sheet:
    """The rows of a table, the heads first, all of one length; ``title`` is the last line of text before."""

    title: str
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True, slots=True)
class _Line:
    text: str
    start: int


def sheets(text: str) -> Iterator[Sheet]:
    """Yield the tables of a text."""
    lines = _lines(text)
    yield from _piped(text, lines)
    yield from _spaced(text, lines)
    yield from _tabular(text)


def literal(found: Expression | None) -> Number | Items | None:
    """Return an expression that is only a number or lists of them, with minus signs folded in; else None.

    >>> literal(expression("(−1, 2)")).items[0].value
    -1
    """
    if isinstance(found, Number):
        return found
    if isinstance(found, Operation) and found.what == "neg" and isinstance(found.args[0], Number):
        one = found.args[0]
        return Number(-one.value, one.half, "−" + one.text, found.start, one.end, one.unit)
    if isinstance(found, Items):
        items = [literal(item) for item in found.items]
        whole = tuple(item for item in items if item is not None)
        return Items(whole, found.start, found.end) if len(whole) == len(items) else None
    return None


def cell(text: str, start: int, end: int) -> Cell:
    """Read a cell: what is left of ``text[start:end]`` without its markup."""
    inner = text[start:end]
    start += len(_MARKUP.match(inner)[0])  # type: ignore[index]  # the pattern matches nothing, too
    inner = text[start:end]
    behind = len(inner.rstrip("*`$ \t>"))
    if inner.endswith(">"):
        tag = _MARKUP_BEHIND.search(inner[-LONGEST_CELL:])
        behind = len(inner) - len(tag[0]) if tag else len(inner)
    end = start + behind
    inner = text[start:end]
    value: Number | Items | None = None
    if _MINUS_INFINITY.fullmatch(inner):
        value = Number(-math.inf, 0.0, inner, start, end)
    elif len(inner) <= LONGEST_CELL and any(sign.isdigit() for sign in inner):
        value = _plain(inner, start, end) or literal(expression(text, start, end))
    return Cell(inner, start, end, value)


def _plain(inner: str, start: int, end: int) -> Number | None:
    """A cell that is one plain number: most are, and need no parser."""
    if not _PLAIN.fullmatch(inner):
        return None
    value, half = numeral(inner.lstrip("-−"))
    return Number(-value if inner[0] in "-−" else value, half, inner.replace("-", "−"), start, end)


def _lines(text: str) -> list[_Line]:
    found, start = [], 0
    for line in text.splitlines(keepends=True):
        found.append(_Line(line.rstrip("\r\n"), start))
        start += len(line)
    return found


def _title(lines: list[_Line], at: int) -> str:
    """The last line with words before line ``at``, two lines up at most."""
    return next(
        (line.text.strip()[:300] for line in lines[max(0, at - 2) : at][::-1] if line.text.strip()), ""
    )


def _piped(text: str, lines: list[_Line]) -> Iterator[Sheet]:
    """Markdown: two or more lines with as many pipes, a rule under the first or pipes at their ends."""
    at = 0
    while at < len(lines):
        cut = _cuts(lines[at])
        stop = at + 1
        while len(cut) > 2 and stop < len(lines) and len(_cuts(lines[stop])) == len(cut):
            stop += 1
        block = lines[at:stop]
        ruled = any(_RULE.fullmatch(line.text) for line in block)
        if stop - at > 1 and (ruled or all(line.text.lstrip().startswith("|") for line in block)):
            rows = tuple(_row(text, line) for line in block if not _RULE.fullmatch(line.text))
            if rows:
                yield Sheet(_title(lines, at), rows)
        at = stop


def _cuts(line: _Line) -> list[int]:
    """Where the cells of a line begin and end; fewer than three where it is no row."""
    stripped = line.text.strip()
    if "|" not in stripped or len(stripped) > LONGEST_LINE:
        return []
    left = len(line.text) - len(line.text.lstrip())
    found = [
        left + place
        for place, sign in enumerate(stripped)
        if sign == "|" and stripped[place - 1 : place] != "\\"
    ]
    if not stripped.startswith("|"):
        found.insert(0, left - 1)
    if not stripped.endswith("|"):
        found.append(left + len(stripped))
    return found if len(found) <= WIDEST else []


def _row(text: str, line: _Line) -> tuple[Cell, ...]:
    cuts = _cuts(line)
    return tuple(cell(text, line.start + a + 1, line.start + b) for a, b in itertools.pairwise(cuts))


def _spaced(text: str, lines: list[_Line]) -> Iterator[Sheet]:
    """Columns by spaces: a line of n words, then two or more of a label and n numbers each."""
    at = 0
    while at < len(lines):
        first = _tail(lines[at])
        stop = at + 1
        while first and stop < len(lines) and len(_tail(lines[stop])) == len(first):
            stop += 1
        if first and stop - at > 1:
            head = at - 1
            while head >= 0 and at - head < 4 and _RULE.fullmatch(lines[head].text):
                head -= 1
            header = _heads(text, lines[head], len(first) - 1) if head >= 0 else None
            if header is not None:
                rows = tuple(_tail_cells(text, _tail(line)) for line in lines[at:stop])
                yield Sheet(_title(lines, head), (header, *rows))
        at = stop


def _tail(line: _Line) -> list[tuple[int, int]]:
    """The places of a label and of the two or more numbers behind it; nothing where a line is otherwise."""
    if len(line.text) > LONGEST_LINE or "=" in line.text or line.text.count("|") > 2:
        return []
    if line.text.lstrip()[:1] in ("#", ">"):  # a comment, a quotation
        return []
    words = [(found.start(), found.end()) for found in _WORD.finditer(line.text)]
    numbers = 0
    while numbers < len(words) and _NUMERAL.fullmatch(line.text[slice(*words[-1 - numbers])]):
        numbers += 1
    if not 1 < numbers < min(len(words), WIDEST) or numbers < len(words) - 4:
        return []
    label = (words[0][0], words[-1 - numbers][1])
    return [(line.start + a, line.start + b) for a, b in [label, *words[-numbers:]]]


def _tail_cells(text: str, places: list[tuple[int, int]]) -> tuple[Cell, ...]:
    (start, end), *numbers = places
    label = text[start:end].rstrip(": ")
    return (
        Cell(label, start, start + len(label), None),
        *(cell(text, a, b) for a, b in numbers),
    )


def _heads(text: str, line: _Line, columns: int) -> tuple[Cell, ...] | None:
    """The heads over ``columns`` numbers, with one over the labels or without."""
    if len(line.text) > LONGEST_LINE or "=" in line.text:
        return None
    words = [(line.start + found.start(), line.start + found.end()) for found in _WORD.finditer(line.text)]
    cells = [Cell(text[a:b], a, b, None) for a, b in words]
    if any(_NUMERAL.fullmatch(one.text) for one in cells):
        return None
    if len(cells) == columns:
        return (Cell("", line.start, line.start, None), *cells)
    return tuple(cells) if len(cells) == columns + 1 else None


def _tabular(text: str) -> Iterator[Sheet]:
    """LaTeX: rows end in two backslashes, cells in an ampersand."""
    at = text.find("\\begin{tabular")
    while at >= 0:
        end = text.find("\\end{tabular", at)
        if end < 0:
            return
        rows = list(_latex_rows(text, at, end))
        if len(rows) > 1 and len({len(row) for row in rows}) == 1:
            before = text[max(0, at - 600) : at].rstrip().rsplit("\n", 1)[-1]
            yield Sheet(before.strip()[:300], tuple(rows))
        at = text.find("\\begin{tabular", end)


def _latex_rows(text: str, start: int, end: int) -> Iterator[tuple[Cell, ...]]:
    start = text.find("\n", start, end) + 1 or end
    ends = [found.start() for found in re.finditer(r"\\\\", text[start:end])] + [end - start]
    starts = [0, *(place + 2 for place in ends[:-1])]
    for first, last in zip(starts, ends, strict=True):
        bare = _LATEX_RULES.sub(lambda rule: " " * len(rule[0]), text[start + first : start + last])
        if "&" not in bare or bare.count("&") > WIDEST:
            continue
        place = start + first
        row = []
        for part in bare.split("&"):
            lead = len(part) - len(part.lstrip())
            row.append(cell(text, place + lead, place + len(part)))
            place += len(part) + 1
        yield tuple(row)
