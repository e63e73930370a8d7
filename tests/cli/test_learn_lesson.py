"""``riverhead learn N``: read in a terminal from where one stopped, or whole as a document."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from at_a_terminal import Terminal

from riverhead.checking.answers import solved
from riverhead.cli import learn_reader
from riverhead.cli.main import main
from riverhead.cli.screen import Screen
from riverhead.learning.exercises import exercise
from riverhead.learning.lessons import Bench, Lesson, Section, lessons
from riverhead.learning.lessons.document import document, to_dict
from riverhead.learning.progress import Progress

ID = "softmax-1-k3m9q2"
THINK = "Think first; then Enter (Ctrl-D leaves)"
SOURCES = {
    "first": "Twice three is {{ 2 * 3 }}.\n\n> How much is twice four?\n\nIt is {{ 2 * 4 }}.",
    "second": 'Now you.\n\n```try\nkind = "softmax"\nseed = "k3m9q2"\n```\n\nThat was it.',
    "third": "| a | b |\n|---|---|\n| one | two |",
}


@pytest.fixture
def lesson() -> Lesson:
    """Three short sections; the last one begins a second sitting."""
    sittings = ("Morning", "Morning", "Evening")
    sections = tuple(
        Section(1, id, id.title(), sitting, (), source, {})
        for (id, source), sitting in zip(SOURCES.items(), sittings, strict=True)
    )
    return Lesson(1, "A lesson", "Why?", "{{ 1 + 1 }} reasons.", ("count",), ("softmax",), sections)


@pytest.fixture
def typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Read a lesson while these lines are typed; give the prompts, and what was shown."""
    monkeypatch.setenv("RIVERHEAD_DATA", str(tmp_path))
    monkeypatch.setenv("LINES", "500")

    def typed(lesson: Lesson, *lines: str, **options) -> tuple[list[str], str]:
        left, prompts = [*lines], []

        class Typist(Screen):
            def ask(self, prompt: str) -> str | None:
                self.turn()
                prompts.append(prompt)
                line = left.pop(0) if left else None
                if line == "^C":
                    raise KeyboardInterrupt
                return line

        monkeypatch.setattr(learn_reader, "Screen", Typist)
        learn_reader.read(lesson, Bench(), **options)
        assert not left, left
        return prompts, capsys.readouterr().out

    return typed


def place(folder: Path) -> tuple[str | None, tuple[int, ...]]:
    with Progress(folder / "progress.sqlite3") as kept:
        return kept.place(1), kept.finished()


# in a terminal, what is typed prepared


def test_it_is_read_to_its_end_and_then_finished(typed, lesson, tmp_path: Path) -> None:
    prompts, shown = typed(lesson, "", "", "", "s", "")
    assert prompts == [
        "Enter begins",
        THINK,
        "Enter: Second",
        "Enter works it · s skips",
        "Enter: Third",
    ]
    order = [
        "2 reasons",
        "– count",
        "Morning",
        "1/3  First",
        "three is 6",
        "twice four?",
        "It is 8",
        "2/3  Second",
    ]
    order += ["Exercise: Softmax", "That was it", "a good place to rest", "Evening", "3/3  Third", "one"]
    order += ["Lesson 1 is finished. You have read how to", "1 exercise was skipped"]
    order += ["riverhead learn exercise softmax", "Next", "riverhead learn 2"]
    places = [shown.find(words) for words in order]
    assert sorted(places) == places, list(zip(order, places, strict=True))
    assert -1 not in places
    assert place(tmp_path) == ("third", (1,))


def test_the_place_is_kept_wherever_one_leaves(typed, lesson, tmp_path: Path) -> None:
    typed(lesson, "")  # the end of input, before the first is read
    assert place(tmp_path) == ("first", ())
    prompts, shown = typed(lesson, "", "", "q")  # behind it
    assert prompts[-1] == "Enter: Second"
    assert "goes on from there" in shown
    assert place(tmp_path) == ("second", ())
    prompts, shown = typed(lesson)  # the end of input
    assert prompts == ["Enter works it · s skips"]
    assert "On with section 2 of 3" in shown
    assert place(tmp_path) == ("second", ())


@pytest.mark.parametrize(("score", "said"), [(1.0, "You can"), (0.5, "You have read how to")])
def test_one_can_do_what_was_solved_before(typed, lesson, tmp_path: Path, score: float, said: str) -> None:
    with Progress(tmp_path / "progress.sqlite3") as kept:
        kept.record(ID, "softmax", 2, ("softmax",), score, {}, 0, datetime.now(UTC))
    assert f"Lesson 1 is finished. {said}\n" in typed(lesson, "", "", "", "s", "")[1]


def test_one_can_do_what_is_solved_here_and_it_was_not_skipped(typed, lesson, monkeypatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    numbers = solved(exercise(ID).sheet).values()
    _, shown = typed(lesson, "", "", "", "s", "b", "", "", "", *numbers, "", again=True)
    assert "Lesson 1 is finished. You can\n" in shown
    assert "skipped" not in shown.partition("is finished")[2]


def test_a_page_is_turned_from_the_end_too(typed, lesson, monkeypatch) -> None:
    long = replace(lesson, outcomes=("count",) * 90)
    monkeypatch.setenv("LINES", "60")
    prompts, shown = typed(long, "b", start=2)
    assert prompts == ["Enter: more"] * 2
    assert shown.count("3/3  Third") == 2


def test_ctrl_c_keeps_the_place(typed, lesson, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        typed(lesson, "", "", "", "^C")
    assert place(tmp_path) == ("second", ())


def test_b_goes_back_and_a_number_of_the_list_goes_there(typed, lesson, tmp_path: Path) -> None:
    prompts, shown = typed(lesson, "", "", "", "b", "", "?", "3")
    assert prompts[3:] == [
        "Enter works it · s skips",
        THINK,
        "Enter: Second",
        "A number goes there · Enter stays",
    ]
    assert (
        shown.index("2/3  Second") < shown.rindex("1/3  First") < shown.index("▸") < shown.index("3/3  Third")
    )
    assert place(tmp_path) == ("third", (1,))


def test_what_one_thinks_is_not_judged_and_what_no_key_is_is_told_the_keys(typed, lesson) -> None:
    prompts, shown = typed(lesson, "", "seven, I think", "what now", "q")
    assert prompts == ["Enter begins", THINK, "Enter: Second", "Enter: Second"]
    assert shown.count("b back · ? the sections") == 2


@pytest.mark.parametrize("key", ["b", "3"])
def test_what_turns_the_page_does_so_before_the_first_one_too(typed, lesson, key: str) -> None:
    _, shown = typed(lesson, *(["b"] if key == "b" else ["?", "3"]))
    assert ("1/3  First" if key == "b" else "3/3  Third") in shown


def test_an_answer_may_be_a_letter_that_is_a_key_elsewhere(typed, lesson) -> None:
    for answer in ("b", "q"):
        prompts, _ = typed(lesson, "", answer, again=True)
        assert prompts == ["Enter begins", THINK, "Enter: Second"]


def test_the_list_of_sections_gives_no_answer_away(typed, lesson) -> None:
    prompts, _ = typed(lesson, "", "?", "", again=True)
    assert prompts[1:] == [
        THINK,
        "A number goes there · Enter stays",
        THINK,
    ]


@pytest.mark.parametrize(
    ("options", "first"),
    [({}, "2/3"), ({"again": True}, "1/3"), ({"start": 2}, "3/3"), ({"start": 0}, "1/3")],
    ids=str,
)
def test_where_it_begins(typed, lesson, options, first) -> None:
    typed(lesson, "", "", "q")
    _, shown = typed(lesson, *["", "q"][: 2 * (first == "1/3")], **options)
    assert f"{first}  " in shown
    assert f"{int(first[0]) - 1}/3  " not in shown


def test_a_lesson_that_is_finished_begins_at_its_first_section(typed, lesson) -> None:
    typed(lesson, "", "", "", "s", "")
    prompts, _ = typed(lesson, "q")
    assert prompts == ["Enter begins"]


def test_a_place_that_was_rewritten_is_the_beginning(typed, lesson, tmp_path: Path) -> None:
    with Progress(tmp_path / "progress.sqlite3") as kept:
        kept.reached(1, "no-longer-there")
    assert typed(lesson, "q")[0] == ["Enter begins"]


# a screenful at a time


def test_a_window_that_is_full_waits_and_cuts_where_a_line_is_empty(monkeypatch, capsys) -> None:
    from riverhead.scene import Text

    heard: list[str | None] = []
    monkeypatch.setenv("LINES", "12")
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr(
        "sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xff\x1b[31m\n \xc3\xa4 \n" + b"x" * 9000))
    )
    screen = Screen(heard.append)
    parts = [Text((f"Title {n}",), "heading") if n % 6 == 0 else Text((f"line {n}",)) for n in range(24)]
    screen.show(*parts)
    shown = capsys.readouterr().out.split("Enter: more › ")
    assert all(len(page.strip("\n").splitlines()) <= 10 for page in shown)
    assert [page.split()[0] for page in shown] == ["Title"] * len(shown)
    assert heard[1] == "ä"
    assert "\x1b" in heard[0]
    assert screen.ask("more?") is not None
    for _ in range(3):
        screen.ask("more?")
    assert screen.ask("more?") is None


# as a document


def test_a_document_is_whole_with_its_exercises_as_tasks(lesson) -> None:
    text = str(document(lesson, Bench()))
    for words in (
        "three is 6",
        "How much is twice four?",
        "riverhead learn exercise softmax-1-k3m9q2",
        "Evening",
    ):
        assert words in text
    data = to_dict(lesson, Bench())
    assert data["schema"] == "riverhead.lesson/1"
    assert [section["id"] for section in data["sections"]] == list(SOURCES)
    assert data["sections"][1]["exercises"][0]["id"] == "softmax-1-k3m9q2"


def test_an_exercise_without_a_seed_is_the_same_in_every_copy_and_another_elsewhere(lesson) -> None:
    source = '```try\nkind = "softmax"\n```\n'
    twice = replace(lesson.sections[1], source=source * 2)
    other = replace(lesson.sections[2], source=source)
    shorter = replace(lesson, sections=(twice, other))
    ids = [each["id"] for section in to_dict(shorter, Bench())["sections"] for each in section["exercises"]]
    assert len(set(ids)) == 3
    assert ids == [
        each["id"] for section in to_dict(shorter, Bench())["sections"] for each in section["exercises"]
    ]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]):
    """Run the command in this process, with no model and no progress; give what it printed."""
    monkeypatch.setenv("RIVERHEAD_DATA", str(tmp_path))
    monkeypatch.setenv("RIVERHEAD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("RIVERHEAD_OFFLINE", "1")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))

    def run(*words: str, code: int = 0) -> tuple[str, str]:
        with pytest.raises(SystemExit) as ended:
            main(["learn", *words])
        out, err = (stream.decode() for stream in capsysbinary.readouterr())
        assert ended.value.code == code, (out, err)
        return out, err

    return run


def test_without_the_model_a_lesson_is_whole_but_for_its_last_section_and_says_how_to_get_it(run) -> None:
    out, err = run("1")
    assert all(section.title in out for section in lessons()[0].sections)
    assert "riverhead models fetch smollm2" in out
    assert "riverhead models fetch smollm2" in err
    assert max(map(len, out.splitlines())) <= 80
    assert run("1", "--no-model") == (out, "")


def test_every_section_is_in_json(run) -> None:
    found = json.loads(run("1", "--json", "--no-model")[0])
    assert (found["schema"], found["number"]) == ("riverhead.lesson/1", 1)
    assert [each["id"] for each in found["sections"]] == [each.id for each in lessons()[0].sections]


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["9"], 2, "there is no lesson 9; they go from 1 to 6"),
        (["0"], 2, "there is no lesson 0"),
        (["9" * 5000], 2, "No such command"),
        (["²"], 2, "No such command"),
        (["1", "--from", "1"], 2, "--from and --again are for reading in a terminal"),
        (["1", "--from", "1", "--again"], 2, "--from and --again cannot both be met"),
        (["1", "--no-model", "--yes"], 2, "--no-model leaves out"),
        (["1", "--model", "no-such"], 3, "no-such"),
        (["1", "-o", "no/such/folder.html"], 3, "no folder"),
        (["--json", "1"], 2, "stand behind what they are for"),
    ],
    ids=lambda value: " ".join(value)[:30] if isinstance(value, list) else "",
)
def test_what_cannot_be_is_said_in_a_line(run, words, code, says) -> None:
    out, err = run(*words, code=code)
    assert (out, says in err) == ("", True), err


# at a real terminal


def test_a_lesson_at_a_terminal_is_left_and_gone_on_with(tmp_path: Path) -> None:
    first, second = lessons()[0].sections[:2]
    with Terminal("learn", "1", "--no-model", data=tmp_path, rows=60) as at:
        at.until("Enter begins › ")
        at.type("\n")
        at.until(f"1/{len(lessons()[0].sections)}  {first.title}")
        while f"Enter: {second.title}" not in (prompt := at.until(" › ")):
            at.type("s\n" if "s skips" in prompt else "\n")
        at.type("q\n")
        at.until("goes on from there")
        assert at.end() == 0
    assert place(tmp_path) == (second.id, ())
