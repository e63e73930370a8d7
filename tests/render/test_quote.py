"""A quoted line: carets under the stretch whatever letters stand before it; the stretch is never cut away."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace

import pytest
from hostile_scenes import HOSTILE
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from riverhead.render import render
from riverhead.render.letters import visible
from riverhead.render.quote import pointed, quoted
from riverhead.scene import Quote, Scene


def shown(part: Quote, format: str = "text", width: int = 80) -> str:
    sheet = render(Scene("", (part,)), format, width=width)
    assert isinstance(sheet, str)
    return sheet


def of(before: str, stretch: str, after: str = "") -> Quote:
    return Quote("a.md:3:5", "false", before + stretch + after, len(before), len(before + stretch))


def cells_by_hand(text: str) -> int:
    """Character cells of letters and marks, from Unicode's tables alone."""
    wide = {"W": 2, "F": 2}
    return sum(
        0 if unicodedata.combining(char) else wide.get(unicodedata.east_asian_width(char), 1) for char in text
    )


@pytest.mark.parametrize(
    ("before", "stretch"),
    [
        ("so ", "1 + 1 = 3"),
        ("点积は ", "1 + 1 = 3"),
        ("cafe\u0301 ", "1 + 1 = 3"),
        ("\tW: ", "1 + 1 = 3"),
        ("和 ", "重み = 0.5 + 0.4 = 1.0"),
        ("שלום ", "1 + 1 = 3"),
        ("a\u200bb\x1b[31m ", "1 + 1 = 3"),
        ("", "1 + 1 = 3"),
    ],
)
def test_carets_stand_under_the_stretch(before: str, stretch: str) -> None:
    said, line, carets = shown(of(before, stretch, " and more")).splitlines()
    assert said == "a.md:3:5: false"
    line = line.replace("\u2068", "").replace("\u2069", "")
    at = line.index(stretch)
    assert carets == " " * cells_by_hand(line[:at]) + "^" * cells_by_hand(stretch)
    assert line.endswith(" and more")
    assert "␉" not in line  # a tab is room, not a symbol


def test_what_is_said_stays_on_one_line_for_links_and_editors() -> None:
    place = f"{'long folder/' * 9}a.md:3:5"
    part = replace(of("", "1 + 1 = 3"), place=place, said="false: " + "so it is " * 9)
    assert shown(part, width=40).splitlines()[0].startswith(f"{place}: false: so it is so it is")


@pytest.mark.parametrize("at", [0, 17, 4990, 9960, 9991])
@pytest.mark.parametrize("width", [24, 61, 80])
def test_a_line_of_ten_thousand_letters_is_cut_around_the_stretch(at: int, width: int) -> None:
    text = "".join(f"{n:05}" for n in range(2_000))  # no ten of its digits stand twice
    stretch = text[at : at + 9]
    _, line, carets = shown(Quote("a.md:1:1", "false", text, at, at + 9), width=width).splitlines()
    assert max(len(line), len(carets)) <= width
    assert line[carets.index("^") : carets.rindex("^") + 1] == stretch
    line = line.strip()
    assert line.startswith("…") != text.startswith(line[:10])
    assert line.endswith("…") != text.endswith(line[-10:])
    assert line.strip("…") in text
    assert len(line) == width - 4  # what room there is is used


def test_a_stretch_longer_than_the_line_ends_in_dots() -> None:
    _, line, carets = shown(of("before ", "1 + " * 99 + "1 = 3", " after"), width=40).splitlines()
    assert re.fullmatch(r" {4}…(1 \+ )+1? ?\+?…", line)
    assert len(carets) == len(line) == 40


texts = st.sampled_from(HOSTILE) | st.text(max_size=60)


@given(texts, texts, texts, st.integers(20, 100))
def test_any_line_fits_its_room_and_its_carets(before: str, stretch: str, after: str, room: int) -> None:
    pieces = quoted(of(before, stretch, after), room)
    line, carets = pointed(pieces)
    assert sum(map(cell_len, pieces)) <= room
    assert visible(line) == line
    assert carets.count("^") == max(cell_len(pieces[1]), 1)
    whole = quoted(of(before, stretch, after))
    if sum(map(cell_len, whole)) <= room:
        assert pieces == whole
    elif cell_len(whole[1]) <= room - 2:
        assert pieces[1] == whole[1]
    else:
        assert pieces[1][:-1] in whole[1]


def test_documents_show_the_same_line() -> None:
    part = replace(of("<b>|", "1 + 1 = 3", "\\input{x}"), note="the *sign*")
    assert shown(part).splitlines()[-1] == "    the *sign*"
    html = shown(part, "html")
    assert "&lt;b&gt;|<mark>1 + 1 = 3</mark>\\input{x}" in html
    assert "<code>a.md:3:5</code>: false" in html
    assert "```\n<b>|1 + 1 = 3\\input{x}\n    ^^^^^^^^^\n```" in shown(part, "markdown")
    assert r"the \*sign\*" in shown(part, "markdown").splitlines()
    assert "^^^^^^^^^" in shown(part, "svg")
    assert all("the *sign*" in shown(part, format) for format in ("html", "svg"))
    latex = shown(part, "latex")
    assert r"<b>|1\ +\ 1\ =\ 3\textbackslash{}input\{x\}" in latex
    assert "\\input{x}" not in latex


def test_a_terminal_without_unicode_shows_it_in_its_letters() -> None:
    import io

    from rich.console import Console

    from riverhead.render import terminal

    sheet = io.TextIOWrapper(io.BytesIO(), "ascii")
    part = Quote("a.md:3:5", "false", "√2 × " + "a" * 99, 0, 6)
    terminal.show(Scene("", (part,)), Console(file=sheet, width=40))
    sheet.seek(0)
    _, line, carets = sheet.read().splitlines()
    assert line.startswith("    sqrt 2 x a")
    assert line.endswith("...")
    assert carets == "    " + "^" * len("sqrt 2 x a")
