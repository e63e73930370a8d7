"""A text cut into signs: each of its kind, each at its place, and nothing else of the text lost."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riverhead.checking.claims.reading.notation import FUNCTIONS, OPERATORS, RELATIONS, UNITS, canonical
from riverhead.checking.claims.reading.tokens import Token, decimal_comma, tokens

KINDS = {
    "number", "unit", "name", "operator", "relation", "said", "open", "close", "separator", "transposed",
    "power", "ellipsis", "line", "word", "bar",
}  # fmt: skip
AS_WRITTEN = {"number", "name", "open", "close", "separator", "ellipsis", "power", "transposed", "line"}

SIGNS = {  # a text: its tokens, kind and spelling
    "numbers": [
        ("3.25", "number 3.25"),
        (".5", "number .5"),
        ("1,360", "number 1,360"),
        ("4,194,304.5", "number 4,194,304.5"),
        ("17'000", "number 17'000"),
        ("1_000", "number 1_000"),
        ("6{,}144", "number 6{,}144"),
        ("17 , 000", "number 17 , 000"),
        ("2 = 17 000", "number 2|relation =|number 17 000"),
        ("0,604", "number 0,604"),
        ("1e-3", "number 1e-3"),
        ("2.5E+06", "number 2.5E+06"),
        ("1,36 = 0.5", "number 1|separator ,|number 36|relation =|number 0.5"),
        ("(1,360)", "open (|number 1|separator ,|number 360|close )"),
        ("[1,360]", "open [|number 1|separator ,|number 360|close ]"),
        ("(1,360 + 2)", "open (|number 1,360|operator +|number 2|close )"),
        ("[0.5, 1.]", "open [|number 0.5|separator ,|number 1.|close ]"),
        ("= 7.", "relation =|number 7|word ."),
        ("= 7.5.", "relation =|number 7.5|word ."),
    ],
    "units": [
        ("12 GB", "number 12|unit GB"),
        ("12GB", "number 12|unit GB"),
        ("12\u00a0KiB", "number 12|unit KiB"),
        ("7B", "number 7|unit B"),
        ("7 B", "number 7|unit B"),
        ("3K", "number 3|unit K"),
        ("3K2", "number 3|name K2"),
        ("54%", "number 54|unit %"),
        ("54 %", "number 54|unit %"),
        ("54\\%", "number 54|unit %"),
        ("30°", "number 30|unit °"),
        ("30^\\circ", "number 30|unit °"),
        ("8 bytes", "number 8|unit bytes"),
        ("8 bytesize", "number 8|name bytesize"),
    ],
    "names": [
        ("q_{bank}", "name q_{bank}"),
        ("q_bank", "name q_bank"),
        ("q₁", "name q₁"),
        ("\\mathbf{q}_1", "name \\mathbf{q}_1"),
        ("\\alpha_1", "name \\alpha_1"),
        ("x'", "name x'"),
        ("W^Q", "name W^Q"),
        ("PE^{(1)}", "name PE^{(1)}"),
        ("x[0]", "name x[0]"),
        ("np.exp", "name np.exp"),
        ("xᵀ", "name x|transposed ᵀ"),
        ("x^T", "name x|transposed ^T"),
        ("x^\\top", "name x|transposed ^\\top"),
        ("x.T", "name x|transposed .T"),
        ("x.transpose()", "name x|transposed .transpose()"),
        ("x²", "name x|power ²"),
        ("10⁻³", "number 10|power ⁻³"),
        ("e⁰·⁵", "name e|power ⁰·⁵"),
        ("∞", "name ∞"),
        ("权重", "name 权重"),
        ("3层", "number 3|name 层"),
        ("√2", "name √|number 2"),
        ("\\sqrt{2}", "name \\sqrt|open {|number 2|close }"),
        ("16-bit", "number 16|word -|name bit"),
        ("16 - b", "number 16|operator -|name b"),
    ],
    "what is skipped": [
        ("$3$", "number 3"),
        ("**3**", "number 3"),
        ("`3`", "number 3"),
        ("~3", "number 3"),
        ("\\left[3\\right]", "open [|number 3|close ]"),
        ("3\\,4", "number 3|number 4"),
        ("\\quad 3", "number 3"),
        ("a &= 3", "name a|relation =|number 3"),
        ("3 \\label{x}", "number 3"),
    ],
    "lists": [
        ("1; 2", "number 1|separator ;|number 2"),
        ("1，2", "number 1|separator ，|number 2"),
        ("1 & 2 \\\\ 3", "number 1|separator &|number 2|separator \\\\|number 3"),
        ("…", "ellipsis …"),
        ("...", "ellipsis ..."),
        ("\\ldots", "ellipsis \\ldots"),
        ("\\begin{pmatrix}1\\end{pmatrix}", "open \\begin{pmatrix}|number 1|close \\end{pmatrix}"),
        ("\\begin{array}{cc}1\\end{array}", "open \\begin{array}{cc}|number 1|close \\end{array}"),
    ],
    "asterisks": [
        ("2*3", "number 2|operator *|number 3"),
        ("2 * 3", "number 2|operator *|number 3"),
        ("a * b", "name a|operator *|name b"),
        ("2**3", "number 2|operator ^|number 3"),
        ("* 2", "number 2"),
        ("a **b**", "name a|name b"),
        ("2 **3**", "number 2|number 3"),
    ],
    "the letter x": [
        ("2x3", "number 2|operator *|number 3"),
        ("2 x 3", "number 2|operator *|number 3"),
        ("(2)x(3)", "open (|number 2|close )|operator *|open (|number 3|close )"),
        ("x x", "name x|name x"),
        ("2 X 3", "number 2|operator *|number 3"),
        ("2 GB x 3", "number 2|unit GB|operator *|number 3"),
    ],
    "words": [
        ("3 is 3", "number 3|said say|number 3"),
        ("3 is equal to 3", "number 3|said =|number 3"),
        ("3 equals 3", "number 3|said =|number 3"),
        ("3 is about 3", "number 3|said say|number 3"),
        ("3 seems to be equal to 3", "number 3|said =|number 3"),
        ("3 island", "number 3|name island"),
    ],
    "lines": [
        ("=\n2", "relation =|line \n|number 2"),
        ("=\r\n2", "relation =|line \r\n|number 2"),
        ("= 3 │\n2", "relation =|number 3|line │\n|number 2"),
        ("# → 3", "relation →|number 3"),
        ("// = 3", "relation =|number 3"),
    ],
}  # fmt: skip
ROWS = [row for rows in SIGNS.values() for row in rows]


def shown(text: str) -> str:
    return "|".join(f"{token.kind} {token.text}" for token in tokens(text))


@pytest.mark.parametrize(("text", "signs"), ROWS, ids=[row[0] for row in ROWS])
def test_each_sign_has_its_kind_and_one_spelling(text: str, signs: str) -> None:
    assert shown(text) == signs


@pytest.mark.parametrize("sign", [sign for sign in OPERATORS if sign not in (".", "x", "*", "**")])
def test_every_operator_of_the_table_is_cut_out(sign: str) -> None:
    assert [(t.kind, t.text) for t in tokens(f"a {sign} 3 =")][1] == ("operator", OPERATORS[sign][0])


@pytest.mark.parametrize("sign", RELATIONS)
def test_every_relation_of_the_table_is_cut_out(sign: str) -> None:
    assert [(t.kind, t.text) for t in tokens(f"3 {sign} 4")][1] == ("relation", RELATIONS[sign])


@pytest.mark.parametrize("unit", UNITS)
def test_every_unit_of_the_table_stands_behind_its_number(unit: str) -> None:
    found = tokens(f"= 3{unit} ")
    assert [(t.kind, t.text) for t in found] == [("relation", "="), ("number", "3"), ("unit", unit)]
    assert unit not in "KMGTPBk°" or len(tokens(f"= 3{unit}x")) != 2


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name.isalpha()])
def test_every_function_is_one_name(name: str) -> None:
    assert tokens(f"{name}(3) =")[0] == Token("name", name, 0, len(name))


LATEX = [
    "alpha", "beta", "gamma", "delta", "epsilon", "varepsilon", "zeta", "eta", "theta", "iota", "kappa",
    "lambda", "mu", "nu", "xi", "pi", "rho", "sigma", "tau", "phi", "varphi", "chi", "psi", "omega",
    "Gamma", "Delta", "Theta", "Lambda", "Sigma", "Phi", "Psi", "Omega", "ell", "infty", "frac",
    "dfrac", "tfrac", "cfrac", "sqrt", "exp", "log", "ln", "sin", "cos", "tan", "tanh", "max", "min",
    "softmax",
]  # fmt: skip


@pytest.mark.parametrize("name", LATEX)
def test_every_letter_and_function_of_latex_is_one_name(name: str) -> None:
    sign = Token("name", f"\\{name}", 4, 5 + len(name))
    assert tokens(f"2 = \\{name}")[2] == sign
    assert tokens(f"2 = \\{name} 3")[2:] == [sign, Token("number", "3", 6 + len(name), 7 + len(name))]
    assert sign not in tokens(f"2 = \\{name}x")


def test_a_line_of_prose_is_one_word_and_the_next_line_is_read() -> None:
    text = "It costs 3, 4 or 5 coins.\n3 = 4\n"
    assert tokens(text) == [
        Token("word", "", 0, 25), Token("line", "\n", 25, 26), Token("number", "3", 26, 27),
        Token("relation", "=", 28, 29), Token("number", "4", 30, 31), Token("line", "\n", 31, 32),
    ]  # fmt: skip


@pytest.mark.parametrize("live", ["a\n= 3\n", "3 +\n4 = 7\n", "The sum 3 is 4\n", "[3]\n", "3 * 4\n+ 5\n= 6"])
def test_a_line_that_claims_or_goes_on_is_no_prose(live: str) -> None:
    assert all(token.text for token in tokens(live))


@pytest.mark.parametrize(
    ("text", "comma"),
    [
        ("0,25 + 0,5 = 0,75", True),
        ("1,5 und 2,75", True),
        ("0.25 + 0.5 = 0.75", False),
        ("1,5 und 2.5", False),
        ("1,5 · 2,5 + 3,5 und 4.5", True),
        ("1,024 and 2,048", False),
        ("(0,54) [0,5]", False),
        ("no numbers", False),
    ],
)
def test_a_text_of_decimal_commas_is_told_from_one_of_points(text: str, comma: bool) -> None:
    assert decimal_comma(text) is comma


def test_in_a_text_of_decimal_commas_points_part_thousands() -> None:
    text = "1,5 + 2,5 = 4,0 und 0,5 + 0,5 = 1,0 und 1.234,5 × 2 = 2.469"
    assert decimal_comma(text)
    assert [t.text for t in tokens(text, comma=True) if t.kind == "number"] == [
        "1,5", "2,5", "4,0", "0,5", "0,5", "1,0", "1.234,5", "2", "2.469"
    ]  # fmt: skip


PIECES = (
    *"0123456789()[]{}|$`*_^/+-−×·÷=≈→√²₁ᵀ∞°%.,;:'\"\\&<>#~!? \n\txyzQKVWd嗯‏́⟨⟩‖", "\r\n", "1,024",
    "0.5", "1e9", "10^", "**", "...", "d_k", "q_{1}", "softmax", "\\frac{", "\\cdot", "\\approx", "\\left[",
    "\\right]", "\\begin{bmatrix}", "\\end{bmatrix}", "\\text{", " GB", "B", " bytes", " is equal to ", " x ",
    "Some words", "[1, 2]", ".T", "^T", "\ud800", "\x00", "\u2028",
)  # fmt: skip


def well_cut(text: str) -> None:
    found = tokens(text)
    assert len(found) <= len(text)
    behind = 0
    for kind, sign, start, end in found:
        assert kind in KINDS
        assert behind <= start < end <= len(text)
        behind = end
        if kind in AS_WRITTEN:
            assert sign == text[start:end]
        elif kind == "unit":
            assert sign in text[start:end] or sign == "°"
            assert sign in UNITS
        elif kind == "operator":
            written = text[start:end].lstrip("\\")
            assert sign in {"", *(name for name, _ in OPERATORS.values())}
            assert {written, f"\\{written}"} & OPERATORS.keys() or written == "X"
        elif kind == "relation":
            written = text[start:end].lstrip("\\")
            assert {written, f"\\{written}"} & RELATIONS.keys() or written in ("~", "==>")
            assert sign in RELATIONS.values() or sign == "==>"


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_tokens_stand_in_order_each_where_its_text_is(text: str) -> None:
    well_cut(text)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=60))
def test_any_letters_are_cut(text: str) -> None:
    well_cut(text)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_no_digit_of_a_line_that_claims_is_lost(text: str) -> None:
    """Each stands in a number, a name, a power or a tag that is skipped whole."""
    line = "= " + "".join(text.split("\\"))
    line = " ".join(line.split())
    kept = {at for token in tokens(line) for at in range(token.start, token.end)}
    assert all(at in kept for at, letter in enumerate(line) if letter.isdecimal())


@pytest.mark.parametrize(
    ("spellings", "name"),
    [
        (("q₁", "q_1", "q_{1}", "\\mathbf{q}_1", "\\vec{q}_{1}", "q_\\text{1}"), "q1"),
        (("q_{bank}", "q_bank", "q_{\\text{bank}}", "q_\\mathrm{bank}"), "qbank"),
        (("x'", "x′", "x’", "x^*"), "x′"),
        (("d_k", "dₖ", "d_{k}", "d^k"), "dk"),
        (("Q", "\\boldsymbol{Q}", "𝐐"), "Q"),
        (("\\alpha_1",), "alpha1"),
    ],
)
def test_one_name_has_one_spelling(spellings: tuple[str, ...], name: str) -> None:
    assert {canonical(spelling) for spelling in spellings} == {name}


def test_names_of_other_letters_or_case_are_others() -> None:
    names = ["q", "Q", "q1", "q2", "qbank", "kbank", "x", "x′", "α", "a"]
    assert len({canonical(name) for name in names}) == len(names)
