"""The report of a function: its text, every format of it, and the list of rules."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from reported import REPORT, SCALE, WEAK, text

from riverhead.checking.rules.arithmetic import shown
from riverhead.checking.rules.draw import Draw, Sizes
from riverhead.checking.rules.report import Agreed, NotOffered, Report
from riverhead.checking.rules.reports.data import data
from riverhead.checking.rules.reports.junit import junit
from riverhead.checking.rules.reports.known import NOTHING, accepted
from riverhead.checking.rules.reports.listing import listed, listing, rules_of
from riverhead.checking.rules.reports.scene import found, scene, table
from riverhead.checking.rules.reports.standing import Standing
from riverhead.checking.rules.rule import rules
from riverhead.checking.rules.studies import STUDIES
from riverhead.cli.escapes import as_json
from riverhead.render import render


def test_what_was_found_stands_in_a_line() -> None:
    assert found(SCALE) == "out[0, 1] is 0.2517; right is 0.2744 = 0.5·0.5 + 0.5·0.0488"
    assert found(replace(SCALE, beside=("no-mask",), arithmetic="")) == (
        "out[0, 1] is 0.2517; with no-mask alone it would be 0.2744"
    )
    close = replace(SCALE, found=0.27440001, right=0.2744)
    assert found(close) == "out[0, 1] is 0.27440001; right is 0.2744 = 0.5·0.5 + 0.5·0.0488"
    close = replace(SCALE, found=0.27443912, right=0.27443999)
    assert found(close).startswith("out[0, 1] is 0.274439; right is 0.274440 ≈ ")
    assert found(replace(SCALE, found=math.nan, arithmetic="")) == "out[0, 1] is NaN; right is 0.2744"
    assert found(replace(SCALE, right=None, detail="it moved")) == "out[0, 1] is 0.2517; it moved"
    assert found(WEAK) == "a hidden value moves the output"


def test_the_text_says_first_what_is_wrong_and_last_how_many() -> None:
    assert text(Standing(REPORT)) == (
        "mine:attention\n"
        "\n"
        "Broken: Scores are q·k times 1/√d_k, d_k the width of one head.\n"
        "  out[0, 1] is 0.2517; right is 0.2744 = 0.5·0.5 + 0.5·0.0488\n"
        "  That is what you get when the dots are not divided by √d_k (no-scale).\n"
        "  ▸ What it was given\n"
        "  Rule scale: Vaswani et al. 2017, §3.2.1.\n"
        "\n"
        f"Weak: {rules()['hidden-values'].says}\n"
        "  a hidden value moves the output\n"
        f"  Rule hidden-values: {rules()['hidden-values'].source}.\n"
        "\n"
        "Conventions, neither right nor wrong\n"
        "  mask=keep   True means: may attend\n"
        "  --expect mask=keep makes one a rule.\n"
        "\n"
        "The other rules\n"
        "  ▸ 2 rules hold\n"
        "  ▸ 1 rule is not judged (follows from scale)\n"
        "  ▸ 2 rules are not offered\n"
        "\n"
        "How it was called\n"
        "  NumPy arrays\n"
        "  It printed:\n"
        "    hello\n"
        "\n"
        "4 rules asked: 2 hold, 1 broken, 1 weak; 2 not offered; 1 not judged.\n"
    )


def test_with_all_every_rule_has_its_sentence_and_every_number_stands_there() -> None:
    shown_ = text(Standing(REPORT), everything=True)
    assert "▸" not in shown_
    assert rules()["definition"].says[:40] in shown_
    assert "takes no window" in shown_
    assert "causal = True" in shown_
    assert re.search(r"q +0 +1\n +0 +1 +2\n", shown_)


def test_of_several_heads_those_that_the_cell_lies_in_are_shown() -> None:
    arrays = Draw(Sizes(B=2, H=6, G=3)).qkv(2, 6, kv=(2, 3))
    lists = {name: x.tolist() for name, x in arrays.items()}
    failure = replace(SCALE, cell=(1, 3, 0, 0), given={**lists, "mask": np.ones((3, 5), bool).tolist()})
    shown_ = text(Standing(replace(REPORT, failed=(failure,))), everything=True)
    assert re.search(r"^ +q\[1, 3\] ", shown_, re.M)
    assert re.search(r"^ +k\[1, 1\] ", shown_, re.M)  # query head 3 of 6 reads kv head 1 of 3
    assert re.search(r"^ +mask ", shown_, re.M)
    first = [shown(float(x)).text for x in arrays["k"][1, 1][0]]
    assert re.search(r"k\[1, 1\].*\n +0 +" + " +".join(map(re.escape, first)), shown_)


def test_of_what_it_printed_the_first_is_shown() -> None:
    def printed(noise: str) -> list[str]:
        shown_ = text(Standing(Report("f", "attention", noise=noise)))
        return shown_.split("It printed:\n")[1].split("\n\n")[0].split("\n")

    assert printed("a\nb\n\n") == ["    a", "    b"]
    assert printed("a\n" * 9) == ["    a", "    a", "    a", "    a …"]
    assert "".join(printed("a" * 301)).split() == ["a" * 196, "a" * 104, "…"]


def test_a_report_without_a_failure_is_short() -> None:
    fine = Report("f", "attention", ("scale",))
    assert fine.ok
    said = "f\n  Every rule that was asked holds.\n\nThe other rules\n  ▸ 1 rule holds\n\n"
    assert str(fine) == f"{said}1 rule asked: 1 hold.\n"
    assert "Every rule" not in text(Standing(REPORT)) + text(Standing(Report("f", "attention")))
    weak = text(Standing(Report("f", "attention", ("scale",), (WEAK,)), accepted("hidden-values", "k")))
    assert "Every rule" not in weak


HOSTILE = "a|b `c` </script>\x1b]0;x\x07 \\input{y} \u202e{0} ]]> & \x00\x0b \ud800 ﷽"


def hostile() -> Standing:
    failure = replace(
        SCALE, mistake=HOSTILE, did=HOSTILE, detail=HOSTILE, arithmetic=HOSTILE, script=f"out = {HOSTILE}",
        given={HOSTILE: [[1.0]], "option": HOSTILE},
    )  # fmt: skip
    report = Report(
        HOSTILE, "attention", (), (failure, replace(WEAK, detail=HOSTILE)),
        (Agreed(HOSTILE, HOSTILE, HOSTILE),),
        (NotOffered("window", HOSTILE),), (NotOffered("causal", HOSTILE),), (HOSTILE,), HOSTILE, HOSTILE,
    )  # fmt: skip
    return Standing(report, accepted(f"hidden-values # {HOSTILE}\nroles", HOSTILE))


OBEYED = {
    "text": "\x1b",
    "markdown": "</script>",
    "html": "</script>",
    "latex": "\\input{y}",
    "svg": "</script>",
}


@pytest.mark.parametrize("format", OBEYED)
def test_hostile_names_stay_words_in_every_format(format: str) -> None:
    for shown_ in (scene(hostile(), True), table(hostile(), True)):
        page = render(shown_, format)
        assert isinstance(page, str)
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\ud800]", page)
        assert OBEYED[format] not in re.sub("```.*?```", "", page, flags=re.DOTALL)


def test_hostile_names_stay_words_in_xml_and_in_json() -> None:
    written = junit(hostile())
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\ud800]", written)
    suite = ElementTree.fromstring(written.encode("utf-8"))[0]
    assert "</script>" in suite.attrib["name"]
    escaped = as_json(data(hostile()))
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\ud800]", escaped)
    assert json.loads(escaped)["name"] == HOSTILE


def test_json_has_everything_and_words_for_what_it_lacks() -> None:
    failure = replace(SCALE, found=math.nan, right=-math.inf, given={"q": [[math.inf, 1.0]]})
    standing = Standing(replace(REPORT, failed=(failure, WEAK)), accepted("hidden-values # why\nroles", "k"))
    found_ = json.loads(json.dumps(data(standing), allow_nan=False))
    first, second = found_["failed"]
    assert (first["found"], first["right"], first["given"]) == ("NaN", "−∞", {"q": [["∞", 1.0]]})
    assert (first["accepted"], second["accepted"]) == (None, {"line": 1, "why": "why"})
    assert first["says"] == rules()["scale"].says
    assert found_["stale"] == [
        {"line": 2, "rule": "roles", "says": standing.known.says(standing.stale[0], REPORT)}
    ]
    assert (found_["ok"], found_["fine"], found_["summary"]) == (False, False, standing.summary)
    assert found_.keys() >= REPORT.to_dict().keys()


def test_markdown_is_one_row_a_finding_whatever_it_holds() -> None:
    page = str(render(table(Standing(REPORT)), "markdown"))
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line[:1] == "|"
    ]
    assert rows[0] == ["rule", "", "what holds of attention", "what was found", "mistake"]
    assert [row[:2] for row in rows[2:4]] == [["scale", "broken"], ["hidden-values", "weak"]]
    assert {len(row) for row in rows[:4]} == {5}
    assert rows[2][4] == "the dots are not divided by √d\\_k (no-scale)".replace("\\", "")
    everything = str(render(table(Standing(REPORT), True), "markdown"))
    assert len(re.findall(r"^\| (?!-|rule|conv)", everything, re.M)) == 2 + 2 + 2 + 1 + 1
    split = str(render(table(hostile()), "markdown"))
    assert {line.count("|") for line in split.splitlines() if line.startswith("| scale")} == {6}


def test_junit_has_a_case_for_each_rule() -> None:
    suites = ElementTree.fromstring(junit(Standing(REPORT, accepted("roles", "k.txt"))))
    (suite,) = suites
    assert suite.attrib == {
        "name": "mine:attention", "tests": "8", "failures": "2", "errors": "0", "skipped": "4",
    }  # fmt: skip
    cases = [(case.get("name"), next((child.tag for child in case), "")) for case in suite.iter("testcase")]
    order = list(rules())
    assert [name for name, _ in cases] == sorted(
        (name for name, _ in cases), key=lambda x: order.index(str(x))
    )
    assert sorted(cases) == sorted([
        ("definition", ""), ("scale", "failure"), ("roles", ""), ("roles", "failure"),
        ("softmax-axis", "skipped"), ("hidden-values", "skipped"), ("window", "skipped"),
        ("causal", "skipped"),
    ])  # fmt: skip
    failure = next(case for case in suite.iter("failure") if case.get("type") == "no-scale")
    assert failure.get("message") == rules()["scale"].says
    assert "out[0, 1] is 0.2517; right is 0.2744" in str(failure.text)
    assert suite.find("properties/property").attrib == {
        "name": "mask",
        "value": "keep: True means: may attend",
    }  # type: ignore[union-attr]
    assert "hello" in str(suite.findtext("system-out"))


def test_a_report_shows_itself_in_a_notebook() -> None:
    page = REPORT._repr_html_()
    assert page is not None
    assert "<summary>What it was given</summary>" in page


def test_the_list_has_every_rule_with_its_mistakes() -> None:
    entries = listed(tuple(STUDIES))
    assert {each["rule"] for each in entries} == set(rules())
    scale = next(each for each in entries if each["rule"] == "scale")
    assert {"id": "no-scale", "says": "the dots are not divided by √d_k"} in scale["mistakes"]
    others = [mistake["id"] for each in entries if each["rule"] != "scale" for mistake in each["mistakes"]]
    assert "no-scale" not in others
    assert all(each["says"].endswith(".") and each["source"] for each in entries)
    page = str(render(listing(("attention",)), "text"))
    assert f"attention: {len(rules_of('attention'))} rules" in page
    assert NOTHING.lines == ()
