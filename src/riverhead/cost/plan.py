"""What a model costs, figure by figure: parameters, FLOPs, bytes, and how they grow with the text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction as Ratio
from typing import Any, get_args

from riverhead.cost.config import Config
from riverhead.cost.curves import curves, lengths
from riverhead.cost.figures import Figure, Unit, said
from riverhead.cost.growth import Doubled, doubled
from riverhead.cost.sections import PartName, Section, sections
from riverhead.cost.sizes import layers_of, sizes
from riverhead.display import Displayable
from riverhead.errors import InputError
from riverhead.numbers import Number, grouped, significant
from riverhead.scene import Cell, Fold, Formula, Lines, Math, Operator, Part, Row, Scene, Table, Text, Word

__all__ = ["SCHEMA", "Plan", "plan"]

SCHEMA = "riverhead.plan/1"

COLUMNS: dict[Unit, tuple[str, ...]] = {  # what a figure of each unit is shown as
    "parameters": ("parameters",),
    "FLOPs": ("FLOPs",),
    "bytes": ("bytes", "GB (GiB)"),
    "tokens": ("tokens",),
}

SEEN = {  # what a window counts, by whether the model is causal
    True: "keys a query sees, itself among them",
    False: "keys a query sees to each side, itself among them",
}


@dataclass(frozen=True)
class Plan(Displayable):
    """What a model costs for ``tokens`` tokens of ``batch`` texts, its numbers stored as ``dtype``."""

    name: str
    config: Config
    tokens: int
    batch: int
    dtype: str
    sections: tuple[Section, ...]
    doubled: tuple[Doubled, ...]
    notes: tuple[str, ...] = ()  # what was assumed, and what is left out

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Every figure, in the order of the tables; those with the group "together" add up others."""
        return tuple(figure for section in self.sections for figure in section.figures)

    def scene(self, part: PartName | None = None, *, numbers: bool = True) -> Scene:
        """Lay out every table, or those of one ``part``; ``numbers`` puts the numbers into each formula.

        Raises `InputError` for a part that there is none of.
        """
        chosen = _part(part)
        parts: list[Part] = [self._symbols()]
        for section in self.sections:
            if chosen in (None, section.part):
                parts += _laid_out(section, numbers)
        if chosen in (None, "growth"):
            parts += [Text(("When the text is twice as long",), "heading"), _doubling(self.doubled)]
            parts += self.lines()
        return Scene(f"What {self.name} costs", tuple(parts))

    def rows(self, part: PartName | None = None) -> list[dict[str, Any]]:
        """Return a row per figure, for CSV."""
        chosen = _part(part)
        return [
            {"part": section.part, "table": section.title, **_plain(figure)}
            for section in self.sections
            if chosen in (None, section.part)
            for figure in section.figures
        ]

    def lines(self, Ts: Iterable[int] | None = None) -> tuple[Lines, Lines]:
        """Return FLOPs and bytes against the length of the text, at ``Ts`` or at powers of two past T*."""
        chosen = lengths(self.config, self.tokens) if Ts is None else Ts
        return curves(self.config, chosen, self.batch, self.dtype)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, ready for JSON."""
        return {
            "schema": SCHEMA,
            "model": self.name,
            "config": self.config.to_dict(),
            "tokens": self.tokens,
            "batch": self.batch,
            "dtype": self.dtype,
            "notes": list(self.notes),
            "figures": self.rows(),
            "doubled": [
                {"name": cost.name, "unit": cost.unit, "once": cost.once, "twice": cost.twice}
                for cost in self.doubled
            ],
        }

    def _symbols(self) -> Table:
        known = sizes(self.config, self.tokens, self.batch, self.dtype)
        rows: list[tuple[Cell, ...]] = [
            (symbol, words, grouped(value)) for symbol, words, value in known.meanings
        ]
        layers = layers_of(self.config, self.tokens)
        for part in layers:
            if len(layers) > 1:
                words = "layers with a window" if part.window else "layers that see every key"
                rows.append((part.n.symbols, words, grouped(int(part.n.value))))
            if part.window:
                rows.append((part.window.symbols, SEEN[self.config.causal], part.window.numbers))
        return Table(("", "stands for", "here"), tuple(rows))


def plan(
    config: Config,
    tokens: int | None = None,
    batch: int = 1,
    dtype: str = "float32",
    name: str = "",
    notes: tuple[str, ...] = (),
) -> Plan:
    """Count what a model costs, exactly: nothing is loaded, built or measured.

    ``tokens`` is the length of each of ``batch`` texts, the model's context unless given; ``dtype`` that of
    weights, activations and cache; ``notes`` are kept with it. Raises `InputError` naming tokens, batch or
    dtype.

    >>> tiny = Config(architecture="llama", n_layers=1, n_heads=2, n_kv_heads=1, d_model=6, d_k=4, d_v=4,
    ...     d_ff=5, vocab_size=7, context_length=8, rope_base=10000.0, norm_epsilon=1e-5)
    >>> found = plan(tiny, 100_000)
    >>> [figure.said for figure in found.figures if figure.name == "scores of a head"]
    ['40.0 GB (37.3 GiB)']
    """
    T = config.context_length if tokens is None else tokens
    sizes(config, T, batch, dtype)  # or it cannot be counted
    tables = tuple(sections(config, T, batch, dtype))
    growth = doubled(config, T, batch, dtype)
    return Plan(name or config.architecture, config, T, batch, dtype, tables, growth, notes)


def _part(part: PartName | None) -> PartName | None:
    if part is not None and part not in get_args(PartName):
        raise InputError(f"part is {part!r}, it has to be one of {', '.join(get_args(PartName))}")
    return part


def _laid_out(section: Section, numbers: bool) -> Iterator[Part]:
    yield Text((section.title,), "heading")
    if section.figures:
        yield _table(section)
    for note in section.notes:
        yield Text((note,), "note")
    if section.wide:
        once: dict[Math, Figure] = {}  # the peak has the formula of its moment
        for one in section.figures:
            once.setdefault(one.formula, one)
        yield from (Formula(_named(one, one.formula)) for one in once.values())
    if section.figures and numbers:
        yield Fold("With the numbers put in", tuple(Formula(_worked(one)) for one in section.figures))


def _table(section: Section) -> Table:
    columns = COLUMNS[section.figures[0].unit]
    rows = (_cells(one, columns) for one in section.figures)
    if section.wide:
        return Table(("", *columns), tuple(rows))
    formulas = (one.formula for one in section.figures)
    with_formulas = ((*row, formula) for row, formula in zip(rows, formulas, strict=True))
    return Table(("", *columns, "formula"), tuple(with_formulas))


def _cells(figure: Figure, columns: tuple[str, ...]) -> tuple[Cell, ...]:
    name = f"{figure.name} ({figure.note})" if figure.note else figure.name
    exactly = figure.said if figure.value is None else grouped(figure.value)
    shown: dict[str, Cell] = {"FLOPs": figure.said, "GB (GiB)": figure.said}
    return (name, *(shown.get(column, exactly) for column in columns))


def _worked(figure: Figure) -> Math:
    """``name: numbers = value``."""
    if figure.value is None or isinstance(figure.numbers, Number):
        return _named(figure, figure.numbers)
    return _named(figure, figure.numbers, Operator("="), grouped(figure.value))


def _named(figure: Figure, *items: Math) -> Math:
    return Row((Word(f"{figure.name}:"), *items))


def _doubling(costs: Iterable[Doubled]) -> Table:
    rows = tuple(
        (cost.name, said(cost.once, cost.unit), said(cost.twice, cost.unit), _times(cost.ratio))
        for cost in costs
    )
    return Table(("", "T", "2·T", "grows"), rows)


def _times(ratio: Ratio) -> Number:
    exact = ratio.denominator == 1
    return Number(float(ratio), f"×{ratio.numerator if exact else significant(float(ratio), 6)}")


def _plain(figure: Figure) -> dict[str, Any]:
    """A figure as plain data, its formulas on one line."""
    formula, numbers = (" ".join(str(math).split()) for math in (figure.formula, figure.numbers))
    return {
        "group": figure.group,
        "name": figure.name,
        "value": figure.value,
        "unit": figure.unit,
        "said": figure.said,
        "formula": formula,
        "numbers": numbers,
        "note": figure.note,
    }
