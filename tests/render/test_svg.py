"""The SVG sheet and its picture: well-formed for any text, nothing beyond its edge."""

import math
import sys
from xml.etree import ElementTree

import pytest
from hostile_scenes import HOSTILE, scenes
from hypothesis import given, settings

from riverhead.errors import MissingExtraError, RiverheadError
from riverhead.numbers import fixed
from riverhead.render import render
from riverhead.render.letters import visible
from riverhead.render.plane import draw
from riverhead.scene import (
    Arrow,
    Bar,
    Matrix,
    Operator,
    Plane,
    Power,
    Row,
    Scene,
    Sub,
    Symbol,
    Table,
    Text,
    Word,
)

SVG = "{http://www.w3.org/2000/svg}"
NAMES = ("svg", "title", "g", "rect", "line", "text", "tspan", "path", "polygon", "circle")
SAFE = {SVG + name for name in NAMES}


def read(scene, width=80):
    return ElementTree.fromstring(render(scene, "svg", width=width))


def test_an_index_is_lowered_and_what_follows_comes_back_up():
    spans = read(Scene("", (Text((Sub(Symbol("q"), Word("bank")), " = 1")),))).iter(SVG + "tspan")
    assert [(span.text, span.get("dy")) for span in spans] == [
        ("q", None),
        ("bank", "3.74"),
        (" = 1", "-3.74"),
    ]


def test_an_index_of_an_exponent_is_smaller_and_higher_still():
    power = Power(Symbol("x"), Sub(Symbol("y"), Symbol("z")))
    spans = [*read(Scene("", (Text((power,)),))).iter(SVG + "tspan")]
    assert [span.get("font-size") for span in spans] == [None, "12.58", "9.31"]  # 17 · 0.74, 17 · 0.74²
    assert [span.get("dy") for span in spans] == [None, "-6.8", "2.77"]  # up 0.4 · 17, down 0.22 · 0.74 · 17


def test_a_formula_stands_beside_its_heading_where_it_fits():
    def sides(terms):
        runs = ("1 Score  ", Row((Operator("+"),) * terms))
        return [
            text.get("text-anchor") for text in read(Scene("", (Text(runs, "heading"),))).iter(SVG + "text")
        ]

    assert sides(3) == [None, "end"]
    assert set(sides(99)) == {None}


def test_shades_and_bars_are_as_wide_and_as_dark_as_their_numbers():
    weights = Matrix(Symbol("A"), ("a",), ("a", "b"), ((fixed(0.25), fixed(1)),), shade=True)
    shades = [rect.get("fill-opacity") for rect in read(Scene("", (weights,))).iter(SVG + "rect")]
    assert shades == [None, "0.16", "0.65"]  # the paper, then 0.65 of each weight
    bars = Table((None, None), (("a", Bar(0.25)), ("b", Bar(1))))
    widths = [rect.get("width") for rect in read(Scene("", (bars,))).iter(SVG + "rect")]
    assert widths == ["960", "27.5", "110"]


def test_a_plane_draws_the_hull_in_focus_and_arrows_to_scale():
    square = ((0.0, 0.0), (2.0, 0.0), (1.0, 0.5), (2.0, 2.0), (0.0, 2.0))
    drawn = draw(
        Plane((Arrow("a", (0.0, 0.0), (2.0, 1.0), square, True), Arrow("b", (1.0, 1.0), (1.0, 2.0))))
    )
    ((corners, focus),) = drawn.hulls
    assert focus
    assert len(corners) == 4  # the inner point is no corner
    (x1, y1), (x2, y2), _ = drawn.arrows[0]
    assert (x2 - x1, y1 - y2) == (300, 150)


def test_a_plane_wider_than_the_sheet_is_drawn_smaller():
    plane = Plane((Arrow("a", (0.0, 0.0), (1.0, 1.0)),))
    (scaled,) = (
        g.get("transform")
        for g in read(Scene("", (plane,)), width=24).iter(SVG + "g")
        if "scale" in str(g.attrib)
    )
    assert scaled == "scale(0.470)"  # 24 · 12 − 2 · 40 − 22 pixels of 300 + 2 · 44 + a letter of 7.8


def test_labels_of_a_plane_keep_apart():
    ends = [(0.56, 0.22), (0.42, 0.33), (0.60, 0.27), (0.25, 0.33)]
    starts = [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (0.5, 0.0)]
    words = ["The", "river", "bank", "flooded"]
    labels = draw(Plane(tuple(map(Arrow, words, starts, ends)))).labels
    assert {label.text for label in labels} == {*words, *(f"{word}′" for word in words)}
    boxes = [(label.x, label.x + 7.8 * len(label.text), label.y) for label in labels]
    for n, (left, right, y) in enumerate(boxes):
        for other_left, other_right, other_y in boxes[:n]:
            assert right <= other_left or other_right <= left or abs(y - other_y) >= 12


def test_of_a_dozen_moves_no_label_is_struck_through_and_none_is_without_a_label():
    ends = [(1.0, 1.0), (1.16, 1.6), (3.17, -0.9), (1.53, 1.44), (1.13, 1.32), (1.46, 2.16), (2.62, -0.1)]
    ends += [(-0.8, 2.93), (0.69, 1.8), (1.96, 0.44), (1.74, 1.9), (2.05, -0.04)]
    starts = [(2, 1), (0.5, 1), (3.25, -1), (1, 1), (0.3, 0.6), (1.5, 2.5), (2.25, 0.125), (-1, 3), (0, 1)]
    starts += [(1, 0), (2, 2), (0.7, -0.7)]
    words = [f"{letter * 12}" for letter in "abcdefghijkl"]
    drawn = draw(Plane(tuple(map(Arrow, words, starts, ends))))
    assert {label.text.removesuffix("′") for label in drawn.labels} == set(words)
    for label in drawn.labels:
        right, top = label.x + 7.8 * len(label.text), label.y - 0.7 * 13  # as high as its letters
        for (x1, y1), (x2, y2), _ in drawn.arrows:
            path = [(x1 + (x2 - x1) * k / 300, y1 + (y2 - y1) * k / 300) for k in range(301)]
            struck = sum(label.x < x < right and top < y < label.y for x, y in path) / 300
            assert struck * math.dist((x1, y1), (x2, y2)) <= 7  # pixels


@pytest.mark.parametrize("token", HOSTILE)
def test_every_token_is_read_back(token):
    corners = ((0.0, 0.0), (1.0, 1.0))
    parts = (
        Text((token,), "heading"),
        Table((Word(token),), ((fixed(0.5),),)),
        Plane((Arrow("a", *corners),), (token, "y")),
    )
    texts = ["".join(text.itertext()) for text in read(Scene("", parts), width=1000).iter(SVG + "text")]
    wanted = " ".join(visible(token).split(" "))
    joined = "\n".join(texts).replace("\u2068", "").replace("\u2069", "")
    assert joined.count(wanted.strip()) >= 3


@given(scenes())
def test_any_scene_is_well_formed_and_safe(scene):
    for element in read(scene).iter():
        assert element.tag in SAFE
        assert not any("href" in name or name.startswith("on") for name in element.attrib)


def test_a_picture_is_a_png_of_twice_the_pixels():
    picture = render(Scene("bank", (Text(("x",)),)), "png", width=30)
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    assert int.from_bytes(picture[16:20], "big") == 2 * 12 * 30


@settings(max_examples=10, deadline=None)
@given(scenes())
def test_resvg_reads_any_sheet(scene):
    assert render(scene, "png").startswith(b"\x89PNG")


def test_without_resvg_the_command_that_brings_it_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'riverhead\[png\]'"):
        render(Scene("", ()), "png")


def test_without_a_font_there_is_no_picture_without_letters(monkeypatch):
    monkeypatch.setattr("resvg_py.svg_to_bytes", lambda **how: b"blank")
    with pytest.raises(RiverheadError, match="no font"):
        render(Scene("", ()), "png")
