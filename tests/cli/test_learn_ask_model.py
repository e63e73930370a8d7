"""A model's answer on the terminal: sums marked where they stand, nothing that a terminal would obey."""

from __future__ import annotations

import io
import json
import sys
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from riverhead.cli import learn_ask_model
from riverhead.cli.escapes import as_json
from riverhead.cli.flow import Flow
from riverhead.cli.learn_ask_model import collect, draw
from riverhead.learning.tutor.events import Done, Event, Notice, Offline, Sum, Text, ToolUsed, Unchecked
from riverhead.scene import Text as Prose


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Draw events in 60 columns."""
    monkeypatch.setenv("COLUMNS", "60")

    def shown(*events: Event) -> str:
        draw([*events, Done("", tuple(e for e in events if isinstance(e, Sum)), (), "stop")])
        return capsys.readouterr().out

    return shown


def mark(text: str, standing: str, exact: object = None, late: bool = False) -> Sum:
    return Sum(text, 0, len(text), standing, exact, "", late)  # type: ignore[arg-type]


def test_what_is_true_of_a_sum_stands_right_behind_it(shown) -> None:
    page = shown(
        Text("So 2·2 + 1·0 "), Text("= 5"), mark("2·2 + 1·0 = 5", "false", 4), Text(". And 1 + 1 = 2"),
        mark("1 + 1 = 2", "exact", 2), Text(", 2.8 + 1.1 = 4"), mark("2.8 + 1.1 = 4", "carried", 3.9),
        Text(", x + 1 = 3"), mark("x + 1 = 3", "not checkable"), Text("."),
    )  # fmt: skip
    assert " ".join(page.split()) == (
        "So 2·2 + 1·0 = 5 ✗ [it is 4]. And 1 + 1 = 2 ✓, 2.8 + 1.1 = 4 ✓ [with rounded numbers], "
        "x + 1 = 3 [not checkable]. 3 sums checked: 2 right, 1 wrong."
    )


def test_a_late_mark_says_of_what_it_is(shown) -> None:
    page = shown(
        Text("2 + 2 = 5. So."),
        mark("2 + 2 = 5", "false", 4, late=True),
        mark("1 = 2", "withdrawn", late=True),
    )
    assert "\n  (2 + 2 = 5: ✗ [it is 4])\n  (1 = 2: no claim after all)\n" in page


def test_a_mark_that_the_model_sets_itself_is_in_quotes(shown) -> None:
    assert "2+2=5 “✓” “✅”" in shown(Text("2+2=5 ✓ ✅"))


def test_lines_fold_at_spaces_and_words_are_whole(shown) -> None:
    text = "a few words and then some more of them, " * 5 + "\n\n- an item\n    deeper\n\n\n\nend"
    page = shown(*(Text(text[at : at + 3]) for at in range(0, len(text), 3)))
    lines = page.splitlines()
    assert max(map(len, lines)) <= 60
    assert " ".join(page.split()) == " ".join(text.split())
    assert lines[-4:] == ["  - an item", "      deeper", "", "  end"]


def test_tools_notices_unchecked_numbers_and_the_offline_answer_have_lines_of_their_own(shown) -> None:
    answer = SimpleNamespace(parts=(Prose(("offline it is",)),))
    page = shown(
        Text("one"), ToolUsed("cell", '{"a":\n1}', "x" * 999, True), Text("\n\ntwo"),
        Unchecked("0.7", 0, 3, "about 0.7 of"), Unchecked("9", 0, 4, "9"),
        Notice("It broke off.", failed=True), Offline(answer),
    )  # fmt: skip
    blocks = [" ".join(block.split()) for block in page.split("\n\n")]
    assert blocks[0] == "one"
    assert blocks[1].startswith("→ cell: a 1 → xxx")
    assert blocks[1].endswith("x…")
    assert blocks[2:] == [
        "two",
        "Unchecked, for they were neither given nor computed: "
        "– 0.7 in line 3: “about 0.7 of” – 9 in line 4: “9”",
        "It broke off.",
        "offline it is",
    ]


HOSTILE = st.text(
    st.characters() | st.sampled_from("\x1b\x9b\x07\b\r\x00\u202e\u2066\ud800\u200b\x7f[31m]0;"), max_size=40
)


@settings(max_examples=20, deadline=None)
@given(st.lists(HOSTILE, max_size=5))
def test_nothing_that_a_terminal_would_obey_gets_through(texts: list[str]) -> None:
    file = io.StringIO()
    flow = Flow(Console(file=file, width=50, color_system=None, legacy_windows=False))
    page = learn_ask_model._Page(flow)
    for text in texts:
        page.show(Text(text))
        page.show(mark(text, "false", 1))
        page.show(ToolUsed(text, text, text, False))
        page.show(Unchecked(text, 0, 1, text))
        page.show(Notice(text))
    page.show(Done("", (), (), "stop"))
    written = file.getvalue()
    allowed = {
        "\n",
        "\u2068",
        "\u2069",
        "\u200c",
        "\u200d",
    }  # line ends, fences around right-to-left, joiners
    odd = {sign for sign in written if not sign.isprintable() and sign not in allowed}
    assert not {
        sign for sign in odd if ord(sign) < 0xA0 or 0xD800 <= ord(sign) < 0xE000 or sign in "\u202e\u2066"
    }


def test_colours_are_there_on_a_terminal_and_gone_with_no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    def drawn(**environ: str) -> str:
        file = io.StringIO()
        console = Console(
            file=file, force_terminal=True, width=60, _environ={"TERM": "xterm-256color", **environ}
        )
        page = learn_ask_model._Page(Flow(console))
        page.show(Text("1 + 1 = 3"))
        page.show(mark("1 + 1 = 3", "false", 2))
        page.show(Done("", (), (), "stop"))
        return file.getvalue()

    assert "\x1b[1;31m✗" in drawn()
    assert "\x1b[1;31m" not in drawn(NO_COLOR="1")
    assert "✗" in drawn(NO_COLOR="1")


def test_a_terminal_without_the_signs_gets_words(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    draw([Text("1 + 1 = 3"), mark("1 + 1 = 3", "false", 2), Done("", (), (), "stop")])
    sys.stdout.flush()
    assert b"1 + 1 = 3 (wrong) [it is 2]" in raw.getvalue()


def test_words_are_shown_as_they_come(monkeypatch: pytest.MonkeyPatch) -> None:
    file = io.StringIO()
    monkeypatch.setattr(learn_ask_model, "console_here", lambda: Console(file=file, width=60))
    seen = []

    def events():
        for text in ("one ", "two thr", "ee ", "four"):
            yield Text(text)
            seen.append(file.getvalue().strip())
        yield Done("", (), (), "stop")

    draw(events())
    assert seen == ["one", "one two", "one two three", "one two three"]
    assert file.getvalue() == "  one two three four\n"


def test_who_answers_is_said_once_before_the_first_word(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    draw([Text("one "), Text("two"), Done("", (), (), "stop")], "tiny at \x1b[31mhome")
    assert capsys.readouterr().out == "  tiny at ␛[31mhome says; every sum is checked:\n\n  one two\n"
    draw([Notice("no"), Done("", (), (), "failed")], "tiny")
    assert capsys.readouterr().out == "  no\n"


def test_all_of_it_as_data() -> None:
    wrong = mark("1 + 1 = 3", "false", 2)
    odd = Unchecked("0.7", 10, 1, "about 0.7")
    answer = SimpleNamespace(parts=(), to_dict=lambda: {"kind": "unknown"})
    events = [
        Text("1 + 1 = 3"), wrong, ToolUsed("cell", "{}", "no", False), odd, Notice("cut", failed=True),
        Offline(answer), Done("1 + 1 = 3\x1b", (wrong,), (odd,), "failed"),
    ]  # fmt: skip
    data = json.loads(as_json(collect(events)))
    assert data == {
        "reply": "1 + 1 = 3\x1b",
        "finish": "failed",
        "sums": [{"text": "1 + 1 = 3", "start": 0, "end": 9, "standing": "false", "cause": "", "exact": 2}],
        "unchecked": [{"text": "0.7", "start": 10, "line": 1, "around": "about 0.7"}],
        "tools": [{"name": "cell", "arguments": "{}", "result": "no", "ok": False}],
        "notices": ["cut"],
        "offline": {"kind": "unknown"},
    }
    assert collect([Done("", (), (), "stop")])["offline"] is None
