"""What all formats share: names, lazy imports, the same numbers, and scenes that any of them shows."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from hostile_scenes import scenes
from hypothesis import given, settings

from riverhead.errors import InputError, ShapeError
from riverhead.numbers import fixed, plain, significant
from riverhead.render import FORMATS, render
from riverhead.render.letters import isolate, visible
from riverhead.render.plain import Plain, pieces
from riverhead.scene import (
    Arrow,
    Bar,
    Call,
    Fold,
    Formula,
    Fraction,
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

TEXTS = [name for name in FORMATS if name != "png"]


def test_formats_are_sorted_and_an_unknown_one_is_named():
    assert list(FORMATS) == sorted(FORMATS)
    with pytest.raises(InputError, match="format 'markdwon' is not known, did you mean 'markdown'"):
        render(Scene("", ()), "markdwon")


@pytest.mark.parametrize(("heavy", "brought"), [("rich", False), ("numpy", False), ("riverhead.scene", True)])
def test_importing_the_table_of_formats_brings_nothing_heavy(heavy, brought):
    """The last case is the control: a scene is imported when one is drawn."""
    code = f"import sys, riverhead.render; print({heavy!r} in sys.modules)"
    if brought:
        code = f"import sys; from riverhead.render import terminal; print({heavy!r} in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == str(brought)


class Reader(HTMLParser):
    """The text of a page without its styles."""

    def __init__(self, html):
        super().__init__()
        self.text, self.styled = "", False
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.styled = tag == "style"

    def handle_data(self, data):
        self.text += "" if self.styled else f" {data}"


READ = {
    "html": lambda text: Reader(text).text,
    "html-fragment": lambda text: Reader(text).text,
    "latex": lambda text: re.sub(r"-?[\d.]+(em|pt|cm)", "", text),
    "latex-fragment": lambda text: re.sub(r"-?[\d.]+(em|pt|cm)", "", text),
    "svg": lambda text: " ".join(ElementTree.fromstring(text).itertext()),
}


@pytest.mark.parametrize("format", TEXTS)
def test_every_format_shows_the_same_numbers(format):
    values = [[0.064585, 0.538776], [0.265654, 0.130985]]
    cells = tuple(tuple(map(fixed, row)) for row in values)
    scene = Scene(
        "bank",
        (
            Matrix(Symbol("A"), ("a", "b"), ("a", "b"), cells, focus=1, spot=(0, 1), shade=True),
            Table((None, "exp"), (("river", significant(16.918829)), ("bar", Bar(0.5)))),
            Formula(
                Row((Vector((plain(0.25), plain(-1.5))), Operator("="), Fraction(plain(31), Root(plain(17)))))
            ),
        ),
    )
    read = READ.get(format, str)(render(scene, format)).replace("−", "-")
    found = re.findall(r"(?<![\d.])-?\d+\.\d+|(?<![\d.])(?:31|17)(?![\d.])", read)
    wanted = ["0.065", "0.539", "0.266", "0.131", "16.92", "0.25", "-1.5", "31", "17"]
    assert [number for number in found if number in wanted] == wanted


@pytest.mark.parametrize("format", TEXTS)
@settings(max_examples=40, deadline=None)
@given(scene=scenes())
def test_any_scene_is_shown(scene, format):
    shown = render(scene, format)
    shown.encode("utf-8")
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066\u2067\ufeff]", shown)


@pytest.mark.parametrize("format", FORMATS)
def test_a_ragged_table_is_refused_with_both_sizes(format):
    with pytest.raises(ShapeError, match="header has 2, row 1 has 1"):
        render(Scene("", (Table(("a", "b"), (("x", "y"), ("z",))),)), format)


def test_a_part_that_no_format_knows_is_named():
    with pytest.raises(InputError, match="Terminal cannot show a int: 7"):
        render(Scene("", (7,)), "text")


def test_what_nobody_can_open_is_left_out_of_pictures_and_paper():
    closed, open_ = (Fold("the terms", (Text(("64 of them",)),), open=state) for state in (False, True))
    for format in ("svg", "latex", "latex-fragment"):
        empty, shut, unfolded = (render(Scene("t", parts), format) for parts in ((), (closed,), (open_,)))
        assert shut == empty
        assert render(Scene("t", (Fold("f", (closed,), open=True),)), format).count("the terms") == 0
        assert "64 of them" in unfolded
    assert "▸ the terms" in render(Scene("t", (closed,)), "text")


def test_a_group_of_columns_repeats_no_row_that_is_empty_in_it():
    """The two columns stand in groups of their own; one row has no sum, one is only its label."""
    weight, total = "weight" + "x" * 60, "sum" + "x" * 60
    rows = (
        ("score", fixed(1), None),
        ("exp", fixed(2), fixed(28)),
        (None, Bar(0.5), None),
        ("bare", None, None),
    )
    table = Scene("", (Table((None, weight, total), rows),))
    first, last = render(table, "text").rstrip().split("\n\n")
    assert [line.split() for line in first.split("\n")][1:] == [
        ["score", "1.000"],
        ["exp", "2.000"],
        ["█████"],
        ["bare"],
    ]
    assert [line.split() for line in last.split("\n")] == [[total], ["exp", "28.000"], ["bare"]]
    last = render(table, "latex-fragment").split("begin{tabular}")[-1]
    assert last.partition("midrule\n")[2].startswith("exp & $28.000$ \\\\\nbare &  \\\\\n\\end")
    words = [text.text for text in ElementTree.fromstring(render(table, "svg")).iter() if text.text]
    assert [word for word in words if word.strip()][-3:] == ["exp", "28.000", "bare"]


d_k = Sub(Symbol("d"), Symbol("k"))
scores = Fraction(Row((Symbol("Q"), Power(Symbol("K"), Symbol("T")))), Root(d_k))


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (Row((Call("softmax", scores), Symbol("V"))), "softmax(QKᵀ/√d_k) V"),
        (Row((Sub(Symbol("q"), Word("a")), Operator("·"), Sub(Symbol("k"), Word("b")))), "q_a·k_b"),
        (Fraction(Row((Symbol("a"), Operator("+"), Symbol("b"))), plain(2)), "(a + b)/2"),
        (Power(Symbol("e"), fixed(2.12, 2)), "e^2.12"),
        (Power(Symbol("x", 1), plain(-2)), "x′⁻²"),
        (Sub(Symbol("w"), Row((Symbol("i"), Operator(","), Symbol("j")))), "w_(i, j)"),
        (Row((Operator("−"), Symbol("x"))), "−x"),
        (Row((Operator("÷"), Root(plain(64)), Operator("="), plain(8))), "÷ √64 = 8"),
    ],
)
def test_formulas_in_one_line(node, text):
    assert Plain().walk(node) == text
    assert "".join(map(Plain().walk, pieces(node, 0))) == text


def test_right_to_left_is_isolated_and_overrides_are_shown():
    assert isolate("שלום") == "\u2068שלום\u2069"
    assert isolate("bank") == "bank"
    assert visible("a\u202eb\u2069") == "a⟨202E⟩b⟨2069⟩"


def test_points_that_cannot_be_drawn_are_still_told():
    plane = Plane((Arrow("far", (0.0, float("inf")), (1e200, 1.0)), Arrow("near", (0.0, 0.0), (0.0, 0.0))))
    for format in ("text", "markdown", "html"):
        assert "(0, ∞)" in render(Scene("", (plane,)), format)
    widest = Plane((Arrow("far", (-1.7e308, 0.0), (1.7e308, 1.0)), *plane.arrows))
    for format in ("html", "latex", "svg"):
        assert not re.search(r"\b(inf|nan)\b", render(Scene("", (widest,)), format))
