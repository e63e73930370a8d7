"""Lines are told apart: by colours that all can tell, by markers, by labels that find their own places."""

import math
from itertools import combinations, pairwise

import pytest
from charted import RISING, TWO
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from riverhead.render.lines import apart
from riverhead.render.lines_layout import draw_lines
from riverhead.render.lines_style import COLOURS, colour, marker
from riverhead.scene import Line, Lines


def linear(channel):
    return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4


def seen(hexes):
    return [linear(int(hexes[k : k + 2], 16) / 255) for k in (1, 3, 5)]


# Machado, Oliveira and Fernandes (2009), table 1, severity 1.0
BLIND = {
    "red": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "green": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.01182, 0.04294, 0.968881)),
    "blue": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.3039)),
    "none": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
}


def oklab(rgb):
    """Ottosson (2020): distances of about 0.02 are just seen."""
    r, g, b = (min(max(channel, 0), 1) for channel in rgb)
    cones = (
        math.cbrt(i * r + j * g + k * b)
        for i, j, k in (
            (0.4122214708, 0.5363325363, 0.0514459929),
            (0.2119034982, 0.6806995451, 0.1073969566),
            (0.0883024619, 0.2817188376, 0.6299787005),
        )
    )
    long, middle, short = cones
    return (
        0.2104542553 * long + 0.7936177850 * middle - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * middle + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * middle - 0.8086757660 * short,
    )


@pytest.mark.parametrize("lacking", BLIND)
def test_colours_are_told_apart_by_those_who_do_not_see_all(lacking):
    found = [
        oklab([sum(m * c for m, c in zip(row, seen(each), strict=True)) for row in BLIND[lacking]])
        for each in COLOURS
    ]
    assert min(math.dist(a, b) for a, b in combinations(found, 2)) > 0.09


@pytest.mark.parametrize("each", COLOURS)
def test_colours_are_legible_on_white_and_on_a_dark_page(each):
    r, g, b = seen(each)
    light = 0.2126 * r + 0.7152 * g + 0.0722 * b
    dark_page = 0.0060  # the relative luminance of Chromium's #121212
    assert min(1.05 / (light + 0.05), (light + 0.05) / (dark_page + 0.05)) >= 3  # WCAG 1.4.11


def test_lines_of_one_colour_have_other_markers():
    assert len({(colour(n), marker(n)) for n in range(24)}) == 24
    assert len({marker(n) for n in range(6)}) == 6


@given(st.lists(st.integers(0, 100), min_size=1, max_size=9), st.integers(1, 12))
def test_labels_are_moved_apart_as_little_as_can_be(wanted, step):
    places = apart([float(y) for y in wanted], float(step), -1e4, 1e4)
    order = sorted(range(len(wanted)), key=lambda n: (places[n], n))
    assert [wanted[n] for n in order] == sorted(wanted)
    assert all(places[b] - places[a] >= step - 1e-9 for a, b in pairwise(order))
    for groups in range(2 ** (len(wanted) - 1)):  # which neighbours touch: the least squares of all ways
        clusters = [[order[0]]]
        for at, n in enumerate(order[1:]):
            clusters[-1].append(n) if groups >> at & 1 else clusters.append([n])
        other = []
        for cluster in clusters:
            first = sum(wanted[n] - k * step for k, n in enumerate(cluster)) / len(cluster)
            other += [first + k * step for k in range(len(cluster))]
        if all(b - a >= step - 1e-9 for a, b in pairwise(other)):
            cost = sum((y - wanted[n]) ** 2 for y, n in zip(other, order, strict=True))
            assert sum((places[n] - wanted[n]) ** 2 for n in order) <= cost + 1e-6


def texts(part):
    drawn, _ = draw_lines(part, 520)
    labels = {line.label for line in part.lines}
    return [mark for mark in drawn.marks if mark.text in labels], drawn


def test_labels_stand_at_the_ends_of_their_lines():
    (rising, flat), drawn = texts(TWO)
    for mark, stroke in ((rising, drawn.strokes[0]), (flat, drawn.strokes[1])):
        x, y = stroke.paths[0][-1]
        assert 0 < mark.x - x < 20
        assert mark.y - 13 < y < mark.y
    assert not any(stroke.leaders for stroke in drawn.strokes)


def test_labels_that_are_moved_are_led_to_their_lines_and_keep_apart():
    part = Lines(tuple(Line(f"line {n}", ((0, 0), (1, 5 + n / 100))) for n in range(3)), "x", "y")
    marks, drawn = texts(part)
    assert all(abs(a.y - b.y) >= 13 for a, b in combinations(marks, 2))
    for mark, stroke in zip(marks, drawn.strokes, strict=True):
        ((start, end),) = stroke.leaders
        assert math.dist(start, stroke.paths[0][-1]) < 10
        assert abs(end[1] - mark.y) < 13


@pytest.mark.parametrize(
    "part",
    [
        Lines(tuple(Line(f"line {n}", ((0, n), (1, 5))) for n in range(9)), "x", "y"),
        Lines((Line("ends early", ((0, 0), (1, 5))), RISING), "x", "y"),
        Lines((Line("a label that is too long to stand beside", ((0, 0), (1, 5))),), "x", "y"),
    ],
)
def test_labels_that_find_no_room_stand_in_a_legend_that_keeps_inside(part):
    marks, drawn = texts(part)
    low = max(y for line in drawn.axes for _, y in line)
    assert len(marks) == len(part.lines)
    assert all(mark.y > low + 13 for mark in marks)
    assert all(mark.x + cell_len(mark.text) * 13 * 0.6 <= drawn.width for mark in marks)
    assert len({(mark.x, mark.y) for mark in marks}) == len(marks)
    assert all(len(stroke.paths[-1]) == 2 for stroke in drawn.strokes)  # the swatch
