"""Markdown: tables that align, and no token that a Markdown parser takes for markup."""

import re
from html.parser import HTMLParser

import pytest
from hostile_scenes import HOSTILE, scenes, tokens
from hypothesis import given
from markdown_it import MarkdownIt
from rich.cells import cell_len

from riverhead.numbers import fixed, plain
from riverhead.render import render
from riverhead.render.letters import visible
from riverhead.scene import (
    Bar,
    Code,
    Fold,
    Formula,
    Matrix,
    Operator,
    Row,
    Scene,
    Sub,
    Symbol,
    Table,
    Text,
    Word,
)

GFM = MarkdownIt("commonmark").enable(["table", "strikethrough"])
FENCES = re.compile("[\u2068\u2069]")


def shown(*parts, title=""):
    return render(Scene(title, parts), "markdown")


class Reader(HTMLParser):
    """Tags in order, and the text inside each of one name."""

    def __init__(self, name, html):
        super().__init__()
        self.name, self.tags, self.texts, self.inside = name, [], [], False
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.inside |= tag == self.name
        self.texts += [""] * (tag == self.name)

    def handle_endtag(self, tag):
        self.inside &= tag != self.name

    def handle_data(self, data):
        if self.inside:
            self.texts[-1] += data


def test_a_matrix_is_an_aligned_table_with_its_focus_and_its_spot():
    scores = Matrix(
        Symbol("S"),
        ("The", "bank"),
        ("The", "river"),
        ((plain(0), plain(2)), (plain(1), plain(4))),
        1,
        (1, 1),
    )
    assert shown(scores).splitlines() == [
        "| S      | The | river |",
        "| ------ | --: | ----: |",
        "| The    |   0 |     2 |",
        "| ▸ bank |   1 | **4** |",
    ]


def test_formulas_bars_code_and_folds():
    dot = Row(
        (
            Sub(Symbol("q"), Word("bank")),
            Operator("·"),
            Sub(Symbol("k"), Word("river")),
            Operator("="),
            plain(4),
        )
    )
    fold = Fold("a & b", (Text(("inside",)),), open=True)
    assert shown(
        Text(("1 Score",), "heading"),
        Formula(dot, ((Symbol("q"), "asks"),)),
        Code("```x```", "python"),
        fold,
        title="t",
    ) == (
        "# t\n\n## 1 Score\n\n> q_bank·k_river = 4\n\n- q: asks\n\n"
        "````python\n```x```\n````\n\n<details open><summary>a &amp; b</summary>\n\ninside\n\n</details>\n"
    )
    assert "| █████ |" in shown(Table(("w",), ((Bar(0.5),),)))


@pytest.mark.parametrize("token", HOSTILE)
def test_a_parser_reads_every_token_back(token):
    html = GFM.render(
        shown(Text((token,), "heading"), Text(("x ", token)), Table((token, "w"), ((token, fixed(0.5)),)))
    )
    read = {name: Reader(name, html) for name in ("h2", "p", "th", "td")}
    assert read["h2"].tags == ["h2", "p", "table", "thead", "tr", "th", "th", "tbody", "tr", "td", "td"]
    wanted = visible(token)
    assert FENCES.sub("", read["p"].texts[0]) == f"x {wanted}".rstrip()
    for name in ("h2", "th", "td"):
        assert FENCES.sub("", read[name].texts[0]) == wanted.strip()


@given(tokens, tokens)
def test_any_text_is_read_back(a, b):
    html = GFM.render(shown(Text((a, b)), Text((Sub(Word(a), Word(b)), "!"))))
    assert set(Reader("p", html).tags) <= {"p"}
    wanted = (visible(a) + visible(b), f"{visible(a)}_{visible(b)}!")
    found = (FENCES.sub("", text).rstrip(" ") for text in Reader("p", html).texts)
    assert list(filter(None, found)) == list(filter(None, (text.rstrip(" ") for text in wanted)))


@given(scenes())
def test_tables_are_rectangles(scene):
    block = []
    for line in [*render(scene, "markdown").splitlines(), ""]:
        if line.startswith("| "):
            block.append(line)
        else:
            assert len({cell_len(row) for row in block}) <= 1
            block = []
