"""LaTeX: goldens, and documents full of hostile tokens that LuaLaTeX compiles without doing what they say."""

import re
import shutil
import subprocess

import pytest
from hostile_scenes import HOSTILE

from riverhead.numbers import fixed, plain, significant
from riverhead.render import render
from riverhead.render.latex_math import escaped, latex_math
from riverhead.scene import (
    Arrow,
    Axis,
    Bar,
    Call,
    Code,
    Fold,
    Formula,
    Fraction,
    Heatmap,
    Line,
    Lines,
    Matrix,
    Operator,
    Plane,
    Power,
    Quote,
    Root,
    Row,
    Scene,
    Sub,
    Symbol,
    Table,
    Text,
    Vector,
    Word,
)


def body(*parts):
    """A fragment without its header."""
    return render(Scene("", parts), "latex-fragment").partition("TRT #1}}\n")[2].strip()


@pytest.fixture
def compiled(tmp_path):
    """A function that compiles a scene's document and returns LuaLaTeX's log."""
    if shutil.which("lualatex") is None:
        pytest.skip("needs lualatex (Debian: texlive-luatex texlive-latex-recommended lmodern)")

    def compiled(scene):
        (tmp_path / "sheet.tex").write_text(render(scene, "latex"), encoding="utf-8")
        flags = ["-no-shell-escape", "-interaction=nonstopmode", "-halt-on-error"]
        run = subprocess.run(
            ["lualatex", *flags, "sheet.tex"], cwd=tmp_path, capture_output=True, timeout=300
        )
        assert run.returncode == 0, run.stdout.decode(errors="replace")[-2000:]
        assert (tmp_path / "sheet.pdf").stat().st_size > 0
        return (tmp_path / "sheet.log").read_text(encoding="utf-8", errors="replace")

    return compiled


def test_formulas():
    d_k = Sub(Symbol("d"), Symbol("k"))
    scores = Fraction(Row((Symbol("Q"), Power(Symbol("K"), Symbol("T")))), Root(d_k))
    assert latex_math(Row((Call("softmax", scores), Symbol("V")))) == (
        r"\operatorname{softmax}\left(\frac{Q K^{T}}{\sqrt{d_{k}}}\right) \  V"
    )
    assert latex_math(Row((Word("bank", 1), Operator("≈"), Vector((plain(-0.5), significant(1e-12)))))) == (
        r"\text{bank}' \approx {({-0.5}, {1.000\mathrm{e}{-12}})}"
    )
    assert (
        latex_math(Power(Row((Symbol("a"), Operator("+"), Symbol("b"))), plain(2)))
        == r"\left(a + b\right)^{2}"
    )
    assert latex_math(Row((Symbol("λ"), Operator("→"), fixed(float("-inf"))))) == r"\lambda  \to {-\infty}"


def test_what_is_a_command_to_latex_is_only_text():
    assert escaped(r"\input{x}") == r"\textbackslash{}input\{x\}"
    assert escaped("50% $x^2_3$ & #~") == r"50\% \$x\textasciicircum{}2\_3\$ \& \#\textasciitilde{}"
    assert escaped("[a]*--<<") == r"{[}a{]}{*}-{\kern0pt}-<{\kern0pt}<"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("The word שלום means peace.", r"The word \rhrtl{שלום} means peace."),
        ("(שלום) a", r"\rhrtl{(שלום) {\textdir TLT a}}"),  # the first letter decides
        ("said שלום 12, 4 now", r"said \rhrtl{שלום {\textdir TLT 12}, {\textdir TLT 4}} now"),
        ("שלום ab 1.5 סוף.", r"\rhrtl{שלום {\textdir TLT ab 1.5} סוף.}"),
        ("a שלום, עולם! b", r"a \rhrtl{שלום, עולם}! b"),
        ("a \U00010900", r"a \rhrtl{\rhglyph{" + "\U00010900" + "}{10900}}"),  # which no font may have
        ("a ١٢", r"a \rhrtl{{\textdir TLT ١٢}}"),
        ("12", "12"),
    ],
)
def test_right_to_left_is_turned_and_nothing_else(text, shown):
    assert escaped(text) == shown


def test_a_sentence_with_a_right_to_left_word_keeps_its_order(compiled, tmp_path):
    if shutil.which("pdftotext") is None:
        pytest.skip("needs pdftotext (Debian: poppler-utils)")
    text = "The word שלום means peace and \U00010900 xyz"
    compiled(Scene("", (Text((text,)),)))
    boxes = subprocess.run(
        ["pdftotext", "-bbox", "sheet.pdf", "-"], cwd=tmp_path, capture_output=True, check=True, text=True
    ).stdout
    places = {word: float(x) for x, word in re.findall(r'xMin="([0-9.]+)".*>(.*)</word>', boxes)}
    order = sorted(places, key=places.__getitem__)
    assert [word for word in order if word.isascii() and word.isalpha()] == [
        "The",
        "word",
        "means",
        "peace",
        "and",
        "xyz",
    ]
    assert any("10900" in word for word in order)  # not 00901


def test_a_matrix_shades_its_weights_and_marks_row_and_cell():
    cells = ((fixed(0.25), fixed(1)),)
    table = body(Matrix(Symbol("A"), ("bank",), ("The", "river"), cells, focus=0, spot=(0, 0), shade=True))
    assert table == (
        "\\par\\hspace*{1.5em}\\begin{tabular}{@{}lrr@{}}\n$A$ & The & river \\\\\n\\midrule\n"
        "\\llap{\\textcolor[HTML]{2F7DE1}{$\\triangleright$}\\ }\\textbf{\\boldmath bank} & "
        "\\cellcolor[HTML]{DDEAFA}{\\setlength{\\fboxsep}{2pt}\\fcolorbox[HTML]{2F7DE1}{FFFFFF}"
        "{\\textbf{\\boldmath $0.250$}}} & \\cellcolor[HTML]{78AAEC}\\textbf{\\boldmath $1.000$} \\\\\n"
        "\\end{tabular}\\par"
    )


def test_a_long_table_is_cut_into_pages_and_a_wide_one_into_groups():
    tall = body(Table(("n",), tuple((plain(n),) for n in range(83))))
    assert tall.count(r"\begin{tabular}") == 3
    assert all(tall.count(f"${n}$ ") == 1 for n in range(83))
    wide = body(
        Matrix(Symbol("A"), ("a",), tuple(f"key{n}" for n in range(40)), (tuple(map(plain, range(40))),))
    )
    assert wide.count(r"\begin{tabular}") > 3
    assert all(f"${n}$" in wide for n in range(40))
    long = body(Table((None, "x" * 200), (("a", plain(1)),)))
    assert r"\begin{tabular}{@{}l>{\raggedleft\arraybackslash}p{" in long


def everywhere(token):
    """A token in every place that a scene has for one."""
    word, symbol = Word(token, 1), Symbol(token)
    formula = Row(
        (
            word,
            Operator("="),
            Call(token, Fraction(symbol, Root(word))),
            Sub(symbol, word),
            Power(word, symbol),
        )
    )
    return (
        Text((token,), "heading"),
        Text((token, " ", word, " ", symbol)),
        Text((token,), "note"),
        Formula(formula, ((symbol, token),)),
        Table((token, "w"), ((token, fixed(0.5)), (word, Bar(0.5))), token, 0),
        Matrix(
            word, (token, "b"), (token, "c"), ((fixed(0.5), None), (plain(-1), plain(2))), 0, (0, 0), True
        ),
        Plane(
            (Arrow(token, (0.0, 0.0), (1.0, 1.0), ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0)), True),),
            (token, token),
            token,
        ),
        Heatmap(((1.0, 0.0),), Axis(token, (token,)), Axis(token, (token, "b")), token),
        Heatmap(((1.0,),), Axis("", ends=(token, token)), Axis("", ends=(token, token))),
        Lines((Line(token, ((1, 1), (2, 2)), True, ((0, 1), (1, 3))),), token, token, caption=token),
        Code(token),
        Quote(token, token, token, 1, 3, token),
        Fold(token, (Text((token,)),), open=True),
    )


def test_hostile_tokens_compile_and_do_nothing(compiled, tmp_path):
    (tmp_path / "x.tex").write_text(r"\errmessage{read a file}")
    commands = [
        r"\directlua{io.open('made','w'):close()}",
        r"\immediate\write18{touch made}",
        r"\openout1=made",
    ]
    log = compiled(
        Scene(r"\input{x}", tuple(part for token in [*HOSTILE, *commands] for part in everywhere(token)))
    )
    assert "x.tex" not in log
    assert not (tmp_path / "made").exists()
    assert "Missing character" not in log


def test_every_character_compiles(compiled):
    text = "".join(map(chr, [*range(0x3000), *range(0x3000, 0x110000, 997)]))
    lines = tuple(Text((text[n : n + 64],)) for n in range(0, len(text), 64))
    compiled(Scene("every character", (*lines, Code(text))))
