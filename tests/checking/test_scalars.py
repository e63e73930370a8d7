"""The arithmetic of claims: integers exact, the rest float64's, and one way to fail."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverhead.checking.claims.values import scalars
from riverhead.checking.claims.values.ranges import Tape, Uncertain
from riverhead.checking.claims.values.scalars import FUNCTIONS, MAX_BITS, Scalar, Unreadable

integers = st.integers(-(10**40), 10**40)
anything = st.one_of(
    st.floats(),  # NaN and infinities too
    st.integers(-12, 12),
    st.integers(-(2**MAX_BITS) + 1, 2**MAX_BITS - 1),
    st.sampled_from([0.0, -0.0, 1e308, -1e308, 5e-324, 2.0**62, 0.5]),
)
BINARY = [
    scalars.add,
    scalars.subtract,
    scalars.multiply,
    scalars.divide,
    scalars.power,
    scalars.maximum,
    scalars.minimum,
]


def same(made: Scalar, exact: Fraction) -> bool:
    return isinstance(made, int) and made == exact


@given(integers, integers)
def test_integers_stay_exact_and_are_integers(a: int, b: int) -> None:
    assert same(scalars.add(a, b), Fraction(a) + b)
    assert same(scalars.subtract(a, b), Fraction(a) - b)
    assert same(scalars.multiply(a, b), Fraction(a) * b)
    assert same(scalars.total([a, b, a]), Fraction(2 * a + b))
    assert same(scalars.negate(a), Fraction(-a))
    assert same(scalars.absolute(a), abs(Fraction(a)))
    assert same(scalars.sqrt(a * a), abs(Fraction(a)))


@given(integers, integers.filter(bool))
def test_a_division_is_an_integer_where_it_comes_out_whole_and_else_the_nearest_float(a: int, b: int) -> None:
    assert same(scalars.divide(a * b, b), Fraction(a))
    quotient = Fraction(a, b)
    made = scalars.divide(a, b)
    assert made == (quotient.numerator if quotient.denominator == 1 else float(quotient))
    assert isinstance(made, int) == (quotient.denominator == 1)


@given(st.integers(-40, 40), st.integers(-40, 40))
def test_powers_of_integers_are_exact(base: int, exponent: int) -> None:
    if base == 0 and exponent <= 0:
        with pytest.raises(Unreadable, match="zero to a power"):
            scalars.power(base, exponent)
        return
    exact = Fraction(base) ** exponent
    assert scalars.power(base, exponent) == (exact if exponent >= 0 else float(exact))
    assert isinstance(scalars.power(base, exponent), int) == (exponent >= 0 or abs(base) == 1)


@given(st.lists(st.floats(-1e9, 1e9)))
def test_a_total_of_floats_is_rounded_once(items: list[float]) -> None:
    assert scalars.total(items) == float(sum(map(Fraction, items), Fraction(0)))


def test_a_total_of_nothing_is_nothing_and_of_both_kinds_is_a_float() -> None:
    assert scalars.total([]) == 0
    assert scalars.total([1, 0.5]) == 1.5
    assert scalars.total((-math.inf, 3)) == -math.inf


@given(st.floats(-20, 20))
def test_the_functions_are_those_of_float64(x: float) -> None:
    for name in ("exp", "sin", "cos", "tan", "tanh"):
        assert FUNCTIONS[name](x) == getattr(math, name)(x)
    assert FUNCTIONS["abs"](x) == abs(x)
    assert FUNCTIONS["neg"](x) == -x
    assert FUNCTIONS["relu"](x) == max(x, 0)
    # 1 + e^-x rounds to a part in 2^53, and so do its parts and the division
    assert math.isclose(scalars.center(FUNCTIONS["sigmoid"](x)), 1 / (1 + math.exp(-x)), rel_tol=2**-50)
    if x > 0:
        assert FUNCTIONS["log"](x) == math.log(x)
        assert FUNCTIONS["sqrt"](x) == math.sqrt(x)


def test_a_hidden_score_weighs_nothing() -> None:
    assert scalars.exp(-math.inf) == 0
    assert scalars.exp(scalars.subtract(-math.inf, 0.7)) == 0
    assert FUNCTIONS["sigmoid"](-1e9) == 0


def test_the_larger_and_the_smaller() -> None:
    assert (scalars.maximum(3, 2.5), scalars.minimum(3, 2.5)) == (3, 2.5)
    assert scalars.maximum(-math.inf, 2) == 2


@pytest.mark.parametrize(
    ("what", "says"),
    [
        (lambda x: scalars.divide(x(1), x(0)), "division by zero"),
        (lambda x: scalars.divide(x(1.5), x(0.0)), "division by zero"),
        (lambda x: scalars.sqrt(x(-1)), "domain"),
        (lambda x: scalars.log(x(0)), "domain"),
        (lambda x: scalars.log(x(-2.5)), "domain"),
        (lambda x: scalars.power(x(0), x(0)), "zero to a power"),
        (lambda x: scalars.power(x(0.0), x(-1)), "zero to a power"),
        (lambda x: scalars.power(x(-8), x(0.5)), "root of a negative"),
        (lambda x: scalars.exp(x(1000)), "too large"),
        (lambda x: scalars.power(x(10.5), x(400)), "too large"),
        (lambda x: scalars.multiply(x(1e200), x(1e200)), "too large"),
        (lambda x: scalars.add(x(1.7e308), x(1.7e308)), "too large"),
        (lambda x: scalars.subtract(x(math.inf), x(math.inf)), "undefined"),
        (lambda x: scalars.sin(x(math.inf)), "domain"),
    ],
)
@pytest.mark.parametrize("kind", ["plain", "uncertain"])
def test_what_has_no_value_is_refused_with_the_reason(
    what: Callable[[Callable[[float], Scalar]], Scalar], says: str, kind: str
) -> None:
    tape = Tape()
    wrapped: Callable[[float], Scalar] = (
        (lambda v: v) if kind == "plain" else (lambda v: tape.unknown(v, v, 0))
    )
    with pytest.raises(Unreadable, match=says):
        what(wrapped)


@pytest.mark.parametrize(
    "what",
    [
        lambda: scalars.power(10, 10**9),
        lambda: scalars.power(7, 7**7**2),
        lambda: scalars.multiply(2**3000, 2**3000),
        lambda: scalars.add(2 ** (MAX_BITS) - 1, 2 ** (MAX_BITS) - 1),
        lambda: scalars.total([2**MAX_BITS - 1] * 2),
        lambda: scalars.total([2**2000, 0.5]),
        lambda: scalars.add(2**2000, 0.5),
        lambda: scalars.divide(2**2000, 3),
    ],
)
def test_no_number_grows_without_bound(what: Callable[[], Scalar]) -> None:
    with pytest.raises(Unreadable, match="too large"):
        what()


def test_a_power_may_be_as_long_as_an_integer_may_be_and_vanish() -> None:
    assert scalars.power(2, MAX_BITS - 1) == 2 ** (MAX_BITS - 1)
    assert scalars.power(-1, 10**30 + 1) == -1
    assert scalars.power(10, -(10**9)) == 0


@given(st.sampled_from(BINARY), anything, anything, st.booleans(), st.booleans())
def test_nothing_but_unreadable_is_ever_raised(
    function: Callable[[Scalar, Scalar], Scalar], a: float, b: float, left: bool, right: bool
) -> None:
    tape = Tape()
    x = tape.unknown("a", a, 0.5) if left else a
    y = tape.unknown("b", b, 0.5) if right else b
    try:
        made = function(x, y)
    except Unreadable:
        return
    assert isinstance(made, Uncertain) == (left or right)
    value = scalars.center(made)
    assert value == value  # no NaN
    assert not isinstance(value, int) or value.bit_length() <= MAX_BITS
    if isinstance(value, float) and math.isinf(value):
        assert math.inf in (abs(scalars.center(x)), abs(scalars.center(y)))


@given(st.sampled_from(sorted(FUNCTIONS)), anything, st.booleans())
def test_no_function_raises_anything_else(name: str, x: float, uncertain: bool) -> None:
    try:
        value = scalars.center(FUNCTIONS[name](Tape().unknown("x", x, 0.5) if uncertain else x))
    except Unreadable:
        return
    assert value == value


@given(st.lists(anything, max_size=5), st.booleans())
def test_no_total_raises_anything_else(items: list[float], uncertain: bool) -> None:
    mixed: list[Scalar] = [*items, Tape().unknown("x", 0.25, 0.005)] if uncertain else list(items)
    try:
        value = scalars.center(scalars.total(mixed))
    except Unreadable:
        return
    assert value == value


@given(st.sampled_from(BINARY[:4]), st.floats(-50, 50), st.floats(-50, 50).filter(lambda x: abs(x) > 1e-3))
def test_an_uncertain_number_has_the_plain_value_at_its_center(
    function: Callable[[Scalar, Scalar], Scalar], a: float, b: float
) -> None:
    tape = Tape()
    plain = function(a, b)
    for made in (
        function(tape.unknown("a", a, 0.5), tape.unknown("b", b, 0.5)),
        function(a, tape.unknown("b", b, 0.5)),
        function(tape.unknown("a", a, 0.5), b),
    ):
        assert scalars.center(made) == plain


def test_an_exact_integer_too_large_for_a_float_cannot_be_mixed_with_an_uncertain_number() -> None:
    for mix in (scalars.multiply, scalars.maximum):
        with pytest.raises(Unreadable, match="too large"):
            mix(2**2000, Tape().unknown("x", 0.25, 0.005))
