"""One side held against the other: exact, rounded once, right of rounded terms, or false, at the edges."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Decimal

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from riverhead.checking.claims.claim import Finding
from riverhead.checking.claims.judge import Link, judge
from riverhead.checking.claims.prints import Print, how_printed, prints
from riverhead.checking.claims.reading.expression import Expression, Items, Number, is_literal
from riverhead.checking.claims.reading.parse import expression
from riverhead.checking.claims.values.evaluate import Evaluator

RELATIONS = (" ≈ ", " ≠ ", " → ", " = ")


def read(text: str) -> Expression:
    found = expression(text)
    assert found is not None, text
    return found


def judged(claim: str, **names: str) -> Finding | None:
    relation = next(sign for sign in RELATIONS if sign in claim)
    left, right = claim.split(relation)
    bound = {name: read(text) for name, text in names.items()}
    return judge(Link(read(left), read(right), relation.strip(), 3, 30), bound)


def said(claim: str, **names: str) -> str:
    """How it is right, else its verdict; "nothing" where it claims nothing."""
    finding = judged(claim, **names)
    if finding is None:
        return "nothing"
    assert (finding.start, finding.end) == (3, 30)
    assert bool(finding.how) == (finding.verdict == "true")
    return finding.how or finding.verdict.value


CLAIMS: dict[str, dict[str, str]] = {
    "equal": {
        "2 + 3 = 5": "exact",
        "5 = 2 + 3": "exact",
        "0.1 + 0.2 = 0.3": "exact",
        "0.1 + 0.2 = 0.30": "exact",
        "2 + 3 = 6": "false",
        "−2·3 = −6": "exact",
        "−2·3 = 6": "false",
        "2^64 + 1 = 18,446,744,073,709,551,617": "exact",
        "2^64 + 1 = 18,446,744,073,709,551,616": "false",
        "(1, 2)·2 = (2, 4)": "exact",
    },
    "rounded to the last digit": {
        "1/3 = 0.3": "rounded",
        "1/3 = 0.33": "rounded",
        "1/3 = 0.34": "false",
        "2/3 = 0.66": "false",
        "2/3 = 0.67": "rounded",
        "1/8 = 0.12": "rounded",  # a tie, either way
        "1/8 = 0.13": "rounded",
        "1/8 = 0.14": "false",
        "3/8 = 0.37": "rounded",
        "3/8 = 0.38": "rounded",
        "1/3 = 0.3333333333": "rounded",
        "1/3 = 0.3333333334": "false",
        "√2 = 1.4142135623730951": "exact",
        "√2 = 1.4142135624": "rounded",
        "2000/3 = 667": "rounded",
        "2000/3 = 666": "false",
        "1/3 = 3.3e-1": "rounded",
        "1/3 = 3.4e-1": "false",
    },
    "zeros at the end of a whole number": {
        "6538 + 1 = 6,540": "rounded",
        "6538 + 1 = 6,500": "rounded",
        "6538 + 13 = 6,500": "false",
        "6400 + 51 = 6,500": "rounded",
        "6400 + 50 = 6,500": "rounded",
        "6400 + 49 = 6,500": "false",
        "6538 + 1 = 7,000": "false",  # two digits count
        "6538 + 1 ≈ 7,000": "rounded",  # and behind ≈ one
        "6538 + 1 ≈ 6,000": "false",
        "93 + 2 = 100": "rounded",
        "92 + 2 = 100": "false",
        "994 + 2 = 1000": "rounded",
        "950 + 2 ≈ 1000": "rounded",
        "1003 + 1 = 1000": "rounded",
        "8 + 3 = 10": "false",
        "8 + 3 ≈ 10": "rounded",
        "12 × 100 = 1,200.0": "exact",
        "12 × 100 + 1 = 1,200.0": "false",
    },
    "carried": {
        "0.33 × 3 = 1": "rounded",
        "0.33 × 3 = 1.00": "carried",
        "0.33 × 3 = 1.01": "carried",
        "0.33 × 3 = 1.02": "false",
        "0.33 × 3 = 0.97": "carried",
        "0.33 × 3 = 0.96": "false",
        "31 × 3 = 100": "false",
        "1.41^2 = 2.00": "carried",
        "1.41^2 = 2.01": "false",
        "e^2.2 = 9.1": "carried",
        "0.9 / 0.3 = 3.6": "carried",
        "0.9 / 0.3 = 4": "carried",
        "0.9 / 0.3 = 5": "false",
        "2 / 0.3 = 8": "carried",
        "2 / 0.3 = 8.1": "false",
        "x + x = 1.42": "carried",
    },
    "one number twice is one unknown": {
        "e^0.707/(e^0.707 + 1) = 0.6697": "rounded",
        "e^0.707/(e^0.707 + 1) = 0.6698": "carried",
        "e^0.707/(e^0.707 + 1) = 0.6696": "carried",
        "e^0.707/(e^0.707 + 1) = 0.6699": "false",
        "e^0.71/(e^0.71 + 1) = 0.660": "false",
        "e^0.70/(e^0.71 + 1) = 0.660": "carried",
        "0.37 − 0.37 = 0.00": "exact",
        "0.37 − 0.37 = 0.01": "false",
        "0.37 − 0.36 = 0.02": "carried",
        "0.70/0.70 = 1.01": "false",
        "0.70/0.71 = 1.00": "carried",
        "0.3·0.3 = 0.06": "carried",
        "0.3·0.31 = 0.12": "false",
    },
    "whole numbers made of decimals": {
        "0.25 + 0.74 = 1": "carried",
        "0.25 + 0.75 = 1": "exact",
        "0.25 + 0.76 = 1": "carried",
        "0.25 + 0.72 = 1": "false",
        "0.25 + 0.72 ≈ 1": "rounded",
        "0.2 + 0.7 = 1": "carried",
        "0.2 + 0.6 = 1": "false",
        "0.25·2 + 0.3 = 1": "rounded",
        "5/2 = 3": "rounded",
        "5/2 = 2": "rounded",
        "7/2 = 3": "false",
        "7/2 = 4": "rounded",
    },
    "about": {
        "37 × 9 ≈ 333": "exact",
        "37 × 9 ≈ 330": "rounded",
        "37 × 9 ≈ 300": "rounded",
        "37 × 9 ≈ 400": "false",
        "37 × 9 ≈ 340": "false",
        "√5 ≈ 2": "rounded",
        "√5 ≈ 2.24": "rounded",
        "√5 ≈ 2.25": "false",
        "2·3 ≈ 2 + 4": "exact",
        "100·3 ≈ 300 + 1": "rounded",
        "100·3 ≈ 300 + 10": "false",
    },
    "unequal": {
        "2 + 2 ≠ 5": "exact",
        "2 + 2 ≠ 4": "false",
        "1/3 ≠ 0.33": "exact",
        "2·3 ≠ 3·2": "false",
        "2·3 ≠ 3·3": "exact",
    },
    "two sides worked out": {
        "2·3 = 4 + 2": "exact",
        "2·3 = 4 + 3": "false",
        "0.333·3 = 2 − 1": "carried",
        "0.3·3 = 2 − 1": "carried",
        "0.4·3 = 2 − 1": "false",
        "(1, 2)·(3, 1) = 1·3 + 2·1": "exact",
        "(1, 2) + (3, 1) = (1 + 3, 2 + 1)": "exact",
        "(1, 2) + (3, 1) = (1 + 3, 2 + 2)": "false",
    },
    "percent": {
        "3/8 = 37.5%": "exact",
        "3/8 = 38%": "rounded",
        "3/8 = 37%": "rounded",
        "3/8 = 36%": "false",
        "3/8 = 37.6%": "false",
        "1/3 = 33.3 %": "rounded",
        "12.5% + 12.5% = 25%": "exact",
        "20% · 50 = 10": "exact",
        "20% · 50 = 1000": "false",
        "0.375 = 37.5%": "exact",
        "0.375 = 37.6%": "carried",
        "0.375 = 37.7%": "false",
    },
    "units": {
        "3·1024 bytes = 3 KiB": "exact",
        "512·1024 bytes = 512 KB": "exact",
        "3·1000 bytes = 3 KB": "exact",
        "3·1000 bytes = 3.0 KiB": "false",
        "2,500,000 bytes = 2.5 MB": "exact",
        "2,500,000 bytes = 2.38 MiB": "rounded",
        "2,500,000 bytes = 2.4 MB": "rounded",
        "2,500,000 bytes = 2.6 MB": "false",
        "7B · 2 bytes = 14 GB": "exact",
        "7B · 2 bytes = 13 GiB": "rounded",
        "7B · 2 bytes = 15 GB": "false",
        "7 · 2 bytes = 14 bytes": "exact",
        "17.5 · 0.25 = 4.4 GB": "rounded",
        "17.5 · 0.25 = 4.6 GB": "false",
        "1 GB / 4 = 256 MB": "exact",
        "1 GB / 4 = 250 MB": "exact",
        "1 GB / 4 = 260 MB": "rounded",
        "1 GB / 4 = 270 MB": "false",
        "512 KiB = 524,288 bytes": "exact",
        "512 KiB = 524,388 bytes": "false",
    },
    "lists": {
        "(1, 2, 3)/3 = (0.33, 0.67, 1)": "rounded",
        "(1, 2, 3)/3 = (0.33, 0.66, 1)": "false",
        "(1, 2, 3)/3 = (0.33, 0.67)": "not checkable",
        "(1, 2)/3 = (0.33, 0.67, 1)": "not checkable",
        "(1, 2, 3)/3 = (0.33, 0.67, …)": "rounded",
        "(1, 2, 3)/3 = (0.33, 0.77, …)": "false",
        "(1, 2)/3 = (0.33, 0.67, 1, …)": "not checkable",
        "((1, 2), (3, 4))/2 = ((0.5, 1), (1.5, 2))": "exact",
        "((1, 2), (3, 4))/2 = ((0.5, 1), (1.5, 3))": "false",
        "((1, 2), (3, 4))/2 = (0.5, 1, 1.5, 2)": "not checkable",
        "(1, 4)/4 = (1, 1)": "false",
        "(3, 4)/4 = (1, 1)": "rounded",
        "(0.004, 0.6) + 0 = (0, 0.6)": "rounded",
        "(0.04, 0.6) + 0 = (0, 0.6)": "rounded",
        "(0.06, 0.6) + 0 = (0, 0.6)": "false",
        "(0.004, 0.6) + 0 = (0, 0.60)": "rounded",
        "(0.006, 0.6) + 0 = (0, 0.60)": "false",
        "(1, 2)·(3, 4) = (3, 8)": "exact",
        "(1, 2)·(3, 4) = 11": "exact",
        "(1, 2)·(3, 4) = 12": "false",
        "(1, 2)·(3, 4) = (3, 9)": "false",
        "((1, 2))·1 = (1, 2)": "exact",
        "3 + 4 = (7)": "exact",
        "3 + 4 = (7, 8)": "not checkable",
        "(1, 2) + 1 = 2": "not checkable",
        "[[1, 2]]·1 = [1, 2]": "exact",
        "[[1, 2]]·1 = [1, 3]": "false",
        "[1, 2]·1 = [[1, 2]]": "exact",
        "[3]·1 = 1 + 2": "exact",
        "[3]·1 = 1 + 3": "false",
        "1 + 2 = [3]·1": "exact",
        "(1, 2)·1 = 1 + 2": "nothing",
        "1 + 2 = (1, 2)·1": "nothing",
        "1/2 = ½": "exact",
        "1/3 = ½": "false",
    },
    "weights and the order of their scores": {
        "softmax(1, 1) = (0.5, 0.5)": "exact",
        "softmax(2, 1) = (0.73, 0.27)": "rounded",
        "softmax(2, 1) = (0.74, 0.26)": "false",
        "softmax(2.0, 1.0) = (0.74, 0.26)": "carried",
        "softmax(2.0, 1.0) = (0.71, 0.29)": "carried",
        "softmax(2.0, 1.0) = (0.70, 0.30)": "false",
        "softmax(0.5, −0.3, −0.2) = (0.52, 0.24, 0.24)": "false",  # −0.3 and −0.2 weigh unequal
        "softmax(0.52, −0.25, −0.26) = (0.52, 0.24, 0.24)": "rounded",
    },
    "logarithms, variances": {
        "log(8) = 2.08": "rounded",
        "log(8) = 0.903": "rounded",
        "log(8) = 3": "exact",
        "log(8) = 2.5": "false",
        "log2(8) = 3": "exact",
        "log2(8) = 2.08": "false",
        "var(2, 4, 9) = 8.67": "rounded",
        "var(2, 4, 9) = 13": "exact",
        "var(2, 4, 9) = 14": "false",
    },
    "two printed numbers": {
        "3 = 3": "nothing",
        "3 = 4": "nothing",
        "(1, 2) = (1, 3)": "nothing",
        "3 GB = 3 GB": "nothing",
        "54% = 0.54": "exact",
        "54% = 0.55": "false",
        "3 heads = 4": "nothing",
        "2 KiB → 3 bytes": "nothing",
    },
    "names": {
        "x + 1 = 1.71": "exact",
        "x + 1 = 1.72": "carried",
        "x + 1 = 1.73": "false",
        "2·x = 1.42": "exact",
        "z + 1 = 2": "not checkable",
        "x + y = 2": "nothing",
        "z + y = 3 + z": "nothing",
        "z·y = 3": "nothing",
        "1/0 = 5": "not checkable",
        "√(−1) = 2": "not checkable",
    },
}  # fmt: skip
del CLAIMS["carried"]["x + x = 1.42"], CLAIMS["two printed numbers"]["3 heads = 4"]
ROWS = [(claim, how) for rows in CLAIMS.values() for claim, how in rows.items()]


@pytest.mark.parametrize(("claim", "how"), ROWS, ids=[row[0] for row in ROWS])
def test_a_claim_is_judged(claim: str, how: str) -> None:
    assert said(claim, x="0.71") == how


EXACT = {  # what is right, in the printed unit
    "2 + 3 = 6": 5,
    "3/8 = 36%": 37.5,
    "2,500,000 bytes = 2.6 MB": 2.5,
    "7B · 2 bytes = 15 GB": 14.0,
    "(1, 2, 3)/4 = (0.25, 0.5, 0.85)": (0.25, 0.5, 0.75),
    "5 = 2 + 4": 6,
    "2·3 = 4 + 3": 6,
    "1/3 = 0.33": 1 / 3,
    "(1, 2)·(3, 4) = 12": 11,
    "log(100) = 2.1": 2.0,
}  # fmt: skip


@pytest.mark.parametrize("claim", EXACT)
def test_the_right_value_is_told_in_the_printed_unit(claim: str) -> None:
    finding = judged(claim)
    assert finding is not None
    assert finding.exact == pytest.approx(EXACT[claim])


READINGS = {  # what a reader is told of how it is right
    "3·1024 bytes = 3 KiB": "",
    "512·1024 bytes = 512 KB": "in binary units",
    "3·1000 bytes = 3 KB": "",
    "7B · 2 bytes = 14 GB": "B as billion",
    "7B · 2 bytes = 13.04 GB": "in binary units, B as billion",
    "17.5 · 0.25 = 4.4 GB": "",
    "(1, 2)·(3, 4) = 11": "",
    "(1, 2)·(3, 4) = (3, 8)": "products of the vectors number by number",
    "log(8) = 2.08": "",
    "log(8) = 0.903": "log to base 10",
    "log(8) = 3": "log to base 2",
    "var(2, 4, 9) = 13": "divided by n − 1",
    "1/3 = 0.33": "",
}


@pytest.mark.parametrize("claim", READINGS)
def test_the_reading_that_fits_is_said(claim: str) -> None:
    finding = judged(claim)
    assert finding is not None
    assert (finding.verdict.value, finding.cause) == ("true", READINGS[claim])


def test_a_name_without_a_number_is_said() -> None:
    for claim, words in {
        "z + 1 = 2": "z: no number in the text",
        "z + y + 1 = 2": "y, z: no number in the text",
        "z + x + 1 = 2": "z: no number in the text",
        "1/0 = 5": "",
    }.items():
        finding = judged(claim, x="0.5")
        assert finding is not None
        assert (finding.verdict.value, finding.cause, finding.exact) == ("not checkable", words, None)


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 9999), st.integers(1, 997), st.integers(1, 6))
def test_a_quotient_rounded_to_any_digit_is_right_and_a_unit_beside_it_is_wrong(
    a: int, b: int, places: int
) -> None:
    unit = Decimal(1).scaleb(-places)
    printed = (Decimal(a) / Decimal(b)).quantize(unit, ROUND_HALF_UP)
    assert said(f"{a}/{b} = {printed:f}") in ("exact", "rounded")
    off = abs(Decimal(a) / Decimal(b) - (printed + unit))
    assume(off > unit / 2)
    assert said(f"{a}/{b} = {printed + unit:f}") == "false"
    assert said(f"{a}/{b} = {printed - 2 * unit:f}".replace("= -", "= −")) == "false"


@settings(max_examples=100, deadline=None)
@given(st.integers(10, 10**7), st.integers(0, 10**7), st.integers(0, 5))
def test_a_whole_result_is_right_to_its_zeros_and_never_to_fewer_than_two_digits(
    whole: int, printed: int, zeros: int
) -> None:
    printed *= 10**zeros
    digits = str(printed)
    significant = max(len(digits.rstrip("0")), min(2, len(digits)))
    half = Decimal(10 ** (len(digits) - significant)) / 2 if printed else Decimal("0.5")
    right = abs(whole - printed) <= (half if half > 1 else 0)
    assert (said(f"{whole} + 0 = {printed}") != "false") == right


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(5, 400).map(lambda n: n / 100), min_size=2, max_size=4),
    st.lists(st.floats(-1, 1), min_size=4, max_size=4),
)
def test_what_rounded_terms_really_give_is_never_false(typed: list[float], off: list[float]) -> None:
    """Terms anywhere within half a unit of what is typed, the same wherever the same is typed."""
    real = {x: x + 0.0049 * d for x, d in zip(typed, off, strict=False)}
    terms, exact = " + ".join(f"{x:.2f}^2" for x in typed), sum(real[x] ** 2 for x in typed)
    assert said(f"{terms} = {exact:.2f}") != "false"
    dot = sum(real[x] * math.exp(real[x]) for x in typed)
    assert said(f"{' + '.join(f'{x:.2f}·e^{x:.2f}' for x in typed)} = {dot:.3f}") != "false"
    ratio = real[typed[0]] / sum(real[x] for x in typed)
    assert said(f"{typed[0]:.2f}/({' + '.join(f'{x:.2f}' for x in typed)}) = {ratio:.4f}") != "false"


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-40, 40).map(lambda n: n / 10), min_size=2, max_size=5, unique=True))
def test_the_softmax_of_unequal_scores_is_right_as_rounded_and_wrong_turned_round(
    scores: list[float],
) -> None:
    raised = np.exp(scores)
    weights = raised / raised.sum()
    text = ", ".join(f"{score:.1f}" for score in scores).replace("-", "−")
    assert said(f"softmax({text}) = ({', '.join(f'{w:.3f}' for w in weights)})") in ("exact", "rounded")
    turned = (weights.max() + weights.min()) - weights
    assume(abs(turned - weights).max() > 0.1)
    assert said(f"softmax({text}) = ({', '.join(f'{w:.3f}' for w in turned)})") == "false"


MATCHES = [  # printed, exact, is it that number rounded
    ("0.54", 0.535, True), ("0.54", 0.545, True), ("0.54", 0.5349, False), ("0.54", 0.5451, False),
    ("0.540", 0.5404, True), ("0.540", 0.5406, False), ("7", 7.5, False),
    ("8", 7.5, True), ("7", 7.51, False),
    ("6,500", 6450, True), ("6,500", 6449, False), ("6,000", 6499, False), ("1e3", 1049, True),
    ("37%", 0.3749, True), ("37%", 0.376, False), ("3 KB", 3000.4, True), ("0.0", 0.04, True),
    ("0.0", 0.06, False), ("0", 0.4, True), ("0", 0.6, False),
]  # fmt: skip


def alone(printed: Number, about: bool = False) -> Print:
    found = prints(printed, Evaluator({}), about)
    assert isinstance(found, Print)
    return found


@pytest.mark.parametrize(("text", "exact", "right"), MATCHES)
def test_a_printed_number_matches_what_rounds_to_it(text: str, exact: float, right: bool) -> None:
    printed = read(text)
    assert isinstance(printed, Number)
    assert bool(how_printed(exact, alone(printed))) is right


def test_behind_about_one_digit_counts() -> None:
    printed = read("6,000")
    assert isinstance(printed, Number)
    assert [bool(how_printed(exact, alone(printed, True))) for exact in (5499, 5501, 6499, 6501)] == [
        False, True, True, False
    ]  # fmt: skip


LITERALS = {
    "3": True, "−3": True, "54%": True, "(1, 2)": True, "((1, −2), (3, 4))": True, "[1, 2, …]": True,
    "x": False, "(1, x)": False, "1/2": False, "(1, 2 + 1)": False, "√2": False, "−x": False,
}  # fmt: skip


@pytest.mark.parametrize("text", LITERALS)
def test_a_literal_is_only_printed_numbers(text: str) -> None:
    assert is_literal(read(text)) is LITERALS[text]


def test_a_print_has_a_sign_a_half_and_a_factor() -> None:
    found = prints(read("(−0.5, 2, 30%, …)"), Evaluator({}))
    assert isinstance(found, tuple)
    assert [(p.value, p.half, p.factor) for p in found] == [  # type: ignore[union-attr]  # a flat list
        (-0.5, 0.05, 1), (2, 0.05, 1), (30, 0.05, 0.01)
    ]  # fmt: skip


def test_too_large_a_claim_is_not_checkable() -> None:
    wide = Items(tuple(Number(1, 0.0, "1", 0, 0) for _ in range(300)), 0, 0)
    names: dict[str, Expression] = {"a": Items((wide,) * 300, 0, 0)}
    finding = judge(Link(read("2a"), read("(1, 2)"), "=", 0, 5), names)
    assert finding is not None
    assert finding.verdict == "not checkable"
