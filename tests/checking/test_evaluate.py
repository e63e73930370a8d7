"""What an expression is worth, held against NumPy, by each reading its writing allows."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from riverhead.checking.claims.reading.expression import Expression, Items, Name, Number
from riverhead.checking.claims.reading.parse import expression
from riverhead.checking.claims.values.evaluate import (
    MAX_CELLS,
    Evaluator,
    Value,
    each,
    rank,
    shape,
    together,
    transposed,
    value,
)
from riverhead.checking.claims.values.readings import Reading
from riverhead.checking.claims.values.scalars import Unreadable

# float64 in another order of steps: a few last bits of numbers below 10, which cancel in a variance
close = {"rtol": 1e-9, "atol": 1e-9}


PLAIN = Reading()


def read(text: str) -> Expression:
    found = expression(text)
    assert found is not None, text
    return found


def worth(text: str, reading: Reading = PLAIN, **names: str) -> Value:
    return value(read(text), {name: read(of) for name, of in names.items()}, reading)


def typed(array: np.ndarray) -> Expression | Number:
    """An array as the expression it would be printed as."""
    if array.ndim == 0:
        return Number(float(array), 0.0, "", 0, 0)
    return Items(tuple(map(typed, array)), 0, 0)


def called(what: str, *arrays: np.ndarray, reading: Reading = PLAIN) -> np.ndarray:
    names = {f"a{i}": typed(array) for i, array in enumerate(arrays)}
    return np.array(value(read(what), names, reading), dtype=float)


def floats(*axes: int) -> st.SearchStrategy[np.ndarray]:
    return arrays(float, axes, elements=st.integers(-900, 900).map(lambda n: n / 100))


def softmax(x: np.ndarray) -> np.ndarray:
    raised = np.exp(x - x.max(axis=-1, keepdims=True))
    return raised / raised.sum(axis=-1, keepdims=True)


ROWS: dict[str, Callable[[np.ndarray], np.ndarray]] = {  # of a vector, and of every row of a matrix
    "softmax": softmax,
    "sum": lambda x: x.sum(axis=-1),
    "mean": lambda x: x.mean(axis=-1),
    "var": lambda x: x.var(axis=-1),
    "std": lambda x: x.std(axis=-1),
    "max": lambda x: x.max(axis=-1),
    "min": lambda x: x.min(axis=-1),
    "norm": lambda x: np.linalg.norm(x, axis=-1),
}
NUMBERS: dict[str, Callable[[np.ndarray], np.ndarray]] = {  # of every number
    "exp": np.exp, "sin": np.sin, "cos": np.cos, "tan": np.tan, "tanh": np.tanh, "abs": np.abs,
    "relu": lambda x: np.maximum(x, 0), "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "array": lambda x: x,
}  # fmt: skip
PAIRS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "a0 + a1": np.add, "a0 - a1": np.subtract, "a0 @ a1": np.dot, "a0 * a1": np.dot, "dot(a0, a1)": np.dot,
    "cosine(a0, a1)": lambda a, b: a @ b / np.linalg.norm(a) / np.linalg.norm(b),
}  # fmt: skip


@pytest.mark.parametrize("what", ROWS)
@settings(max_examples=25, deadline=None)
@given(st.one_of(floats(2), floats(5), floats(3, 2), floats(2, 5)))
def test_what_takes_a_list_takes_a_vector_and_every_row(what: str, x: np.ndarray) -> None:
    np.testing.assert_allclose(called(f"{what}(a0)", x), ROWS[what](x), **close)


@pytest.mark.parametrize("what", NUMBERS)
@settings(max_examples=15, deadline=None)
@given(st.one_of(floats(), floats(3), floats(2, 5)))
def test_what_takes_a_number_takes_every_number(what: str, x: np.ndarray) -> None:
    np.testing.assert_allclose(called(f"{what}(a0)", x), NUMBERS[what](x), **close)


@settings(max_examples=25, deadline=None)
@given(st.one_of(floats(3), floats(2, 5)).filter(lambda x: x.std(axis=-1).min() > 0.01))
def test_a_layer_norm_has_mean_0_and_variance_1(x: np.ndarray) -> None:
    found = called("layernorm(a0)", x)
    np.testing.assert_allclose(found.mean(axis=-1), 0, atol=1e-9)
    np.testing.assert_allclose(found.var(axis=-1), 1, atol=1e-9)
    np.testing.assert_allclose(found, (x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True), **close)


@pytest.mark.parametrize("what", PAIRS)
@settings(max_examples=15, deadline=None)
@given(floats(5).filter(np.any), floats(5).filter(np.any))
def test_two_vectors(what: str, a: np.ndarray, b: np.ndarray) -> None:
    np.testing.assert_allclose(called(what, a, b), PAIRS[what](a, b), **close)


@pytest.mark.parametrize("sign", ["*", "@"])
@settings(max_examples=15, deadline=None)
@given(floats(2, 3), floats(3, 5), floats(3), floats(2))
def test_products_of_matrices_and_vectors(
    sign: str, a: np.ndarray, b: np.ndarray, v: np.ndarray, u: np.ndarray
) -> None:
    np.testing.assert_allclose(called(f"a0 {sign} a1", a, b), a @ b, **close)
    np.testing.assert_allclose(called(f"a0 {sign} a1", a, v), a @ v, **close)
    np.testing.assert_allclose(called(f"a0 {sign} a1", u, a), u @ a, **close)
    np.testing.assert_allclose(called("a0ᵀ", a), a.T, **close)
    np.testing.assert_allclose(called("transpose(a0)", a), a.T, **close)
    np.testing.assert_allclose(called("a0ᵀ", v), v, **close)  # a vector has one axis
    np.testing.assert_allclose(called("(a0)(a1)ᵀ", a, b.T.copy()), a @ b, **close)


@pytest.mark.parametrize(
    ("sign", "of"), [("+", np.add), ("-", np.subtract), ("/", np.divide), ("^", np.power)]
)
def test_numbers_pair_by_pair_and_one_with_all(sign: str, of: Callable[..., np.ndarray]) -> None:
    a, b = np.array([[1.5, 2.0, 7.0], [0.5, 4.0, 1.0]]), np.array([[2.0, 3.0, 0.5], [1.0, 2.0, 3.0]])
    two = np.array(2.0)
    np.testing.assert_allclose(called(f"a0 {sign} a1", a, b), of(a, b), **close)
    np.testing.assert_allclose(called(f"a0 {sign} a1", a, two), of(a, two), **close)
    np.testing.assert_allclose(called(f"a0 {sign} a1", two, a), of(two, a), **close)


def test_a_product_of_equal_shapes_is_a_dot_product_or_number_by_number() -> None:
    pairs = Reading(dot=False)
    assert worth("[1, 2] * [3, 4]") == 11
    assert worth("[1, 2] * [3, 4]", pairs) == (3, 8)
    assert worth("[[1, 2], [3, 4]] * [[5, 6], [7, 8]]") == ((19, 22), (43, 50))
    assert worth("[[1, 2], [3, 4]] * [[5, 6], [7, 8]]", pairs) == ((5, 12), (21, 32))
    assert worth("[1, 2] @ [3, 4]", pairs) == 11
    assert worth("2 * [3, 4]", pairs) == (6, 8)
    assert worth("2 @ 3") == 6


SHAPES = [
    "[1, 2] + [1, 2, 3]", "[1, 2] * [1, 2, 3]", "[[1, 2], [3]] * [1, 2]", "[[1, 2], [3, 4]] @ [1, 2, 3]",
    "[1, [2, 3]] * [1, 2]", "cosine([1, 2])", "dot(1, 2)", "dot([1], [1], [1])", "softmax([3])",
    "softmax(3)", "transpose([[1, 2], [3]])", "cosine([0, 0], [1, 0])", "layernorm([2, 2])",
]  # fmt: skip
UNDEFINED = [
    "1/0", "0/0", "√(-1)", "ln(0)", "ln(-2)", "0^(-1)", "0^0", "(-8)^(1/3)", "10^10^10", "exp(1000)",
    "∞ - ∞", "0·∞", "x + 1", "[1/0, 2]", "softmax([1, x])", "2^0.5^(-9999)",
]  # fmt: skip


@pytest.mark.parametrize("text", [*SHAPES, *UNDEFINED])
def test_what_has_no_value_is_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        worth(text)


def test_nothing_is_unreadable_in_silence() -> None:
    for what in ("mean", "softmax", "max", "norm"):
        with pytest.raises(Unreadable, match="no list"):
            value(read(f"{what}(a0)"), {"a0": Items((), 0, 0)})


CONSTANTS = {
    "e": math.e, "π": math.pi, "\\pi": math.pi, "∞": math.inf, "-∞": -math.inf, "e^2": math.exp(2),
    "e^∞": math.inf, "e^{-∞}": 0, "cos(π)": -1, "e^[0, 1]": (1, math.e), "sin 30°": 0.5, "2π": 2 * math.pi,
}  # fmt: skip


@pytest.mark.parametrize("text", CONSTANTS)
def test_constants_are_what_they_are_called(text: str) -> None:
    assert worth(text) == pytest.approx(CONSTANTS[text])


def test_a_name_is_what_the_text_binds_it_to() -> None:
    assert worth("2·x + y", x="3", y="0.5") == 6.5
    assert worth("q · k", q="(2, 1)", k="(3, 4)") == 10
    assert worth("e + 1", e="5") == 6
    assert worth("e^2", e="5") == 25
    assert worth("π", π="3") == 3
    assert worth("y", y="x + 1", x="2") == 3


def test_a_name_without_a_number_is_remembered() -> None:
    evaluator = Evaluator({"a": read("1")})
    with pytest.raises(Unreadable, match="b has no number"):
        evaluator.value(read("a + b"))
    assert evaluator.unknown == {"b"}


def test_whole_numbers_stay_whole() -> None:
    for text, whole in {"2^64 + 1": 2**64 + 1, "12/4": 3, "√49": 7, "1,000 × 3": 3000, "2 KiB": 2048}.items():
        found = worth(text)
        assert (found, type(found)) == (whole, int)
    assert type(worth("12/5")) is float


UNITS = [  # text, decimal, binary, billions
    ("3 KB", 3000, 3072, 3000),
    ("3 KiB", 3072, 3072, 3072),
    ("3K", 3000, 3072, 3000),
    ("3 kB", 3000, 3072, 3000),
    ("2 MB", 2e6, 2 * 2**20, 2e6),
    ("2 GB", 2e9, 2 * 2**30, 2e9),
    ("2 GiB", 2 * 2**30, 2 * 2**30, 2 * 2**30),
    ("2 TB", 2e12, 2 * 2**40, 2e12),
    ("3 Mo", 3e6, 3 * 2**20, 3e6),
    ("7B", 7, 7, 7e9),
    ("7 billion", 7e9, 7e9, 7e9),
    ("1.5 million", 1.5e6, 1.5e6, 1.5e6),
    ("8 bytes", 8, 8, 8),
    ("54%", 0.54, 0.54, 0.54),
    ("180°", math.pi, math.pi, math.pi),
    ("1 GB / 1 MB", 1000, 1024, 1000),
    ("7B × 2 GB", 14e9, 14 * 2**30, 14e18),
]


@pytest.mark.parametrize(("text", "decimal", "binary", "billions"), UNITS)
def test_a_unit_multiplies_as_it_is_read(text: str, decimal: float, binary: float, billions: float) -> None:
    assert worth(text) == pytest.approx(decimal)
    assert worth(text, Reading(binary=True)) == pytest.approx(binary)
    assert worth(text, Reading(billions=True)) == pytest.approx(billions)


def test_a_logarithm_is_of_the_base_that_is_read() -> None:
    assert worth("log(8)") == pytest.approx(math.log(8))
    assert worth("log(8)", Reading(base=2.0)) == pytest.approx(3)
    assert worth("log([10, 1000])", Reading(base=10.0)) == pytest.approx((1, 3))


def test_a_logarithm_may_say_its_base_itself() -> None:
    for base, name in ((2, "log2"), (10, "log10"), (2, "log₂"), (2, "log_2")):
        assert worth(f"{name}({base**3})") == pytest.approx(3)
        assert worth(f"{name}([1, {base}])", Reading(base=7.0)) == pytest.approx((0, 1))
    assert value(read("log2(3, 9)"), {}) == pytest.approx((math.log2(3), math.log2(9)))


def test_a_power_of_e_is_the_exponential_to_its_last_bit() -> None:
    for x in (0.3, 0.7, 7.5, 10.1):  # where math.pow(math.e, x) is another number
        assert worth(f"e^{x}") == worth(f"exp({x})") == math.exp(x)
    assert worth("e^0.3", e="2.7") == 2.7**0.3
    assert worth("e^0.5^2") == math.exp(0.25)
    assert worth("(e^0.5)^2") == math.exp(0.5) ** 2


def test_a_variance_is_of_the_whole_or_of_a_sample() -> None:
    x = np.array([2.0, 3.0, 7.0, 12.0, 1.5])
    sample = Reading(sample=True)
    np.testing.assert_allclose(called("var(a0)", x, reading=sample), x.var(ddof=1), **close)
    np.testing.assert_allclose(called("std(a0)", x, reading=sample), x.std(ddof=1), **close)
    np.testing.assert_allclose(
        called("layernorm(a0)", x, reading=sample), (x - x.mean()) / x.std(ddof=1), **close
    )


CHOICES = {  # what can be read otherwise
    "[1, 2] * [3, 4]": {"dot"},
    "[1, 2] @ [3, 4]": set(),
    "2 * [3, 4]": set(),
    "3 KB": {"binary"},
    "3 KiB": set(),
    "8 bytes": set(),
    "7B": {"billions"},
    "54%": set(),
    "log(2)": {"base"},
    "var([1, 2])": {"sample"},
    "std([1, 2])": {"sample"},
    "layernorm([1, 2])": {"sample"},
    "mean([1, 2])": set(),
    "log(3 KB) + 7B": {"base", "binary", "billions"},
    "2 + 3": set(),
}


@pytest.mark.parametrize("text", CHOICES)
def test_only_what_can_be_read_otherwise_is_a_choice(text: str) -> None:
    evaluator = Evaluator({})
    evaluator.value(read(text))
    assert evaluator.choices - {"unitless"} == CHOICES[text]


def test_the_unit_of_a_result_may_be_only_its_name() -> None:
    evaluator = Evaluator({}, Reading(bare=True))
    assert evaluator.factor("GB", result=True) == 1
    assert evaluator.factor("GB") == 10**9
    assert Evaluator({}).factor("GB", result=True) == 10**9
    assert Evaluator({}, Reading(bare=True)).factor("%", result=True) == 0.01
    assert evaluator.choices >= {"bare", "binary"}
    assert evaluator.factor("parsecs") == 1


def test_every_combination_of_readings_is_another_and_the_likelier_comes_first() -> None:
    assert Reading().others(set()) == []
    assert Reading().others({"binary"}) == [Reading(binary=True)]
    assert Reading().others({"base"}) == [Reading(base=10.0), Reading(base=2.0)]
    three = Reading().others({"binary", "dot"})
    assert set(three) == {Reading(dot=False), Reading(binary=True), Reading(dot=False, binary=True)}
    assert three[-1] == Reading(dot=False, binary=True)  # what changes least comes first
    every = Reading().others({"binary", "dot", "base", "sample", "bare", "billions"})
    assert len(every) == len(set(every))
    assert Reading() not in every
    assert every[0] in {Reading(dot=False), Reading(binary=True)}


def test_an_open_end_counts_for_nothing() -> None:
    assert worth("[1, 2, …]") == (1, 2)
    assert worth("[[1, …], [2, …]]") == ((1,), (2,))


def test_more_numbers_than_a_page_prints_are_refused() -> None:
    wide = Items(tuple(Number(1, 0.0, "1", 0, 0) for _ in range(201)), 0, 0)
    names: dict[str, Expression] = {"a": Items((wide,) * 150, 0, 0), "b": Items((wide,) * 201, 0, 0)}
    assert shape(Evaluator(names).value(Name("a", 0, 0))) == (150, 201)
    with pytest.raises(Unreadable, match="too many numbers"):
        Evaluator(names).value(Name("b", 0, 0))
    small = Items((Items((Number(1, 0.0, "1", 0, 0),) * 60, 0, 0),) * 60, 0, 0)
    assert 3 * 60 * 60 < MAX_CELLS < 60**3
    with pytest.raises(Unreadable, match="too many numbers"):
        Evaluator({"a": small}).value(read("a @ a"))


def test_shapes_and_ranks() -> None:
    table: list[tuple[Value, int, tuple[int, ...]]] = [
        (3, 0, ()), ((1, 2), 1, (2,)), (((1, 2, 3), (4, 5, 6)), 2, (2, 3)), ((), 1, (0,)),
        (((1,),), 2, (1, 1)),
    ]  # fmt: skip
    for item, axes, lengths in table:
        assert (rank(item), shape(item)) == (axes, lengths)
    for ragged in (((1, 2), (3,)), (1, (2,))):
        with pytest.raises(Unreadable, match="rows of unequal length"):
            shape(ragged)
    assert transposed(((1, 2, 3), (4, 5, 6))) == ((1, 4), (2, 5), (3, 6))
    with pytest.raises(Unreadable):
        transposed((1, 2))
    assert each(lambda x: x + 1, ((1, 2), (3, 4))) == ((2, 3), (4, 5))  # type: ignore[operator, return-value]
    with pytest.raises(Unreadable, match="2 numbers with 3"):
        together(lambda a, b: a, (1, 2), (1, 2, 3))
