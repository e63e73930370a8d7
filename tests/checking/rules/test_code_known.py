"""What a file of known failures accepts, and what is stale in it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from reported import REPORT, WEAK, text

from riverhead.checking.rules.reports.known import accepted, known
from riverhead.checking.rules.reports.standing import Standing
from riverhead.errors import InputError


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
