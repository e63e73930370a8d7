"""Labelled tables of a text, and the names their rows and columns give to numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from riverhead.checking.claims.reading.expression import Binding, Items, Number
from riverhead.checking.claims.reading.notation import canonical
from riverhead.checking.claims.recomputed.grids import Cell, Sheet, sheets
from riverhead.checking.claims.recomputed.roles import INPUTS, RESULTS, Meaning, Role, meaning

__all__ = ["Labelled", "Table", "bindings", "labelled", "tables"]

_HEADS = frozenset(  # over a column of labels
    ["token", "tokens", "word", "words", "key", "position", "pos", "i", "j", "step", "name"]
)
LONGEST = 200  # rows; a longer table is data, and none of attention worked by hand
_LETTERS = {Role.X: "x", Role.Q: "q", Role.K: "k", Role.V: "v", Role.OUT: "y"}
_TITLES = {Role.DOTS: "scores", Role.SCORES: "scores", Role.SCALED: "scaled", Role.WEIGHTS: "weights"}


@dataclass(frozen=True, slots=True)
class Labelled:
    """A binding, the tokens whose its rows are, and whether other numbers stand between its own."""

    binding: Binding
    tokens: tuple[str, ...] = ()
    scattered: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Numbers under ``columns`` and behind ``labels``; ``title`` is the line before."""

    title: str
    columns: tuple[str, ...]
    labels: tuple[str, ...]
    cells: tuple[tuple[Cell, ...], ...]
    total_column: int | None  # of the sums of the rows
    total_row: int | None

    @property
    def transposed(self) -> Table:
        """The same table with its rows as columns."""
        turned = tuple(zip(*self.cells, strict=True))
        return Table(self.title, self.labels, self.columns, turned, self.total_row, self.total_column)

    def numbers(self, row: int) -> tuple[Number, ...]:
        """Return the numbers of a row but its sum; none at all where one of them is missing."""
        given = [cell.value for place, cell in enumerate(self.cells[row]) if place != self.total_column]
        numbers = tuple(value for value in given if isinstance(value, Number))
        return numbers if len(numbers) == len(given) else ()


def tables(text: str) -> list[Table]:
    """Return the tables of a text: Markdown pipes, LaTeX tabulars, and columns lined up by spaces.

    >>> [table] = tables("| | river | bank |\\n|---|---|---|\\n| weight | 0.67 | 0.33 |")
    >>> table.columns, table.labels, [cell.value.text for cell in table.cells[0]]
    (('river', 'bank'), ('weight',), ['0.67', '0.33'])
    """
    found = []
    for sheet in sheets(text):
        table = _table(sheet)
        if table is not None:
            found.append(table)
    return found


def bindings(table: Table) -> list[Binding]:
    """Return what a table gives names to: ``q_river``, the matrix Q, the row of weights.

    >>> [table] = tables("| Token | Query q |\\n|---|---|\\n| river | (1, 2) |\\n| bank | (3, 5) |")
    >>> [binding.name for binding in bindings(table)]
    ['qriver', 'qbank', 'Q']
    """
    return [one.binding for one in labelled(table)]


def labelled(table: Table) -> list[Labelled]:
    """Return the bindings of a table with the tokens whose they are."""
    vectors = [one for column in range(len(table.columns)) for one in _vectors(table, column)]
    if len(table.labels) > 1 and table.labels == table.columns:
        return vectors + list(_grid(table))  # tokens on both sides, even one that is called A
    rows = list(_stages(table, scattered=False))
    columns = [] if rows else list(_stages(table.transposed, scattered=True))
    return vectors + (rows or columns or ([] if vectors else list(_grid(table))))


def _table(sheet: Sheet) -> Table | None:
    """Part the labels of a sheet from what they label."""
    header, *body = sheet.rows
    if not 0 < len(body) <= LONGEST or len(header) < 2:
        return None
    if _shifted(header, body):
        header = (header[-1], *header[:-1])
    words = [row[0].value is None and row[0].text for row in body]
    if not (all(words) or header[0].text.lower() in _HEADS):
        return None
    columns = tuple(cell.text for cell in header[1:])
    labels = tuple(row[0].text for row in body)
    cells = tuple(tuple(row[1:]) for row in body)
    return Table(sheet.title, columns, labels, cells, _total(columns), _total(labels))


def _shifted(header: Sequence[Cell], body: Sequence[Sequence[Cell]]) -> bool:
    """Whether the empty head over the labels was lost, and an empty one put at the end instead."""
    if header[-1].text or not header[0].text:
        return False
    return all(row[0].text and row[0].value is None for row in body) and any(row[-1].text for row in body)


def _total(labels: Sequence[str]) -> int | None:
    places = [place for place, label in enumerate(labels) if _role(label) is Role.SUM]
    return places[0] if len(places) == 1 else None


def _role(label: str) -> Role | None:
    found = _meaning(label)
    return found.role if found else None


def _meaning(label: str) -> Meaning | None:
    return meaning(canonical(label), label) if label else None


def _vectors(table: Table, column: int) -> Iterator[Labelled]:
    """A column of vectors, one a token: each by its token's name, and all as a matrix."""
    role = _role(table.columns[column])
    letter = _LETTERS.get(role) if role else None
    cells = [row[column] for row in table.cells]
    vectors = [cell.value for cell in cells if isinstance(cell.value, Items)]
    if letter is None or len(vectors) != len(cells) or len({len(one.items) for one in vectors}) != 1:
        return
    tokens = tuple(canonical(label) for label in table.labels)
    for token, label, cell, vector in zip(tokens, table.labels, cells, vectors, strict=True):
        yield Labelled(
            Binding(letter + token, f"{letter}_{label}", vector, cell.start, cell.end), (token,), False
        )
    if len(vectors) > 1:
        start, end = cells[0].start, cells[-1].end
        matrix = Items(tuple(vectors), start, end)
        yield Labelled(
            Binding(letter.upper(), table.columns[column], matrix, start, end), tokens, scattered=True
        )


def _stages(table: Table, scattered: bool) -> Iterator[Labelled]:
    """Rows that are stages of attention (score, exponential, weight) under columns that are tokens."""
    for row, label in enumerate(table.labels):
        found = _meaning(label)
        numbers = table.numbers(row)
        if found is None or found.role not in RESULTS or found.role is Role.SUM or len(numbers) < 2:
            continue
        start, end = numbers[0].start, numbers[-1].end
        binding = Binding(canonical(label), label, Items(numbers, start, end), start, end)
        yield Labelled(binding, (found.token,), scattered)
        if table.total_column is not None and found.role is Role.EXP:
            total = table.cells[row][table.total_column]
            if isinstance(total.value, Number):
                yield Labelled(Binding("sum", "sum", total.value, total.start, total.end))


def _grid(table: Table) -> Iterator[Labelled]:
    """Tokens on both sides: scores or weights, as the title says; else the matrix that the title names."""
    kept = [row for row in range(len(table.labels)) if row != table.total_row]
    rows = [table.numbers(row) for row in kept]
    columns = [name for place, name in enumerate(table.columns) if place != table.total_column]
    labels = tuple(canonical(table.labels[row]) for row in kept)
    if not rows or not all(len(row) == len(columns) > 1 for row in rows):
        return
    named = _meaning(table.title)
    if labels == tuple(canonical(column) for column in columns):
        name = _TITLES.get(named.role, "grid") if named else "grid"
    elif named is not None and named.role in INPUTS:
        name = _LETTERS.get(named.role, "").upper()
    elif named is not None and named.role in _TITLES:
        name = _TITLES[named.role]
    else:
        return
    if not name:
        return
    start, end = rows[0][0].start, rows[-1][-1].end
    lists = tuple(Items(row, row[0].start, row[-1].end) for row in rows)
    yield Labelled(Binding(name, name, Items(lists, start, end), start, end), labels)
