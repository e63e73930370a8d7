"""HTML and its MathML: balanced, without scripts or network, every token read back as it was."""

import re
import shutil
import subprocess
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from hostile_scenes import HOSTILE, maths, scenes
from hypothesis import given

from riverhead.numbers import fixed, plain
from riverhead.render import render
from riverhead.render.letters import visible
from riverhead.render.mathml import mathml
from riverhead.scene import (
    Arrow,
    Axis,
    Bar,
    Call,
    Code,
    Fold,
    Fraction,
    Heatmap,
    Matrix,
    Operator,
    Plane,
    Power,
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

VOID = {"meta"}
SAFE = {
    *(
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "main",
        "section",
        "h1",
        "h2",
        "h3",
        "h4",
        "p",
        "bdi",
        "div",
    ),
    *(
        "dl",
        "dt",
        "dd",
        "table",
        "caption",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "span",
        "figure",
        "figcaption",
    ),
    *("svg", "g", "line", "polygon", "circle", "rect", "path", "text"),
    *("pre", "code", "mark", "details", "summary"),
    *("math", "mi", "mo", "mn", "mtext", "mrow", "msub", "msup", "mfrac", "msqrt", "mspace"),
}


class Page(HTMLParser):
    """Checks a page as it reads it, and keeps the text outside of styles."""

    def __init__(self, html):
        super().__init__()
        self.open, self.text = [], ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        assert tag in SAFE
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names))
        assert not any(name.startswith("on") or name in {"src", "href", "action"} for name in names)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" in self.open:
            assert "url(" not in data
            assert "@import" not in data
        else:
            self.text += data

    def handle_comment(self, data):
        raise AssertionError(data)


def part(*parts):
    """The markup of one part, without the section around it."""
    html = render(Scene("", parts), "html-fragment")
    return html.partition("</style>\n")[2].removesuffix("\n</section>\n")


def test_each_part_has_its_element():
    assert part(Text(("a<b ", Symbol("x")))) == "<p>a&lt;b <math><mi>x</mi></math></p>"
    assert part(Text(("why",), "heading")) == "<h4>why</h4>"
    assert part(Text(("שלום",), "note")) == '<p class="note"><bdi>שלום</bdi></p>'
    assert part(Code("a < b\n\tc")) == "<pre><code>a &lt; b\n    c</code></pre>"
    assert (
        part(Fold("more", (Text(("x",)),), open=True))
        == '<details open=""><summary>more</summary><p>x</p></details>'
    )
    bar = '<span class="bar" role="img" aria-label="50%"><span style="width:3.500em"></span></span>'
    assert f"<td>{bar}</td>" in part(Table((None, None), (("w", Bar(0.5)),)))


def test_a_matrix_shades_its_weights_and_marks_row_and_cell():
    cells = ((fixed(0.25), fixed(1)),)
    html = part(Matrix(Symbol("A"), ("bank",), ("The", "river"), cells, focus=0, spot=(0, 1), shade=True))
    assert html == (
        '<div class="scroll"><table><thead><tr><th scope="col"><math><mi>A</mi></math></th>'
        '<th scope="col" class="n">The</th><th scope="col" class="n">river</th></tr></thead>'
        '<tbody><tr class="focus"><th scope="row">bank</th>'
        '<td class="n" style="background:rgba(47,125,225,0.163)">0.250</td>'
        '<td class="n spot" style="background:rgba(47,125,225,0.650)">1.000</td></tr></tbody></table></div>'
    )


def test_mathml_of_every_node():
    d_k = Sub(Symbol("d"), Symbol("k"))
    scores = Fraction(Row((Symbol("Q"), Power(Symbol("K"), Symbol("T")))), Root(d_k))
    assert mathml(Row((Call("softmax", scores), Symbol("V")))) == (
        "<math><mrow><mrow><mi>softmax</mi><mo>\u2061</mo><mrow><mo>(</mo><mfrac><mrow><mi>Q</mi>"
        "<msup><mi>K</mi><mi>T</mi></msup></mrow><msqrt><msub><mi>d</mi><mi>k</mi></msub></msqrt></mfrac>"
        '<mo>)</mo></mrow></mrow><mspace width="0.25em"></mspace><mi>V</mi></mrow></math>'
    )
    assert mathml(Row((Word("<b>", 1), Operator("="), Vector((plain(-1), plain(2)))))) == (
        '<math><mrow><mtext>&lt;b&gt;′</mtext><mo form="infix">=</mo><mrow><mo stretchy="false">(</mo>'
        '<mn>−1</mn><mo>,</mo><mn>2</mn><mo stretchy="false">)</mo></mrow></mrow></math>'
    )


def test_a_sum_that_carries_an_exponent_is_bracketed():
    total = Row((Symbol("a"), Operator("+"), Symbol("b")))
    inside = '<mrow><mi>a</mi><mo form="infix">+</mo><mi>b</mi></mrow>'
    bracketed = f'<mrow><mo stretchy="false">(</mo>{inside}<mo stretchy="false">)</mo></mrow>'
    assert mathml(Power(total, plain(2))) == f"<math><msup>{bracketed}<mn>2</mn></msup></math>"


def test_a_text_that_begins_with_a_formula_shows_it_tall():
    half = Fraction(plain(1), plain(2))
    assert part(Text((half, " of it"))).startswith('<p><math displaystyle="true"><mfrac>')
    assert part(Text(("it is ", half))).startswith("<p>it is <math><mfrac>")


def test_a_long_formula_may_break_at_its_signs_and_a_cell_keeps_its_own_whole():
    total = Row(tuple(item for n in range(9) for item in (Operator("+"), plain(100 + n)))[1:])
    assert part(Text(("3 Spend it: ", total), "heading")).count("</math>\u200b<math>") == 8
    assert part(Text(("3 Spend it:  ", total), "heading")).count("</math>\u200b<math>") == 8
    assert part(Table((None,), ((total,),))).count("<math>") == 1


def test_a_narrow_window_breaks_no_number_and_no_short_label(tmp_path):
    """Twelve columns in 300 pixels: every row but that of the long token is one line high."""
    if shutil.which("chromium") is None:
        pytest.skip("needs chromium")
    n = 12
    labels = (*(f"river bank {j}" for j in range(n - 1)), "x" * 200)
    cells = tuple(tuple(fixed(0.634 + j) for j in range(n)) for _ in labels)
    shown = render(Scene("", (Matrix(Symbol("S"), labels, (*labels[:-1], "k"), cells),)), "html-fragment")
    measure = (
        "document.title=[...document.querySelectorAll('tr')].map(r=>Math.round(r.offsetHeight))"
        "+';'+document.querySelector('.scroll').offsetWidth"
    )
    page = tmp_path / "page.html"
    page.write_text(f"<!doctype html><div style='width:300px'>{shown}</div><script>{measure}</script>")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", f"--user-data-dir={tmp_path}/user"]
    dom = subprocess.run(["chromium", *flags, page.as_uri()], capture_output=True, text=True, timeout=120)
    heights, width = re.search("<title>(.*);(.*)</title>", dom.stdout).groups()
    *rows, long = map(int, heights.split(","))
    assert max(rows) < 40  # a line of 24 pixels and its padding
    assert long > 60
    assert int(width) <= 300


def test_paper_cannot_scroll_and_shows_every_number_whole(tmp_path):
    if shutil.which("chromium") is None or shutil.which("pdftotext") is None:
        pytest.skip("needs chromium and pdftotext")
    labels = tuple(f"{letter * 16}" for letter in "abcdefghijkl")
    numbers = [[fixed(i + 0.001 * j) for j in range(12)] for i in range(12)]
    weights = Matrix(Symbol("S"), labels, labels, tuple(map(tuple, numbers)))
    page = tmp_path / "page.html"
    page.write_text(render(Scene("", (weights,)), "html"), encoding="utf-8")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}/user"]
    flags += [f"--print-to-pdf={tmp_path}/page.pdf"]
    subprocess.run(["chromium", *flags, page.as_uri()], capture_output=True, check=True, timeout=120)
    read = subprocess.run(["pdftotext", tmp_path / "page.pdf", "-"], capture_output=True, text=True).stdout
    assert {number.text for row in numbers for number in row} <= set(read.split())


@pytest.mark.parametrize("token", HOSTILE)
@pytest.mark.parametrize("format", ["html", "html-fragment"])
def test_every_token_is_read_back(token, format):
    corners = ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0))
    plane = Plane((Arrow(token, corners[0], corners[1], corners),), (token, token))
    heat = Heatmap(((1.0,),), Axis("", ("a",)), Axis("", ("a",)), token)
    scene = Scene(
        token, (Text((token,)), Table((token,), ((Word(token),),)), plane, heat, Code("c"), Fold(token, ()))
    )
    html = render(scene, format)
    assert Page(html).text.replace("\u2068", "").replace("\u2069", "").count(visible(token)) >= 6


@given(scenes())
def test_any_scene_is_balanced_and_safe(scene):
    html = render(scene, "html")
    Page(html)
    assert "default-src 'none'" in html
    ElementTree.fromstring(render(scene, "html-fragment"))


@given(maths)
def test_mathml_is_well_formed(node):
    assert ElementTree.fromstring(mathml(node)).tag == "math"


def test_styles_stay_inside_the_fragment():
    style = render(Scene("", ()), "html-fragment").partition("<style>\n")[2].partition("</style>")[0]
    rules = style.replace("@media print{", "").replace("\n", "").split("}")
    for rule in filter(None, rules):
        assert all(
            selector.startswith(".riverhead ") or selector == ".riverhead"
            for selector in rule.split("{")[0].split(",")
        )
