"""The report of an article: what it counts and accepts, and each format of it, whatever the text holds."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverhead.checking.claims.claim import Claim, Truth
from riverhead.checking.claims.reports.report import EXCERPT, Report, counts, report, summary
from riverhead.checking.claims.reports.sarif import sarif
from riverhead.checking.claims.reports.scene import scene, table
from riverhead.checking.claims.reports.shown import as_data, in_words
from riverhead.render import render

TRUE, FALSE, UNCHECKED = Truth.TRUE, Truth.FALSE, Truth.UNCHECKED


def found_in(source: str, *stretches: tuple[Any, ...], name: str = "a.md", place: str = "") -> Report:
    """The report of claims given as (text, verdict, how, exact, cause), each where its text first stands."""

    def at(offset: int) -> tuple[int, int]:
        return source.count("\n", 0, offset) + 1, offset - source.rfind("\n", 0, offset)

    claims = []
    for text, *judged in stretches:
        start = source.index(text)
        claims.append(Claim(*at(start), text, *judged, place, *at(start + len(text))))
    lines = source.split("\n")
    return report(name, claims, lambda number, _: lines[number - 1])


def false(text: str, exact: Any = None, cause: str = "") -> tuple[Any, ...]:
    return text, FALSE, "", exact, cause


def true(text: str, how: str = "exact", exact: Any = None) -> tuple[Any, ...]:
    return text, TRUE, how, exact, ""


def unchecked(text: str, cause: str = "") -> tuple[Any, ...]:
    return text, UNCHECKED, "", None, cause


MIXED = found_in(
    "first 1 + 2 = 3, then 2/3 = 0.67\nand 0.33·3 = 1.0; x·y = 5\n7·7 = 48 at last",
    true("1 + 2 = 3", exact=3),
    true("2/3 = 0.67", "rounded", 2 / 3),
    true("0.33·3 = 1.0", "carried", 0.99),
    unchecked("x·y = 5", "x, y: no number in the text"),
    false("7·7 = 48", 49, "one too few in the last digit"),
)


# ---------------------------------------------------------------- counting


def test_the_summary_counts_each_claim_once_and_says_what_was_not_checked() -> None:
    assert counts([MIXED]) == {
        "exact": 1, "rounded": 1, "carried": 1, "false": 1, "not checkable": 1, "ignored": 0
    }  # fmt: skip
    assert summary([MIXED]) == "4 claims: 1 exact, 1 rounded, 1 carried, 1 false; 1 other not checkable."
    assert summary([MIXED, MIXED]).startswith("8 claims: 2 exact")


@pytest.mark.parametrize(
    ("reports", "says"),
    [
        ([], "No claim that could be checked was found."),
        ([found_in("x = y", unchecked("x = y"))],
         "No claim that could be checked was found; 1 claim not checkable."),
        ([found_in("1 = 1", true("1 = 1"))], "1 claim: 1 exact."),
        ([Report("b.md", problem="is a directory")],
         "No claim that could be checked was found; 1 file could not be read."),
    ],
)  # fmt: skip
def test_the_summary_promises_no_more_than_was_checked(reports: list[Report], says: str) -> None:
    assert summary(reports) == says


# ---------------------------------------------------------------- accepting a claim


@pytest.mark.parametrize(
    ("source", "ignored"),
    [
        ("2 + 2 = 5 <!-- riverhead: ignore -->", True),
        ("2 + 2 = 5 <!--riverhead:ignore, said by a student-->", True),
        ("2 + 2 = 5 % riverhead: ignore", True),
        ("2 + 2 = 5  # riverhead: ignore", True),
        ("<!-- riverhead: ignore -->\n2 + 2 = 5", True),
        ("  % riverhead: ignore this one\n2 + 2 = 5", True),
        ("1 + 1 = 3 <!-- riverhead: ignore -->\n2 + 2 = 5", False),  # that comment is of its own line
        ("<!-- riverhead: ignore -->\n\n2 + 2 = 5", False),
        ("2 + 2 = 5\n<!-- riverhead: ignore -->", False),
        ("2 + 2 = 5 and riverhead: ignore", False),  # no comment
        (r"2 + 2 = 5, 40\% riverhead: ignore", False),  # a percent sign, not a comment
        ("2 + 2 = 5 <!-- riverhead: ignored -->", False),
        ("2 + 2 = 5 <!-- ignore -->", False),
    ],
)
def test_a_comment_accepts_the_claims_of_its_line_or_alone_of_the_next(source: str, ignored: bool) -> None:
    made = found_in(source, false("2 + 2 = 5", 4))
    assert [spot.standing for spot in made.spots] == ["ignored" if ignored else "false"]
    assert counts([made])["ignored"] == ignored
    assert ("1 ignored, as a comment asks" in summary([made])) == ignored
    assert ("^^^" in render(scene([made]), "text")) != ignored


def test_a_comment_accepts_what_is_carried_or_not_checkable_but_no_true_claim() -> None:
    source = "1 = 1, 0.3·3 = 1, x = 2 <!-- riverhead: ignore -->"
    made = found_in(source, true("1 = 1"), true("0.3·3 = 1", "carried"), unchecked("x = 2"))
    assert [spot.standing for spot in made.spots] == ["exact", "ignored", "ignored"]


def test_what_is_accepted_can_still_be_seen() -> None:
    made = found_in("2 + 2 = 5 % riverhead: ignore", false("2 + 2 = 5", 4))
    assert "a.md:1:1: 2 + 2 = 5" in render(scene([made], everything=True), "text")
    assert [claim["ignored"] for claim in made.to_dict()["claims"]] == [True]


# ---------------------------------------------------------------- the exact value


@pytest.mark.parametrize(
    ("exact", "claim", "words"),
    [
        (1.660481234567, "= 1.66082", "1.66048"),
        (1.660481234567, "= 1.66048223", "1.66048123"),
        (4.0, "4 = 5", "4"),
        (0.5, "0.5 = 0.6", "0.5"),
        (-0.25, "", "−0.25"),
        (1 / 3, "", "0.333333"),
        ((0.5, (1, 2)), "", "(0.5, (1, 2))"),
        (tuple(range(15)), "", "(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, … 3 more)"),
        (float("inf"), "", "∞"),
        (10**6000, "", "1.00000e6000"),
        (10**6000, "9" * 6000, f"1.{16 * '0'}e6000"),
    ],
    ids=range(11),  # pytest cannot print an integer of 6,000 digits
)
def test_the_exact_value_has_the_digits_that_the_claim_has(exact: Any, claim: str, words: str) -> None:
    assert in_words(exact, claim) == words


@given(st.recursive(st.floats() | st.integers(), lambda inner: st.lists(inner, max_size=3).map(tuple)))
def test_any_exact_value_is_json(exact: Any) -> None:
    data = as_data(exact)
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert in_words(exact, "")


# ---------------------------------------------------------------- text


def test_a_false_claim_is_shown_in_full_and_the_true_ones_are_counted() -> None:
    shown = render(scene([MIXED]), "text")
    assert shown == (
        "a.md:3:1: false: the exact value is 49\n"
        "    7·7 = 48 at last\n"
        "    ^^^^^^^^\n"
        "    likely cause: one too few in the last digit\n"
        "\n"
        "Right only if rounded numbers are carried forward\n"
        "  a.md:2:5: 0.33·3 = 1.0; exactly 0.99\n"
        "\n"
        "4 claims: 1 exact, 1 rounded, 1 carried, 1 false; 1 other not checkable.\n"
    )
    everything = render(scene([MIXED], everything=True), "text")
    assert "\nExact\n  a.md:1:7: 1 + 2 = 3\n" in everything
    assert "\nRounded\n  a.md:1:23: 2/3 = 0.67\n" in everything
    assert "\nNot checkable\n  a.md:2:19: x·y = 5; x, y: no number in the text\n" in everything


def test_a_claim_without_an_exact_value_says_what_is_wrong_at_once() -> None:
    made = found_in("w = (−0.1, 1.1)", false("(−0.1, 1.1)", cause="a weight below 0"))
    shown = render(scene([made]), "text")
    assert shown.splitlines()[0] == "a.md:1:5: false: a weight below 0"
    assert "likely" not in shown


def test_a_claim_over_several_lines_points_at_its_first() -> None:
    made = found_in("so softmax(2, 1) =\n(0.8, 0.2).", false("softmax(2, 1) =\n(0.8, 0.2)"))
    _, line, carets, *_ = render(scene([made]), "text").splitlines()
    assert line == "    so softmax(2, 1) = …"
    assert carets == "       ^^^^^^^^^^^^^^^^^"


def test_a_notebook_names_the_cell() -> None:
    made = found_in("1 + 1 = 3", false("1 + 1 = 3", 2), name="n.ipynb", place="cell 3")
    assert render(scene([made]), "text").startswith("n.ipynb:cell 3:1:1: false")


@pytest.mark.parametrize("at", [0, 5_000, 9_991])
def test_of_a_long_line_what_stands_around_the_claim_is_kept(at: int) -> None:
    source = "a" * at + "1 + 1 = 3" + "z" * (9_991 - at)
    (spot,) = found_in(source, false("1 + 1 = 3")).spots
    assert spot.line[spot.start : spot.end] == "1 + 1 = 3"
    assert EXCERPT // 2 <= len(spot.line) <= EXCERPT + 2
    assert (spot.line[0] == "…", spot.line[-1] == "…") == (at > 0, at < 9_991)


def test_the_line_is_asked_for_once_however_many_claims_it_holds() -> None:
    asked = []
    source = "1 = 2 " * 97
    claims = [Claim(1, 1 + 6 * n, "1 = 2", FALSE, "", 1, "", "", 1, 6 + 6 * n) for n in range(97)]
    report("a.md", claims, lambda number, place: asked.append(number) or source)
    assert len(asked) == 1


# ---------------------------------------------------------------- documents

HOSTILE = "a|b `c` </script>\x1b]0;x\x07 \\input{y} \u202e{0} [l](http://m) 1 + 1 = 3"


OBEYED = {
    "text": "\x1b",
    "markdown": "</script>",
    "html": "</script>",
    "latex": "\\input{y}",
    "svg": "</script>",
}


@pytest.mark.parametrize("format", OBEYED)
def test_hostile_lines_stay_words_in_every_format(format: str) -> None:
    made = found_in(HOSTILE, false(HOSTILE, 2, cause=HOSTILE), name=f"{HOSTILE[:20]}.md")
    for shown in (scene([made], True), table([made], True)):
        page = render(shown, format)
        assert isinstance(page, str)
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", page)
        assert OBEYED[format] not in re.sub("```.*?```", "", page, flags=re.DOTALL)


def test_markdown_is_a_table_with_a_row_for_each_finding() -> None:
    page = render(table([MIXED]), "markdown")
    lines = [line.strip("|") for line in page.splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in line.split("|")] for line in lines]
    assert rows[0] == ["where", "claim", "", "exact value", "cause"]
    assert [row[0] for row in rows[2:]] == ["a.md:2:5", "a.md:3:1"]
    assert rows[3] == ["a.md:3:1", "7·7 = 48", "false", "49", "one too few in the last digit"]
    assert summary([MIXED]) in page
    assert len(re.findall(r"^\| a\.md", render(table([MIXED], True), "markdown"), re.M)) == 5
    split = render(table([found_in("a|b = 1|2", false("a|b = 1|2"))]), "markdown").splitlines()[-1]
    assert split.count("|") == 6


def test_a_long_claim_is_cut_in_a_list_and_in_a_table_but_not_in_data() -> None:
    text = f"{'1 + ' * 30}1 = 31"
    made = found_in(text, true(text))
    cut = f"{text[:59]}…"
    assert f"a.md:1:1: {cut}\n" in render(scene([made], everything=True), "text")
    assert f"| {cut} |" in render(table([made], everything=True), "markdown")
    assert made.to_dict()["claims"][0]["text"] == text


def test_a_document_says_why_a_file_could_not_be_read() -> None:
    """On a terminal it is said on standard error, once."""
    reports = [MIXED, Report("b.md", problem="is a directory")]
    for document in (scene(reports, title="t"), table(reports)):
        assert "Not read: b.md: is a directory" in render(document, "markdown")
    assert "b.md" not in render(scene(reports), "text")


def test_data_has_every_claim_whole() -> None:
    data = json.loads(json.dumps(MIXED.to_dict()))
    assert [claim["verdict"] for claim in data["claims"]] == [
        "true",
        "true",
        "true",
        "not checkable",
        "false",
    ]
    assert data["claims"][-1] == {
        "line": 3, "column": 1, "end_line": 3, "end_column": 9, "place": "", "text": "7·7 = 48",
        "verdict": "false", "how": "", "exact": 49, "cause": "one too few in the last digit",
        "ignored": False,
    }  # fmt: skip


# ---------------------------------------------------------------- SARIF


def results_of(*reports: Report, everything: bool = False) -> list[dict[str, Any]]:
    log = sarif(reports, everything)
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    return list(run["results"])


def test_sarif_has_the_shape_that_its_schema_asks_for() -> None:
    """Checked against Microsoft's validator when it was written; here what the standard requires by name."""
    log = sarif([MIXED, Report("b.md", problem="is a directory")], everything=True)
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-schema-2.1.0.json")
    (run,) = log["runs"]
    assert run["columnKind"] == "unicodeCodePoints"
    driver = run["tool"]["driver"]
    assert driver["name"] == "riverhead"
    ids = [rule["id"] for rule in driver["rules"]]
    assert len(set(ids)) == len(ids)
    levels = {"none", "note", "warning", "error"}
    assert {rule["defaultConfiguration"]["level"] for rule in driver["rules"]} <= levels
    for name in ("shortDescription", "fullDescription", "help"):
        assert all(rule[name]["text"] for rule in driver["rules"])
    for result in run["results"]:
        assert result["level"] in levels
        assert result["kind"] == ("pass" if result["level"] == "none" else "fail")
        assert result["message"]["text"].endswith(".")
        region = result["locations"][0]["physicalLocation"]["region"]
        start, end = ((region[f"{which}Line"], region[f"{which}Column"]) for which in ("start", "end"))
        assert (1, 1) <= start < end
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    (said,) = invocation["toolExecutionNotifications"]
    assert said["message"]["text"] == "b.md could not be read: is a directory"


def test_sarif_levels() -> None:
    assert [(r["ruleId"], r["level"]) for r in results_of(MIXED)] == [
        ("carried-rounding", "note"),
        ("not-checkable", "note"),
        ("false-claim", "error"),
    ]
    assert len(results_of(MIXED, everything=True)) == 5
    text = results_of(MIXED)[-1]["message"]["text"]
    assert text == "This number is wrong. The exact value is 49. Likely cause: one too few in the last digit."


def test_a_region_counts_code_points_and_ends_behind_the_claim() -> None:
    source = "𝟙 点 e\u0301\n𝟙 点 e\u0301 1 + 1 = 3."
    (result,) = results_of(found_in(source, false("1 + 1 = 3")))
    region = result["locations"][0]["physicalLocation"]["region"]
    assert region.pop("snippet") == {"text": "1 + 1 = 3"}
    assert region == {"startLine": 2, "startColumn": 8, "endLine": 2, "endColumn": 17}
    assert source.split("\n")[1][7:16] == "1 + 1 = 3"
    (over_two,) = results_of(found_in("a 1 + 1\n = 3 b", false("1 + 1\n = 3")))
    region = over_two["locations"][0]["physicalLocation"]["region"]
    assert region == {"startLine": 1, "startColumn": 3, "endLine": 2, "endColumn": 5}


def test_a_notebook_has_its_cell_and_no_line_of_the_file() -> None:
    (result,) = results_of(found_in("1 + 1 = 3", false("1 + 1 = 3"), name="n.ipynb", place="cell 3"))
    (location,) = result["locations"]
    assert location["logicalLocations"][0]["fullyQualifiedName"] == "cell 3"
    assert "region" not in location["physicalLocation"]
    assert result["message"]["text"].startswith("cell 3, line 1, column 1: ")


def test_a_fingerprint_stays_when_lines_move_and_differs_between_claims() -> None:
    def prints(source: str) -> list[str]:
        claims = []
        for number, line in enumerate(lines := source.split("\n"), 1):
            for found in re.finditer(r"\d · \d  ?= \d", line):
                columns = found.start() + 1, found.end() + 1
                claims.append(
                    Claim(number, columns[0], found[0], FALSE, "", None, "", "", number, columns[1])
                )
        made = report("a.md", claims, lambda number, _: lines[number - 1])
        return [each["partialFingerprints"]["riverheadClaim/v1"] for each in results_of(made)]

    before = prints("2 · 3 = 7, 2 · 3 = 8, and again\n2 · 3 = 7")
    assert len(set(before)) == 3
    assert prints("new\n\nlines 2 · 3 = 7,\n2 · 3  = 8, and again\n2 · 3 = 7") == before


def test_paths_are_percent_encoded_and_relative_to_the_working_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)

    def uri(name: str) -> str:
        (result,) = results_of(found_in("1 = 2", false("1 = 2"), name=name))
        found: str = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        return found

    assert uri("docs/ein Maß 100%.md") == "docs/ein%20Ma%C3%9F%20100%25.md"
    assert uri(str(tmp_path / "a.md")) == "a.md"
    assert uri("./b/../a.md") == "a.md"
    assert uri("/elsewhere/a b.md") == "file:///elsewhere/a%20b.md"
    assert unquote(uri("a#b?.md")) == "a#b?.md"
    assert "#" not in uri("a#b?.md")
    assert uri(os.fsdecode(b"\xff.md")) == "%FF.md"


def test_what_is_accepted_is_counted_and_with_everything_marked_as_suppressed() -> None:
    made = found_in("2 + 2 = 5 % riverhead: ignore", false("2 + 2 = 5", 4))
    assert results_of(made) == []
    assert sarif([made])["runs"][0]["properties"]["counts"]["ignored"] == 1
    (result,) = results_of(made, everything=True)
    assert (result["ruleId"], result["suppressions"]) == ("false-claim", [{"kind": "inSource"}])


def test_a_message_holds_no_placeholder_and_no_link() -> None:
    (result,) = results_of(found_in("1 = 2", false("1 = 2", cause="see {0} and [a](b)")))
    assert result["message"]["text"].endswith(r"see {{0}} and \[a](b).")
