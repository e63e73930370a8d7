"""Expressions in every notation, each read as the tree it was printed from."""

from __future__ import annotations

import math
import operator
import random
from collections.abc import Callable

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from riverhead.checking.claims.reading.expression import Expression, Items, Name, Number, Operation
from riverhead.checking.claims.reading.parse import DEEPEST, Parser, expression, is_word
from riverhead.checking.claims.reading.tokens import tokens
from riverhead.checking.claims.values.evaluate import Value, value

# ---- trees, worked out by plain Python and printed in a notation drawn for every sign ----

Tree = tuple  # ("number", text) | ("name", name) | (what, tree) | (what, tree, tree)

NAMES = {"a": 3, "b": 0.5, "x1": 2.25, "α": 4}  # canonical: value
SPELLINGS = {
    "a": ["a", "\\mathbf{a}", "\\text{a}"],
    "b": ["b"],
    "x1": ["x₁", "x_1", "x_{1}", "\\mathbf{x}_1"],
    "α": ["α"],
}


def raised(base: float, exponent: float) -> float:
    if not base and not exponent:
        raise ValueError("0⁰ is refused")
    return base**exponent


WORKED: dict[str, Callable[..., float]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "^": raised,
    "neg": operator.neg, "sqrt": math.sqrt, "exp": math.exp, "sin": math.sin, "ln": math.log,
}  # fmt: skip
SIGNS = {
    "+": ["+"],
    "-": ["-", "−"],
    "*": ["*", "×", "·", "⋅", "∙", "∗", "\\cdot ", "\\times ", "\\odot "],
    "/": ["/", "÷", "∕", "\\div "],
    "^": ["^", "**"],
}
SUM, PRODUCT, IMPLICIT, POWER, ATOM = range(1, 6)
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
BRACKETS = [
    ("(", ")"),
    ("{", "}"),
    ("\\left(", "\\right)"),
    ("\\left[", "\\right]"),
    ("[", "]"),
]
numbers = st.integers(1, 40).map(str) | st.decimals("0.1", "9.99", places=2).map(str)
leaves = numbers.map(lambda text: ("number", text)) | st.sampled_from(sorted(NAMES)).map(
    lambda n: ("name", n)
)
trees = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from("+-*/"), inner, inner),
        st.tuples(st.sampled_from("+-*/"), inner, inner),
        st.tuples(st.just("^"), inner, st.integers(-3, 3).map(lambda n: ("number", str(n)))),
        st.tuples(st.sampled_from(["neg", "sqrt", "exp", "sin", "ln"]), inner),
    ),
    max_leaves=9,
)


def worked(tree: Tree) -> float:
    what, *parts = tree
    if what == "number":
        return float(parts[0])
    return NAMES[parts[0]] if what == "name" else WORKED[what](*map(worked, parts))


class Printer:
    """Prints a tree with the fewest brackets its signs need, and some more; ``draw`` chooses the spelling."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.brackets = BRACKETS

    def print(self, tree: Tree, least: int = SUM) -> str:
        text, level = self.bare(tree)
        if level < least or self.draw.random() < 0.1:
            left, right = self.draw.choice(self.brackets)
            if "[" in left:  # [[2]] is a matrix, and no bracket in a bracket
                self.brackets = [pair for pair in BRACKETS if "[" not in pair[0]]
            gap = self.draw.choice(["", "", " "])
            return f"{left}{gap}{text}{gap}{right}"
        return text

    def bare(self, tree: Tree) -> tuple[str, int]:
        what, *parts = tree
        if what == "number":
            return parts[0], ATOM if parts[0][0] != "-" else SUM
        if what == "name":
            return self.draw.choice(SPELLINGS[parts[0]]), ATOM
        if what == "neg":
            return self.draw.choice("-−") + self.print(parts[0], IMPLICIT), SUM
        if what in ("sqrt", "exp", "sin", "ln"):
            return self.called(what, parts[0])
        if what == "^":
            return self.power(*parts)
        if what == "/" and self.draw.random() < 0.3:
            form = self.draw.choice(["\\frac{%s}{%s}", "\\dfrac{%s}{%s}", "\\tfrac{%s}{%s}"])
            return form % (self.print(parts[0]), self.print(parts[1])), ATOM
        if what == "*" and self.draw.random() < 0.4 and (text := self.understood(*parts)):
            return text, IMPLICIT
        level = SUM if what in "+-" else PRODUCT
        sign = self.draw.choice(SIGNS[what])
        gap = " " if sign == "-" else self.draw.choice(["", " "] if sign == "*" else ["", " ", "\u2009"])
        left, right = self.print(parts[0], level), self.print(parts[1], level + 1)
        if left[-1] in "⁰¹²³⁴⁵⁶⁷⁸⁹" and sign in "·⋅":
            gap = " "  # e⁰·⁵ is e^0.5
        return left + gap + sign + gap + right, level

    def called(self, what: str, inner: Tree) -> tuple[str, int]:
        text = self.print(inner)
        forms = {
            "sqrt": ["√(%s)", "sqrt(%s)", "\\sqrt{%s}", "math.sqrt(%s)", "√ (%s)"],
            "exp": ["exp(%s)", "e^{%s}", "e^(%s)", "\\exp(%s)", "np.exp(%s)"],
            "sin": ["sin(%s)", "\\sin(%s)"],
            "ln": ["ln(%s)", "\\ln(%s)", "log(%s)", "np.log(%s)"],
        }[what]
        if what == "sqrt" and text[0].isdigit() and inner[0] == "number":
            forms = [*forms, "√%s"]
        form = self.draw.choice(forms)
        return form % text, POWER if form.startswith(("e", "√")) else ATOM

    def power(self, base: Tree, exponent: Tree) -> tuple[str, int]:
        below, above = self.print(base, ATOM), exponent[1]
        forms = ["^%s", "^{%s}", "^(%s)", "**%s", " ** %s", " ^ %s"]
        if base[0] == "name":
            forms.remove("^(%s)")  # the second of many, as in x^(2)
        form = self.draw.choice(forms if " " not in below else forms[:2])
        if self.draw.random() < 0.3:  # what stands behind it is no part of it
            return below + above.translate(SUPERSCRIPTS), POWER
        return below + form % above, POWER

    def understood(self, left: Tree, right: Tree) -> str:
        """A product without a sign: 2(a + 1), (a)(2), 2√3; nothing where people do not write one."""
        if right[0] == "name":  # 2 (a) may tell what the 2 is
            return ""
        if left[0] == "number" and right[0] == "sqrt":
            return f"{left[1]}\\sqrt{{{self.print(right[1])}}}"
        if left[0] == "number" and right[0] == "exp":
            return f"{left[1]}e^{{{self.print(right[1])}}}"
        if left[0] == "number":
            return f"{left[1]}({self.print(right)})"
        return f"({self.print(left)})({self.print(right)})"


def alone(found: Value) -> float:
    """The one number of a value: a bracket [ ] is a list of one."""
    while isinstance(found, tuple):
        (found,) = found
    return float(found)  # type: ignore[arg-type]  # no name here is uncertain


def valued(text: str) -> float | None:
    read = expression(text)
    names: dict[str, Expression] = {name: Number(worth, 0.0, "", 0, 0) for name, worth in NAMES.items()}
    return None if read is None else alone(value(read, names))


@settings(max_examples=200, deadline=None)
@given(trees, st.randoms(use_true_random=False))
def test_a_tree_printed_in_any_notation_is_read_as_that_tree(tree: Tree, draw: random.Random) -> None:
    try:
        exact = worked(tree)
    except (ArithmeticError, ValueError):
        assume(False)
    assume(abs(exact) < 1e100)
    text = Printer(draw).print(tree)
    # both sides take the same float64 steps but for squares and whole quotients, which one has exact
    assert valued(text) == pytest.approx(exact, rel=1e-9, abs=1e-9), text


@settings(max_examples=50, deadline=None)
@given(trees, st.randoms(use_true_random=False))
def test_every_part_of_an_expression_lies_within_it(tree: Tree, draw: random.Random) -> None:
    text = Printer(draw).print(tree).replace("\\left", "")
    read = expression(f"  {text}", 1)
    assert read is not None
    assert (read.start, read.end) == (2, 2 + len(text))
    waiting = [read]
    while waiting:
        part = waiting.pop()
        inner = part.args if isinstance(part, Operation) else part.items if isinstance(part, Items) else ()
        assert all(part.start <= child.start < child.end <= part.end for child in inner)
        if isinstance(part, Number) and not inner and not part.text.startswith(("(", "[")):
            assert part.text in f"  {text}".translate({v: k for k, v in SUPERSCRIPTS.items()})
        waiting += inner


# ---- tables ----

BINDING = [  # what binds tighter, and from which side
    ("2 + 3 * 4", 14),
    ("2 * 3 + 4", 10),
    ("20 - 5 - 3", 12),
    ("20 − 5 + 3", 18),
    ("48 / 4 / 3", 4),
    ("48 / 4 * 3", 36),
    ("48 ÷ 4 × 3", 36),
    ("2^3^2", 512),
    ("2 ** 3 ** 2", 512),
    ("-3^2", -9),
    ("-3²", -9),
    ("(-3)²", 9),
    ("2^-2", 0.25),
    ("5·-2", -10),
    ("5 - -2", 7),
    ("-2 + 5", 3),
    ("+4", 4),
    ("-(2 + 3)", -5),
    ("--4", 4),
    ("2·3²", 18),
    ("18 / 3²", 2),
    ("12/2(3)", 2),  # a product that is only understood binds tighter than /
    ("1/2√4", 0.25),
    ("2(3)^2", 18),
    ("3(2 + 1)", 9),
    ("(2)(3)(4)", 24),
    ("√9·4", 12),
    ("√9²", 9),
    ("√√81", 3),
    ("√ 9 + 7", 10),
    ("√4/2", 1),
    ("2√9", 6),
    ("5 exp(0)", 5),
    ("\\frac{6}{3} 5", None),
    ("\\frac{6}{3}^2", 4),
    ("\\frac12", 0.5),
    ("7 mod 3", None),
]
UNDERSTOOD = [  # a product without its sign
    ("2(3 + 4)", 14),
    ("(1 + 1)(2 + 3)", 10),
    ("2√16", 8),
    ("2 √16", 8),
    ("0.5 [2, 4]", (1, 2)),
    ("3[2, 4]", (6, 12)),
    ("(2)3", None),
    ("2 (3 + 4)", None),
    ("2 3", None),
    ("4x1", 4),
    ("4α", 16),
    ("a b", None),
    ("2{3}", None),
    ("(2) [1, 3]", (2, 6)),
    ("(2) (3)", 6),
]
SPELT = [  # one sum, in many spellings
    ("\\frac{3}{4}", 0.75),
    ("\\dfrac{3}{4}", 0.75),
    ("\\tfrac{1}{2} + \\frac{1}{4}", 0.75),
    ("\\sqrt{0.5625}", 0.75),
    ("\\left(\\frac{1}{2}\\right)^2 + 0.5", 0.75),
    ("3 \\div 4", 0.75),
    ("（1 + 2）/ 4", 0.75),
    ("1 – 0.25", 0.75),
    ("1.5 \\cdot 0.5", 0.75),
    ("1.5 x 0.5", 0.75),
    ("1.5 . 0.5", 0.75),
    ("1.5 @ 0.5", 0.75),
    ("1.5•0.5", 0.75),
    ("{3}/{4}", 0.75),
    ("[3]/[4]", (0.75,)),
    ("75%", 0.75),
    ("75 %", 0.75),
    ("50% + 25%", 0.75),
    ("75\\%", 0.75),
    ("7.5e-1", 0.75),
    ("7.5·10⁻¹", 0.75),
    ("7.5 × 10^{-1}", 0.75),
    ("(2.5·3) × 10^{-1}", 0.75),
    ("2.5·3 × 10⁻¹", 0.75),
    (".75", 0.75),
    ("3/\n4", 0.75),
    ("(3\n/ 4)", 0.75),
    ("(\n3/4\n)", 0.75),
    ("(0.25 × 3 in all)", 0.75),
    ("abs(−0.75)", 0.75),
    ("max(0.5, 0.75)", 0.75),
    ("max([0.5, 0.75])", 0.75),
    ("sqrt 0.5625", 0.75),
    ("np.mean([0.5, 1])", 0.75),
    ("torch.sum([0.5, 0.25])", 0.75),
    ("average(0.5, 1)", 0.75),
]
BEYOND = [  # no whole expression
    "", " ", "=", "2 +", "× 2", "2 ×", "(2", "2)", "()", "[]", "(2]", "2 = 2", "2, 3", "two words", "2 3",
    "±2", "2 ± 1", "\\frac{1}", "^2", "2^", "3!", "3 and 4", "1..2",
]  # fmt: skip


@pytest.mark.parametrize(("text", "exact"), BINDING + UNDERSTOOD + SPELT)
def test_what_people_write_is_read_as_they_mean_it(text: str, exact: object) -> None:
    read = expression(text)
    if exact is None:
        assert read is None
        return
    assert read is not None
    names: dict[str, Expression] = {name: Number(worth, 0.0, "", 0, 0) for name, worth in NAMES.items()}
    found = value(read, names)
    assert found == pytest.approx(exact)
    assert isinstance(found, tuple) == isinstance(exact, tuple)


@pytest.mark.parametrize("text", BEYOND)
def test_what_is_no_expression_is_none(text: str) -> None:
    assert expression(text) is None


GLOSSES = [  # words that tell what a number is
    ("2 (K and V) × 80 layers × 64", 10240),
    ("12 heads × 64 dims", None),
    ("12 heads × 64", 768),
    ("2 bytes/number × 4", 8),
    ("3 tokens/s × 4", 12),
    ("3 very long words here × 2", 6),
    ("3 words that are too many to skip × 2", None),
    ("3 and 4 × 2", None),
    ("3 so 4 × 2", None),
    ("7B params × 2", 14),
    ("800 KiB/token × 2", 1600 * 1000 * 1.024),
    ("3 layer-norm", None),
    ("32层 × 8", 256),
]


@pytest.mark.parametrize(("text", "exact"), GLOSSES)
def test_words_behind_a_number_are_passed_over_where_an_operator_follows(text: str, exact: object) -> None:
    read = expression(text)
    assert read is None if exact is None else value(read, {}) == exact  # type: ignore[arg-type]


def test_a_minus_behind_a_word_is_the_sign_of_the_next_number() -> None:
    page = tokens("scores −2 + 2 =")
    read, after = Parser(page).read(0)
    assert (read, after) == (Name("scores", 0, 6), 1)
    assert valued("a − 2") == 1
    assert valued("a −2") == 1  # one letter is a symbol, not a word


MATRICES = [  # [[1, −2, 3], [4, 0.5, 6]]
    "[[1, -2, 3], [4, 0.5, 6]]",
    "((1, −2, 3), (4, 0.5, 6))",
    "[(1, -2, 3), (4, 0.5, 6)]",
    "[[1 -2 3]\n [4 0.5 6]]",
    "[[ 1.  -2.   3. ]\n [ 4.   0.5  6. ]]",
    "array([[ 1. , -2. ,  3. ],\n       [ 4. ,  0.5,  6. ]])",
    "np.array([[1, -2, 3], [4, 0.5, 6]])",
    "tensor([[1., -2., 3.],\n        [4., 0.5, 6.]])",
    "\\begin{bmatrix} 1 & -2 & 3 \\\\ 4 & 0.5 & 6 \\end{bmatrix}",
    "\\begin{pmatrix}1&-2&3\\\\4&0.5&6\\end{pmatrix}",
    "\\begin{bmatrix}\n1 & -2 & 3 \\\\\n4 & 0.5 & 6 \\\\\n\\end{bmatrix}",
    "\\left[\\begin{array}{ccc} 1 & -2 & 3 \\\\ 4 & 0.5 & 6 \\end{array}\\right]",
    "\\begin{smallmatrix} 1 & -2 & 3 \\\\ 4 & 0.5 & 6 \\end{smallmatrix}",
    "\\begin{bmatrix} 1 & 3-5 & 3 \\\\ 2^2 & \\frac{1}{2} & 2\\cdot 3 \\end{bmatrix}",
    "[[1, 1 - 3, √9], [2², 1/2, 6]]",
]


@pytest.mark.parametrize("text", MATRICES)
def test_a_matrix_is_rows_of_items_in_every_notation(text: str) -> None:
    read = expression(text)
    assert read is not None
    found = value(read, {})
    assert found in (((1, -2, 3), (4, 0.5, 6)), (((1, -2, 3), (4, 0.5, 6)),))


LISTS = [
    ("[0.5 -0.3]", (0.5, -0.3)),
    ("[0.5 - 0.3]", (0.2,)),
    ("[0.5-0.3]", (0.2,)),
    ("[0.5, -0.3]", (0.5, -0.3)),
    ("[0.5, 1 -0.3]", (0.5, 0.7)),
    ("[ 1.  2.  3.]", (1, 2, 3)),
    ("[1. 2.\n 3. 4.]", (1, 2, 3, 4)),
    ("(1, 2)", (1, 2)),
    ("(1 2)", None),
    ("[1 2 (3 4)]", None),
    ("[(1 + 2) 4]", (3, 4)),
    ("[1, 2, 3, …]", (1, 2, 3)),
    ("[1, 2, ..., 9]", (1, 2, 9)),
    ("[1，2、3]", (1, 2, 3)),
    ("[1; 2; 3]", (1, 2, 3)),
    ("(1; 2)", (1, 2)),
    ("{1, 2}", (1, 2)),
    ("[1,200]", (1, 200)),
    ("(1,200)", (1, 200)),
    ("(1,200 + 1)", 1201),
    ("\\begin{bmatrix} 1 \\\\ 2 \\end{bmatrix}", (1, 2)),
    ("\\begin{bmatrix} 1 & 2 \\end{bmatrix}", (1, 2)),
    ("[[1], [2]]", ((1,), (2,))),
    ("[1/3, 2/3]", (1 / 3, 2 / 3)),
    ("[50%, 25 %]", (0.5, 0.25)),
    ("[2×3 4×5]", (6, 20)),
    ("[e^0, √4]", (1, 2)),
    ("(3)", 3),
    ("[3]", (3,)),
    ("((3))", 3),
    ("[1, 2,]", (1, 2)),
    ("[1, two]", None),
]


@pytest.mark.parametrize(("text", "exact"), [row for row in LISTS if row[1] is not None])
def test_the_items_of_a_list_are_parted_by_commas_or_by_spaces(text: str, exact: object) -> None:
    read = expression(text)
    assert read is not None
    found = value(read, {})
    assert found == pytest.approx(exact) if not isinstance(exact, tuple) else flat(found) == flat(exact)


def flat(item: object) -> object:
    return tuple(map(flat, item)) if isinstance(item, tuple) else pytest.approx(item)


@pytest.mark.parametrize("text", ["(1 2)", "[1 2 (3 4)]"])
def test_round_brackets_need_commas(text: str) -> None:
    assert expression(text) is None


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("q_{bank}", "qbank"),
        ("\\mathbf{q}_1", "q1"),
        ("scores[0][1]", "scores[0][1]"),
        ("PE(1, 0)", "PE(1,0)"),
        ("q'", "q′"),
        ("权重", "权重"),
        ("max", "max"),
    ],
)
def test_a_name_has_its_place_and_one_spelling(text: str, name: str) -> None:
    assert expression(text) == Name(name, 0, len(text))


def test_what_stands_behind_a_symbol_is_transposed_or_raised() -> None:
    for text in ("Kᵀ", "K^T", "K^\\top", "K.T", "K^{\\top}", "K⊤"):
        assert expression(text) == Operation("transpose", (Name("K", 0, 1),), 0, len(text))
    assert expression("K^2") == Operation("^", (Name("K", 0, 1), Number(2, 0.0, "2", 2, 3)), 0, 3)
    assert expression("Q Kᵀ") == Operation(
        "*", (Name("Q", 0, 1), Operation("transpose", (Name("K", 2, 3),), 2, 4)), 0, 4
    )


def test_arguments_by_name_say_nothing_of_a_number() -> None:
    for text in ("softmax([1, 3], dim=0)", "softmax([1, 3], axis = 0)"):
        assert value(expression(text), {}) == value(expression("softmax([1, 3])"), {})  # type: ignore[arg-type]
    assert isinstance(expression("softmax([1, 3], size=0)"), Name)


def test_a_number_keeps_its_words_its_unit_and_its_place() -> None:
    assert expression("  12.50 GB") == Number(12.5, 0.005, "12.50", 2, 10, "GB")
    assert expression("x = 0.30;", 4, 8) == Number(0.3, 0.005, "0.30", 4, 8)
    assert expression("−0.3") == Operation("neg", (Number(0.3, 0.05, "0.3", 1, 4),), 0, 4)


NESTS = {"()": ("(", ")"), "[]": ("[", "]"), "√": ("√(", ")"), "frac": ("\\frac{1}{", "}"), "-": ("-(", ")")}


@pytest.mark.parametrize("nest", NESTS)
def test_what_lies_too_deep_is_no_expression_and_no_error(nest: str) -> None:
    left, right = NESTS[nest]
    for depth in (DEEPEST // 2 - 1, 2 * DEEPEST, 5000):
        read = expression(left * depth + "1" + right * depth)
        assert (read is None) == (depth > DEEPEST), depth


def test_depth_is_of_what_is_open_and_not_of_what_was_closed() -> None:
    many = "(1)" + " + (1)" * (3 * DEEPEST)
    assert valued(many) == 1 + 3 * DEEPEST
    assert valued("-1" + " + -1" * (3 * DEEPEST)) == -1 - 3 * DEEPEST
    assert valued("√1" + " + √(1)" * (3 * DEEPEST)) == 1 + 3 * DEEPEST


def test_brackets_of_two_kinds_close_nothing() -> None:
    for text in ("(1, 2]", "[1, 2)", "(0, 1] + 2"):
        assert expression(text) is None
    read, after = Parser(tokens("(1, [2 + 3) = ")).read(0)
    assert read is None
    assert after == 0


@pytest.mark.parametrize(
    ("text", "word"),
    [("heads", True), ("h", False), ("x1", False), ("2", False), ("层数", True), ("", False)],
)
def test_a_word_is_no_symbol(text: str, word: bool) -> None:
    assert is_word(text) is word


def test_the_longest_expression_is_read_and_the_token_behind_it_told() -> None:
    for text, behind in (
        ("2 + 3 = 5", 3),
        ("2 + 3, 4", 3),
        ("2 + 3 apples", 3),
        ("2 + = 5", 1),
        ("(2) 7", 3),
    ):
        assert Parser(tokens(text)).read(0)[1] == behind


def test_a_decimal_comma_is_one_where_the_page_has_them() -> None:
    text = "0,5 + 1,25 + 2,5"
    read, _ = Parser(tokens(text, comma=True), decimal_comma=True).read(0)
    assert value(read, {}) == 4.25  # type: ignore[arg-type]
