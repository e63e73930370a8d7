"""A class's answers as CSV: the form to fill in, and what stands in one that was.

A line for each exercise of each student: worksheet, student, name, exercise, title, then what stands in the
boxes a, b, c, … of that exercise; — where it has no such box. Lines may come in any order, from several files
put together.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from riverhead.errors import InputError
from riverhead.learning.worksheets.worksheet import MOST_STUDENTS, Paper, Worksheet, lettered

__all__ = [
    "LONGEST_NAME",
    "MOST_BYTES",
    "NO_BOX",
    "Filled",
    "Form",
    "Remark",
    "decoded",
    "form",
    "guarded",
    "read_form",
]

MOST_BYTES = 8 * 2**20  # the largest class with the most exercises fills a tenth of it
ABOUT = ("worksheet", "student", "name", "exercise", "title")
NEEDED = ("student", "exercise")
NO_BOX = "—"
LONGEST_NAME = 80

_LETTER = re.compile("[a-z]{1,2}")
_WHOLE = re.compile(r"0*(\d{1,6})(?:[.,]0+)?", re.ASCII)
_FORMULA = re.compile(r"[=+\-@\t\r]")  # at the start of a cell, a spreadsheet would work it out
_GUARDED = re.compile(r"'(?=[=+\-@\t\r])")


@dataclass(frozen=True, slots=True)
class Remark:
    """What is to be said of a line of the file, counted from 1."""

    line: int
    said: str


@dataclass(frozen=True, slots=True)
class Filled:
    """A line of the form: what a student wrote, by the letter of the box."""

    line: int
    student: int
    exercise: int
    name: str
    answers: dict[str, str]


@dataclass(frozen=True, slots=True)
class Form:
    """What could be read of a form, and what is to be said of the rest."""

    lines: tuple[Filled, ...]
    remarks: tuple[Remark, ...]


def guarded(text: str) -> str:
    """Return ``text`` with a ' before it where a spreadsheet would take it for a formula.

    >>> guarded('=HYPERLINK("x")'), guarded("Zoë")
    ('\\'=HYPERLINK("x")', 'Zoë')
    """
    return f"'{text}" if _FORMULA.match(text) else text


def form(papers: Sequence[Paper], separator: str = ",") -> str:
    """Return the CSV to fill in for a class; it begins with the mark by which Excel knows UTF-8.

    A spreadsheet that writes decimal commas takes ; for the ``separator``.

    >>> print(form([Worksheet.parse("valuesx1-1-k3m9q2").paper(7, "=Zoë")]).lstrip("\\ufeff"), end="")
    worksheet,student,name,exercise,title,a,b
    valuesx1-1-k3m9q2,7,'=Zoë,1,Weighted values,,
    """
    boxes = [list(lettered(exercise.sheet)) for paper in papers for exercise in paper.exercises]
    widest = max(boxes, key=len)
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator, lineterminator="\n")
    writer.writerow([*ABOUT, *widest])
    for paper in papers:
        for number, exercise in enumerate(paper.exercises, 1):
            about = (paper.worksheet.id, paper.student, guarded(paper.name), number, exercise.title)
            empty = ["" if letter in lettered(exercise.sheet) else NO_BOX for letter in widest]
            writer.writerow([*about, *empty])
    return "\ufeff" + text.getvalue()


def decoded(data: bytes) -> str:
    """Return the text of a file that a spreadsheet wrote: UTF-8, UTF-16 or the Western code page.

    Raises `InputError` for what is no text.

    >>> decoded("Zoë".encode("latin-1")), decoded(b"\\xef\\xbb\\xbfa")
    ('Zoë', 'a')
    """
    if len(data) > MOST_BYTES:
        raise InputError(
            f"the answers have more than {MOST_BYTES:,} bytes; a class has far fewer: give one class, as CSV"
        )
    if data.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        raise InputError("this is a spreadsheet's own file; save it as CSV, and give that")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = data.decode("utf-16", errors="replace")
    else:
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = data.decode("cp1252", errors="replace")
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise InputError(f"line {line} holds a zero byte: this is no CSV; save the answers as CSV again")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_form(worksheet: Worksheet, text: str) -> Form:
    """Read the answers to ``worksheet`` from a CSV with commas, semicolons or tabs.

    A line that cannot be graded is left out, and a remark says why. Raises `InputError` where the text is no
    such CSV.
    """
    return _Reader(worksheet, text).form()


@dataclass(slots=True)
class _Reader:
    worksheet: Worksheet
    text: str
    remarks: list[Remark] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)

    def form(self) -> Form:
        rows = self._rows()
        at, head = next(rows, (1, []))
        if head and head[0].lower().startswith("sep="):  # how Excel is told the separator
            at, head = next(rows, (at, []))
        self._head(at, head)
        found: dict[tuple[int, int], Filled] = {}
        for line, row in rows:
            try:
                filled = self._line(line, row)
            except _LeftOutError as left:
                self._say(line, str(left))
                continue
            before = found.setdefault((filled.student, filled.exercise), filled)
            if before is not filled:
                like = "the same answers" if before.answers == filled.answers else "other answers"
                self._say(
                    line,
                    f"student {filled.student} has exercise {filled.exercise} on line {before.line} already, "
                    f"with {like}; that line is graded, this one is not",
                )
        return Form(tuple(found.values()), tuple(self.remarks))

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """Each line with its number, but for the empty ones."""
        reader = csv.reader(io.StringIO(self.text), delimiter=_separator(self.text), strict=True)
        while True:
            line = reader.line_num + 1
            try:
                row = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                raise InputError(
                    f"line {line} is no CSV: {error}; look for a quotation mark too many"
                ) from None
            cells = [cell.strip() for cell in row]
            if any(cells):
                yield line, cells

    def _head(self, line: int, head: Sequence[str]) -> None:
        self.columns = [name.lower() for name in head]
        missing = [name for name in NEEDED if name not in self.columns]
        if missing:
            raise InputError(
                f"line {line} has no column {missing[0]!r}; the first line names the columns: student, "
                f"exercise, a, b, …, as riverhead learn worksheet {self.worksheet.id} --csv FILE writes"
            )
        named = [name for name in self.columns if name]
        if len(named) > len(set(named)):
            twice = Counter(named).most_common(1)[0][0]
            raise InputError(f"line {line} has the column {twice[:40]!r} twice; once is enough")
        unknown = [name for name in named if name not in ABOUT and not _LETTER.fullmatch(name)]
        if unknown:
            more = f" and {len(unknown) - 1:,} more" if len(unknown) > 1 else ""
            self._say(line, f"the column {unknown[0][:40]!r}{more} is none of the form's; it is not read")

    def _line(self, line: int, row: Sequence[str]) -> Filled:
        """One line of the form."""
        extra = next((cell for cell in row[len(self.columns) :] if cell), None)
        if extra is not None:
            raise _LeftOutError(
                f"it has more cells than the first line has columns ({extra[:40]!r} is beyond them): "
                "not graded; a decimal comma needs quotation marks around its number"
            )
        cells = dict(zip(self.columns, row, strict=False))
        of = cells.get("worksheet", "")
        if of and of.lower() != self.worksheet.id.lower():
            raise _LeftOutError(f"it belongs to the worksheet {of[:60]!r}: not graded")
        student = _whole("student", cells, MOST_STUDENTS)
        exercise = _whole("exercise", cells, self.worksheet.count)
        answers = {
            name: cell for name, cell in cells.items() if _LETTER.fullmatch(name) and cell and cell != NO_BOX
        }
        name = _GUARDED.sub("", cells.get("name", ""))
        if len(name) > LONGEST_NAME:
            self._say(line, f"the name has {len(name):,} characters; the first {LONGEST_NAME} are kept")
        return Filled(line, student, exercise, name[:LONGEST_NAME], answers)

    def _say(self, line: int, said: str) -> None:
        self.remarks.append(Remark(line, said))


class _LeftOutError(Exception):
    """Why a line cannot be graded."""


def _whole(what: str, cells: Mapping[str, str], most: int) -> int:
    found = _WHOLE.fullmatch(cells.get(what, ""))
    if found is None or not 1 <= int(found[1]) <= most:
        raise _LeftOutError(
            f"its {what} is {cells.get(what, '')[:40]!r}, which is no whole number from 1 to {most}: "
            "not graded"
        )
    return int(found[1])


def _separator(text: str) -> str:
    """What parts the cells: what stands most often in the first line that says something."""
    first = next((line for line in text.split("\n") if line.strip()), "")
    if first.lower().startswith("sep=") and len(first) == len("sep=") + 1:
        return first[-1]
    return max(",;\t", key=first.count)
