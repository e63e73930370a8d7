"""The terminal: columns, bars, folding and hostile tokens, never wider than the window."""

import io

import pytest
from hostile_scenes import HOSTILE, scenes
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from riverhead.numbers import fixed, plain
from riverhead.render import render
from riverhead.render.terminal import show
from riverhead.scene import (
    Arrow,
    Bar,
    Fold,
    Formula,
    Matrix,
    Operator,
    Plane,
    Row,
    Scene,
    Sub,
    Symbol,
    Table,
    Text,
    Word,
)


def lines(*parts, title="", **how):
    return render(Scene(title, parts), "text", **how).splitlines()


def test_columns_of_numbers_stand_right_and_the_focus_row_is_marked():
    weights = Matrix(
        Word("weights"),
        ("The", "bank"),
        ("The", "bank"),
        ((fixed(0.5), fixed(0.5)), (fixed(1), None)),
        focus=1,
    )
    assert lines(weights) == [
        "  weights     The    bank",
        "  The       0.500   0.500",
        "▸ bank      1.000",
    ]


def test_a_bar_begins_under_its_number_and_grows_in_eighths():
    table = Table((None, "river", "bank"), (("w", fixed(0.539), fixed(0.25)), (None, Bar(0.539), Bar(0.25))))
    assert lines(table) == [
        "       river    bank",
        "  w    0.539   0.250",
        "      █████▍   ██▌",
    ]


def test_a_short_formula_stands_beside_its_heading_and_a_long_one_below():
    heading = Text(("1 Score",), "heading")
    dot = Row(
        (
            Sub(Symbol("q"), Word("bank")),
            Operator("·"),
            Sub(Symbol("k"), Word("river")),
            Operator("="),
            plain(4),
        )
    )
    assert lines(heading, Formula(dot), width=40) == ["1 Score               q_bank·k_river = 4"]
    assert lines(heading, Formula(dot), width=24) == ["1 Score", "    q_bank·k_river = 4"]
    apart = Text(("1 Score  ", dot), "heading")
    assert lines(apart, width=40) == ["1 Score               q_bank·k_river = 4"]
    assert lines(apart, width=24) == ["1 Score", "    q_bank·k_river = 4"]
    assert lines(Text(("1 Score: ", dot), "heading"), width=40) == ["1 Score: q_bank·k_river = 4"]


def test_in_a_window_of_a_thousand_columns_a_formula_stays_near_its_heading():
    assert lines(Text(("1 Score  ", Symbol("x")), "heading"), width=1000) == ["1 Score" + "x".rjust(93)]
    long = "x" * 95
    assert lines(Text(("1 Score  ", Symbol(long)), "heading"), width=1000) == ["1 Score   " + long]


def test_of_several_formulas_none_leaves_the_others_for_the_heading():
    one, two = Text((Row((Symbol("x"), Operator("="), plain(1))),)), Text((Symbol("y"),))
    assert lines(one, two, title="t") == ["t", "  x = 1", "  y"]
    assert lines(one, title="t", width=24) == ["t                  x = 1"]


def test_a_formula_breaks_before_its_equals_sign():
    long = Row((Word("bank", 1), Operator("="), *[Word("river")] * 3, Operator("="), plain(4)))
    assert lines(Formula(long), width=26) == ["    bank′", "      = river river river", "      = 4"]


def test_a_closed_fold_is_one_line_and_an_open_one_stands_further_in():
    inside = (Text(("64 terms",)),)
    assert lines(Fold("every term", inside)) == ["  ▸ every term"]
    assert lines(Fold("every term", inside, open=True)) == ["  ▾ every term", "    64 terms"]


def test_folds_within_folds_stay_inside_the_window():
    fold = Text(("some words at the bottom",))
    for _ in range(30):
        fold = Fold("inside", (fold,), open=True)
    assert max(map(cell_len, lines(fold, width=24))) <= 24


def test_columns_move_closer_before_they_fold_or_wrap():
    table = Table(("aaaa", "bbbb", "cccc"), (("1", "2", "3"),))
    assert [line.rstrip() for line in lines(table, width=24)] == ["  aaaa   bbbb   cccc", "  1      2      3"]
    words = Table(("aaaaaa", "bbbbbb", "cccccc"), (("1", "2", "3"),))
    assert [line.rstrip() for line in lines(words, width=24)] == [
        "  aaaaaa  bbbbbb  cccccc",
        "  1       2       3",
    ]


def test_a_folded_cell_is_marked_once_or_not_at_all():
    rows = (("a", "words that are folded here"), ("b", "short"))
    shown = lines(Table(("", "says"), rows), width=24)
    assert len(shown) > 3
    assert "▸" not in "".join(shown)
    assert "".join(lines(Table(("", "says"), rows, focus=0), width=24)).count("▸") == 1


def test_a_wide_matrix_comes_in_groups_that_repeat_the_labels_and_lose_no_number():
    n = 11
    cells = tuple(tuple(plain(100 * i + j) for j in range(n)) for i in range(2))
    shown = lines(Matrix(Symbol("S"), ("a", "b"), tuple(f"k{j}" for j in range(n)), cells), width=30)
    rows = [line.split()[1:] for line in shown if line.startswith("  b")]
    assert len(rows) == 3
    assert [x for row in rows for x in row] == [str(100 + j) for j in range(n)]


def test_labels_of_a_plane_never_stand_on_one_another():
    """Both ends are one column apart: a label that finds no room is left to the table below."""
    moves = (Arrow("river", (0.0, 0.0), (0.0, 1.0)), Arrow("bank", (0.05, 0.0), (0.05, 1.0)))
    shown = lines(Plane(moves), width=60)
    assert [line.strip() for line in shown[:11] if line] == ["●● bank′", "river", "○○ bank"]
    assert [line.split()[0] for line in shown[-2:]] == ["river", "bank"]


def test_rich_markup_and_escape_sequences_are_only_text():
    shown = render(Scene("[red]x[/red] :smile:", (Text(("\x1b[31mred\x07\u202e",)),)), "text", colour=True)
    assert "[red]x[/red] :smile:" in shown
    assert "␛[31mred␇⟨202E⟩" in shown
    assert "\x1b[31m" not in shown


@pytest.mark.parametrize("token", HOSTILE)
@given(width=st.integers(24, 100))
def test_hostile_tokens_never_widen_a_line(token, width):
    table = Table((token, "w"), ((token, fixed(0.5)), ("b", fixed(0.25))))
    matrix = Matrix(Word(token), (token, "b"), (token,), ((fixed(0.5),), (fixed(1),)), shade=True)
    for line in lines(Text((token,), "heading"), table, matrix, Fold(token, ()), title=token, width=width):
        assert cell_len(line) <= width


TIGHT = Plane((Arrow("\\end{document}", (260978511.0, 424373753.0), (0.0, 499262918.0), ((0.0, 0.0),)),))


@example(Scene("", (TIGHT,)), 24)  # two labels want the same cells
@given(scenes(), st.integers(24, 120))
def test_no_line_is_wider_than_the_window(scene, width):
    assert all(cell_len(line) <= width for line in folded(render(scene, "text", width=width)))


def folded(sheet):
    """The lines but for those that say what is quoted, which are never folded."""
    return [line for line in sheet.split("\n") if "quote of " not in line]


@given(scenes(), st.sampled_from(["ascii", "latin-1", "cp1252", "cp437", "cp1255"]))
def test_a_terminal_without_unicode_still_shows_everything(scene, encoding):
    sheet = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    show(scene, Console(file=sheet, width=80))
    sheet.flush()
    assert all(cell_len(line) <= 80 for line in folded(sheet.buffer.getvalue().decode(encoding)))


def test_a_terminal_of_hebrew_letters_shows_them_without_the_marks_it_lacks():
    sheet = io.TextIOWrapper(io.BytesIO(), encoding="cp1255")
    show(
        Scene(
            "",
            (
                Text(
                    ("שלום", Word("שלום"), " ▸"),
                ),
            ),
        ),
        Console(file=sheet, width=40),
    )
    sheet.flush()
    assert sheet.buffer.getvalue().decode("cp1255") == "  שלוםשלום >\n"


def test_ascii_spells_signs_out():
    sheet = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    show(
        Scene("", (Text((Row((Symbol("x", 1), Operator("≈"), fixed(-0.5, 1))), " → é")),)),
        Console(file=sheet, width=40),
    )
    sheet.flush()
    assert sheet.buffer.getvalue() == b"  x' ~ -0.5 -> \\xe9\n"


def test_colour_shades_weights_and_no_colour_has_no_escapes():
    weights = Matrix(Symbol("A"), ("a",), ("a", "b"), ((fixed(1), fixed(0)),), shade=True)
    coloured, bare = (render(Scene("t", (weights,)), "text", colour=colour) for colour in (True, False))
    assert "48;2;204;88;0m" in coloured
    assert "\x1b" not in bare


def test_in_a_notebook_text_is_returned_and_not_put_into_the_cell(monkeypatch):
    class ZMQInteractiveShell:
        """What rich takes a notebook by."""

    alone = lines(Text(("river",)), title="bank")
    monkeypatch.setattr("builtins.get_ipython", ZMQInteractiveShell, raising=False)
    assert lines(Text(("river",)), title="bank") == alone
    assert "river" in " ".join(alone)


def test_air_stands_around_a_long_paragraph_but_not_under_its_heading():
    long, short = "a word of it " * 12, "a line"
    parts = (Text(("Heading",), "heading"), Text((long,)), Text((short,)), Text((short,)), Text((long,)))
    lines = render(Scene("", parts), "text", width=60).splitlines()
    heading = lines.index("Heading")
    assert lines[heading + 1].startswith("  a word")
    line = lines.index("  a line")
    assert lines[line - 1] == ""
    assert lines[line + 1 : line + 3] == ["  a line", ""]
    assert lines[-1].startswith("  a word")


def test_an_item_of_a_list_stays_under_its_own_words():
    text = render(Scene("", (Text(("– one and two and three and four and five",)),)), "text", width=30)
    first, *others = text.strip("\n").splitlines()
    assert first.startswith("  – one")
    assert others
    assert all(line.startswith("    ") and line[4] != " " for line in others)
