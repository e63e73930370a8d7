"""Texts made to break the checker: an answer or a clear refusal, in work that grows as the text does."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riverhead.checking.claims import Claim, claims
from riverhead.errors import RiverheadError

KINDS = (None, "markdown", "html", "latex", "notebook", "text")
VERDICTS = {"true", "false", "not checkable"}
HOWS = {"exact", "rounded", "carried"}
PIECES = (
    *"0123456789()[]{}|$`*_^/+-−×·÷=≈→√²₁ᵀ∞°%.,;:'\"\\&<>#~!? \n\texyzQKVWd嗯‏́", "10", "0.5", "0,5", "1e9",
    "1e-999", "1,024", "10^", "^2", "!=", "~=", "->", "**", "==", "...", "d_k", "Q = ", "softmax(",
    "softmax", "exp(", "e^{", "sqrt(", "\\frac{", "\\sqrt{", "\\cdot", "\\times", "\\approx", "\\left[",
    "\\right]", "\\begin{bmatrix}", "\\end{bmatrix}", " & ", "\\\\", "\\text{", "\\(", "\\)", "\\[",
    "\\]", "$$", "```\n", "| a | b |\n|---|---|\n", "<td>", "</td>", "<table>", "<pre>", "<!--",
    "&times;", "&#x", "GB", " KiB", "B", " bytes", "scores: ", "weights: ", "sums to 1", "[1, 2]",
    "[[1, 2], [3, 4]]", "(0.5, 0.5)", "[1 2]\n", "mean", "LayerNorm(", "1/0", "0/0", "√(−1)", "ln(0)",
    "0^(-1)", "(-8)^(1/3)", "−∞", "inf", "nan", "10^(10^9)", "1e400",
)  # fmt: skip
dense = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)
lines = st.lists(dense, min_size=1, max_size=6).map("\n".join)


def checked(text: str, kind: str | None = None) -> list[Claim]:
    """The claims, each held to what a claim is; a refusal is an answer too."""
    try:
        found = claims(text, kind)
    except RiverheadError:
        return []
    source = text.splitlines() if kind != "notebook" else None
    for claim in found:
        assert claim.verdict in VERDICTS
        assert claim.how in HOWS if claim.verdict == "true" else claim.how == ""
        assert claim.line >= 1
        assert claim.column >= 1
        assert claim.text
        if source and not claim.place:
            assert claim.line <= len(source)
    json.dumps([(claim.exact, claim.text) for claim in found])
    return found


@settings(max_examples=200, deadline=None)
@given(lines, st.sampled_from(KINDS))
def test_any_text_has_an_answer(text: str, kind: str | None) -> None:
    checked(text, kind)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=60), st.sampled_from(KINDS))
def test_any_text_of_any_letters_has_an_answer(text: str, kind: str | None) -> None:
    checked(text, kind)


@settings(max_examples=60, deadline=None)
@given(dense, dense, st.sampled_from(["=", "≈", "→", "!="]))
def test_any_two_sides_have_an_answer(left: str, right: str, relation: str) -> None:
    checked(f"{left} {relation} {right}")


@settings(max_examples=50, deadline=None)
@given(lines)
def test_the_same_text_has_the_same_answer(text: str) -> None:
    assert checked(text) == checked(text)


@settings(max_examples=60, deadline=None)
@given(st.recursive(st.integers(-9, 9), lambda inner: st.lists(inner, max_size=3), max_leaves=12), st.data())
def test_any_list_equals_itself(nested: object, data: st.DataObject) -> None:
    """Ragged and empty ones too are at worst not checkable."""
    text = json.dumps(nested)
    relation = data.draw(st.sampled_from(["=", "≈"]))
    assert [c for c in checked(f"{text} {relation} {text}") if c.verdict == "false"] == []


@settings(max_examples=80, deadline=None)
@given(st.integers(-(10**6), 10**6), st.integers(-(10**6), 10**6), st.integers(-3, 3))
def test_sums_and_products_of_integers_are_judged_as_integers(a: int, b: int, off: int) -> None:
    for sign, exact in (("+", a + b), ("×", a * b)):
        printed = exact + off
        verdicts = {claim.verdict for claim in checked(f"({a}) {sign} ({b}) = {printed}")}
        digits = str(abs(printed)).rstrip("0") or "0"
        half = 10 ** (len(str(abs(printed))) - len(digits)) / 2 if printed else 0.5
        if off == 0:
            assert verdicts == {"true"}
        elif abs(off) > half:
            assert verdicts == {"false"}


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 9999), st.integers(1, 9999), st.integers(0, 6))
def test_a_quotient_printed_to_any_digits_is_right_and_two_units_off_is_wrong(
    a: int, b: int, digits: int
) -> None:
    off = 2 * 10.0**-digits
    assert {claim.verdict for claim in checked(f"{a} / {b} = {a / b:.{digits + 1}f}")} == {"true"}
    wrong = f"{a / b + off:.{digits + 1}f}"
    assert {claim.verdict for claim in checked(f"{a} / {b} = {wrong}")} == {"false"}


@pytest.mark.parametrize(
    "text",
    [
        "10^(10^9) = 1",
        "10^10^10^10 = 7",
        "2^1000000000 = 0",
        "(2^1000000)^1000000 = 1",
        "9**9**9**9 = 3",
        "7" * 100_000 + " = 1",
        "7" * 100_000 + " × " + "3" * 100_000 + " = 1",
        "0." + "3" * 100_000 + " × 3 = 1",
        "1e999999999 × 2 = 3",
        "1e-999999999 + 1 = 1",
        "e^(e^(e^(e^9))) = 1",
        "exp(1e308) = 1",
        "0.5^1000000000000 = 0",
        "1/0 = 5",
        "0/0 = 0",
        "√(−4) = 2",
        "ln(0) = 1",
        "−∞ + ∞ = 0",
        "softmax([−∞, −∞]) = [0.5, 0.5]",
        "softmax([1e400, 1]) = [1, 0]",
        "softmax([]) = []",
        "mean([]) = 0",
        "[1, 2] + [1, 2, 3] = [2, 4]",
        "[[1, 2], [3]] = [[1, 2], [3]]",
        "[[[[1]]]] = 1",
        "a = b\nb = a\na + 1 = 2",
        "a = a + 1 = a",
        "e = e^2, e + 1 = 3",
        "K = 3K, 2K = 6",
        "K = 3M, M = 2K, 2K + 1M = 6",
        "a = 2\n" + "".join(f"a = a × a = {i}\n" for i in range(60)),
        "\ud800 1 + 1 = 2",
        "1 + 1 = 2\x00 3\x1b[31m",
        "\u202e1 + 1 = 2\u202c",
        "{" * 3000 + "}" * 3000,
        '{"cells": [' * 2000,
        '{"cells": 3, "nbformat": "x"}',
        '{"cells": [{"cell_type": 3, "source": {"a": 1}}, null], "nbformat": 4}',
        "\\begin{document}" * 500,
        "<svg><math><mn>" * 500,
        "<table><tr><td>" * 500 + "1 + 1 = 2",
        "",
        " ",
        "\r\n\r1 + 1 = 2\r",
        "\u2028".join(["1 + 1 = 2"] * 3),
    ],
    ids=lambda text: repr(text[:24]),
)  # fmt: skip
def test_what_has_no_value_or_too_large_a_one_has_an_answer(text: str) -> None:
    checked(text)
    for kind in KINDS:
        checked(text, kind)


DEEP = {
    "(…)": lambda n: "(" * n + "1" + ")" * n + " = 1",
    "[…]": lambda n: "[" * n + "1" + "]" * n + " = 1",
    "{…}": lambda n: "e^" + "{" * n + "1" + "}" * n + " = 2.718",
    "√": lambda n: "√" * n + "1 = 1",
    "−": lambda n: "−" * n + "1 = 1",
    "^": lambda n: "1" + "^1" * n + " = 1",
    "frac": lambda n: "$" + "\\frac{1}{" * n + "1" + "}" * n + " = 1$",
    "softmax": lambda n: "softmax(" * n + "1" + ")" * n + " = 1",
    "bold": lambda n: "**" * n + "1 + 1 = 2" + "**" * n,
    "quotes": lambda n: "> " * n + "1 + 1 = 2",
    "bullets": lambda n: "".join("  " * i + "- 1 + 1 = 2\n" for i in range(min(n, 300))),
    "div": lambda n: "<div>" * n + "1 + 1 = 2" + "</div>" * n,
    "begin": lambda n: "\\begin{bmatrix}" * n + "1" + "\\end{bmatrix}" * n + " = 1",
}  # fmt: skip


@pytest.mark.parametrize("name", DEEP)
@pytest.mark.parametrize("depth", [30, 4_000])
def test_nesting_of_any_depth_has_an_answer(name: str, depth: int) -> None:
    checked(DEEP[name](depth))


def n_steps(text: str) -> int:
    """How many functions are called, Python's and C's, to check a text: its work, whatever the machine."""
    count = 0

    def count_calls(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count_calls)
    try:
        checked(text)
    finally:
        sys.setprofile(before)
    return count


def repeated(text: str) -> Callable[[int], str]:
    return lambda size: text * (size // len(text))


ENDLESS = (
    *"([{]=7x|$`*_<&\\ \n√−", "= ", "a=", "1=", "1\n=1\n", "1+", "1/", "1,", "1 ", "1.", "2^", "([{",
    "e^{", "[1 ", "\\frac{", "\\sqrt[", "softmax(", "\\begin{bmatrix}", "| | |\n", "```\n", "<a ", "&#",
    "a_b = 1\n", "1 = 1, ", "[0.5, 0.5] sums to 1\n", "weights: [0.5, 0.5]\n", "scores: [1, 1]\n",
    "1 GB = 1 MB ", "a + b = 3\n", "0.5 → ", "Q = [[1]]\nK = [[1]]\nV = [[1]]\n",
    "step 10 | loss 2.31 | 12,345 tok/s\n",
)  # fmt: skip
GROWING: dict[str, Callable[[int], str]] = {text: repeated(text) for text in ENDLESS} | {
    "names": lambda size: "".join(f"n{i} = {i}\n" for i in range(size // 10)),
    "names of names": lambda size: "n0 = 1\n" + "".join(f"n{i + 1} = n{i} + 1\n" for i in range(size // 16)),
    "names doubled": lambda size: (
        "n0 = 1\n" + "".join(f"n{i + 1} = n{i} + n{i}\n" for i in range(size // 16))
    ),
    "a long sum": lambda size: "1+" * (size // 2) + "1 = 1",
    "a long list": lambda size: "[" + "1, " * (size // 6) + "1] = [" + "1, " * (size // 6) + "1]",
    "a long softmax": lambda size: "softmax([" + "1, " * (size // 3) + "1]) = [1]",
    "a long chain": lambda size: "1 = 1 + 0 " * (size // 10),
    "decimals added": lambda size: "".join(f"0.{i} + " for i in range(size // 8)) + "1 = 1",
}


@pytest.mark.parametrize("name", GROWING)
def test_twice_the_text_is_at_most_twice_the_work(name: str) -> None:
    """2 with the first words read once, and a tenth for where a list grows or a line is cut."""
    once, twice = (n_steps(GROWING[name](size)) for size in (1000, 2000))
    assert twice <= 2.2 * once + 500
