"""A figure of a plan: what it counts, the formula, the formula with its numbers, and the number exactly."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal

from riverhead.cost.counts import Count, sum_of
from riverhead.errors import InputError
from riverhead.numbers import Number
from riverhead.scene import Math, Word

__all__ = ["DTYPES", "Figure", "Unit", "bytes_of", "bytes_said", "counted_said", "figure", "said", "total"]

Unit = Literal["parameters", "FLOPs", "bytes", "tokens"]

DTYPES = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "int8": 1}  # bytes a number

DECIMAL = ("", "k", "M", "G", "T", "P", "E", "Z", "Y", "R", "Q")  # SI, 2022
BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "Zi", "Yi", "Ri", "Qi")  # IEC 80000-13
WORDS = ("", "thousand", "million", "billion", "trillion")
DIGITS = 3


@dataclass(frozen=True, slots=True)
class Figure:
    """One exact number: its ``formula`` in symbols, with the ``numbers`` put in, and its ``value``.

    ``value`` None: there is no such number, and ``note`` says why. ``group`` names what is added up with it.
    """

    name: str
    formula: Math
    numbers: Math
    value: int | None
    unit: Unit
    note: str = ""
    group: str = ""

    @property
    def said(self) -> str:
        """The value in a few digits with its unit; bytes in decimal and in binary units."""
        return "never" if self.value is None else said(self.value, self.unit)

    @property
    def exactly(self) -> str:
        """Every digit of the value."""
        return "never" if self.value is None else f"{self.value:,}"


def figure(name: str, counted: Count, unit: Unit, note: str = "", group: str = "") -> Figure:
    """Make a figure of a count, which has to have come out whole."""
    if not isinstance(counted.value, int):
        raise TypeError(f"{name}: {counted.value} is not whole")  # a fault of the formula, not of the input
    return Figure(name, counted.symbols, counted.numbers, counted.value, unit, note, group)


def total(figures: Iterable[Figure], name: str = "together", note: str = "", group: str = "") -> Figure:
    """Add up figures of one unit; its numbers are theirs.

    >>> from riverhead.cost.counts import count
    >>> both = total([figure("left", count("a", 2), "bytes"), figure("right", count("b", 3), "bytes")])
    >>> print(both.numbers, "=", both.said)
    2 + 3 = 5 bytes
    """
    parts = [(one, one.value) for one in figures if one.value is not None]
    summed = sum_of(Count(value, Word(one.name), Number(value, one.exactly)) for one, value in parts)
    return replace(figure(name, summed, parts[0][0].unit, note, group), formula=Word("their sum"))


def bytes_of(dtype: str) -> int:
    """Return how many bytes a number of ``dtype`` takes; raises `InputError` naming those known.

    >>> bytes_of("bfloat16")
    2
    """
    if dtype not in DTYPES:
        raise InputError(f"dtype is {dtype!r}, it has to be one of {', '.join(DTYPES)}")
    return DTYPES[dtype]


def said(value: int, unit: Unit) -> str:
    """Say a count of ``unit`` in three digits.

    >>> said(134_515_008, "parameters"), said(1_250, "tokens"), said(40 * 10**12, "FLOPs")
    ('135 million parameters', '1,250 tokens', '40.0 TFLOPs')
    """
    if unit == "bytes":
        return bytes_said(value)
    if unit == "tokens" or value < 1000:
        return counted_said(value, unit)
    return " ".join(_scaled(value, 1000, DECIMAL)) + unit if unit == "FLOPs" else _worded(value, unit)


def counted_said(value: int, unit: Unit) -> str:
    """Say every digit of a count of ``unit``: ``1 token``, ``1,250 tokens``."""
    return f"{value:,} {unit.removesuffix('s') if value == 1 else unit}"


def bytes_said(n_bytes: int) -> str:
    """Say bytes in decimal units and, in parentheses, in binary ones.

    >>> bytes_said(40_000_000_000), bytes_said(2**30), bytes_said(640)
    ('40.0 GB (37.3 GiB)', '1.07 GB (1.00 GiB)', '640 bytes')
    """
    if n_bytes < 1024:
        return counted_said(n_bytes, "bytes")
    decimal, binary = (
        " ".join(_scaled(n_bytes, *units)) + "B" for units in ((1000, DECIMAL), (1024, BINARY))
    )
    return f"{decimal} ({binary})"


def _worded(value: int, unit: Unit) -> str:
    return " ".join((*_scaled(value, 1000, WORDS), unit))


def _scaled(value: int, step: int, prefixes: tuple[str, ...]) -> tuple[str, str]:
    """Return ``value`` over the power of ``step`` that leaves 1 to 3 digits, and that power's name."""
    power = 0
    while power + 1 < len(prefixes) and value >= step ** (power + 1):
        power += 1
    scaled = Decimal(value) / step**power
    n_before = max(scaled.adjusted() + 1, 0)
    text = f"{scaled:,.{max(DIGITS - n_before, 0)}f}"
    if text == f"{step:,}" and power + 1 < len(prefixes):  # 999.9 k is 1.00 M
        return "1.00", prefixes[power + 1]
    return text, prefixes[power]
