"""A numeral as people type it: its value, and how far its last digit reaches."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverhead.checking.claims.reading.numerals import LONGEST, numeral, trailing_zeros
from riverhead.errors import InputError

POINTS = {  # as written where a point parts the decimals: (value, half a unit of the last digit)
    "7": (7, 0.0),
    "00042": (42, 0.0),
    "0.54": (0.54, 0.005),
    ".5": (0.5, 0.05),
    "0.540": (0.54, 0.0005),
    "2.": (2.0, 0.0),
    "1,360": (1360, 0.0),
    "4,194,304": (4194304, 0.0),
    "1,234.50": (1234.5, 0.005),
    "17 000": (17000, 0.0),
    "17\u00a0000": (17000, 0.0),
    "17\u202f000": (17000, 0.0),
    "17\u2009000.5": (17000.5, 0.05),
    "17'000": (17000, 0.0),
    "17_000": (17000, 0.0),
    "17{,}000": (17000, 0.0),
    "17 , 000": (17000, 0.0),
    "0,604": (0.604, 0.0005),
    "½": (0.5, 0.0),
    "¾": (0.75, 0.0),
    "1.048.576": (1048576, 0.0),
    "1e6": (1000000, 0.0),
    "1.e3": (1000.0, 500.0),
    "3E2": (300, 0.0),
    "1e+2": (100, 0.0),
    "1e-3": (0.001, 0.0005),
    "4e−2": (0.04, 0.005),
    "1.5e3": (1500.0, 50.0),
    "1.50e3": (1500.0, 5.0),
    "2.5e-01": (0.25, 0.005),
    "1.25e+00": (1.25, 0.005),
}
COMMAS = {  # and where a comma does
    "0,54": (0.54, 0.005),
    "12,5": (12.5, 0.05),
    "1.234": (1234, 0.0),
    "1.234,5": (1234.5, 0.05),
    "1 234,56": (1234.56, 0.005),
    "1,360": (1.36, 0.0005),
    "1,5e-3": (0.0015, 5e-05),
    "300": (300, 0.0),
}


@pytest.mark.parametrize("text", POINTS)
def test_a_numeral_has_a_value_and_half_a_unit(text: str) -> None:
    value, half = numeral(text)
    assert value == POINTS[text][0]
    assert half == pytest.approx(POINTS[text][1], rel=1e-12)  # a power of ten, off by its last bit at most


@pytest.mark.parametrize("text", COMMAS)
def test_a_decimal_comma_is_one_where_the_text_has_them(text: str) -> None:
    value, half = numeral(text, decimal_comma=True)
    assert value == pytest.approx(COMMAS[text][0], rel=1e-15)
    assert half == pytest.approx(COMMAS[text][1], rel=1e-12)


@pytest.mark.parametrize("text", ["12", "1,000", "3e4", "7" * 30])
def test_a_whole_number_is_an_exact_integer(text: str) -> None:
    assert type(numeral(text)[0]) is int
    assert numeral("7" * 30)[0] == int("7" * 30)


def test_the_longest_numeral_is_read_and_a_longer_one_is_refused() -> None:
    assert numeral("3" * LONGEST)[0] == int("3" * LONGEST)
    assert numeral("0." + "3" * (LONGEST - 2))[0] == pytest.approx(1 / 3)
    for text in ("3" * (LONGEST + 1), "0." + "3" * (LONGEST - 1), "9" * 1_000_000):
        with pytest.raises(
            InputError, match=rf"a number of {len(text):,} characters; up to {LONGEST} are read"
        ):
            numeral(text)


def test_a_power_of_ten_is_read_as_far_as_numbers_go_and_refused_beyond() -> None:
    assert numeral(f"1e{LONGEST - 1}") == (10 ** (LONGEST - 1), 0.0)
    assert numeral(f"1e-{LONGEST - 1}")[0] == pytest.approx(10.0 ** (1 - LONGEST), rel=1e-12)
    for power in (str(LONGEST), f"-{LONGEST}", "999999999", f"{LONGEST:0>290}"):
        for digits in ("1", "1.5"):
            with pytest.raises(InputError, match=f"a power of ten of {power[:20]}; up to {LONGEST} are read"):
                numeral(f"{digits}e{power}")


@given(st.integers(0, 10**12), st.integers(1, 12))
def test_any_decimal_is_read_to_its_last_digit(digits: int, places: int) -> None:
    text = f"{Decimal(digits).scaleb(-places):f}"
    value, half = numeral(text)
    assert value == float(text)
    shown = len(text.partition(".")[2])
    assert half == (pytest.approx(0.5 * 10.0**-shown, rel=1e-12) if shown else 0.0)
    assert numeral(text.replace(".", ","), decimal_comma=True) == (value, half)


@given(st.integers(1000, 10**15), st.sampled_from([",", " ", "\u00a0", "\u202f", "\u2009", "'", "_", "{,}"]))
def test_whatever_parts_the_thousands_the_number_is_the_same(number: int, mark: str) -> None:
    assert numeral(f"{number:,}".replace(",", mark)) == (number, 0.0)


@given(st.integers(1, 10**9), st.integers(0, 9))
def test_trailing_zeros_are_counted(number: int, zeros: int) -> None:
    whole = number * 10**zeros
    count = trailing_zeros(whole)
    assert count >= zeros
    assert whole % 10**count == 0
    assert whole % 10 ** (count + 1) != 0


def test_zero_has_no_trailing_zeros() -> None:
    assert [trailing_zeros(value) for value in (0, 6500, 1024, -30, 7)] == [0, 2, 0, 1, 0]
