"""A false claim, laid out for the search for its cause: each printed number beside the right one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from riverhead.checking.claims.causes.misprints import Pair
from riverhead.checking.claims.causes.trees import parts_of, size, spelled_out
from riverhead.checking.claims.claim import Found
from riverhead.checking.claims.reading.expression import Expression, Items, Name, Number, Operation

__all__ = ["MOST_NUMBERS", "MOST_PARTS", "Case", "ValueOf", "case_of", "flat"]

ValueOf: TypeAlias = Callable[[Expression], Found]

MOST_NUMBERS = 256  # printed in one claim
MOST_PARTS = 1_000  # of either side: no more is looked at


@dataclass(frozen=True, slots=True)
class Case:
    """``left`` was worked out, ``printed`` is what it was said to be, number by number in ``pairs``."""

    left: Expression
    printed: Expression
    pairs: tuple[Pair, ...]
    n_columns: int
    per_unit: float  # printed unit / the unit that value_of answers in
    value_of: ValueOf
    literal: bool  # the printed side is numbers, not worked out itself
    open_end: bool  # it is a list that ends in …

    def values(self, changed: Expression) -> list[float] | None:
        """Work out a changed left side in the printed unit; None where it has no value of this size."""
        try:
            found = [float(value) * self.per_unit for value in flat(self.value_of(changed))]
            found = found[: len(self.pairs)] if self.open_end else found
        except (ValueError, ArithmeticError):
            return None
        fits = len(found) == len(self.pairs) and all(map(math.isfinite, found))
        return found if fits else None

    def explained(self, values: list[float]) -> bool:
        """Say whether every printed number rounds from one of ``values``."""
        return all(pair.fits(value) for pair, value in zip(self.pairs, values, strict=True))


def case_of(left: Expression, printed: Expression, exact: Found, value_of: ValueOf) -> Case | None:
    """Lay a claim out; None where it is too large, its sides do not pair, or no number in it is wrong.

    Raises ValueError as ``value_of`` does, and OverflowError for a number that float64 does not hold.
    """
    if max(size(left, MOST_PARTS), size(printed, MOST_PARTS)) > MOST_PARTS:
        return None
    right = [float(value) for value in flat(exact)]
    if not 0 < len(right) <= MOST_NUMBERS or not all(map(math.isfinite, right)):
        return None
    numbers = _numbers(printed)
    if numbers is None:
        values = [float(value) for value in flat(value_of(printed))]
        numbers = [(value, max(abs(value), 1.0) * 1e-9, f"{value:.6g}") for value in values]
    open_end = any(map(_open_end, parts_of(printed)))
    if len(numbers) != len(right) and not (open_end and len(numbers) < len(right)):
        return None
    pairs = tuple(Pair(*number, value) for number, value in zip(numbers, right, strict=False))
    if not any(pair.wrong for pair in pairs):
        return None
    rows = exact if isinstance(exact, tuple) else (exact,)
    n_columns = len(rows[0]) if isinstance(rows[0], tuple) else len(rows)
    literal = _numbers(printed) is not None
    per_unit = _per_unit(left, right, value_of)
    case = Case(left, printed, pairs, n_columns, per_unit, value_of, literal, open_end)
    spelled = replace(case, left=spelled_out(left, value_of))
    return (
        case if spelled.values(spelled.left) is None else spelled
    )  # [1, 2] · [3, 4] may be meant one by one


def _per_unit(left: Expression, right: list[float], value_of: ValueOf) -> float:
    """What turns a value of the left side into the unit that was printed: 0.001 for KB, 100 for %."""
    own = [float(value) for value in flat(value_of(left))]
    here, there = max(zip(own, right, strict=False), key=lambda both: abs(both[0]), default=(1.0, 1.0))
    return there / here if here and not math.isclose(here, there) else 1.0


def flat(value: Found) -> Iterator[float]:
    """Give the numbers of a value, row by row."""
    if isinstance(value, tuple):
        for item in value:
            yield from flat(item)
    else:
        yield value


def _numbers(
    printed: Expression, sign: int = 1, beside: float = 0.0
) -> list[tuple[float, float, str]] | None:
    """List the printed numbers, each with half a unit of the last digit that counts; None if worked out.

    An integer ``beside`` decimals, as 0 or 1 among weights, counts as far as they do.
    """
    match printed:
        case Number(value=value, half=half, text=text):
            return [(float(sign * value), half or beside or _half_of_integer(value), text)]
        case Operation(what="neg", args=(inner,)):
            return _numbers(inner, -sign, beside)
        case Items(items=items):
            coarsest = max((part.half for part in parts_of(printed) if isinstance(part, Number)), default=0.0)
            listed = [
                _numbers(item, sign, coarsest) for item in items[: MOST_NUMBERS + 1] if not _open_end(item)
            ]
            return None if None in listed else [each for one in listed for each in one or ()]
    return None


def _open_end(item: Expression) -> bool:
    return isinstance(item, Name) and item.text == "…"


def _half_of_integer(value: float) -> float:
    """Half a unit of an integer result's last digit: zeros behind its first two digits do not count."""
    digits = str(abs(int(value)))
    return 0.5 * 10.0 ** max(min(len(digits) - len(digits.rstrip("0")), len(digits) - 2), 0)
