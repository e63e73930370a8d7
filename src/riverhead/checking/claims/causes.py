"""The likely cause of a false claim: the slip that gives just the numbers that were printed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeAlias

import numpy as np

from riverhead.checking.claims.claim import Found
from riverhead.checking.claims.expression import Expression, Items, Name, Number, Operation
from riverhead.checking.claims.misprints import (
    Pair,
    chance,
    digit_slips,
    last_digit,
    out_of_order,
    reordered,
    unnormalised,
    whole,
)
from riverhead.checking.claims.mixtures import implied
from riverhead.checking.claims.stepping import cut, stepwise
from riverhead.checking.claims.suspects import (
    changes,
    parts_of,
    size,
    spelled_out,
    written,
)

__all__ = ["ValueOf", "likely"]

ValueOf: TypeAlias = Callable[[Expression], Found]

MOST_NUMBERS = 256  # printed in one claim
MOST_PARTS = 1_000  # of either side: no more is looked at
MOST_WORK = 3_000  # parts worked out for one claim: a few milliseconds
MOST_STEPS = 40  # parts of an expression that is worked again with rounded steps
NEAR = 0.25  # of the right number: rounding moves it no further
MOST_ITEMS = 6  # wrong ones of a list that are explained singly
MOST_NAMED = 2
LIKELY = 0.05


@dataclass(frozen=True, slots=True)
class _Case:
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
            found = [float(value) * self.per_unit for value in _flat(self.value_of(changed))]
            found = found[: len(self.pairs)] if self.open_end else found
        except (ValueError, ArithmeticError):
            return None
        fits = len(found) == len(self.pairs) and all(map(math.isfinite, found))
        return found if fits else None

    def explained(self, values: list[float]) -> bool:
        return all(pair.fits(value) for pair, value in zip(self.pairs, values, strict=True))


def likely(left: Expression, printed: Expression, exact: Found, value_of: ValueOf) -> str:
    """Name the likely cause of a false claim that ``left`` is ``printed``, in one clause; "" for none.

    ``exact`` is the right value, in the printed unit and shape; ``value_of`` works out any expression of
    plain numbers, with the names of the text, and raises ValueError for one it cannot. Each slip of a table
    is made in ``left`` in every place: one is named if it gives every printed number to its last digit and
    is unlikely to do so by chance. At most two are named, where both do.

    >>> from riverhead.checking.claims import evaluate, parse
    >>> scores, weights = parse.expression("softmax(1, 0, 0.4)"), parse.expression("(0.426, 0.258, 0.316)")
    >>> value_of = lambda part: evaluate.value(part, {})
    >>> likely(scores, weights, value_of(scores), value_of)
    'the weights at temperature 2'
    """
    try:
        case = _case(left, printed, exact, value_of)
    except (ValueError, ArithmeticError):  # no value, or one too large for float64
        return ""
    if case is None:
        return ""
    return next(filter(None, (_named(group, case) for group in _GROUPS)), "")


def _named(group: Callable[[_Case], Iterator[str]], case: _Case) -> str:
    try:
        found = list(dict.fromkeys(islice(group(case), MOST_NAMED)))
    except (ValueError, ArithmeticError):  # of something that has no value
        return ""
    return " or ".join(found)


def _case(left: Expression, printed: Expression, exact: Found, value_of: ValueOf) -> _Case | None:
    if max(size(left, MOST_PARTS), size(printed, MOST_PARTS)) > MOST_PARTS:
        return None
    right = [float(value) for value in _flat(exact)]
    if not 0 < len(right) <= MOST_NUMBERS or not all(map(math.isfinite, right)):
        return None
    numbers = _numbers(printed)
    if numbers is None:
        values = [float(value) for value in _flat(value_of(printed))]
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
    return _Case(
        spelled_out(left, value_of), printed, pairs, n_columns, per_unit, value_of, literal, open_end
    )


def _per_unit(left: Expression, right: list[float], value_of: ValueOf) -> float:
    """What turns a value of the left side into the unit that was printed: 0.001 for KB, 100 for %."""
    own = [float(value) for value in _flat(value_of(left))]
    here, there = max(zip(own, right, strict=False), key=lambda both: abs(both[0]), default=(1.0, 1.0))
    return there / here if here and not math.isclose(here, there) else 1.0


def _flat(value: Found) -> Iterator[float]:
    if isinstance(value, tuple):
        for item in value:
            yield from _flat(item)
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


# What can explain the printed numbers, the surest first; each gives the words of every cause it finds.


def _one_place(case: _Case) -> Iterator[str]:
    """Both sides are alike but for one place, whose two values differ."""
    differ = [pair for pair in _differences(case.left, case.printed) if pair[0] is not case.left]
    wrong = []
    for part, instead in differ:
        if not isinstance(instead, Number):
            return
        [value] = _flat(case.value_of(part))
        pair = Pair(float(instead.value), instead.half or 0.5, instead.text, float(value))
        wrong += [(part, pair)] if pair.wrong else []
    if len(wrong) == 1 and not case.literal:
        [(part, pair)] = wrong
        yield f"{written(part)} is {pair.show(round(pair.exact_units))}, not {pair.text}"


def _differences(one: Expression, other: Expression) -> Iterator[tuple[Expression, Expression]]:
    match one, other:
        case Operation(), Operation() if one.what == other.what and len(one.args) == len(other.args):
            parts = zip(one.args, other.args, strict=True)
        case Items(), Items() if len(one.items) == len(other.items):
            parts = zip(one.items, other.items, strict=True)
        case _:
            if not (isinstance(one, Number) and isinstance(other, Number) and one.value == other.value):
                yield one, other
            return
    for mine, theirs in parts:
        yield from _differences(mine, theirs)


def _digits_kept(case: _Case) -> Iterator[str]:
    weights = case.n_columns > 1 and all(pair.exact >= 0 for pair in case.pairs)
    if case.literal and (words := last_digit(case.pairs, weights)):
        yield words


def _steps(case: _Case) -> Iterator[str]:
    """Every step rounded before the next, or cut off: to the decimals that are printed, or 0 to 3."""
    decimals = {pair.decimals for pair in case.pairs}
    near = all(abs(pair.printed - pair.exact) <= NEAR * abs(pair.exact) for pair in case.pairs if pair.wrong)
    if not case.literal or not near or len(decimals) > 1 or size(case.left, MOST_STEPS) > MOST_STEPS:
        return
    [own] = decimals
    for places in (own, *(few for few in range(4) if few != own)):
        for words, keep in (("rounded to", round), ("cut off at", cut)):
            values = case.values(stepwise(case.left, case.value_of, keep, places))
            if values and case.explained(values) and chance(case.pairs, values) <= LIKELY:
                yield f"each step {words} {places} decimal{'s' * (places != 1)} on the way"
                return


def _slips(case: _Case) -> Iterator[str]:
    """One slip of the table, in one place of the left side."""
    tries, level = MOST_WORK // size(case.left, MOST_PARTS), 0.0
    found: list[list[float]] = []
    for sites in changes(case.left):
        if level and sites[0].at_most < level:
            return
        for changed in sites[: max(tries, 0)]:
            values = case.values(changed.expression)
            if not values or not case.explained(values) or _known(values, found):
                continue
            if chance(case.pairs, values) * len(sites) <= changed.at_most:
                level = changed.at_most
                found.append(values)
                yield changed.words
        tries -= len(sites)


def _known(values: list[float], found: list[list[float]]) -> bool:
    """Say whether a slip named before gives just these numbers."""
    return any(all(map(math.isclose, values, before)) for before in found)


def _item_slips(case: _Case) -> Iterator[str]:
    """Of a list whose items are worked out one by one: what explains every wrong one."""
    left, printed = case.left, case.printed
    if not (isinstance(left, Items) and isinstance(printed, Items)):
        return
    if not len(left.items) == len(printed.items) == len(case.pairs):
        return
    wrong = [at for at, pair in enumerate(case.pairs) if pair.wrong][: MOST_ITEMS + 1]
    if len(wrong) > MOST_ITEMS:
        return
    explained = [
        set(_slips(replace(case, left=left.items[at], printed=printed.items[at], pairs=(case.pairs[at],))))
        for at in wrong
    ]
    yield from sorted(set.intersection(*explained))


def _alike(case: _Case) -> Iterator[str]:
    if case.literal:
        yield from whole(case.pairs, _has_unit(case.left) or _has_unit(case.printed))


def _has_unit(expression: Expression) -> bool:
    return any(isinstance(part, Number) and part.unit not in ("", "%") for part in parts_of(expression))


def _order(case: _Case) -> Iterator[str]:
    if case.literal and len(case.pairs) > 1 and (words := reordered(case.pairs, case.n_columns)):
        yield words


def _digits(case: _Case) -> Iterator[str]:
    if case.literal and (words := digit_slips(case.pairs)):
        yield words


def _weights(case: _Case) -> Iterator[str]:
    """Weights that no softmax can give, whatever the slip was."""
    rows = [case.pairs[at : at + case.n_columns] for at in range(0, len(case.pairs), case.n_columns)]
    sums = [math.fsum(pair.exact for pair in row) for row in rows]
    if not all(math.isclose(total, 1) or math.isclose(total, 100) for total in sums):
        return
    for row in rows:
        if words := unnormalised(row) or out_of_order(row):
            yield words
            return


def _mixture(case: _Case) -> Iterator[str]:
    """Weights times values: which weights would give the printed output."""
    match case.left:
        case Operation(what="@" | "*", args=(weights, values)):
            v = np.array(case.value_of(values), dtype=float)  # (T_k, d_v)
            if v.ndim == 2 and 0 < v.size <= MOST_NUMBERS:
                w = np.array(case.value_of(weights), dtype=float).reshape(-1, len(v))  # (T_q, T_k)
                yield from implied(case.pairs, w, v) if np.allclose(w.sum(axis=-1), 1) else ()


_GROUPS: tuple[Callable[[_Case], Iterator[str]], ...] = (
    _one_place,
    _digits_kept,
    _slips,
    _item_slips,
    _alike,
    _steps,
    _order,
    _digits,
    _weights,
    _mixture,
)
