"""Documents become text whose every character knows its place."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverhead.checking.claims.documents import KINDS, Page, kind_of, read
from riverhead.errors import InputError

# Whole bits of markup, whole numbers and broken ends, so that a few draws make a document.
BITS = [
    *(
        "0.5",
        " + ",
        "7",
        "=",
        "≈",
        "\n",
        "\r\n",
        "\r",
        "\u2028",
        " ",
        "\t",
        "x",
        "β",
        "[1, 2]",
        "**",
        "`",
        "$",
        "|",
    ),
    *(
        "<p>",
        "</p>",
        "<br/>",
        "<b class='a>b'>",
        "</b>",
        "<sup>",
        "</sup>",
        "<sub>",
        "</sub>",
        "<pre>",
        "</pre>",
    ),
    *("<table>", "<tr>", "<td>", "</td>", "</tr>", "</table>", "<!--", "-->", "<script>", "</script>", "<"),
    *("<math>", "<mfrac>", "<mn>", "</mn>", "</mfrac>", "<mtable>", "<mtr>", "<mtd>", "</mtable>", "</math>"),
    *(
        "<mover>",
        "<mo>",
        "</mo>",
        '<annotation encoding="application/x-tex">',
        "</annotation>",
        "&amp;",
        "&times;",
    ),
    *(
        '<span class="katex-html">',
        "</span>",
        '<script type="math/tex; mode=display">',
        "&#215",
        "&",
        "<a href=",
        '"',
    ),
    *(
        "---\n",
        "title: 1\n",
        "](",
        "https://a.example/1=2",
        ")",
        "[^1]",
        "[a]: b",
        "%",
        "\\",
        "\\label{a=1}",
        "{",
        "}",
    ),
    *(
        "\\begin{document}",
        "\\end{document}",
        "\\begin{verbatim}",
        "\\verb|%|",
        "\x00",
        "\x1b[31m",
        "\ud800",
        "\u200b",
    ),
]
documents = st.lists(st.sampled_from(BITS), max_size=40).map("".join)


def at(source: str, page: Page, offset: int) -> int:
    """Where in the source the page says a character stands, by counting its lines."""
    place = page.where(offset)
    position, line = 0, 1
    while line < place.line:
        step = source[position]
        position += 2 if source.startswith("\r\n", position) else 1
        line += step in "\r\n"
    return position + place.column - 1


def words(text: str) -> str:
    return "".join(text.split())


@given(documents, st.sampled_from(["text", "latex"]))
def test_what_is_kept_of_plain_text_and_latex_stays_in_its_place(source: str, kind: str) -> None:
    page = read(source, kind)
    assert len(page.text) == len(source)
    for offset, (shown, written) in enumerate(zip(page.text, source, strict=True)):
        assert shown == written or shown in " \n"
        assert at(source, page, offset) == offset


@given(documents, st.sampled_from(["html", "markdown"]))
def test_every_character_out_of_markup_stands_where_the_page_says(source: str, kind: str) -> None:
    page = read(source, kind)
    places = [at(source, page, offset) for offset in range(len(page.text))]
    assert places == sorted(places)
    for shown, place in zip(page.text, places, strict=True):
        written = source[place : place + 1]
        assert (
            shown == written or shown in " \n" or written in ("<", "&", "") or (shown in "}; " and written)
        ), shown


@given(st.text(), st.sampled_from([None, *KINDS]))
def test_any_text_is_read_or_refused(source: str, kind: str | None) -> None:
    try:
        page = read(source, kind)
    except InputError:
        return
    page.where(0), page.where(len(page.text))


class Shown(HTMLParser):
    """The text that the standard library's parser finds."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ""

    def handle_data(self, data: str) -> None:
        self.text += data


texts = st.sampled_from(
    ["0.5 &lt; 0.7", "a&nbsp;=&nbsp;1", "2 &#215; 3 &#x3d; 6", "x &y; z", "5 &", "é λ", " "]
)
tags = st.sampled_from(["p", "div", "b", "span", "li", "code", "h2", "em"])
trees = st.recursive(
    texts, lambda inner: st.builds(lambda t, x: f"<{t} a='<>' b>{''.join(x)}</{t}>", tags, st.lists(inner))
)


@given(trees)
def test_html_says_what_the_standard_parser_says(source: str) -> None:
    oracle = Shown()
    oracle.feed(source)
    oracle.close()
    assert words(read(source, "html").text) == words(oracle.text)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("<p>a = 1\n+ 2</p><p>b</p>", "a = 1 + 2\nb"),
        ("a<br>b<hr/>c", "a\nb\nc"),
        ("<pre>a\nb</pre>c\nd", "a\nb\nc d"),
        ("a <math display='block'><mn>1</mn></math> b", "a \n1\n b"),
        ("<span class='MathJax'><span>3 = 3</span></span>", "3 = 3"),
        ("<p style='white-space: pre'>a\nb</p>", "a\nb"),
        ("10<sup>9</sup>, d<sub>k</sub>", "10^{9}, d_{k}"),
        ("<p>10<sup>9</p>x", "10^{9}\nx"),
        ("0.54<sup><a href='#3'>3</a></sup> and<sup>[4]</sup>", "0.54 and"),
        ("<style>p {x: 1}</style><script>1 + 1 = 3</script>x<!-- 2 + 2 = 5 -->y", "xy"),
        ("<table><tr><th>w</th><td>0.5</td></tr>\n<tr><td>a<td>b</table>", "| w | 0.5 |\n| a | b |"),
        ("<table>\n<tr>\n<td><p>1</p>\n<p>2</p></td>\n<td><br>3</td></tr></table>", "| 1 ; 2 | 3 |"),
        ("<td><table><tr><td>1</td></tr></table><p>x</p>y", "|  |\n| 1 |\nx\ny"),
        ("<td class='gutter'>1</td><td>x</td>", "| x |"),
        ("if 3 <4 and 5> 4", "if 3 <4 and 5> 4"),
        ("&copy 2 &lt;b&gt; &unknown; &#8722;1", "© 2 <b> &unknown; −1"),
        ("<a href='https://a.example/?x=1'>1</a> https://b.example/y=2 z", "1                       z"),
    ],
)
def test_html(source: str, text: str) -> None:
    assert read(source, "html").text.strip() == text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("<mfrac><mn>1</mn><msqrt><mn>2</mn></msqrt></mfrac>", r"\frac{1}{\sqrt{2}}"),
        ("<mroot><mn>8</mn><mn>3</mn></mroot>", "(8)^{1/(3)}"),
        ("<msup><mi>e</mi><mrow><mo>−</mo>\n<mn> 1 </mn></mrow></msup>", "e^{−1}"),
        ("<msubsup><mi>x</mi><mn>1</mn><mn>2</mn></msubsup>", "x_{1}^{2}"),
        ("<mover><mi>x</mi><mo>→</mo></mover><mo>=</mo>", "x="),
        ("<mi>log</mi><mo>&#x2061;</mo><mi>log</mi><mn>2</mn><mi>x</mi>", "log log 2x"),
        ("<mn>2</mn><mo>&InvisibleTimes;</mo><mn>3</mn>", "2 3"),
        (
            "<mo>[</mo><mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>2</mn></mtd></mtr><mtr><mtd><mn>3</mn></mtd></mtr>"
            "</mtable><mo>]</mo><mi>x</mi>",
            r"\begin{bmatrix}1 & 2 \\ 3\end{bmatrix}x",
        ),
        (
            '<mtable columnalign="right left"><mtr><mtd><mi>x</mi></mtd><mtd><mo>=</mo></mtd></mtr>'
            "<mtr><mtd><mo>=</mo></mtd></mtr></mtable>",
            "x & =\n=",
        ),
        ('<mfenced open="["><mn>1</mn><mn>2</mn></mfenced>', "[1,2)"),
        ("<mfrac><mn>1</mn>", r"\frac{1}{}"),
        ("<mfrac><mn>1</mn><mn>2</mn><mn>3</mn></mfrac>", r"\frac{1}{2 3}"),
    ],
)
def test_mathml_becomes_latex(source: str, text: str) -> None:
    assert read(f"a <math>{source}</math> b", "html").text == f"a  {text}  b"


@pytest.mark.parametrize(
    "source",
    [
        '<span class="katex"><span class="katex-mathml"><math><semantics><mrow><mn>3</mn><mo>=</mo></mrow>'
        '<annotation encoding="application/x-tex">3 = 3</annotation></semantics></math></span>'
        '<span class="katex-html" aria-hidden="true"><span>3</span><span>=</span>3</span></span>',
        '<span class="katex"><span class="katex-mathml">\n 3\n =\n 3\n\n 3 = 3\n</span>'
        '<span class="katex-html">3=3</span></span>',
        '<span class="MathJax_Preview">3 = 3</span><span class="MathJax"><nobr>3=3</nobr>'
        '<span><math><mn>3</mn></math></span></span><script type="math/tex">3 = 3</script>',
        '<mjx-container class="MathJax"><mjx-math>3=3</mjx-math><mjx-assistive-mml>'
        "<math><mn>3</mn><mo> = </mo><mn>3</mn></math></mjx-assistive-mml></mjx-container>",
    ],
)
def test_maths_that_is_in_the_page_twice_comes_once(source: str) -> None:
    assert words(read(f"<p>x {source} y</p>", "html").text) == "x3=3y"


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("---\ntitle: 1 + 1 = 3\n---\nx", "   \n                \n   \nx"),
        ("---\n1 + 1 = 3\n---\nx", "---\n1 + 1 = 3\n---\nx"),
        ("[a](https://x.example/1=2) [b](c/d.md) [2, 0](0.5)", f"[a]({'':21}) [b]({'':6}) [2, 0](0.5)"),
        ("0.54[^7] <https://x.example/1=2>.", f"0.54{'':4} {'':23}."),
        ("a <strong>4.2</strong> &times; 2<br/>b <!-- 1 + 1 = 3 -->", "a 4.2 × 2\nb "),
        ("| a<br>b | 10<sup>2</sup> |", "| a; b | 10^{2} |"),
        ("<table>\n<tr>\n<td>1</td>\n<td>2</td>\n</tr>\n</table>", "\n| 1 | 2 |\n\n"),
        ("1 <b and c> 2 <!-- 3 <bank> <s x", "1 <b and c> 2 <!-- 3 <bank> <s x"),
        ("**0.5** `a_b` $\\frac{1}{2}$", "**0.5** `a_b` $\\frac{1}{2}$"),
    ],
)  # fmt: skip
def test_markdown(source: str, text: str) -> None:
    assert read(source, "markdown").text == text


def test_latex_without_comments_preamble_and_labels() -> None:
    source = (
        "\\newcommand{\\x}{1=2}\n\\begin{document}\n5\\% of 2 % no\na \\\\% no\n\\verb|%| b\n"
        "\\begin{verbatim}\n5 % 3\n\\end{verbatim}\n\\begin{comment}\n1 = 2\n\\end{comment}\n"
        "\\label{a=1}\\cite[p. 3]{b=2} \\href{x=1}{y}\n\\end{document}\n1 = 2"
    )
    text = read(source, "latex").text
    assert text.split() == [
        *(
            "5\\%",
            "of",
            "2",
            "a",
            "\\\\",
            "\\verb|%|",
            "b",
            "\\begin{verbatim}",
            "5",
            "%",
            "3",
            "\\end{verbatim}",
        ),
        *("\\end{comment}", "\\href", "{y}"),
    ]
    assert [line.rstrip() for line in text.split("\n")][3:5] == ["a \\\\", "\\verb|%| b"]


@pytest.mark.parametrize(
    ("garbled", "text"),
    [
        ("3 Ã— 2 = 6", "3 ×  2 = 6"),
        ("1Γ—1 [2] Β· [3]", "1× 1 [2] ·  [3]"),
        ("âˆš2 â‰ˆ 1.41", "  √2 ≈   1.41"),
        ("2Â² â†’ 4", "2²  →   4"),
        ("3 \xc3\x97 2 â\x88\x92 1", "3 ×  2 −   1"),
        ("А·В·С, Β² και ΑΓ—", "А·В·С, Β² και ΑΓ—"),
        ("Âge, café", "Âge, café"),
    ],
)
def test_garbled_operators_are_mended_in_their_place(garbled: str, text: str) -> None:
    assert read(garbled, "text").text == text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("a\x00b\x1b[1;31mc\x1b[0m", "a b       c    "),
        ("\u200f0.5\u202c = 1\u200b000", " 0.5  = 1\u200b000"),
        ("a\r\nb\rc\u2028d", "a \nb\nc\nd"),
        ("\ufeffx", "x"),
    ],
)
def test_what_cannot_be_seen_is_not_read(source: str, text: str) -> None:
    assert read(source, "text").text == text


def test_a_line_counts_as_an_editor_counts_it() -> None:
    page = read("\ufeffa\r\nb\u2028c\rd\n", "text")
    assert [(place.line, place.column) for place in map(page.where, range(len(page.text) + 1))] == [
        *((1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3), (2, 4), (3, 1), (3, 2), (4, 1)),
    ]
    assert [page.source_line(line) for line in (1, 2, 3, 4)] == ["a", "b\u2028c", "d", ""]


def test_a_number_in_mathml_stands_behind_its_blanks() -> None:
    page = read("<math><mn>\n 7</mn></math>", "html")
    place = page.where(page.text.index("7"))
    assert (place.line, place.column) == (2, 2)


def test_a_place_outside_the_page_is_refused() -> None:
    page = read("ab", "text")
    for ask in (lambda: page.where(3), lambda: page.where(-1), lambda: page.source_line(2)):
        with pytest.raises(IndexError):
            ask()
    with pytest.raises(IndexError, match="cell 1"):
        page.source_line(1, "cell 1")


def as_notebook(*cells: object, **rest: object) -> str:
    return json.dumps({"cells": cells, "nbformat": 4, "metadata": {}, **rest})


def test_a_notebook_is_read_cell_by_cell_with_its_outputs() -> None:
    table = {"text/plain": "w 0.5", "text/html": ["<table><tr><td>w</td>", "<td>0.5</td></tr></table>"]}
    outputs = [
        {"output_type": "stream", "text": ["1 = 1\n", "2 &lt; 3"]},
        {"output_type": "execute_result", "data": table},
        {"output_type": "display_data", "data": {"image/png": "AAAA"}},
        {"output_type": "display_data", "data": {"text/markdown": "**4**<br>5"}},
    ]
    page = read(
        as_notebook(
            {"cell_type": "markdown", "source": ["# x\n", "a &lt; b <!-- 1 = 2 -->"]},
            {"cell_type": "code", "source": "y = 1 < 2\n", "outputs": outputs},
        )
    )
    parts = ["# x\na < b ", "y = 1 < 2\n", "1 = 1\n2 &lt; 3", "| w | 0.5 |\n", "**4**\n5"]
    assert page.text == "\n\n".join(parts)
    for shown, line, column, name in [
        ("b ", 2, 8, "cell 1"),
        ("< 2", 1, 7, "cell 2"),
        ("2 &lt;", 2, 1, "cell 2, output 1"),
        ("0.5", 1, 26, "cell 2, output 2"),
        ("5", 1, 10, "cell 2, output 4"),
    ]:
        place = page.where(page.text.rindex(shown))
        assert (place.line, place.column, place.place) == (line, column, name)
    assert page.source_line(1, "cell 2, output 4") == "**4**<br>5"


def test_a_notebook_of_version_3_is_read_too() -> None:
    cell = {"cell_type": "code", "input": "1 + 1", "outputs": [{"output_type": "pyout", "text": ["2"]}]}
    assert read(json.dumps({"nbformat": 3, "worksheets": [{"cells": [cell]}]})).text == "1 + 1\n\n2"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("", "line 1, column 1 is not JSON"),
        ('{"cells": [\n', "line 2, column 1 is not JSON"),
        ("[" * 1_000_000, "nested too deep"),
        ('{"cells": ' * 100_000, "nested too deep"),
        ('{"cells": 1' + "0" * 10_000 + "}", "thousands of digits"),
        ("[]", "has to be an object, found a list"),
        ("{}", '"cells" has to be a list, found nothing'),
        (as_notebook(3), "cell 1 has to be an object, found a number"),
        (as_notebook({"source": [1]}), "cell 1: source has to be a text"),
        (as_notebook({"source": "", "outputs": True}), "cell 1: outputs has to be a list, found true"),
        (as_notebook({}, {"outputs": ["x"]}), "cell 2, output 1 has to be an object, found a text"),
        (as_notebook({"outputs": [{"data": []}]}), "output 1: data has to be an object, found a list"),
        (as_notebook({"outputs": [{"text": {}}]}), "cell 1, output 1: text has to be a text"),
    ],
)  # fmt: skip
def test_a_broken_notebook_is_refused_in_words(source: str, message: str) -> None:
    with pytest.raises(InputError, match=message.replace("[", r"\[")):
        read(source, "notebook")


@pytest.mark.parametrize(
    "bit",
    [
        *(
            "<div>",
            "</div>",
            "<sup>",
            "<table><tr><td>",
            "<math>",
            "<mrow>",
            "<mfrac><mn>1</mn>",
            "<!--",
            "<script>",
        ),
        *(
            "<a href=",
            '<a x="',
            "&",
            "&#",
            "<span class=lineno>",
            "<span class='katex-mathml'>",
            "\x1b[",
            "\u200b",
        ),
        *(
            "\\begin{verbatim}",
            "\\verb|",
            "\\cite[",
            "[a](",
            "http://",
            "Γ—",
            "\r",
            "---\n",
            "\x00",
            "{",
            "[^",
        ),
    ],
)
def test_thousands_of_anything_are_read(bit: str) -> None:
    for kind in ("html", "markdown", "latex", None):
        page = read("<math>" * (bit[:2] == "<m") + bit * 10_000 + "end = 1", kind)
        page.where(len(page.text))


@pytest.mark.parametrize(
    ("filename", "kind"),
    [
        ("a.md", "markdown"),
        ("dir.tex/README.MARKDOWN", "markdown"),
        ("x.HTM", "html"),
        ("x.tex", "latex"),
        ("x.y.ipynb", "notebook"),
        ("x.txt", "text"),
        ("README", None),
        ("x.png", None),
        (".md", None),
        ("", None),
    ],
)
def test_a_files_name_says_its_kind(filename: str, kind: str | None) -> None:
    assert kind_of(filename) == kind


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("<!doctype html><p>1<2 &lt; 3", "html"),
        (" \n<!-- a --><HTML><p>a</p>", "html"),
        ("<p>a</p>\n<p>b</p>", "html"),
        ("<p align=center>a</p>\n\n# Title\n1 < 2", "markdown"),
        ("% c\n\\documentclass{x}\n\\begin{document} 5 % 3\n", "latex"),
        (as_notebook({"source": "<br>", "cell_type": "raw"}), "notebook"),
        ('{"cells in a table": 1}', "markdown"),
        ("2 + 2 = 4", "markdown"),
        ("", "markdown"),
    ],
)
def test_a_document_without_a_kind_is_read_as_what_it_looks_like(source: str, kind: str) -> None:
    assert read(source).text == read(source, kind).text


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(InputError, match="kind='docx' is unknown; a document is one of markdown, html"):
        read("", "docx")
