"""Labelled tables: what their rows and columns give names to, however they are ruled."""

import pytest

from riverhead.checking.claims.reading.expression import Items, Number
from riverhead.checking.claims.recomputed.tables import bindings, labelled, tables

PIPES = "| | hen | fox | elm |\n|---|---|---|---|\n| score | 1 | 4 | 2.5 |\n| weight | 5% | 75% | 20% |\n"
LATEX = r"""\begin{tabular}{lrrr}
 & hen & fox & elm \\ \hline
score & 1 & 4 & 2.5 \\
weight & 5% & 75% & 20% \\
\end{tabular}
"""
SPACES = "          hen   fox   elm\nscore   [ 1     4     2.5 ]\nweight  [ 5%    75%   20% ]\n"
TURNED = (
    "| token | score | weight |\n|---|---|---|\n| hen | 1 | 5% |\n| fox | 4 | 75% |\n| elm | 2.5 | 20% |\n"
)


def plain(value):
    return value.text + value.unit if isinstance(value, Number) else [plain(item) for item in value.items]


@pytest.mark.parametrize(
    "text", [PIPES, LATEX, SPACES, TURNED, PIPES.replace("1 |", "**1** |").replace("4", "`4`")]
)
def test_stages_are_bound_by_their_labels(text):
    [table] = tables(text)
    found = {binding.name: plain(binding.value) for binding in bindings(table)}
    assert found == {"score": ["1", "4", "2.5"], "weight": ["5%", "75%", "20%"]}


@pytest.mark.parametrize("text", [PIPES, LATEX, SPACES, TURNED])
def test_every_number_stands_where_it_says(text):
    numbers = [number for table in tables(text) for one in bindings(table) for number in one.value.items]
    assert len(numbers) == 6
    assert all(text[number.start : number.end] == number.text + number.unit for number in numbers)


def test_vectors_are_bound_by_token_and_as_matrices():
    text = "| Token | Query q | Key k | why |\n|---|---|---|---|\n"
    text += "| hen | (1, −2) | (0, 3) | x |\n| fox | (4, 0.5) | (1, 1) | y |\n"
    [table] = tables(text)
    found = {binding.name: binding.value for binding in bindings(table)}
    assert list(found) == ["qhen", "qfox", "Q", "khen", "kfox", "K"]
    assert [number.value for number in found["qhen"].items] == [1, -2]
    assert isinstance(found["K"], Items)
    assert [[number.value for number in row.items] for row in found["K"].items] == [[0, 3], [1, 1]]


def test_a_square_of_tokens_is_what_the_line_before_says():
    square = "| | hen | fox |\n|---|---|---|\n| hen | 0.6 | 0.4 |\n| fox | 0.3 | 0.7 |\n"
    for title, name in (
        ("The attention weights:", "weights"),
        ("The scores:", "scores"),
        ("All of it:", "grid"),
    ):
        [one] = labelled(tables(f"{title}\n\n{square}")[0])
        assert (one.binding.name, one.tokens) == (name, ("hen", "fox"))


def test_a_sum_is_no_token():
    text = "| | hen | fox | sum |\n|---|---|---|---|\n| exp | 2.5 | 1.5 | 4.0 |\n"
    [table] = tables(text)
    assert table.total_column == 2
    assert {one.name: plain(one.value) for one in bindings(table)} == {"exp": ["2.5", "1.5"], "sum": "4.0"}


def test_a_head_lost_over_the_labels_is_put_back():
    [table] = tables("| hen | fox | |\n|---|---|---|\n| weight | 0.6 | 0.4 |\n")
    assert table.columns == ("hen", "fox")


def test_prose_and_data_are_no_tables():
    assert tables("P(a|b) is not P(b|a).\nNor is 3 4 5 a row.\n") == []
    assert tables("1 2 3\n4 5 6\n") == []
    assert tables("| a | b |\n|---|---|\n" + "| x | 1 |\n" * 1000) == []
