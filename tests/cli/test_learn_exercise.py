"""``riverhead learn exercise``: printed, graded, and worked in a grid or by line, at a real terminal too."""

from __future__ import annotations

import io
import json
import signal
from pathlib import Path

import pytest
from at_a_terminal import Terminal
from prompt_toolkit.application import create_app_session
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput
from rich.cells import cell_len

from riverhead.checking.answers import solved
from riverhead.cli.learn_fill import Grid, fill
from riverhead.cli.learn_lines import by_line, split
from riverhead.cli.learn_sheet import sheet
from riverhead.cli.learn_work import work
from riverhead.cli.main import main
from riverhead.cli.screen import Screen
from riverhead.learning.exercises import exercise, fresh, kinds
from riverhead.learning.exercises.attempt import NOTHING, Attempt
from riverhead.learning.exercises.layout import blocks
from riverhead.learning.progress import Progress

ID = "softmax-1-k3m9q2"
UP, DOWN, RIGHT, LEFT = "\x1b[A", "\x1b[B", "\x1b[C", "\x1b[D"
ENTER, TAB, BACK_TAB, BACKSPACE, DELETE = "\r", "\t", "\x1b[Z", "\x7f", "\x1b[3~"
CTRL_C, CTRL_D, F1, F2 = "\x03", "\x04", "\x1bOP", "\x1bOQ"


@pytest.fixture
def truth() -> dict[str, str]:
    return solved(exercise(ID).sheet)


@pytest.fixture
def attempt() -> Attempt:
    return Attempt(exercise(ID))


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]):
    """Run the command in this process, its progress in an empty folder; give what it printed."""
    monkeypatch.setenv("RIVERHEAD_DATA", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "80")

    def run(*words: str, code: int = 0, stdin: bytes = b"") -> tuple[str, str]:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as ended:
            main(["learn", "exercise", *words])
        out, err = (stream.decode() for stream in capsysbinary.readouterr())
        assert ended.value.code == code, (out, err)
        return out, err

    return run


def attempts(folder: Path) -> list[dict]:
    with Progress(folder / "progress.sqlite3") as kept:
        return kept.export()["attempts"]


# printed and graded


def test_an_exercise_is_printed_as_data_without_its_answers(run, truth) -> None:
    found = json.loads(run(ID, "--json")[0])
    assert found["schema"] == "riverhead.exercise/1"
    assert found["id"] == ID
    assert [cell["id"] for cell in found["cells"]] == list(truth)
    assert not set(truth.values()) & {value for cell in found["cells"] for value in cell.values()}


def test_a_kind_is_drawn_fresh_each_time(run) -> None:
    ids = {json.loads(run("softmax", "--json")[0])["id"] for _ in range(3)}
    assert len(ids) == 3
    assert all(id.startswith("softmax-1-") for id in ids)


@pytest.mark.parametrize("format", ["text", "markdown", "html", "latex", "svg"])
def test_every_format_has_the_task(run, format: str) -> None:
    out, _ = run(ID, "--format", format)
    assert "Softmax by hand" in out
    assert ID in out or ID.replace("-", "&#45;") in out or format == "latex"


def test_what_is_right_exits_0_what_is_wrong_1_and_both_are_kept(run, truth, tmp_path: Path) -> None:
    graded = json.loads(run(ID, "--answers", "-", "--json", stdin=json.dumps(truth).encode())[0])
    assert (graded["schema"], graded["id"], graded["score"]) == ("riverhead.graded/1", ID, 1)
    (tmp_path / "mine.json").write_text(json.dumps(truth | {"sum.0": "77"}))
    text, _ = run(ID, "--answers", str(tmp_path / "mine.json"), code=1)
    assert "77" in text
    kept = attempts(tmp_path)
    assert [each["exercise"] for each in kept] == [ID, ID]
    assert kept[0]["score"] == 1 > kept[1]["score"]


def test_hints_climb_and_take_the_learners_numbers(run) -> None:
    texts = [json.loads(run(ID, "--hint", f"{n}", "--json")[0])["hint"]["text"] for n in range(1, 6)]
    assert len(set(texts)) == 5
    mine = b'{"exp.0.0": "2.75", "sum.0": "3.25"}'
    text, _ = run(ID, "--hint", "3", "--cell", "weights.0.0", "--answers", "-", stdin=mine)
    assert "2.75 ÷ 3.25" in text


def test_a_solution_has_every_number(run, truth) -> None:
    assert json.loads(run(ID, "--solution", "--json")[0])["solution"]["answers"] == truth
    text, _ = run(ID, "--solution")
    assert all(number in text for number in truth.values())


def test_the_list_has_every_kind_with_its_skills(run) -> None:
    found = json.loads(run("--list", "--json")[0])["kinds"]
    assert [each["kind"] for each in found] == list(kinds())
    text, _ = run("--list")
    assert all(name in text for name in kinds())


def test_without_a_name_it_is_what_is_due(run, tmp_path: Path) -> None:
    wrong = json.dumps({cell.id: "0" for cell in fresh("rope", "k3m9q2").sheet.asked}).encode()
    run("rope-1-k3m9q2", "--answers", "-", code=1, stdin=wrong)
    with Progress(tmp_path / "progress.sqlite3") as kept:  # as if it had been tried long ago
        kept._db.execute("UPDATE attempt SET at = '2020-01-01T00:00:00.000000+00:00'")
        (card,) = kept._db.execute("SELECT fsrs FROM card").fetchone()
        long_due = json.dumps(json.loads(card) | {"due": "2020-01-02T00:00:00+00:00"})
        kept._db.execute("UPDATE card SET fsrs = ?", (long_due,))
    found = json.loads(run("--json")[0])
    assert "positions" in found["skills"]


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["nope"], 2, "there is no kind of exercise 'nope'"),
        (["softmax-9-k3m9q2"], 2, "version 9"),
        (["softmax", "--hint", "1"], 2, "give its id"),
        (["--answers", "-"], 2, "give its id"),
        ([ID, "--hint", "6"], 2, "6"),
        ([ID, "--cell", "sum.0"], 2, "give --hint as well"),
        ([ID, "--hint", "1", "--cell", "x\x1b[31m"], 2, "there is no cell"),
        ([ID, "--list"], 2, "--list stands alone"),
        ([ID, "--lines"], 2, "--lines is for a terminal"),
        ([ID, "--solution", "--hint", "1"], 2, "--solution stands alone"),
        ([ID, "--answers", "no/such.json"], 3, "no such file"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_is_said_in_a_line(run, words, code, says) -> None:
    out, err = run(*words, code=code)
    assert (out, says in err) == ("", True), err
    assert "\x1b" not in err


@pytest.mark.parametrize(
    ("answers", "says"),
    [
        (b"", "is no JSON"),
        (b"[1]", "give an object"),
        (b"[" * 100_000, "is no JSON"),
        (b"\xff\xfe", "is no JSON"),
        (b'{"sum.0": 3}', "takes the text as written"),
        (b'{"no": "3"}', "there is no cell 'no'"),
        (b'{"sum.0": "%s"}' % (b"9" * (2**20)), "more than 1,048,576 bytes"),
    ],
    ids=["nothing", "a list", "deep", "no text", "a number", "no such cell", "long"],
)
def test_hostile_answers_are_refused_in_a_line(run, answers, says, tmp_path: Path) -> None:
    _, err = run(ID, "--answers", "-", code=2, stdin=answers)
    assert says in err
    assert len(err) < 400
    assert not (tmp_path / "progress.sqlite3").exists()


# the grid


def pressed(attempt: Attempt, keys: str, at: str | None = None) -> tuple[str, str]:
    """Press keys in the grid of an attempt, and then no more; return what was asked for."""
    with create_pipe_input() as typed, create_app_session(input=typed, output=DummyOutput()):
        typed.send_text(keys)
        typed.close()
        return fill(attempt, at, input=typed, output=DummyOutput())


@pytest.mark.parametrize("enter", [ENTER, "\n"], ids=["now", "typed ahead"])
def test_enter_goes_from_cell_to_cell_and_checks_behind_the_last(attempt: Attempt, truth, enter: str) -> None:
    asked, at = pressed(attempt, "".join(number + enter for number in truth.values()))
    assert (asked, at) == ("check", list(truth)[-1])
    assert attempt.answers == truth


def test_arrows_and_tab_move_among_the_cells(attempt: Attempt) -> None:
    pressed(attempt, f"1{RIGHT}2{DOWN}3{LEFT}{LEFT}4{TAB}5{BACK_TAB}{UP}{UP}6{CTRL_D}")
    assert attempt.answers == {"exp.0.0": "6", "exp.0.1": "5", "sum.0": "3"}


def test_what_is_typed_replaces_what_stood_there_and_backspace_mends_it(attempt: Attempt) -> None:
    pressed(attempt, f"12{RIGHT}{LEFT}3{BACKSPACE}45{RIGHT}678{LEFT}{RIGHT}{BACKSPACE}{TAB}9{DELETE}{CTRL_D}")
    assert attempt.answers == {"exp.0.0": "45", "exp.0.1": "67", "sum.0": ""}


@pytest.mark.parametrize(("key", "asked"), [("?", "hint"), (F1, "hint"), (F2, "task"), (CTRL_D, "check")])
def test_keys_ask_where_one_is(attempt: Attempt, key: str, asked: str) -> None:
    assert pressed(attempt, f"1{DOWN}{key}") == (asked, "sum.0")
    assert pressed(attempt, key, at="weights.0.1") == (asked, "weights.0.1")


def test_a_row_is_pasted_over_the_open_cells(attempt: Attempt) -> None:
    pressed(attempt, f"\x1b[200~2.72 0,61\n3.33\t0.8\x1b[201~{CTRL_D}")
    assert list(attempt.answers.values()) == ["2.72", "0,61", "3.33", "0.8"]


def test_after_a_check_only_what_was_wrong_is_open(attempt: Attempt, truth) -> None:
    for cell, number in truth.items():
        attempt.write(cell, number)
    attempt.write("exp.0.1", "9")
    attempt.check()
    pressed(attempt, f"{RIGHT}{UP}5{CTRL_D}")
    assert attempt.answers == truth | {"exp.0.1": "5"}


def test_hostile_keys_write_nothing_that_a_terminal_obeys(attempt: Attempt) -> None:
    pressed(attempt, f"\x1b[15~\x00\x01\x1f\u202e{'9' * 300}\x1b[99999;7~{CTRL_D}")
    assert set(attempt.answers["exp.0.0"]) == {"9"}


def test_ctrl_c_is_an_interrupt_and_a_terminal_that_is_gone_leaves(attempt: Attempt) -> None:
    with pytest.raises(KeyboardInterrupt):
        pressed(attempt, f"1{CTRL_C}")
    assert attempt.answers == {"exp.0.0": "1"}
    assert pressed(attempt, "2")[0] == "leave"
    assert attempt.answers == {"exp.0.0": "2"}


class Narrow(DummyOutput):
    """An output as wide as a sheet of music paper."""

    def get_size(self) -> Size:
        return Size(rows=6, columns=20)


def test_the_grid_works_in_a_window_too_small_for_it(truth, attempt: Attempt) -> None:
    with create_pipe_input() as typed, create_app_session(input=typed, output=Narrow()):
        typed.send_text("".join(number + ENTER for number in truth.values()))
        assert fill(attempt, input=typed, output=Narrow())[0] == "check"


@pytest.mark.parametrize("width", [1, 3, 20, 33, 47, 80])
@pytest.mark.parametrize("kind", ["attention", "shapes", "cache-bytes", "gqa-mapping"])
def test_the_page_is_no_wider_than_its_window_and_points_at_every_cell(kind: str, width: int) -> None:
    attempt = Attempt(fresh(kind, "k3m9q2"))
    page = blocks(attempt.exercise.sheet)
    for n, cell in enumerate(attempt.open):
        attempt.write(cell, f"{n + 10}")
    narrow = max(cell_len(column) for block in page for column in (*block.columns, "")) + 10 > width // 2
    for n, cell in enumerate(attempt.open):
        lines, (column, line) = sheet(attempt, page, cell, width)
        drawn = ["".join(text for _, text in pieces) for pieces in lines]
        assert drawn[line][column:].startswith(f"{n + 10}"), (cell, drawn)
        assert narrow or width < 20 or max(map(cell_len, drawn)) <= width


# by line


class Typist(Screen):
    """A screen at which somebody has typed everything beforehand."""

    def __init__(self, *typed: str) -> None:
        super().__init__()
        self.typed, self.prompts = [*typed], []

    def ask(self, prompt: str) -> str | None:
        self.prompts.append(prompt)
        return self.typed.pop(0) if self.typed else None


def test_a_row_at_once_or_a_number_at_a_time(attempt: Attempt, capsys) -> None:
    asked = by_line(attempt, Typist("2.72 0.61", "3.33", "0.8", "20 %"))
    assert asked[0] == "check"
    assert attempt.answers == {
        "exp.0.0": "2.72", "exp.0.1": "0.61", "sum.0": "3.33", "weights.0.0": "0.8", "weights.0.1": "20 %",
    }  # fmt: skip


def test_back_enter_and_too_many_numbers(attempt: Attempt, capsys) -> None:
    screen = Typist("1 2 3", "1 2", "back", "4", "", "", "5;6")
    assert by_line(attempt, screen)[0] == "check"
    assert attempt.answers == {"exp.0.0": "4", "exp.0.1": "2", "weights.0.0": "5", "weights.0.1": "6"}
    assert "3 numbers came for 2" in capsys.readouterr().out
    assert "[1, 2]" in screen.prompts[3]  # what stands there


@pytest.mark.parametrize(
    ("typed", "asked"), [("?", "hint"), ("task", "task"), ("check", "check"), ("q", "leave")]
)
def test_words_ask_where_one_is(attempt: Attempt, capsys, typed: str, asked: str) -> None:
    assert by_line(attempt, Typist("1 2", typed)) == (asked, "sum.0")
    assert by_line(attempt, Typist(typed), "weights.0.1") == (asked, "weights.0.1")


def test_the_end_of_input_leaves(attempt: Attempt, capsys) -> None:
    assert by_line(attempt, Typist())[0] == "leave"


def test_a_row_is_split_as_people_write_it() -> None:
    assert split("1/2 | 25 % | 1 000", 3) == ["1/2", "25 %", "1 000"]
    assert split("", 3) == split("", 1) == []


# at a real terminal


def test_a_grid_is_filled_in_tried_again_and_explained(truth, tmp_path: Path) -> None:
    *others, last = truth.values()
    with Terminal("learn", "exercise", ID, data=tmp_path) as at:
        assert "Softmax by hand" in at.until("Ctrl-C leaves")
        at.type("".join(number + ENTER for number in others) + "9" + ENTER)
        assert f"{len(others)} of {len(truth)} right" in at.until("q leaves › ")
        at.type(ENTER)
        at.until("Ctrl-C leaves")
        at.type(f"?{last}")
        at.until("Which step")
        at.type(ENTER)
        assert f"{len(truth)} of {len(truth)} right" in at.until("How every number comes about")
        at.type(ENTER * 3)  # where it fills the window
        at.until(f"riverhead learn exercise {ID}")
        assert at.end() == 0
    (kept,) = attempts(tmp_path)
    assert (kept["exercise"], kept["hints"]) == (ID, 0)  # as they were at the first check
    assert kept["score"] == len(others) / len(truth)


def test_ctrl_c_exits_130_and_keeps_what_was_checked(tmp_path: Path) -> None:
    with Terminal("learn", "exercise", ID, data=tmp_path) as at:
        at.until("Ctrl-C leaves")
        at.type(f"2.72{CTRL_D}")
        at.until("q leaves › ")
        at.type(ENTER)
        at.until("Ctrl-C leaves")
        at.type(CTRL_C)
        at.until("stopped")
        assert at.end() == 130
    (kept,) = attempts(tmp_path)
    assert 0 < kept["score"] < 1


def test_a_plain_terminal_asks_by_line(truth, tmp_path: Path) -> None:
    with Terminal("learn", "exercise", ID, data=tmp_path, TERM="dumb", PYTHONIOENCODING="ascii") as at:
        at.until("doors, open (2 decimals) > ")
        at.type("2.72 0.61\n")
        at.until("> ")
        at.type("check\n")
        at.until("q leaves > ")
        at.type("s\n\n\n\n")
        at.until(f"riverhead learn exercise {ID}")
        assert at.end() == 0
    assert "\x1b" not in at.seen
    (kept,) = attempts(tmp_path)
    assert kept["score"] > 0


@pytest.mark.parametrize("how", [signal.SIGHUP, signal.SIGTERM, signal.SIGKILL])
def test_what_was_graded_is_kept_however_it_ends(tmp_path: Path, how: signal.Signals) -> None:
    with Terminal("learn", "exercise", ID, "--lines", data=tmp_path) as at:
        at.until("doors, open (2 decimals) › ")
        at.type("2.72 0.61\n")
        at.until("› ")
        at.type("check\n")
        at.until("q leaves › ")
        at.kill(how)
        at.end()
    (kept,) = attempts(tmp_path)
    assert 0 < kept["score"] < 1


def test_a_hint_is_given_behind_a_check(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.setenv("LINES", "500")
    screen = Typist("3 4", "check", "?", "?", "Q")
    with Progress(tmp_path / "progress.sqlite3") as progress:
        assert not work(exercise(ID), progress, screen, lines=True)
    shown = capsys.readouterr().out
    first, second = Attempt(exercise(ID)), Attempt(exercise(ID))
    assert first.hint().title in shown
    second.hint()
    assert second.hint().title in shown


def test_an_id_may_be_written_in_capitals(run) -> None:
    assert run(ID.upper(), "--json") == run(ID, "--json")


@pytest.mark.parametrize(("columns", "rows"), [(3, 24), (80, 3)])
def test_a_window_too_small_for_a_grid_is_asked_by_line(tmp_path: Path, columns: int, rows: int) -> None:
    with Terminal("learn", "exercise", ID, data=tmp_path, columns=columns, rows=rows) as at:
        seen = ""
        while "by20" not in (seen := "".join(at.seen.split())) and "20by6" not in seen:
            at.until("›")
            at.type("\n")
        assert "rangeerror" not in seen.lower()


def test_that_nothing_is_written_is_said_on_the_page_once(attempt: Attempt) -> None:
    page = Grid(attempt, None)
    with create_pipe_input() as typed, create_app_session(input=typed, output=DummyOutput()):
        typed.send_text(ENTER * 30 + CTRL_D * 3 + CTRL_C)
        with pytest.raises(KeyboardInterrupt):
            page.application(input=typed, output=DummyOutput()).run()
        assert "".join(text for _, text in page.told()).count(NOTHING) == 1
        page.write("2")
        assert NOTHING not in "".join(text for _, text in page.told())
