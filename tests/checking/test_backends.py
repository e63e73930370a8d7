"""The table of `riverhead check backend`: how cells are read, and what the command does with them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import pytest

from riverhead.checking import backends as room
from riverhead.checking.backends import auditing
from riverhead.checking.backends.auditing import Audit, Audited, rows
from riverhead.checking.backends.backend import Backend
from riverhead.checking.backends.cells import NOTHING, Cell, Row, cell_of, refused
from riverhead.checking.backends.probes import PROBES
from riverhead.checking.rules.report import Agreed, Failure, NotOffered, Report
from riverhead.checking.rules.rule import rules
from riverhead.checking.rules.studies import STUDIES
from riverhead.cli.main import main
from riverhead.errors import InputError
from riverhead.render import render
from riverhead.scene import Table

ROW = Row("empty", ("empty-row",), ("empty-row",), {"zeros": "0s", "held": "fine"})
ZEROS = Agreed("empty-row", "zeros", "so")
RAISED = Failure("empty-row", "must", detail="ValueError: no")


def report(**found: Any) -> Report:
    return Report("f", "attention", **found)


@pytest.mark.parametrize(
    ("found", "cell"),
    [
        ({"passed": ("empty-row",)}, Cell("fine")),
        ({"passed": ("empty-row",), "conventions": (ZEROS,)}, Cell("0s", "", "so")),
        ({"conventions": (Agreed("empty-row", "mean", "so"),)}, Cell("mean", "", "so")),
        ({"conventions": (Agreed("mask", "keep", "so"),)}, NOTHING),
        ({"not_offered": (NotOffered("empty-row", "takes no mask"),)}, NOTHING),
        ({"not_offered": (NotOffered("empty-row", "TypeError: no"),)}, Cell("refused", "", "TypeError: no")),
        ({"not_judged": (NotOffered("empty-row", "follows from mask"),)}, NOTHING),
        ({"failed": (RAISED,)}, Cell("refused", "", "ValueError: no")),
        (
            {"failed": (Failure("empty-row", "must", (0, 0), found=math.nan, right=0.0, did="it is 0/0"),)},
            Cell("NaN", "broken", f"{rules()['empty-row'].says} Here it is 0/0."),
        ),
        (
            {"failed": (Failure("empty-row", "should", (0, 0), found=1.0, right=0.0),)},
            Cell("broken", "weak", rules()["empty-row"].says),
        ),
    ],
)  # fmt: skip
def test_a_cell_is_what_the_report_says(found: dict[str, Any], cell: Cell) -> None:
    assert cell_of(ROW, [report(**found)]) == cell


def test_what_the_first_report_did_not_judge_the_second_says() -> None:
    first = report(not_judged=(NotOffered("empty-row", "follows from mask"),))
    assert cell_of(ROW, [first, report(passed=("empty-row",))]) == Cell("fine")


def test_a_number_that_is_wrong_is_no_refusal() -> None:
    assert not refused(Failure("scale", "must", (0, 1), found=1.0, right=2.0, detail="ValueError: shown"))
    assert not refused(Failure("scale", "must", detail="out has the shape (2,), not (3,)"))


def test_every_row_names_rules_and_probes_that_there_are() -> None:
    known = {each.name for studies in STUDIES.values() for each in studies}
    for row in rows():
        assert bool(row.probe) != bool(row.rules or row.conventions), row.title
        for id in row.rules:
            assert id in rules(), (row.title, id)
            assert rules()[id].cases in known
    aspects = {
        agreed[0] if isinstance(agreed, tuple) else agreed.aspect
        for each in STUDIES["attention"]
        for agreed in (*(way.agreed for way in each.ways if way.agreed), *each.usual)
    }
    assert {aspect for row in rows() for aspect in row.conventions} <= aspects
    assert len({row.title for row in rows()}) == len(rows())


def audited(name: str, *cells: Cell, failed: tuple[Failure, ...] = ()) -> Audited:
    return Audited(Backend(name, f"how {name} is called", lambda q, k, v: q), (report(failed=failed),), cells)


def made(*backends: Audited) -> Audit:
    return Audit("it", {"torch": "0.0"}, (ROW, Row("second")), backends)


def test_only_a_broken_must_is_not_ok() -> None:
    weak, fine = Cell("x", "weak", "should"), Cell("zeros")
    assert made(audited("a", fine, weak)).ok
    assert not made(audited("a", fine, fine), audited("b", Cell("NaN", "broken", "must"), fine)).ok
    beside = Failure("scale", "must", (0, 0), found=1.0, right=2.0)
    assert not made(audited("a", fine, fine, failed=(beside,))).ok
    assert made(audited("a", fine, fine, failed=(Failure("scale", "must", detail="ValueError: no"),))).ok
    assert made(Audited(Backend("c", "", None, "no kernel"))).ok


def test_the_scene_shows_every_cell_its_mark_and_what_is_not_there() -> None:
    gone = Audited(Backend("c", "how", None, "no kernel was found"))
    beside = Failure("scale", "must", (0, 0), found=1.0, right=2.0, did="the dots are as they are")
    audit = made(
        audited("a", Cell("NaN", "broken", "because"), Cell("0s")),
        audited("b", NOTHING, Cell("x"), failed=(beside,)),
        gone,
    )
    shown = render(audit.scene(), "text", width=200)
    assert isinstance(shown, str)
    for words in (
        "NaN ✗",
        "0s",
        "because",
        "not available here: no kernel was found",
        "how a is called",
        "torch 0.0",
    ):
        assert words in shown, words
    assert f"{rules()['scale'].says} Here the dots are as they are." in shown
    assert shown.count("—") == 2  # the cell, and what it means


def test_no_table_is_wider_than_a_page() -> None:
    cells = (Cell("0s"), NOTHING)
    tables = [
        part
        for part in made(*(audited(name, *cells) for name in "abcdef")).scene().parts
        if isinstance(part, Table)
    ]
    assert [table.columns for table in tables[:2]] == [("", *"abcd"), ("", *"ef")]
    assert [row[0] for table in tables[:2] for row in table.rows] == [
        "empty",
        "empty",
    ]  # nobody has the second


def test_json_has_every_cell_and_every_rule() -> None:
    found = made(
        audited("a", Cell("NaN", "broken", "because"), Cell("0s")),
        Audited(Backend("c", "", None, "no kernel")),
    ).to_dict()
    one, two = json.loads(json.dumps(found, allow_nan=False))["backends"]
    assert one["behaviour"]["empty"] == {"text": "NaN", "standing": "broken", "says": "because"}
    assert (one["ok"], two["available"], two["why"], two["behaviour"]) == (False, False, "no kernel", {})


class Run:
    def __init__(self, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
        self.capsys = capsysbinary

    def __call__(self, *argv: str) -> tuple[int, str, str]:
        self.capsys.readouterr()
        with pytest.raises(SystemExit) as done:
            main(["check", "backend", *argv])
        out, err = self.capsys.readouterr()
        assert isinstance(done.value.code, int)
        return done.value.code, out.decode(), err.decode()


@pytest.fixture
def run(capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Run:
    def audit(only: tuple[str, ...], tell: Callable[..., None]) -> Audit:
        tell(0, 1, "\x1b[31mfirst")
        return made(
            audited("a", Cell("NaN" if only else "0s", "broken" if only else "", "because"), Cell("x"))
        )

    monkeypatch.setattr(room, "audit_torch", audit)
    monkeypatch.setattr(
        room, "audit_model", lambda model, only, tell: made(audited(model, Cell("0s"), Cell("x")))
    )
    return Run(capsysbinary)


def test_the_exit_status_says_whether_a_rule_is_broken(run: Run) -> None:
    assert run("torch")[0] == 0
    assert run("torch", "--only", "a")[0] == 1


def test_a_model_is_named_behind_the_colon(run: Run) -> None:
    status, out, _ = run("transformers:some/folder:odd", "--json")
    assert (status, json.loads(out)["audit"]["backends"][0]["name"]) == (0, "some/folder:odd")
    assert json.loads(out)["schema"] == "riverhead.check.backend/1"


@pytest.mark.parametrize("which", ["jax", "transformers", "transformers:", ""])
def test_what_is_no_backend_is_wrong_usage(run: Run, which: str) -> None:
    status, _, err = run(which)
    assert status == 2
    assert "transformers:llama" in err


@pytest.mark.parametrize("format", ["markdown", "html", "latex", "svg"])
def test_every_format_holds_the_table(run: Run, format: str) -> None:
    status, out, _ = run("torch", "--format", format)
    assert status == 0
    assert "0s" in out


def test_a_column_that_is_not_there_is_named() -> None:
    with pytest.raises(InputError, match="there is no 'B' among them; there are a, b"):
        room._chosen([Backend("a", ""), Backend("b", "")], ["B"])
    assert [each.name for each in room._chosen([Backend("a", ""), Backend("b", "")], ["b"])] == ["b"]


def test_a_row_that_nobody_has_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auditing, "reports_of", lambda attend, tell: (report(passed=("kv-heads",)),))
    monkeypatch.setattr(auditing, "PROBES", {})
    monkeypatch.setattr(auditing, "tried", lambda backend: backend)
    found = auditing.audit(
        "it", [Backend("a", "", lambda q, k, v: q)], {}, {"memory": lambda _: Cell("none")}
    )
    assert [row.title for row in found.rows] == ["memory grows with", "fewer kv heads than heads"]
    assert [cell.text for cell in found.backends[0].cells] == ["none", "shared"]


def test_what_the_rules_cannot_call_is_not_available(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(attend: Any, tell: Any) -> Any:
        raise InputError("it cannot be called")

    monkeypatch.setattr(auditing, "reports_of", refuse)
    monkeypatch.setattr(auditing, "tried", lambda backend: backend)
    found = auditing.audit("it", [Backend("a", "", lambda q, k, v: q)], {}, {})
    assert (found.backends[0].backend.why, found.backends[0].backend.attend) == ("it cannot be called", None)


def test_probes_are_named_in_rows_alone() -> None:
    assert set(PROBES) <= {row.probe for row in rows()}
