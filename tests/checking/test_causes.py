"""A false claim names its likely cause, and nothing where a coincidence is as likely."""

from __future__ import annotations

import math
import random
import re
from typing import Any

import pytest

from riverhead.checking.claims.causes.case import MOST_NUMBERS, MOST_PARTS
from riverhead.checking.claims.causes.likely_causes import likely
from riverhead.checking.claims.causes.slips import SLIPS
from riverhead.checking.claims.causes.trees import size
from riverhead.checking.claims.reading import parse
from riverhead.checking.claims.reading.expression import Expression, Items, Number, Operation
from riverhead.checking.claims.values import evaluate


def read(text: str) -> Expression:
    found = parse.expression(text)
    assert found is not None, text
    return found


NAMES = {
    "q": read("(1.4, 0.2)"),
    "k": read("(1.007, 1.6)"),
    "Q": read("[[1.4, 0.2], [0.3, 2.1]]"),
    "K": read("[[0.9, 1.6], [2.2, 0.7]]"),
}


def value_of(part: Expression) -> Any:
    return evaluate.value(part, NAMES)


def cause(left: str, printed: str, exact: Any = None) -> str:
    worked = read(left)
    return likely(worked, read(printed), value_of(worked) if exact is None else exact, value_of)


# What each letter of the table stands for here: nothing about these numbers is special.
ANY = {"a": "2.37", "b": "1.83", "c": "5.29", "d": "7", "f": "0.913", "n": "6", "s": "2.83", "t": "731"}
VECTORS = {"a": "[1.37, 0.46, 2.91, 0.83]", "b": "[0.57, 2.29, 1.13, 0.71]", "z": "[1.37, 0.46, 2.91, 0.83]"}
MATRICES = {
    "a": "[[1.37, 0.46], [2.91, 0.83]]",
    "b": "[[0.57, 2.29], [1.13, 0.71]]",
    "k": "[[0.57, 2.29], [1.13, 0.71]]",
    "v": "[[3.17, 0.19], [0.43, 1.61]]",
    "z": "[[1.37, 0.46], [2.91, 0.83]]",
}


def filled(pattern: str, row: str) -> str:
    letters = dict(ANY)
    if re.search("@|transpose", row):
        letters |= MATRICES
    elif re.search("softmax|sum|mean|var|std|norm|cosine|max|min", row):
        letters |= VECTORS
    elif "relu" in row:
        letters["a"] = "-2.37"
    return re.sub(r"\b[a-z]\b", lambda letter: f"({letters[letter[0]]})", pattern)


def printed(value: Any) -> str:
    return f"[{', '.join(map(printed, value))}]" if isinstance(value, tuple) else f"{value:.5f}"


@pytest.mark.parametrize(("meant", "instead", "words"), [(row[0], row[1], row[3]) for row in SLIPS])
def test_every_slip_of_the_table_earns_its_words(meant: str, instead: str, words: str) -> None:
    left, slipped = (filled(pattern, meant + instead) for pattern in (meant, instead))
    said = cause(left, printed(value_of(read(slipped))))
    assert re.search(re.sub(r"\\{√?\w\\}", ".+", re.escape(words)), said), f"{left}: {said!r}"


@pytest.mark.parametrize(
    ("left", "result", "words"),
    [
        # the last digit
        ("2/3", "0.66", "truncated, not rounded"),
        ("(5, 2)/3", "(1.66, 0.66)", "truncated, not rounded"),
        ("-2/3", "-0.66", "truncated, not rounded"),
        ("10/3", "3.34", "rounded up, not to the nearest"),
        ("4.447/10", "0.45", "rounded twice: 0.445 from 0.4447, then 0.45"),
        ("(2, 2, 2)/6", "(0.33, 0.33, 0.34)", "made to sum to 1: rounded one by one they sum to 0.99"),
        # rounding on the way
        ("2/3 × 3.3", "2.21", "each step rounded to 2 decimals on the way"),
        ("(2/3) × 6.9", "4.55", "each step cut off at 2 decimals on the way"),
        ("softmax(2.1, 1.3, 0)", "[0.615, 0.308, 0.077]", "each step rounded to 0 decimals on the way"),
        # scores and weights
        ("18/√36", "18.0", "without the scale 1/√36"),
        ("18/√36", "0.50", "divided by 36, not by √36"),
        ("Q Kᵀ / √2", "[[1.58, 3.22], [3.63, 2.13]]", "without the scale 1/√2"),
        ("Q Kᵀ", "[[1.70, 2.38], [4.89, 1.95]]", "not transposed"),
        ("softmax(1.4, 0.6, 0)", "(0.465, 0.312, 0.231)", "not normalised: they sum to 1.008"),
        ("softmax(0.9, 0.3, 0.1)", "(0.60, 0.27, 0.22)", "not normalised: they sum to 1.09"),
        ("softmax(0.9, 0.3, 0.1)", "(60%, 27%, 22%)", "not normalised: they sum to 109"),
        ("softmax(0.9, 0.3, 0.1)", "(0.41, 0.30, 0.27)", "not normalised: they sum to 0.98"),
        ("softmax(1.4, 0.6, 0)", "(0.461, 0.309, 0.229)", "the weights at temperature 2"),
        ("softmax(0.4, 1.1, 0.4)", "(0.24, 0.46, 0.30)", "equal scores, unequal weights: 0.24 and 0.30"),
        (
            "softmax(0.4, 1.1, 0.7)",
            "(0.31, 0.27, 0.42)",
            "the larger score has the smaller weight: 0.27 and 0.42",
        ),
        (
            "softmax(0.3, 0) @ [[1, 2], [4, 3]]",
            "[2.2600, 2.4200]",
            "the weights: 0.5800, 0.4200 give this, right are 0.5744, 0.4256",
        ),
        # terms, factors, signs
        ("0.310 + 0.275 + 0.186", "0.585", "without the term 0.186"),
        ("0.310 + 0.275 + 0.186", "0.461", "without the term 0.310"),
        ("16 × 96 × 2", "6,144", "the factor 2 twice"),
        ("0.6 × 0.51 + 0.4 × 0.37", "0.158", "the sign of 0.4 · 0.37"),
        ("(-0.34)(1.7) + 0.93", "1.508", "the minus of 0.34 lost"),
        ("exp(-0.34)", "1.405", "the sign of the exponent −0.34"),
        ("e^1.3", "0.273", "the sign of the exponent 1.3"),
        ("[0.3·4.1 + 0.7·2.9, 0.3·1.7 + 0.7·0.4]", "[3.26, 0.23]", "the sign of 0.7 · 0.4"),
        ("(1.21, 0.5) · (0.7, 2.13)", "0.847", "without the term 0.5 · 2.13"),
        ("q · k", "1.09", "the sign of 0.2 · 1.6"),
        ("[12/√9, 7.4/√9]", "[12.0, 7.4]", "without the scale 1/√9"),
        ("0.7 − 1.6", "0.9", "the sign"),
        ("(3, -4) × 2.5", "(-7.5, 10)", "the sign"),
        ("√16", "8", "a factor 2 too large"),
        ("9 + 8", "34", "a factor 2 too large"),
        ("63 × 104", "13,000", "a factor 2 too large"),
        ("0.36 × 0.25", "0.90", "the decimal point: a factor 10 too large"),
        ("0.27 × 0.6", "45.0%", "divided by 0.6, not multiplied"),
        # units; the right value is given in the printed unit
        ("5 KB + 7 KB", "96 KB", "bits and bytes mixed up: a factor 8 too large"),
        ("128 KB × 4", "524 KB", "units of 1000 and of 1024 mixed: 2.4 % too large"),
        ("3 MB + 5.5 MB", "8500 MB", "the unit: a factor 1000 too large"),
        # order
        ("(1, 2, 3) × 1.37", "(4.11, 2.74, 1.37)", "in reversed order"),
        ("[[1.25, 2.5], [3.75, 5.5]] × 1.1", "[[1.375, 4.125], [2.75, 6.05]]", "rows and columns exchanged"),
        ("(1, 2, 3) × 1.37", "(2.74, 4.11, 1.37)", "the right numbers in another order"),
        (
            "[[1.25, 2.5], [3.75, 5.5]] × 1.1",
            "[[1.375, 2.75], [1.375, 2.75]]",
            "row 2 has the numbers of row 1",
        ),
        # digits
        ("31.4 + 27.9", "59.7", "one digit: 59.3, not 59.7"),
        ("128 × 31", "3986", "two digits swapped: 3968, not 3986"),
        ("4096 × 33", "13568", "a digit lost: 135168, not 13568"),
        ("4096 × 33", "1,355,168", "a digit too many: 135168, not 1355168"),
        # one place of a step
        ("3.2/(1.6 × 4)", "3.2/5.4", "1.6 · 4 is 6.4, not 5.4"),
        ("sqrt(0.9² + 1.3²)", "sqrt(0.81 + 1.96)", "1.3^2 is 1.69, not 1.96"),
    ],
)
def test_a_slip_is_named(left: str, result: str, words: str) -> None:
    worked = value_of(read(left))
    unit = re.search(r"%|KB|MB", result)
    per_unit = {"%": 100, "KB": 1e-3, "MB": 1e-6}[unit[0]] if unit else 1
    assert cause(left, result, scaled(worked, per_unit)) == words


def scaled(value: Any, factor: float) -> Any:
    return tuple(scaled(item, factor) for item in value) if isinstance(value, tuple) else value * factor


@pytest.mark.parametrize(
    ("left", "result"),
    [
        ("2 × 3", "5"),  # added? one number of ten
        ("7 + 8", "16"),
        ("(1, 2, 3) × 1", "(2, 1, 3)"),
        ("0.4 × 0.7", "0.4"),
        ("0.83 × 0.57", "0.52"),
        ("softmax(0.8, 0.1, -0.4)", "(0.5, 0.4, 0.1)"),
        ("softmax(0.9, 0.3, 0.1)", "(0.55, 0.25, 0.20)"),
        ("0.31 × 0.27 + 0.64 × 0.58", "0.57"),
    ],
)
def test_what_chance_explains_as_well_is_not_named(left: str, result: str) -> None:
    assert cause(left, result) == ""


def test_numbers_made_up_are_seldom_explained() -> None:
    """Of 300 sums of products with any number of their size behind them, one in fifty at most."""
    draw = random.Random(7)
    explained = 0
    for _ in range(300):
        a, b, c, d = (f"{draw.uniform(0.1, 9.9):.2f}" for _ in range(4))
        left = f"{a} × {b} + {c} × {d}"
        right = value_of(read(left))
        explained += cause(left, f"{draw.uniform(right / 2, 2 * right):.2f}") != ""
    assert explained <= 6


def test_two_slips_that_give_the_same_number_are_both_named() -> None:
    assert cause("12.3 × 7.1 × 7.1004", "87.3") == "without the factor 7.1004 or without the factor 7.1"


def chain(n: int) -> Expression:
    found: Expression = Number(2, 0.0, "2", 0, 1)
    for _ in range(n):
        found = Operation("neg", (found,), 0, 1)
    return found


def wide(what: str, n: int) -> Operation:
    ones = Items(tuple(Number(0.5, 0.05, "0.5", 0, 3) for _ in range(n)), 0, 1)
    return Operation(what, (ones,), 0, 1)


ONE = Number(1, 0.0, "1", 0, 1)
HUGE = Number(10**5000, 0.0, "1" + "0" * 5000, 0, 5001)


@pytest.mark.parametrize(
    ("left", "result", "exact"),
    [
        (chain(5_000), ONE, 2),
        (ONE, chain(5_000), 2),
        (wide("sum", 5_000), ONE, 2_500.0),
        (wide("softmax", MOST_NUMBERS + 1), wide("softmax", MOST_NUMBERS + 1).args[0], (1 / 257,) * 257),
        (HUGE, ONE, 10**5000),
        (ONE, HUGE, 1),
        (ONE, Number(2, 0.0, "2", 0, 1), math.nan),
        (ONE, Number(2, 0.0, "2", 0, 1), math.inf),
        (ONE, wide("sum", 3).args[0], 1),
        (ONE, Items((), 0, 1), ()),
        (ONE, ONE, 1),
    ],
    ids=[
        "deep",
        "deep result",
        "wide",
        "many",
        "huge",
        "huge result",
        "nan",
        "inf",
        "shapes",
        "empty",
        "true",
    ],
)
def test_what_is_too_large_has_no_cause(left: Expression, result: Expression, exact: Any) -> None:
    assert likely(left, result, exact, value_of) == ""


@pytest.mark.parametrize("terms", [3, 30, 100])
def test_the_work_for_one_claim_is_bounded(terms: int) -> None:
    """However long a sum is: what is worked out stays within the bound, and some for the other groups."""
    asked = 0

    def counted(part: Expression) -> Any:
        nonlocal asked
        asked += size(part, MOST_PARTS)
        return value_of(part)

    left = read(" + ".join(f"{0.31 + 0.07 * term:.2f} × 1.{term:02}" for term in range(terms)))
    assert likely(left, read("7.7777"), value_of(left), counted) == ""
    assert asked <= 5_000


def test_a_list_of_thousands_is_worked_out_for_no_cause() -> None:
    def never(part: Expression) -> Any:
        raise AssertionError("worked out")

    assert likely(wide("sum", 5_000), ONE, 2_500.0, never) == ""


def test_what_cannot_be_worked_out_explains_nothing() -> None:
    def never(part: Expression) -> Any:
        raise ValueError("a name without a number")

    assert likely(read("3 × z"), read("7"), 6, never) == ""


def test_a_product_meant_number_by_number_is_explained_as_such() -> None:
    one_by_one = evaluate.Reading(dot=False)
    left = read("(1.21, 0.5) · (0.7, 2.13)")

    def by_one(part: Expression) -> Any:
        return evaluate.value(part, NAMES, one_by_one)

    assert (
        likely(left, read("(1.729, 0.235)"), by_one(left), by_one) == "divided by [0.7, 2.13], not multiplied"
    )
