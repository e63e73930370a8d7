"""The report of a function: its arithmetic, its text, every format of it, what is accepted, its script."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from dataclasses import replace
from decimal import ROUND_HALF_EVEN, Decimal
from itertools import product
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riverhead.checking.rules.adapting import Asked, adapt
from riverhead.checking.rules.arithmetic import apart, arithmetic, shown, working
from riverhead.checking.rules.call import Call
from riverhead.checking.rules.draw import Draw, Sizes
from riverhead.checking.rules.pipeline import follow
from riverhead.checking.rules.report import Agreed, Failure, NotOffered, Report
from riverhead.checking.rules.reports.data import data
from riverhead.checking.rules.reports.junit import junit
from riverhead.checking.rules.reports.known import NOTHING, accepted, known
from riverhead.checking.rules.reports.listing import listed, listing, rules_of
from riverhead.checking.rules.reports.reproduce import reproduce
from riverhead.checking.rules.reports.scene import found, scene, table
from riverhead.checking.rules.reports.standing import Standing
from riverhead.checking.rules.rule import rules
from riverhead.checking.rules.studies import STUDIES
from riverhead.cli.escapes import as_json
from riverhead.errors import InputError
from riverhead.numbers import significant
from riverhead.render import render

SCALE = Failure(
    "scale", "must", (0, 1), "out", 0.2517, 0.2744, "0.5·0.5 + 0.5·0.0488", mistake="no-scale",
    did="the dots are not divided by √d_k", given={"q": [[1.0, 2.0]], "causal": True},
)  # fmt: skip
WEAK = Failure("hidden-values", "should", detail="a hidden value moves the output")
REPORT = Report(
    "attention", "attention", ("definition", "roles"), (SCALE, WEAK),
    (Agreed("mask", "keep", "True means: may attend"),),
    (NotOffered("window", "takes no window"), NotOffered("causal", "takes no causal")),
    (NotOffered("softmax-axis", "follows from scale"),), ("NumPy arrays",), "hello\n", "mine:attention",
)  # fmt: skip


def text(standing: Standing, everything: bool = False) -> str:
    return str(render(scene(standing, everything), "text", width=200))


# ---------------------------------------------------------------- arithmetic

sizes = st.integers(1, 5)


def call_of(T_q: int, T_k: int, d_k: int, d_v: int, seed: int, H: int = 0, **more: Any) -> Call:
    heads = (H,) if H else ()
    arrays = Draw(Sizes(T_q=T_q, T_k=T_k, d_k=d_k, d_v=d_v), seed).qkv(*heads)
    options = {name: more.pop(name) for name in ("scale", "softcap") if name in more}
    return Call({**arrays, **more}, options)


def by_hand(call: Call, head: tuple[int, ...], i: int) -> dict[str, list[float]]:
    """A row of attention in plain Python."""
    q, k = call.arrays["q"][head][i], call.arrays["k"][head]
    dots = [sum(float(a) * float(b) for a, b in zip(q, key, strict=True)) for key in k]
    factor = call.options.get("scale", 1 / math.sqrt(len(q)))
    scores = [factor * dot for dot in dots]
    exps = [math.exp(score) for score in scores]
    return {"dots": dots, "scores": scores, "exps": exps, "weights": [x / sum(exps) for x in exps]}


def close(found: Any, right: Any) -> bool:
    """A dozen roundings of numbers below e^40, relative to the largest of them."""
    return bool(np.allclose(found, right, rtol=1e-12, atol=1e-13))


@settings(max_examples=60, deadline=None)
@given(sizes, sizes, sizes, sizes, st.integers(0, 99), st.sampled_from([None, 0.3]))
def test_the_row_behind_a_cell_is_that_of_plain_loops(
    T_q: int, T_k: int, d_k: int, d_v: int, seed: int, scale: float | None
) -> None:
    call = call_of(T_q, T_k, d_k, d_v, seed, **({} if scale is None else {"scale": scale}))
    i, c = T_q - 1, d_v - 1
    row, worked = by_hand(call, (), i), working(follow(call), (i, c))
    assert worked is not None
    dots, scores, exps, weights, values = worked.columns.values()
    heading = "÷ √1" if d_k == 1 and scale is None else f"÷ √{d_k}" if scale is None else "× 0.3"
    names = list(worked.columns)
    assert names[:2] == ["q·k", heading]
    assert names[2].startswith("e^")
    assert names[3:] == ["weight", f"v[:, {c}]"]
    assert close(dots, row["dots"])
    assert close(scores, row["scores"])
    assert close(np.array(exps) / exps[0], np.array(row["exps"]) / row["exps"][0])
    assert close(weights, row["weights"])
    assert list(values) == list(call.arrays["v"][:, c])
    for sum_, dot in zip(worked.sums, row["dots"], strict=True):
        assert close(worked_out(sum_), dot)  # numbers of a trial are short: nothing is rounded


def worked_out(sum_: str) -> float:
    """A sum of products, as it is printed."""
    return math.fsum(
        math.prod(float(x.strip("()").replace("−", "-")) for x in term.split("·"))
        for term in sum_.split(" + ")
    )


@settings(max_examples=60, deadline=None)
@given(sizes, sizes, sizes, sizes, st.integers(0, 99))
def test_the_sum_of_a_cell_comes_to_it_as_it_is_printed(
    T_q: int, T_k: int, d_k: int, d_v: int, seed: int
) -> None:
    call = call_of(T_q, T_k, d_k, d_v, seed)
    steps = follow(call)
    for cell in ((0, 0), (T_q - 1, d_v - 1)):
        weights, values = by_hand(call, (), cell[0])["weights"], call.arrays["v"][:, cell[1]]
        right = math.fsum(w * float(x) for w, x in zip(weights, values, strict=True))
        sum_ = worked_out(arithmetic(steps, cell))
        assert significant(sum_, 4).text == significant(right, 4).text
        assert sum_ == pytest.approx(
            right, abs=T_k * 2 * 5e-5 + 1e-12
        )  # T_k weights of 4 digits, values to 2


def test_a_head_has_its_own_row_and_a_shared_kv_head_is_found() -> None:
    draw = Draw(Sizes(), 3)
    call = Call(draw.qkv(2, 6, kv=(2, 3)))
    cell = (1, 5, 2, 4)
    worked = working(follow(call), cell)
    assert worked is not None
    row = by_hand(Call({"q": call.arrays["q"][1, 5], "k": call.arrays["k"][1, 2]}), (), 2)  # 5 // (6 / 3)
    assert close(worked.columns["weight"], row["weights"])
    assert list(worked.columns["v[:, 4]"]) == list(call.arrays["v"][1, 2][:, 4])


def test_what_is_done_to_a_score_has_its_column_and_only_then() -> None:
    plain = call_of(2, 3, 4, 2, 1)
    mask = np.array([[True, True, False], [True, True, True]])
    bias = np.array([[0.5, 0.0, 0.0], [0.0, 0.0, 0.0]])
    capped = replace(plain, arrays={**plain.arrays, "mask": mask, "bias": bias}, options={"softcap": 1.5})
    worked = working(follow(capped), (0, 0))
    assert worked is not None
    assert list(worked.columns) == [
        "q·k", "÷ √4", "capped", "with bias", "masked", "e^score", "weight", "v[:, 0]",
    ]  # fmt: skip
    assert worked.columns["masked"][2] == -math.inf
    assert worked.columns["weight"][2] == 0
    simple = working(follow(plain), (0, 0))
    assert simple is not None
    assert list(simple.columns) == ["q·k", "÷ √4", "e^score", "weight", "v[:, 0]"]


def test_large_scores_are_moved_before_the_exponential() -> None:
    call = Call({"q": np.array([[40.0]]), "k": np.array([[1.0], [0.5]]), "v": np.array([[1.0], [0.0]])})
    worked = working(follow(call), (0, 0))
    assert worked is not None
    assert worked.columns["e^(score − 40)"] == (1.0, math.exp(-20))
    assert arithmetic(follow(call), (0, 1), "weights") == "e^(20 − 40) / 1.000"


def test_a_cell_that_attention_does_not_make_so_has_no_arithmetic() -> None:
    """A sink takes part in the sum; an empty row has no weights; a made-up array is none of attention's."""
    sinks = call_of(2, 3, 4, 2, 1, sinks=np.array([0.5]))
    nobody = call_of(2, 3, 4, 2, 1, mask=np.zeros((2, 3), bool))
    assert (arithmetic(follow(sinks), (0, 0)), working(follow(sinks), (0, 0))) == ("", None)
    assert arithmetic(follow(nobody), (0, 0)) == ""
    assert arithmetic(follow(call_of(2, 3, 4, 2, 1)), (0, 0), "dq") == ""


reals = st.floats(-1e9, 1e9, allow_nan=False)


@settings(deadline=None)
@given(reals, reals)
def test_two_numbers_are_shown_with_digits_that_tell_them_apart_each_rounded_once(a: float, b: float) -> None:
    one, other = apart(a, b)
    assert (float(one.text.replace("−", "-")) == float(other.text.replace("−", "-"))) == (a == b)
    for value, number in ((a, one), (b, other)):
        digits = number.text.replace("−", "-")
        unit = Decimal(1).scaleb(Decimal(digits).as_tuple().exponent)
        assert abs(Decimal(digits) - Decimal(value)) <= unit / 2 or float(digits) == value


def test_a_tie_is_not_rounded_where_the_number_is_short() -> None:
    assert [shown(x).text for x in (2.3125, -1.15625, 0.00917)] == ["2.3125", "−1.15625", "0.00917"]
    exact = Decimal(2 / 3).quantize(Decimal("0.0001"), ROUND_HALF_EVEN)
    assert shown(2 / 3).text == str(exact)


# ---------------------------------------------------------------- text


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


# ---------------------------------------------------------------- what is accepted


def test_a_line_accepts_a_rule_a_mistake_or_a_target() -> None:
    lines = accepted("\n# why\nscale no-scale # old  checkpoints\nother:f  window\n  causal\n", "k.txt").lines
    assert [(x.line, x.target, x.rule, x.mistake, x.why) for x in lines] == [
        (3, "", "scale", "no-scale", "old  checkpoints"), (4, "other:f", "window", "", ""),
        (5, "", "causal", "", ""),
    ]  # fmt: skip
    assert [x.rule for x in accepted("a:f scale\nroles", "k").of("b:f").lines] == ["roles"]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("scael", "k.txt:1: there is no rule 'scael'; did you mean scale"),
        ("xyzzy", "k.txt:1: there is no rule 'xyzzy'; riverhead check code --rules lists them"),
        ("scale no-scale more", "k.txt:1: 'scale no-scale more' is not a rule, or a rule and a mistake"),
        ("a:f", "k.txt:1: 'a:f' is not a rule"),
    ],
)
def test_a_line_that_says_no_rule_is_named(line: str, says: str) -> None:
    with pytest.raises(InputError) as wrong:
        accepted(line, "k.txt")
    assert str(wrong.value).startswith(says)


@pytest.mark.parametrize(
    ("line", "wrong", "stale"),
    [
        ("", ["scale"], []),
        ("scale", [], []),
        ("scale no-scale", [], []),
        (
            "scale scale-up",
            ["scale"],
            ["k:1: scale is broken by no-scale, not by scale-up: correct the line"],
        ),
        ("roles", ["scale"], ["k:1: roles no longer fails: take the line out"]),
        ("window", ["scale"], ["k:1: window no longer fails: take the line out"]),
        ("softmax-axis", ["scale"], []),  # not judged: it may fail still
        ("hidden-values", ["scale"], []),
        ("scale\nroles", [], ["k:2: roles no longer fails: take the line out"]),
        ("rope-norm", ["scale"], []),  # no rule of attention
    ],
)
def test_what_is_accepted_counts_no_more_and_a_stale_line_does(
    line: str, wrong: list[str], stale: list[str]
) -> None:
    standing = Standing(REPORT, accepted(line, "k"))
    assert [each.rule for each in standing.wrong] == wrong
    assert [standing.known.says(each, REPORT) for each in standing.stale] == stale
    assert standing.fine == (not wrong and not stale)
    for said in stale:
        assert said in re.sub(r"\n +", " ", text(standing))


def test_what_is_accepted_is_said_with_its_reason() -> None:
    shown_ = text(Standing(REPORT, accepted("scale  # the checkpoints need it", "k.txt")))
    assert "Accepted\n  scale by no-scale: the checkpoints need it (k.txt:1)\n" in shown_
    assert "Broken" not in shown_
    assert shown_.endswith("4 rules asked: 2 hold, 1 weak, 1 accepted; 2 not offered; 1 not judged.\n")


def test_strict_makes_a_weakness_wrong() -> None:
    assert [each.rule for each in Standing(REPORT, strict=True).wrong] == ["scale", "hidden-values"]
    assert Standing(REPORT, strict=True).weak == ()
    only_weak = replace(REPORT, failed=(WEAK,))
    assert Standing(only_weak).fine
    assert not Standing(only_weak, strict=True).fine


def test_a_file_of_accepted_failures_is_read_within_bounds(tmp_path: Path) -> None:
    path = tmp_path / "k.txt"
    path.write_bytes("scale # é".encode("latin-1"))
    with pytest.raises(InputError, match="not UTF-8: byte 8 is 0xe9"):
        known(path)
    path.write_text("#" * (2**20 + 1), "utf-8")
    with pytest.raises(InputError, match="more than 1,048,576 bytes"):
        known(path)
    path.write_text("scale\r\n\r\n# a comment\r\n", "utf-8")
    assert [each.rule for each in known(path).lines] == ["scale"]


# ---------------------------------------------------------------- every format

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


# ---------------------------------------------------------------- a script


def ran(script: str, cwd: Path) -> list[str]:
    (cwd / "script.py").write_text(script, "utf-8")
    done = subprocess.run([sys.executable, "script.py"], cwd=cwd, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


CODE = "def f(q, k=None):\n    return [[x * 2 for x in row] for row in q]\n\nclass A:\n    g = f\n"


@pytest.mark.parametrize(
    ("file", "target"),
    [
        ("mine.py", "mine:f"),
        ("mine.py", "mine:A.g"),
        ("mine.py", "mine.py:f"),
        ("mine.py", "mine.py"),
        ("sub/mine.py", "sub/mine.py:f"),
        ("pack/__init__.py", "pack:f"),
        ("not a-name.py", "not a-name.py:f"),
    ],
)
def test_a_script_finds_the_function_and_prints_both_numbers(tmp_path: Path, file: str, target: str) -> None:
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(CODE, "utf-8")
    failure = replace(SCALE, script="q = [[1.0]]\nout = f(q)", cell=(0, 0))
    script = reproduce(replace(REPORT, name="f", target=target), failure)
    assert ran(script, tmp_path) == ["out[0, 0] is 2.0", "right is 0.2744"]


def test_a_script_of_a_file_in_a_package_finds_what_stands_beside_it(tmp_path: Path) -> None:
    (tmp_path / "pack").mkdir()
    for name, source in (("__init__", ""), ("two", "TWO = 2\n"), ("mine", f"from .two import TWO\n{CODE}")):
        (tmp_path / "pack" / f"{name}.py").write_text(source, "utf-8")
    failure = replace(SCALE, script="out = f([[1.0]])", cell=(0, 0))
    script = reproduce(replace(REPORT, target=str(tmp_path / "pack" / "mine.py:f")), failure)
    assert ran(script, tmp_path) == ["out[0, 0] is 2.0", "right is 0.2744"]


def test_a_script_holds_what_is_no_number_of_pythons(tmp_path: Path) -> None:
    script = "q = np.array([[nan, -inf]])\nout = f(q)"
    failure = replace(SCALE, script=script, cell=(0, 1), found=math.inf, right=math.nan, beside=("a", "b"))
    (tmp_path / "mine.py").write_text("def f(q):\n    return -q\n", "utf-8")
    written = reproduce(replace(REPORT, target="mine:f"), failure)
    assert ran(written, tmp_path) == ["out[0, 1] is inf", "with a and b alone it would be nan"]


def test_a_script_is_only_there_where_the_call_can_be_written_down() -> None:
    assert reproduce(REPORT, SCALE) == ""
    unknown = reproduce(replace(REPORT, target=""), replace(SCALE, script="out = f([[1.0]])"))
    assert unknown.splitlines()[0] == "f = ...  # 'attention', which was checked"
    raised = reproduce(REPORT, replace(WEAK, script="out = f([[1.0]])", detail="ValueError:\nno"))
    assert raised.endswith("out = f([[1.0]])\n# ValueError:\n# no\n")


def attend(q: Any, k: Any, v: Any, mask: Any = None) -> Any:
    """Something like attention, of arrays or tensors, heads before tokens."""
    scores = q @ k.swapaxes(-1, -2)
    weights = 1.0 if mask is None else mask * 1.0
    return (weights + scores / 9) @ v


def tokens_first(q: Any, k: Any, v: Any, mask: Any = None) -> Any:
    if q.ndim != 4:
        raise ValueError("(B, T, H, d)")
    return attend(*(x.swapaxes(1, 2) for x in (q, k, v)), mask).swapaxes(1, 2)


def side_by_side(q: Any, k: Any, v: Any, n_heads: int) -> Any:
    if q.ndim != 3:
        raise ValueError("(B, T, H·d)")
    heads = (x.reshape(*x.shape[:2], n_heads, -1) for x in (q, k, v))
    return tokens_first(*heads).reshape(*q.shape[:2], -1)


def of_lists(queries: Any, keys: Any, values: Any) -> Any:
    return attend(*(np.array(x) for x in (queries, keys, values))).tolist()


def with_weights(q: Any, k: Any, v: Any, need_weights: bool = False) -> Any:
    return {"output": attend(q, k, v), "attn": q @ k.swapaxes(-1, -2)} if need_weights else attend(q, k, v)


@pytest.mark.parametrize("arrays", ["numpy", "torch"])
@pytest.mark.parametrize("function", [attend, tokens_first, side_by_side, with_weights, of_lists])
def test_a_script_makes_the_very_call(function: Any, arrays: str) -> None:
    torch = pytest.importorskip("torch") if arrays == "torch" else None
    adapter = adapt(function, Asked(arrays="list" if function is of_lists else arrays))
    draw, tried = Draw(Sizes(B=2, H=3, G=3)), []
    masks: list[dict[str, Any]] = [{}, {"mask": draw.numbers("mask", 3, 5) > 0}]
    for axes, more, want in product(((), (2,), (2, 3)), masks, ((), ("weights",))):
        call = Call({**draw.qkv(*axes), **more}, want=want)
        try:
            right = adapter.run(call)
        except (InputError, ValueError, KeyError):  # it takes no such call
            continue
        script = str(adapter.run(replace(call, want=(*want, "script"))).facts["script"])
        scope: dict[str, Any] = {"f": function, "np": np, "torch": torch}
        exec(compile(script, "script", "exec"), scope)
        for name, array in right.arrays.items():
            assert np.array_equal(np.array(scope[name].tolist()), array), script
        tried.append((len(axes), *more, *want))
    assert tried


# ---------------------------------------------------------------- the list of rules


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
