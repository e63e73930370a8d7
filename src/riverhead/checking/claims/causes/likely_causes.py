"""The likely cause of a false claim: the slip that gives just the numbers that were printed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice

import numpy as np

from riverhead.checking.claims.causes.case import MOST_NUMBERS, MOST_PARTS, Case, ValueOf, case_of, flat
from riverhead.checking.claims.causes.misprints import (
    Pair,
    chance,
    digit_slips,
    last_digit,
    other_row,
    out_of_order,
    reordered,
    unnormalised,
    whole,
)
from riverhead.checking.claims.causes.mixtures import implied
from riverhead.checking.claims.causes.stepping import cut, stepwise
from riverhead.checking.claims.causes.suspects import changes
from riverhead.checking.claims.causes.trees import parts_of, size, written
from riverhead.checking.claims.claim import Found
from riverhead.checking.claims.reading.expression import Expression, Items, Number, Operation

__all__ = ["likely"]

MOST_WORK = 2_000  # parts worked out for one claim: a few milliseconds
MOST_STEPS = 40  # parts of an expression that is worked again with rounded steps
NEAR = 0.25  # of the right number: rounding moves it no further
MOST_ITEMS = 6  # wrong ones of a list that are explained singly
MOST_NAMED = 2
LIKELY = 0.05


def likely(left: Expression, printed: Expression, exact: Found, value_of: ValueOf) -> str:
    """Name the likely cause of a false claim that ``left`` is ``printed``, in one clause; "" for none.

    ``exact`` is the right value, in the printed unit and shape; ``value_of`` works out any expression of
    plain numbers, with the names of the text, and raises ValueError for one it cannot. Each slip of a table
    is made in ``left`` in every place: one is named if it gives every printed number to its last digit and
    is unlikely to do so by chance. At most two are named, where both do.

    >>> from riverhead.checking.claims.reading import parse
    >>> from riverhead.checking.claims.values import evaluate
    >>> scores, weights = parse.expression("softmax(1, 0, 0.4)"), parse.expression("(0.426, 0.258, 0.316)")
    >>> value_of = lambda part: evaluate.value(part, {})
    >>> likely(scores, weights, value_of(scores), value_of)
    'the weights at temperature 2'
    """
    try:
        case = case_of(left, printed, exact, value_of)
    except (ValueError, ArithmeticError):  # no value, or one too large for float64
        return ""
    if case is None:
        return ""
    return next(filter(None, (_named(group, case) for group in _GROUPS)), "")


def _named(group: Callable[[Case], Iterator[str]], case: Case) -> str:
    try:
        found = list(dict.fromkeys(islice(group(case), MOST_NAMED)))
    except (ValueError, ArithmeticError):  # of something that has no value
        return ""
    return " or ".join(found)


# What can explain the printed numbers, the surest first; each gives the words of every cause it finds.


def _one_place(case: Case) -> Iterator[str]:
    """Both sides are alike but for one place, whose two values differ."""
    differ = [pair for pair in _differences(case.left, case.printed) if pair[0] is not case.left]
    wrong = []
    for part, instead in differ:
        if not isinstance(instead, Number):
            return
        [value] = flat(case.value_of(part))
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


def _digits_kept(case: Case) -> Iterator[str]:
    weights = case.n_columns > 1 and all(pair.exact >= 0 for pair in case.pairs)
    if case.literal and (words := last_digit(case.pairs, weights)):
        yield words


def _steps(case: Case) -> Iterator[str]:
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


def _slips(case: Case) -> Iterator[str]:
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


def _item_slips(case: Case) -> Iterator[str]:
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


def _alike(case: Case) -> Iterator[str]:
    if case.literal:
        yield from whole(case.pairs, _has_unit(case.left) or _has_unit(case.printed))


def _has_unit(expression: Expression) -> bool:
    return any(isinstance(part, Number) and part.unit not in ("", "%") for part in parts_of(expression))


def _order(case: Case) -> Iterator[str]:
    if case.literal and len(case.pairs) > 1:
        yield from filter(
            None, [reordered(case.pairs, case.n_columns) or other_row(case.pairs, case.n_columns)]
        )


def _digits(case: Case) -> Iterator[str]:
    if case.literal and (words := digit_slips(case.pairs)):
        yield words


def _weights(case: Case) -> Iterator[str]:
    """Weights that no softmax can give, whatever the slip was."""
    rows = [case.pairs[at : at + case.n_columns] for at in range(0, len(case.pairs), case.n_columns)]
    sums = [math.fsum(pair.exact for pair in row) for row in rows]
    if not all(math.isclose(total, 1) or math.isclose(total, 100) for total in sums):
        return
    for row in rows:
        if words := unnormalised(row) or out_of_order(row):
            yield words
            return


def _mixture(case: Case) -> Iterator[str]:
    """Weights times values: which weights would give the printed output."""
    match case.left:
        case Operation(what="@" | "*", args=(weights, values)):
            v = np.array(case.value_of(values), dtype=float)  # (T_k, d_v)
            if v.ndim == 2 and 0 < v.size <= MOST_NUMBERS:
                w = np.array(case.value_of(weights), dtype=float).reshape(-1, len(v))  # (T_q, T_k)
                yield from implied(case.pairs, w, v) if np.allclose(w.sum(axis=-1), 1) else ()


_GROUPS: tuple[Callable[[Case], Iterator[str]], ...] = (
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
