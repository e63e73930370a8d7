"""Numbers as they are printed, read and judged."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverhead.errors import InputError
from riverhead.numbers import Interval, Rounding, Verdict, fixed, judge, plain, read, significant

everything = st.floats(allow_nan=False, allow_infinity=False)
finite = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e12, max_value=1e12)
decimals = st.integers(0, 9)


def halfway(value: float, text: str) -> Fraction:
    """How far a printed number lies from the exact value, in halves of its last digit."""
    number = read(text)
    return abs(Fraction(number.value) - Fraction(value)) / (Fraction(number.unit) / 2)


@given(everything, decimals)
def test_a_fixed_number_is_the_nearest_with_its_digits(value: float, digits: int) -> None:
    text = fixed(value, digits).text
    assert halfway(value, text) <= 1
    assert len(text.partition("e")[0].partition(".")[2]) == digits


@given(everything, decimals)
def test_no_number_is_longer_than_a_float_has_digits(value: float, digits: int) -> None:
    """15 digits before the point, the places asked for, a point, a sign; or 17 and e−308."""
    for number in (fixed(value, digits), plain(value), significant(value, 1 + digits)):
        assert len(number.text) <= 26


@pytest.mark.parametrize(
    ("value", "places", "short"),
    [
        (1e300, "1.000e300", "1e300"),
        (-1e15, "−1.000e15", "−1e15"),
        (1234567890123456.0, "1.235e15", "1.234567890123456e15"),
        (999999999999999.0, "999999999999999.000", "999999999999999"),
        (5e-324, "0.000", "5e-324"),
    ],
)
def test_large_numbers_are_scientific(value: float, places: str, short: str) -> None:
    assert (fixed(value, 3).text, plain(value).text) == (places, short)


@given(finite.filter(lambda x: abs(x) > 1e-9), st.integers(1, 9))
def test_a_significant_number_is_the_nearest_with_its_digits(value: float, digits: int) -> None:
    text = significant(value, digits).text
    if "." in text or abs(value) < 10 ** (digits - 1):  # 1503 with two digits stays 1503, not 1500
        assert halfway(value, text) <= 1
        assert read(text).digits == digits


@given(everything)
def test_a_plain_number_reads_back_as_itself(value: float) -> None:
    assert float(plain(value).text.replace("−", "-")) == value


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (9.99996, 4, "10.00"),
        (0.0, 4, "0.000"),
        (999.96, 4, "1000"),
        (-0.00004, 3, "−0.0000400"),
        (1e12, 3, "1.00e12"),
        (434921.0, 4, "434921"),
        (999999999.0, 1, "1e9"),
    ],
)
def test_significant_digits_at_the_edges(value: float, digits: int, text: str) -> None:
    assert significant(value, digits).text == text


@pytest.mark.parametrize(
    ("text", "value", "unit", "digits"),
    [
        ("0.61", "0.61", "0.01", 2),
        ("−0.61", "-0.61", "0.01", 2),
        (" 1503 ", "1503", "1", 4),
        ("54%", "0.54", "0.01", 2),
        ("5.4 %", "0.054", "0.001", 2),
        (".5", "0.5", "0.1", 1),
        ("1.5e-3", "0.0015", "0.0001", 2),
        ("0.600", "0.600", "0.001", 3),
        ("0.00", "0", "0.01", 3),
    ],
)
def test_reading(text: str, value: str, unit: str, digits: int) -> None:
    number = read(text)
    assert (number.value, number.unit, number.digits) == (Decimal(value), Decimal(unit), digits)


@pytest.mark.parametrize(
    "text", ["", "water", "1,5", "1.2.3", "0x10", "1e9999", "9" * 50, "٣", "inf", "nan", "--1", "1/3"]
)
def test_what_is_no_number_is_refused_by_name(text: str) -> None:
    with pytest.raises(InputError, match="not a printed number"):
        read(text)


@pytest.mark.parametrize("spec", ["2f", ".2", ".f", ".100f", ".0g", ".2e", ""])
def test_digits_are_said_as_python_says_them(spec: str) -> None:
    with pytest.raises(InputError, match=r"\.2f"):
        Rounding.parse(spec)


@given(finite, decimals, st.booleans())
def test_rounding_keeps_to_half_a_unit(value: float, digits: int, significant_digits: bool) -> None:
    rounding = Rounding(digits + significant_digits, significant_digits)
    kept = rounding.nearest(value)
    assert Rounding.parse(str(rounding)) == rounding
    assert kept == pytest.approx(
        value, abs=0.5 * 10**-digits if not significant_digits else math.inf, rel=1e-12
    )
    if significant_digits and value:
        unit = 10.0 ** (math.floor(math.log10(abs(value))) - digits)
        assert abs(kept - value) <= unit / 2 * (1 + 1e-9) + math.ulp(value)  # kept is a float too


@pytest.mark.parametrize(
    ("value", "digits", "kept"),
    [(16.918829, 3, 16.9), (0.0012345, 2, 0.0012), (1503.2, 2, 1500.0), (-9.96, 2, -10.0), (0.0, 3, 0.0)],
)
def test_significant_digits_are_counted_from_the_first(value: float, digits: int, kept: float) -> None:
    assert Rounding(digits, significant=True).nearest(value) == kept


numbers = st.lists(st.floats(-30, 30), min_size=2, max_size=5)


@given(numbers, numbers, st.integers(0, 3), st.data())
def test_an_interval_holds_every_way_of_rounding(
    left: list[float], right: list[float], digits: int, data
) -> None:
    """A chain in which each number may or may not be rounded ends inside the interval of the chain."""
    rounding = Rounding(digits)

    def maybe(value: float) -> float:
        return rounding.nearest(value) if data.draw(st.booleans()) else value

    total, wide = 0.0, Interval.point(0.0)
    for a, b in zip(left, right, strict=False):
        total += maybe(maybe(a) * maybe(b))
        a_wide, b_wide = (Interval.point(x).rounded(rounding) for x in (a, b))
        wide += (a_wide * b_wide).rounded(rounding)
    assert wide.meets(Interval.point(total))
    assert (wide / Interval.point(-7.0)).meets(Interval.point(total / -7.0))
    small = wide * Interval.point(1e-3)
    assert small.exp().meets(Interval.point(math.exp(total * 1e-3)))


def test_division_by_what_may_be_zero_rules_nothing_out() -> None:
    assert Interval(1, 2) / Interval(-1, 1) == Interval(-math.inf, math.inf)


def test_an_exponential_that_overflows_is_infinite() -> None:
    assert Interval(0, 1000).exp() == Interval(1, math.inf)


@pytest.mark.parametrize(
    ("printed", "exact", "carried", "verdict"),
    [
        ("4", 4.0, None, "exact"),
        ("0.3", 0.1 + 0.2, None, "exact"),  # equal up to float64's own error
        ("0.604", 0.604269, None, "rounded"),
        ("0.605", 0.604269, None, "false"),
        ("0.12", 0.125, None, "rounded"),  # at a tie both neighbours are right
        ("0.13", 0.125, None, "rounded"),
        ("54%", 0.538776, None, "rounded"),
        ("0.61", 0.604269, Interval(0.604269, 0.605), "carried"),
        ("0.62", 0.604269, Interval(0.604269, 0.605), "false"),
        ("1.000", 1.001, Interval(0.999, 1.003), "carried"),
        ("−∞", -math.inf, None, "exact"),
        ("−∞", -3.0, None, "false"),
        ("3", -math.inf, None, "false"),
    ],
)
def test_verdicts(printed: str, exact: float, carried: Interval | None, verdict: str) -> None:
    assert judge(printed, exact, carried) == Verdict(verdict)


@given(finite, decimals)
def test_a_number_rounded_once_is_never_accused(value: float, digits: int) -> None:
    assert judge(fixed(value, digits).text, value) in (Verdict.EXACT, Verdict.ROUNDED)


@given(st.floats(-1000, 1000), st.integers(0, 6), st.integers(2, 50))
def test_a_number_two_units_off_is_false(value: float, digits: int, units: int) -> None:
    assert judge(fixed(value + units * 10.0**-digits, digits).text, value) == Verdict.FALSE
