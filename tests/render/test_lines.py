"""Line charts: points where their numbers say, ticks that are round, and nothing left out without a word."""

import io
import math
import random
import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from charted import RISING, TWO
from hostile_scenes import HOSTILE
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from riverhead.errors import ShapeError
from riverhead.numbers import read
from riverhead.render import FORMATS, render
from riverhead.render.lines import captioned, chart, described
from riverhead.render.lines_layout import draw_lines
from riverhead.render.lines_scale import Scale, scale
from riverhead.render.lines_style import COLOURS
from riverhead.render.terminal import show
from riverhead.scene import Line, Lines, Scene

TEXTS = [name for name in FORMATS if name != "png"]
SVG = "{http://www.w3.org/2000/svg}"


def lines(part, **how):
    return render(Scene("", (part,)), "text", **how).splitlines()


def one(points, **how):
    return Lines((Line("a", tuple(points)),), "x", "y", **how)


# axes


@example(1.0, 42.0, 3)
@given(st.floats(-1e15, 1e15), st.floats(-1e15, 1e15), st.integers(3, 8))
def test_ticks_are_round_few_and_stand_at_their_numbers(low, high, most):
    found = scale([low, high], log=False)
    ticks = found.ticks(most)
    assert 1 <= len(ticks) <= most
    values = [float(read(text).value) for _, text in ticks]
    span = found.high - found.low
    for (share, _), value in zip(ticks, values, strict=True):
        assert -2e-9 <= share <= 1 + 2e-9  # 1e-9 of a step, which is no longer than 1.25 of the axis
        # the text is the decimal that was placed; what is left is float64 at the larger of the two ends
        assert share == pytest.approx((value - found.low) / span, abs=1e-12 * max(map(abs, values)) / span)
    steps = [f"{b - a:.6e}" for a, b in pairwise(values)] if max(map(abs, values)) < 1e6 * span else []
    assert all(step[0] in "125" and step[1:8] == ".000000" for step in steps)


@given(st.floats(-290, 290), st.floats(1e-6, 500), st.integers(3, 8))
def test_ticks_of_a_log_axis_are_inside_few_and_rise(low, decades, most):
    assume(low + decades < 299)
    found = Scale(low, low + decades, log=True)
    ticks = found.ticks(most)
    assert len(ticks) <= most
    assert all(-1e-6 <= share <= 1 + 1e-6 for share, _ in ticks)
    assert [share for share, _ in ticks] == sorted({share for share, _ in ticks})
    if decades > 3:
        assert len(ticks) >= 2
        assert all(read(text).value.normalize().as_tuple().digits == (1,) for _, text in ticks)


@pytest.mark.parametrize(
    ("low", "high", "log", "texts"),
    [
        (0, 1, False, "0 0.2 0.4 0.6 0.8 1"),
        (-3, 3, False, "−2 0 2"),
        (0, 4e9, False, "0 1e9 2e9 3e9 4e9"),
        (0, 3e-7, False, "0 1e-7 2e-7 3e-7"),
        (1990, 2030, False, "1990 2000 2010 2020 2030"),
        (0, 2, True, "1 10 100"),
        (math.log10(3), math.log10(60), True, "5 10 20 50"),
        (math.log10(3.1), math.log10(3.9), True, "3.2 3.4 3.6 3.8"),
        (-9, 9, True, "1e-8 1e-4 1 1e4 1e8"),
    ],
)
def test_texts_of_ticks(low, high, log, texts):
    assert [text for _, text in Scale(low, high, log).ticks(6)] == texts.split()


def test_powers_of_ten_are_exact():
    assert [text for _, text in Scale(199, 207, log=True).ticks(3)] == ["1e201", "1e204", "1e207"]
    assert [text for _, text in Scale(0, 3e23).ticks(4)] == ["0", "1e23", "2e23", "3e23"]


def test_the_upright_axis_ends_at_round_numbers_and_begins_at_a_near_zero():
    found = chart(one([(0, 2.2), (1, 9.7)]), 100)
    assert (found.y.low, found.y.high) == (0, 10)
    far = chart(one([(0, 103.2), (1, 109.7)]), 100)
    assert (far.y.low, far.y.high) == (103, 110)


# where points go


def paths(part, index=0):
    """The points of each stroke that one line draws, in pixels of the sheet."""
    root = ElementTree.fromstring(render(Scene("", (part,)), "svg", width=120))
    curves = [g for g in root.iter(SVG + "g") if g.find(SVG + "title") is not None]
    drawn = curves[index].find(SVG + "path")
    strokes = [stroke for stroke in drawn.get("d").split("M") if stroke]
    return drawn, [[tuple(map(float, point.split(","))) for point in s.split(" ")] for s in strokes]


def test_points_of_a_line_stand_in_proportion_to_their_numbers():
    _, ((a, b, c),) = paths(TWO)
    assert [p[0] - a[0] for p in (b, c)] == pytest.approx([520 / 3, 520], abs=0.11)  # rounded to 0.1
    assert [a[1] - p[1] for p in (b, c)] == pytest.approx([140, 280], abs=0.11)


def test_on_log_axes_a_power_is_a_straight_line():
    _, (points,) = paths(one([(2**k, 4**k) for k in range(7)], log_x=True, log_y=True))
    steps = [(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(points)]
    assert [x for x, _ in steps] == pytest.approx([520 / 6] * 6, abs=0.11)
    assert [y for _, y in steps] == pytest.approx([steps[0][1]] * 6, abs=0.11)


def test_the_drawing_in_latex_has_the_same_points():
    tex = render(Scene("", (TWO,)), "latex-fragment")
    drawn, _ = draw_lines(TWO, 160)
    rising = " ".join(f"{x * 0.6:.2f} {(drawn.height - y) * 0.6:.2f}" for x, y in drawn.strokes[0].paths[0])
    assert rising in re.sub(" [ml](?= )", "", tex).replace("\n", " ")


def test_predictions_are_dashed_and_the_caption_says_so():
    assert paths(TWO, 0)[0].get("stroke-dasharray") is None
    assert paths(TWO, 1)[0].get("stroke-dasharray")
    tex = render(Scene("", (TWO,)), "latex-fragment")
    assert tex.count("[4 3] 0 d") == 1
    shown = lines(one([(0, 0), (1, 0)]))
    dashed = lines(Lines((Line("a", ((0, 0), (1, 0)), predicted=True),), "x", "y"))
    assert "⠉⠉⠉⠉⠉⠉" in "".join(shown).replace("⠤", "⠉").replace("⠒", "⠉")
    assert "(dashed: predicted)" in captioned(TWO, chart(TWO, 9).notes)
    assert sum("⠀" < char <= "⣿" for char in "".join(dashed)) < sum("⠀" < c <= "⣿" for c in "".join(shown))


def test_a_band_lies_between_low_and_high_and_ends_where_they_are_not_known():
    nan = math.nan
    spread = ((0, 2), (1, 4), (nan, 9), (3, 5), (0, 1), (nan, nan))
    part = Lines((Line("a", tuple((k, 2) for k in range(6)), spread=spread),), "x", "y")
    (curve,) = chart(part, 99).curves
    bands = [([5 * y for _, y in lows], [5 * y for _, y in highs]) for lows, highs in curve.bands()]
    assert bands == [([0, 1], [2, 4]), ([3, 0], [5, 1])]
    root = ElementTree.fromstring(render(Scene("", (part,)), "svg"))
    assert [len(p.get("points").split()) for p in root.iter(SVG + "polygon")] == [4, 4]
    assert "band: from low to high" in lines(part)[0]


def test_a_band_that_reaches_beyond_an_axis_ends_with_it():
    spread = ((0, 1000), (-5, math.inf))
    part = Lines((Line("a", ((1, 10), (2, 100)), spread=spread),), "x", "y", log_y=True)
    ((lows, highs),) = chart(part, 9).curves[0].bands()
    assert [y for _, y in lows] == [0, 0]
    assert highs[1][1] == 1
    assert 0.9 < highs[0][1] < 1


@pytest.mark.parametrize("format", FORMATS)
def test_a_spread_of_another_length_is_refused(format):
    part = Lines((Line("a", ((1, 2), (2, 3)), spread=((0, 1),)),), "x", "y")
    with pytest.raises(ShapeError, match="points differs: points has 2, spread has 1; each of line 'a'"):
        render(Scene("", (part,)), format)


# what is left out


def test_points_that_no_axis_holds_are_left_out_counted_and_leave_a_gap():
    points = [(1, 2), (2, math.nan), (3, 5), (4, 4), (math.inf, 1), (5, 3), (6, -1), (7, 0), (8, 1e301)]
    found = chart(one(points, log_y=True), 100)
    assert [len(piece) for piece in found.curves[0].pieces] == [1, 2, 1]
    assert found.notes == (
        "2 of 9 points left out: not finite",
        "2 of 9 points left out: not above 0, on a log axis",
        "1 of 9 points left out: beyond ±1e300",
    )
    for format in ("text", "html", "svg", "latex"):
        words = re.sub(r"<[^>]*>|\s+", " ", render(Scene("", (one(points, log_y=True),)), format))
        assert "2 of 9 points left out: not above 0" in re.sub(" +", " ", words)


def test_of_a_thousand_lines_the_first_are_drawn_and_the_number_is_said():
    part = Lines(tuple(Line(f"line {n}", ((0, n), (1, n))) for n in range(1000)), "x", "y")
    assert chart(part, 9).notes == ("the first 24 of 1,000 lines",)
    root = ElementTree.fromstring(render(Scene("", (part,)), "svg"))
    assert sum(g.find(SVG + "title") is not None for g in root.iter(SVG + "g")) == 24
    for format in TEXTS:
        assert "the first 24 of 1,000 lines" in render(Scene("", (part,)), format)


@pytest.mark.parametrize("log", [False, True])
def test_of_a_hundred_thousand_points_every_column_keeps_its_lows_and_highs(log):
    rng = random.Random(7)
    points = [(n + 1, rng.gauss(0, 1)) for n in range(100_000)]
    found = chart(one(points, log_x=log), 520)
    (piece,) = found.curves[0].pieces
    assert len(piece) <= 4 * 521
    assert found.notes == (f"thinned for drawing: {len(piece):,} of 100,000 points, lows and highs kept",)
    wanted, kept = {}, {}
    for x, y in points:
        wanted.setdefault(int(found.x.share(x) * 520), []).append(found.y.share(y))
    for spot in piece:
        kept.setdefault(int(spot.x * 520), []).append(spot.y)
    assert {n: (ys[0], min(ys), max(ys), ys[-1]) for n, ys in wanted.items()} == {
        n: (ys[0], min(ys), max(ys), ys[-1]) for n, ys in kept.items()
    }


def test_thinning_keeps_the_widest_band_of_every_column_beside_its_lows_and_highs():
    rng = random.Random(11)
    points = [(n, rng.gauss(0, 1)) for n in range(1009)]
    spread = [(y - rng.random() * 9, y + rng.random() * 9) for _, y in points]
    found = chart(Lines((Line("a", tuple(points), spread=tuple(spread)),), "x", "y"), 13)
    (piece,) = found.curves[0].pieces
    assert len(piece) < 1009
    for column in range(13):
        every = [n for n in range(1009) if int(found.x.share(n) * 13) == column]
        for pick, values in (
            (min, [y for _, y in points]),
            (max, [y for _, y in points]),
            (min, [low for low, _ in spread]),
            (max, [high for _, high in spread]),
        ):
            wanted = pick(every, key=values.__getitem__)
            assert any(spot.x == found.x.share(wanted) for spot in piece)


def test_a_line_that_runs_to_and_fro_is_thinned_too():
    points = [(n % 2, math.sin(n)) for n in range(20_000)]
    points[11_013] = (0, 17.0)
    found = chart(one(points), 100)
    (piece,) = found.curves[0].pieces
    assert len(piece) <= 6 * 101
    assert max(spot.y for spot in piece) == found.y.share(17.0)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(
    ("part", "says"),
    [
        (Lines((), "x", "y"), "no lines"),
        (Lines((Line("a", ()),), "x", "y"), "no points"),
        (one([(0, 1)], log_x=True), "1 of 1 point left out"),
        (one([(3, 5)]), ""),
        (one([(3, 5)], log_x=True, log_y=True), ""),
        (one([(1, 5), (2, 5)] * 100), ""),
        (one([(2, 1), (2, 7)]), ""),
        (one([(0, 0)]), ""),
        (one([(1e-320, 5e-324), (1e299, -1e299)]), ""),
        (one([(5e-324, 5e-324), (1e299, 1e299)], log_x=True, log_y=True), ""),
        (one([(1e-323, 1e-323), (2e-323, 2e-323)], log_x=True, log_y=True), ""),
        (one([(1e9, 1e9), (1e9 + 1e-7, 1e9 + 1e-7)]), ""),
    ],
)
def test_few_points_and_equal_ones(format, part, says):
    shown = render(Scene("", (part,)), format)
    if format != "png" and not (format == "markdown" and "left out" in says):  # a table leaves none out
        assert says in shown
        assert not re.search(r"\b(nan|inf)\b", shown)


# characters


def test_a_chart_in_characters():
    assert lines(TWO, width=50) == [
        "  cost (dashed: predicted)",
        "  4 ┤                                 ⡠⠔⠊ a rising",
        "    │                             ⢀⡠⠒⠉",
        "    │                          ⣀a⠊⠁",
        "  3 ┤                      ⢀⡠⠔⠊",
        "    │                   ⢀⠤⠒⠁",
        "    │                ⣀⠔⠊⠁",
        "    │            ⢀⡠⠔a",
        "  2 ┤          ⢀⠔⠁",
        "    │         ⡠⠃",
        "    │       ⡠⠊",
        "  1 ┤⠒⠂ ⠒⠂⢀⠞⠂b⠒⠂ ⠒⠂ ⠒⠂ ⠒b ⠒⠂ ⠒⠂ ⠒⠂ ⠒⠂b⠒⠂  b flat",
        "    │   a⠔⠁",
        "    │  ⡔⠁",
        "  0 ┤⡠⠊",
        "    └┬────────────────────────────┬──────",
        "     0                            5",
        "  → tokens   ↑ bits",
    ]


def test_letters_tell_lines_apart_without_colour_also_where_they_coincide():
    same = Lines(tuple(Line(name, ((0, 1), (1, 1))) for name in ("one", "two")), "x", "y")
    shown = "\n".join(lines(same))
    (row,) = {line for line in shown.split("\n") if "⠉" in line or "⠒" in line or "⠤" in line}
    chart = row.partition(" a one")[0].partition(" b two")[0]
    assert chart.count("a") == chart.count("b") == 3
    assert re.search(r"\ba one", shown)
    assert re.search(r"\bb two", shown)
    points = Lines(tuple(Line(name, ((1, 1),)) for name in ("one", "two")), "x", "y")
    assert re.search(r"┤ *ab *$", "\n".join(lines(points)), re.MULTILINE)


def test_in_colour_every_line_has_its_own():
    shown = "".join(lines(TWO, colour=True))
    for each in COLOURS[:2]:
        assert f"38;2;{int(each[1:3], 16)};{int(each[3:5], 16)};{int(each[5:7], 16)}m" in shown


def test_dots_stand_where_the_numbers_say():
    """The diagonal of a square: in dots, two by four in a character, a straight line."""
    shown = lines(one([(0, 0), (8, 8)]), width=60)
    dots = {}
    rows = [line.partition("┤")[2] or line.partition("│")[2] for line in shown[:14]]
    wide = max(len(row.rstrip(" a")) for row in rows)
    for i, row in enumerate(rows):
        for j, char in enumerate(row[:wide]):
            bits = max(ord(char) - 0x2800, 0)
            for k, bit in enumerate((0x01, 0x02, 0x04, 0x40, 0x08, 0x10, 0x20, 0x80)):
                if bits & bit:
                    dots.setdefault(2 * j + k // 4, []).append(4 * i + k % 4)
    assert sorted(dots) == list(range(2 * wide))
    for x, ys in dots.items():
        assert ys == [round(55 - x * 55 / (2 * wide - 1))]


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp437"])
def test_a_terminal_without_braille_shows_the_chart(encoding):
    sheet = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    spread = Lines((Line("a", ((0, 0), (9, 9)), spread=((0, 2), (5, 11))),), "x", "y")
    show(Scene("", (TWO, spread)), Console(file=sheet, width=60))
    sheet.flush()
    shown = sheet.buffer.getvalue().decode(encoding)
    assert r"\u" not in shown
    assert re.search(r"[-_'|]{3}a?[-_'|]{2}", shown)
    assert max(map(len, shown.splitlines())) <= 60


@pytest.mark.parametrize("token", HOSTILE)
@settings(deadline=None, max_examples=10)
@given(width=st.integers(24, 100), colour=st.booleans())
def test_hostile_labels_never_widen_a_line(token, width, colour):
    part = Lines((Line(token, ((0, 0), (1, 1))), Line(token, ((0, 1), (1, 9)))), token, token, caption=token)
    for shown in lines(part, width=width, colour=colour):
        assert cell_len(re.sub("\x1b\\[[\\d;]*m", "", shown)) <= width


# formats


def test_in_markdown_a_few_points_are_a_table():
    spread = Line("b|c", ((6, 1), (7, 0.25)), True, ((0, 2), (0.125, math.nan)))
    part = Lines((RISING, spread), "tokens", "bits", caption="cost")
    assert render(Scene("", (part,)), "markdown") == (
        "cost (bits by tokens; from low to high in parentheses)\n\n"
        "| tokens | rising | b&#124;c (predicted) |\n"
        "| -----: | -----: | -------------------- |\n"
        "|      0 |      0 |                      |\n"
        "|      2 |      2 |                      |\n"
        "|      6 |      4 | 1 (0 to 2)           |\n"
        "|      7 |        | 0.25 (0.125 to NaN)  |\n"
    )


def test_in_markdown_many_points_are_a_chart_of_usual_characters():
    part = one((n, n * n) for n in range(50))
    shown = render(Scene("", (part,)), "markdown")
    assert shown.startswith("```\n")
    assert not re.search("[\u2800-\u28ff]", shown)
    assert max(map(len, shown.splitlines())) <= 76
    ticks = re.compile("```.*?┤.*?└.*?┬.*?→ x   ↑ y", re.DOTALL)
    assert ticks.match(shown)


def test_html_says_in_words_where_the_lines_run():
    said = (
        "cost (dashed: predicted); bits by tokens; rising: from (0, 0) to (6, 4), lowest 0.00, highest 4.00; "
    )
    assert described(TWO) == said + "flat: from (0, 1) to (6, 1), lowest 1.00, highest 1.00"
    html = render(Scene("", (TWO,)), "html-fragment")
    assert f'role="img" aria-label="{described(TWO)}"' in html
    assert "<figcaption>cost (dashed: predicted)</figcaption><svg" in html
    assert 'fill="currentColor"' in html


def test_a_chart_wider_than_the_sheet_is_drawn_smaller():
    svg = render(Scene("", (TWO,)), "svg", width=24)
    (scaled,) = re.findall(r"scale\(([\d.]+)\)", svg)
    drawn, _ = draw_lines(TWO, 520)
    assert float(scaled) == pytest.approx((24 * 12 - 2 * 40 - 22) / drawn.width, abs=5e-4)  # three decimals
