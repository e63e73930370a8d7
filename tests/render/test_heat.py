"""Heat maps: shades that follow the numbers, labels at their cells, in characters and in pixels."""

import io
import math
import re
from xml.etree import ElementTree

import pytest
from hostile_scenes import HOSTILE, heatmaps
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from riverhead.errors import ShapeError
from riverhead.render import FORMATS, render
from riverhead.render.heat import described, shades
from riverhead.render.terminal import show
from riverhead.scene import Axis, Heatmap, Scene

WORDS = ("The", "river", "bank", "flooded")
WEIGHTS = ((1.0, 0.0, 0.0, 0.0), (0.5, 0.5, 0.0, 0.0), (0.05, 0.75, 0.2, 0.0), (0.25, 0.0, 0.005, 0.745))
SMALL = Heatmap(WEIGHTS, Axis("query", WORDS), Axis("key", WORDS), "head 3")


def lines(part, **how):
    return render(Scene("", (part,)), "text", **how).splitlines()


def square(n, **ends):
    """The identity, without labels."""
    axis = Axis("", ends=("0", str(n - 1)))
    return Heatmap(tuple(tuple(float(i == j) for j in range(n)) for i in range(n)), axis, axis)


def test_a_labelled_map_shows_every_cell_two_characters_wide():
    assert lines(SMALL, width=60) == [
        "  head 3",
        "            0",
        "  0 The     ██",
        "  1 river   ▓▓▓▓",
        "  2 bank    ░░██▒▒",
        "  3 flooded ▒▒    ██",
        "  ↓ query   → key   largest 1.0   █ ≥ 0.72   ▓ ≥ 0.36",
        "  ▒ ≥ 0.12   ░ ≥ 0.010",
    ]


def test_what_stands_at_the_ends_when_there_are_no_labels():
    shown = lines(square(5), width=40)
    assert shown[:6] == ["  0 █", "     █", "      █", "       █", "  4     █", "    0   4"]


def test_other_columns_than_rows_are_named_below():
    shown = lines(Heatmap(((0.5, 1.0),), Axis("query", ("bank",)), Axis("key", ("The", "river"))), width=40)
    assert shown[0] == "         0"
    assert shown[1] == "  0 bank ▓▓██"
    assert shown[-1] == "  → 0 The  1 river"


def test_in_colour_two_rows_stand_in_a_line():
    """On the diagonal of 4: the upper row of a pair is a ▀, the lower a ▄, in the full colour."""
    shown = lines(square(4), width=40, colour=True)
    full = "\x1b[38;2;204;88;0m"
    assert shown[0] == f"  0 {full}▀\x1b[0m{full}▄\x1b[0m  "
    assert shown[1].startswith(f"  3   {full}▀")
    both = lines(Heatmap(((1.0,), (0.25,)), Axis(""), Axis("")), colour=True)[0]
    assert "\x1b[38;2;204;88;0;48;2;138;84;46m▀" in both  # half the shade for a quarter of the number


def test_in_colour_a_labelled_row_is_painted_in_the_background():
    shown = lines(SMALL, width=60, colour=True)
    assert shown[2] == "  0 The     \x1b[48;2;204;88;0m  \x1b[0m      "


def test_numbers_above_columns_stand_over_them_and_apart():
    eleven = Heatmap(((1.0,) * 11,), Axis(""), Axis("", tuple("abcdefghijk")))
    assert lines(eleven)[0] == "   0    5"  # 10 would reach beyond the map
    many = Heatmap(((1.0,) * 60_000,), Axis(""), Axis("", ("a",) * 60_000))
    numbers = [(int(number[0]), number.start()) for number in re.finditer(r"\d+", lines(many, width=40)[0])]
    step = -(-60_000 // 37)  # of 40 characters, two are the sheet's and one the margin
    assert numbers == [(n * step, 3 + n) for n in (0, 5, 10, 20, 30)]  # 15 would touch 16220


def test_labels_that_have_to_be_spelled_out_leave_room_for_the_map():
    part = Heatmap(((1.0, 0.5),) * 2, Axis("", ("日本語の言葉と文字です", "b")), Axis("", ("a", "b")))
    sheet = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    show(Scene("", (part,)), Console(file=sheet, width=24))
    sheet.flush()
    shown = sheet.buffer.getvalue().decode("ascii").splitlines()
    assert shown[1] == r"  0 \u65e5\ ##++"
    assert shown[2] == "  1 b       ##++"


def test_a_map_too_wide_for_the_window_shows_the_largest_of_several_and_says_so():
    shown = lines(square(40), width=34)
    assert "each shade is the largest of 2 × 2 numbers" in " ".join(" ".join(shown).split())
    assert max(map(len, shown)) <= 34
    assert [line[5 + n] for n, line in enumerate(shown[:20])] == ["█"] * 20


def test_a_map_pooled_before_and_again_says_once_what_a_shade_is():
    part = Heatmap(square(40).values, Axis("query"), Axis("key"), pooled=(50, 25))
    sheet = " ".join(" ".join(lines(part, width=34)).split())
    assert "each shade is the largest of 100 × 50 numbers" in sheet
    assert sheet.count("largest of") == 1


def test_a_large_number_is_never_lost_by_pooling():
    values = [[0.0] * 97 for _ in range(89)]
    values[53][61] = 1.0
    part = Heatmap(tuple(map(tuple, values)), Axis(""), Axis(""))
    for rows, columns in ((1, 1), (7, 10), (89, 97), (200, 200)):
        found = shades(part, rows, columns)
        assert found.size[0] <= rows
        assert found.size[1] <= columns
        assert sum(map(sum, found.shares)) == 1


def test_no_number_that_is_not_finite_is_passed_over():
    part = Heatmap(((0.0, math.nan), (math.inf, 0.5)), Axis("query", ("a", "b")), Axis("key", ("a", "b")))
    shown = lines(part, width=60)
    assert shown[1:3] == ["  0 a   ??", "  1 b ??██"]
    assert "? not finite" in shown[-1]
    bare = Heatmap(((1.0, 0.0), (math.nan, 0.0)), Axis(""), Axis(""))
    assert lines(bare, width=60, colour=True)[0].strip() == "?"
    assert "not finite" in render(Scene("", (part,)), "svg")
    assert "largest 0.50 in row 1 (b), column 1 (b)" in described(part)


@pytest.mark.parametrize(
    ("values", "says"), [((), "no cells"), (((), ()), "no cells"), (((0.0, 0.0),), "all 0")]
)
@pytest.mark.parametrize("format", ["text", "markdown", "html", "svg", "latex"])
def test_a_map_without_shades_says_why(format, values, says):
    assert says in render(Scene("", (Heatmap(values, Axis(""), Axis("")),)), format)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(
    ("part", "says"),
    [
        (Heatmap(((1.0, 2.0), (1.0,)), Axis(""), Axis("")), "columns differs: row 0 has 2, row 1 has 1"),
        (Heatmap(((1.0,),), Axis("", ("a", "b")), Axis("")), "rows differs: labels has 2, values has 1"),
        (Heatmap(((1.0, 2.0),), Axis(""), Axis("", ("a",))), "columns differs: labels has 1, values has 2"),
    ],
)
def test_rows_of_other_lengths_and_missing_labels_are_refused(format, part, says):
    with pytest.raises(ShapeError, match=says):
        render(Scene("", (part,)), format)


def test_markdown_fences_the_map():
    assert render(Scene("", (SMALL,)), "markdown") == (
        "head 3\n\n```\n          0\n0 The     ██\n1 river   ▓▓▓▓\n2 bank    ░░██▒▒\n3 flooded ▒▒    ██\n"
        "↓ query   → key   largest 1.0   █ ≥ 0.72   ▓ ≥ 0.36   ▒ ≥ 0.12   ░ ≥ 0.010\n```\n"
    )


def test_a_fence_is_longer_than_any_in_a_label():
    part = Heatmap(((1.0,),), Axis("query", ("```",)), Axis("key", ("a",)))
    assert render(Scene("", (part,)), "markdown").startswith("````\n")


SVG = "{http://www.w3.org/2000/svg}"


def drawn(part):
    return ElementTree.fromstring(render(Scene("", (part,)), "svg"))


def test_boxes_are_as_dark_as_their_numbers_and_stand_where_they_belong():
    paths = {path.get("fill-opacity"): path.get("d") for path in drawn(SMALL).iter(SVG + "path")}
    assert set(paths) == {"1", "0.71", "0.88", "0.21", "0.46", "0.5", "0.08", "0.75", "0.25"}
    left = 7 * 13 * 0.6 + 8  # of the longest label, flooded; the columns' labels need as much above
    box = f"M{left:.1f},{left:.1f}h22v22h-22z"
    assert paths["1"].startswith(box)
    half = f"M{left:.1f},{left + 22:.1f}h44v22h-44z"  # two cells of one shade are one box
    assert paths["0.71"] == half


def test_labels_stand_beside_their_rows_and_upright_over_their_columns():
    texts = [(text.text, text.get("transform")) for text in drawn(SMALL).iter(SVG + "text")]
    assert [text for text, turned in texts if turned] == list(WORDS)
    assert [text for text, turned in texts if not turned][1:5] == list(WORDS)
    beside = [float(text.get("y")) for text in drawn(SMALL).iter(SVG + "text") if text.text in WORDS][:4]
    top = 7 * 13 * 0.6 + 8
    assert beside == pytest.approx([top + 22 * (n + 0.5) + 13 * 0.35 for n in range(4)], abs=0.01)
    words = ["".join(text.itertext()) for text in drawn(SMALL).iter(SVG + "text")]
    assert words[-5:] == ["↓ query   → key", "1.0", "0.56", "0.25", "0.062"]


def test_labels_that_find_no_room_are_left_out_evenly():
    labels = tuple(f"t{n}" for n in range(100))
    part = Heatmap(tuple((0.5,) * 100 for _ in labels), Axis("", labels), Axis("", labels))
    shown = [text.text for text in drawn(part).iter(SVG + "text") if text.get("transform")]
    assert shown == list(labels[::3])  # 5.12 pixels a cell, 13 a letter


def test_html_says_in_words_where_the_largest_stands():
    html = render(Scene("", (SMALL,)), "html-fragment")
    assert 'aria-label="head 3; 4 rows, 4 columns; largest 1.0 in row 0 (The), column 0 (The)"' in html
    assert "<figcaption>head 3</figcaption><svg" in html


def test_latex_draws_boxes_in_pdf_operators_and_turns_the_columns_labels():
    part = Heatmap(((1.0, 0.25),), Axis("query", ("bank",)), Axis("key", ("a", "b")))
    tex = render(Scene("", (part,)), "latex-fragment")
    assert re.search(r"literal\{q 0\.184 0\.490 0\.882 rg [\d. ]+ 13\.64 13\.64 re [\d. ]+ re f ", tex)
    assert r"\makebox(0,0)[br]{\scriptsize\smash{bank}}" in tex
    assert tex.count(r"\pdfextension setmatrix{0 1 -1 0}") == 2


@pytest.mark.parametrize("token", HOSTILE)
@given(width=st.integers(24, 100), colour=st.booleans())
def test_hostile_labels_never_widen_a_line(token, width, colour):
    axes = [Axis(token, (token, "b"), (token, token)), Axis(token, (), (token, token))]
    for axis in axes:
        shown = lines(Heatmap(((1.0, 0.5), (0.0, 0.2)), axis, axis, token), width=width, colour=colour)
        assert all(cell_len(re.sub("\x1b\\[[\\d;]*m", "", line)) <= width for line in shown)


@given(heatmaps())
def test_every_cell_is_drawn_in_pixels(part):
    """The boxes of the map, without those of the key, cover the cells that are not 0."""
    found = shades(part, 256, 256)
    steps = [[share if math.isnan(share) else round(share * 24) for share in row] for row in found.shares]
    frame = next(rect for rect in drawn(part).iter(SVG + "rect") if rect.get("stroke"))
    width, height = float(frame.get("width")), float(frame.get("height"))
    area = sum(
        float(w) * float(h)
        for path in drawn(part).iter(SVG + "path")
        for w, h in re.findall(r"h([\d.]+)v([\d.]+)h-", path.get("d"))
    )
    key = 13 * 13 * (4 * (not found.blank) + found.broken)
    cells = sum(share != 0 for row in steps for share in row)
    per_cell = width * height / max(found.size[0] * found.size[1], 1)
    assert area - key == pytest.approx(cells * per_cell, rel=0.02, abs=1)
