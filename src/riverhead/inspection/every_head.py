"""Every head of a model and what it does with a text, a row each, from one reading."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from riverhead.display import Displayable
from riverhead.errors import InputError
from riverhead.inspection.findings import excerpt
from riverhead.inspection.habit import BY_PLACE, NEAR, Say, habit_of, silent, window_of
from riverhead.inspection.head_means import TOP, HeadMeans, head_means
from riverhead.inspection.head_row import COLUMNS, HeadRow, column_of, condition
from riverhead.inspection.labels import Label, label_rules, labels_of
from riverhead.numbers import fixed, plain, significant
from riverhead.scene import Axis, Cell, Heatmap, Part, Scene, Table, Text
from riverhead.transformer import Model, Reading, head_name

__all__ = ["Heads", "heads"]

SHOWN = 12  # rows of a sheet where nothing else was asked for
ON_A_SHEET = (  # what matters most first: a terminal may have room for no more
    *("surprise", "first", "last", "previous", "next", "self", "near", "duplicate", "induction"),
    *("entropy", "distance"),
)
ABOUT_LABELS = "label: what the head does in plain text; the numbers are of this text"


@dataclass(frozen=True)
class Heads(Displayable):
    """The heads of ``rows`` in one text of ``n_tokens`` tokens; ``n_copied`` queries have an earlier copy.

    ``labels`` holds each label with its threshold in plain text, ``notes`` what the numbers are. No surprise
    can be too small by more than ``surprise_slack``.
    """

    model: str
    text: str
    n_tokens: int
    n_layers: int
    n_heads: int
    rows: tuple[HeadRow, ...]
    n_copied: int
    surprise_slack: float | None
    labels: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]

    def sorted(self, by: str) -> Heads:
        """Return the rows with the largest of a column first, ``-column`` the smallest, or by ``head``.

        Heads without that number come last. Raises `InputError` naming the columns.
        """
        column = by.removeprefix("-")
        if column == "head":
            rows = sorted(self.rows, key=lambda row: (row.layer, row.head), reverse=column != by)
            return replace(self, rows=tuple(rows))
        column_of(column)
        sign = -1 if column == by else 1

        def place(row: HeadRow) -> tuple[bool, float]:
            number = row.number(column)
            return number is None, sign * (number or 0.0)

        return replace(self, rows=tuple(sorted(self.rows, key=place)))

    def where(self, *conditions: str) -> Heads:
        """Return the rows that meet every condition: ``"previous>=0.5"``, ``"layer=9"``, ``"label=sink"``.

        A head without the number meets none. Raises `InputError` for what is no condition.
        """
        tests = [condition(written) for written in conditions]
        return replace(self, rows=tuple(row for row in self.rows if all(test(row) for test in tests)))

    def grid(self, column: str) -> tuple[tuple[float, ...], ...]:
        """Return a column as (n_layers, H); NaN where a head has no number, or no row."""
        column_of(column)
        grid = np.full((self.n_layers, self.n_heads), np.nan)
        for row in self.rows:
            value = row.number(column)
            grid[row.layer, row.head] = np.nan if value is None else value
        return tuple(map(tuple, grid.tolist()))

    def heatmap(self, column: str) -> Heatmap:
        """Return a column as a heat map, a row a layer; what lies below 0 has no shade.

        Raises `InputError` where no head has the number.
        """
        grid = np.array(self.grid(column))
        if np.isnan(grid).all():
            raise InputError(f"there is no {column} to map: {_why_absent(column)}")
        layers = Axis("layer", tuple(map(str, range(self.n_layers))))
        in_layer = Axis("head", ends=("H0", f"H{self.n_heads - 1}"))
        shades = tuple(map(tuple, np.maximum(grid, 0).tolist()))  # NaN stays
        return Heatmap(shades, layers, in_layer, f"{column}: {COLUMNS[column].meaning}")

    def scene(self, n: int | None = SHOWN, above: Heatmap | None = None) -> Scene:
        """Lay out how many heads have each label, the heat map ``above``, and the first ``n`` rows or all."""
        shown, notes = self.rows[:n], self.notes
        if len(shown) < len(self.rows):
            notes = (f"Shown: {len(shown)} of {len(self.rows)} heads", *notes)
        tokens = Text((f"“{excerpt(self.text)}”, {self.n_tokens:,} tokens",))
        parts: list[Part] = [tokens, self._summary(), *([above] if above else []), self._table(shown)]
        parts += [Text((note,), role="note") for note in notes]
        return Scene(f"Every head of {self.model}", tuple(parts))

    def _summary(self) -> Table:
        counts = Counter(row.label for row in self.rows)
        rows = tuple((label, plain(counts[label]), rule) for label, rule in self.labels)
        return Table(("label", "heads", "in plain text"), rows)

    def _table(self, rows: tuple[HeadRow, ...]) -> Table:
        columns = [name for name in ON_A_SHEET if any(row.number(name) is not None for row in self.rows)]
        cells = tuple((row.name, row.label, *(_cell(row, name) for name in columns)) for row in rows)
        return Table(("head", "label", *columns), cells, ABOUT_LABELS)


def heads(
    read: Model | Reading,
    text: str | None = None,
    *,
    say: Say = silent,
    progress: Callable[[int, int], object] | None = None,
) -> Heads:
    """Read ``text`` and return what every head does with it; a `Reading` brings its text, and its heads off.

    ``progress`` is told (layers done, of all), ``say`` what is measured before. No T × T is made.
    Raises `InputError` for a text of fewer than two tokens, or of more than the model reads.
    """
    model, text, ids, off = _read(read, text)
    if len(ids) < 2:
        raise InputError(
            f"the text has {len(ids)} token{'s' * (len(ids) != 1)}; heads are looked at in 2 or more: "
            "give a longer text"
        )
    model.check_length(len(ids))
    labels, habit = labels_of(model, say), habit_of(model, len(ids), say)
    say(f"reading {len(ids):,} tokens")
    means = head_means(model, np.array(ids, np.intp), habit, off=off, progress=progress)
    slack = float(means.slack.max())
    return Heads(
        model=model.title,
        text=text,
        n_tokens=len(ids),
        n_layers=model.config.n_layers,
        n_heads=model.config.n_heads,
        rows=tuple(_rows(means, labels)),
        n_copied=means.n_copied,
        surprise_slack=None if math.isnan(slack) else slack,
        labels=tuple((rule.words, rule.condition or "none of these") for rule in label_rules(model)),
        notes=tuple(_notes(model, means, len(ids), len(off))),
    ).sorted("surprise")


def _read(
    read: Model | Reading, text: str | None
) -> tuple[Model, str, tuple[int, ...], frozenset[tuple[int, int]]]:
    if isinstance(read, Reading):
        if text is not None:
            raise InputError("a Reading has its text; a text goes with a model")
        return read.model, read.text, read.token_ids, read.off
    if not isinstance(text, str):
        raise InputError(f"the text is {type(text).__name__}, it has to be a str")
    return read, text, tuple(read.tokenize(text)), frozenset()


def _rows(means: HeadMeans, labels: Mapping[tuple[int, int], Label]) -> Iterator[HeadRow]:
    for (layer, head), label in labels.items():
        fields = (column.field for column in COLUMNS.values())
        numbers: dict[str, Any] = {field: _number(means, field, layer, head) for field in fields}
        yield HeadRow(head_name(layer, head), layer, head, **numbers, label=label.words, reason=label.reason)


def _number(means: HeadMeans, field: str, layer: int, head: int) -> float | None:
    value = float(means.by_name[field][layer, head]) if field in means.by_name else math.nan
    return None if math.isnan(value) else value


def _notes(model: Model, means: HeadMeans, T: int, n_off: int) -> Iterator[str]:
    yield "Means over the text's queries, the first token's apart; entropy in nats, distance in tokens"
    yield f"previous, near (within {NEAR} tokens, oneself too): over queries with the first token farther off"
    copied = f"over the {means.n_copied:,} queries that have a copy" if means.n_copied else "here are none"
    yield f"duplicate, induction: on earlier copies of the query's token, on what followed them; {copied}"
    yield _about_surprise(float(means.slack.max()))
    window = window_of(model, T)
    yield (
        f"habit: mean weight in windows of {window} tokens of plain text, by "
        f"{'place' if T <= BY_PLACE else 'distance'}"
        f"{'; what is farther away counts as the farthest' if window < T else ''}"
    )
    if n_off:
        yield f"{n_off} head{'s are' if n_off > 1 else ' is'} switched off"
    yield "A label's duplicate, induction and entropy_share: in plain text that stands there twice"
    yield f"All of it is about this model, {model.title}, not about language"


def _about_surprise(slack: float) -> str:
    if math.isnan(slack):
        return "surprise: here no query sees a key but itself, the first token and special ones"
    within = f", of the {TOP} largest: too small by {_at_most(slack)} at most" if slack else ""
    return f"surprise: the largest weight − habit; the first and special tokens and oneself are apart{within}"


def _at_most(value: float) -> str:
    """A bound in two digits, rounded up.

    >>> _at_most(0.0321)
    '0.033'
    """
    step = 10.0 ** (math.floor(math.log10(value)) - 1)
    return significant(math.ceil(value / step) * step, 2).text


def _cell(row: HeadRow, column: str) -> Cell:
    value = row.number(column)
    return "—" if value is None else fixed(value, COLUMNS[column].decimals)


def _why_absent(column: str) -> str:
    if column in ("next", "last"):
        return "the model sees no later token"
    return "no token stands twice" if column in ("duplicate", "induction") else "the text is too short"
