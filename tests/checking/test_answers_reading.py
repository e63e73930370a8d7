"""What a learner types is read as the number it means, or said to be unreadable: never an error, never 0."""

from __future__ import annotations

import math
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverhead.checking.answers import State, read


@pytest.mark.parametrize(
    ("text", "value", "decimals"),
    [
        ("0.37", 0.37, 2),
        (".37", 0.37, 2),
        ("0,37", 0.37, 2),
        ("37%", 0.37, 2),
        ("36.8 %", 0.368, 3),
        ("7,5 %", 0.075, 3),
        ("3.7e-1", 0.37, 2),
        ("4e2", 400, 0),
        ("−3", -3, 0),  # U+2212
        ("- 3", -3, None),
        ("+.5", 0.5, 1),
        (" 12 ", 12, 0),
        ("３，５", 3.5, 1),
        ("－４", -4, 0),
        ("２０％", 0.2, 2),
        ("≈ 0.37", 0.37, 2),
        ("37/100", 0.37, None),
        ("−1/4", -0.25, None),
        ("3/4 %", 0.0075, None),
        ("½", 0.5, None),
        ("2½", 2.5, None),
        ("3²", 9, None),
        ("10⁻²", 0.01, None),
        ("√3/2", math.sqrt(3) / 2, None),
        ("sqrt(3)/2", math.sqrt(3) / 2, None),
        ("1/√3", 1 / math.sqrt(3), None),
        ("1 / √(3)", 1 / math.sqrt(3), None),
        ("5√2", 5 * math.sqrt(2), None),
        ("−√2", -math.sqrt(2), None),
        ("√(1,5)", math.sqrt(1.5), None),
        ("e^0.4", math.exp(0.4), None),
        ("e^−0,4", math.exp(-0.4), None),
        ("e^{0.4}", math.exp(0.4), None),
        ("exp(0.4)", math.exp(0.4), None),
        ("2·3 + 1·4", 10, None),
        ("2 × 3 − 4 ÷ 2", 4, None),
        ("ln(2)", math.log(2), None),
        ("2π", 2 * math.pi, None),
        ("-2^2", -4, None),
        ("2^3^2", 512, None),
        ("2,097,152", 2097152, 0),
        ("2.097.152", 2097152, 0),
        ("2 097 152", 2097152, 0),
        ("2\u202f097\u202f152", 2097152, 0),
        ("2'097'152", 2097152, 0),
        ("1,234.5", 1234.5, 1),
        ("1.234,5", 1234.5, 1),
        ("2,048", 2.048, 3),
    ],
)
def test_every_way_to_write_a_number(text, value, decimals):
    answer = read(text)
    assert answer.state is State.NUMBER
    assert math.isclose(answer.value, value, rel_tol=1e-15)
    assert answer.decimals == decimals


def test_a_whole_number_parts_its_thousands_and_a_unit_may_stand_behind():
    assert read("2,048", whole=True).value == 2048
    assert read("16 MB", unit="MB").value == 16
    assert read("16", unit="MB").value == 16
    assert read("MB", unit="MB").state is State.UNREADABLE
    assert read("16 kB", unit="MB").state is State.UNREADABLE


def test_a_hidden_score_is_minus_infinity():
    assert {read(text).value for text in ("−∞", "-inf", "- Infinity")} == {-math.inf}


def test_nothing_is_blank():
    assert [read(text).state for text in ("", "  ", "\t\n")] == [State.BLANK] * 3


@pytest.mark.parametrize(
    "text",
    ["two", "x", "1/0", "0/0", "√(-1)", "(-2)^0.5", "0^-1", "nan", "inf", "∞", "1;2", "(1, 2)", "[1 2]",
     "0.5 0.6", "0x10", "1_0",
     "5 GB", "1e999", "1e-999", "..5", "0.5.1", "2+", "*3", "√", "()", "((1)", "1)", "٣",
     "x\x00",
     "1\x000", "__import__('os')", "1,23,456", "0.5 ± 0.1", "1=1", "4%%", "e^e^e^e^9", "9^9^9^9", "10^10^10"],
)  # fmt: skip
def test_what_cannot_be_read_is_said_and_is_never_a_number(text):
    answer = read(text)
    assert answer.state is State.UNREADABLE
    assert math.isnan(answer.value)


@pytest.mark.parametrize(
    "text",
    ["9" * 10**7, "1." + "3" * 10**6, "(" * 10**6, "-" * 10**6 + "1", "1e" + "9" * 10**6, "√" * 10**6 + "2",
     " " * 10**7, "2^" * 10**6 + "2", "½" * 10**6],
)  # fmt: skip
def test_hostile_lengths_are_refused_before_they_cost_anything(text):
    tracemalloc.start()
    try:
        answer = read(text)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert answer.state is not State.NUMBER
    assert len(answer.text) <= 60
    assert peak < 10**5  # the text itself is ten to a hundred times as long


@given(st.text(max_size=80) | st.text("0123456789.,eE+-*/^()√%½² ", max_size=80))
def test_any_text_is_a_finite_number_or_said_not_to_be_one(text):
    answer = read(text)
    if answer.state is State.NUMBER:
        assert math.isfinite(answer.value) or answer.value == -math.inf
    else:
        assert math.isnan(answer.value)


@given(st.decimals(-(10**9), 10**9, places=4))
def test_a_printed_decimal_comes_back_as_it_was(number):
    text = f"{number:f}"
    assert read(text).value == float(number)
    assert read(text.replace(".", ",")).value == float(number)
    assert read(text).decimals == 4


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("40 GB", 40e9),
        ("40gb", 40e9),
        ("1.024 MB", 1_024_000),  # a decimal point: no thousands before a prefix
        ("40 000 MB", 40e9),
        ("1,024 bytes", 1024),
        ("2 GiB", 2 * 1024**3),
        ("4*10^10 B", 40e9),
        ("12", 12),
    ],
)
def test_bytes_are_read_with_their_prefixes(text, value):
    answer = read(text, unit="bytes", whole=True)
    assert (answer.state, answer.value, answer.text) == (State.NUMBER, value, text)


@pytest.mark.parametrize("text", ["GB", "twelve B", "5 bytes bytes", "1e300 TB", "4 EB", "%B"])
def test_what_are_no_bytes_is_not_read(text):
    assert read(text, unit="bytes", whole=True).state is State.UNREADABLE


def test_a_prefix_means_bytes_where_they_are_asked_for_alone():
    assert read("40 GB").state is State.UNREADABLE
    assert read("40 GB", unit="FLOPs").state is State.UNREADABLE
