"""A whole text checked: in the order of its lines, one claim of each stretch, each at its place."""

from __future__ import annotations

import json
import re
from itertools import permutations

import pytest

from riverhead import check
from riverhead.checking.claims import Claim, Truth, checked, claims
from riverhead.checking.claims.checked import MAX_CHARACTERS, claims_on, page_of
from riverhead.checking.claims.claim import Finding
from riverhead.errors import InputError

TEXT = """\
# Attention by hand

q = (2, 1) and k = (3, 1), so q · k = 8.

Weights: [0.40, 0.50], and 0.4·2 + 0.6·7 = 5.0.

- 3 × 9 = 27
- 3 × 9 = 28
- z × 9 = 27
"""
FOUND = [  # line, column, text, verdict, how
    (3, 31, "q · k = 8", "false", ""),
    (5, 11, "0.40, 0.50", "false", ""),
    (5, 28, "0.4·2 + 0.6·7 = 5.0", "true", "exact"),
    (7, 3, "3 × 9 = 27", "true", "exact"),
    (8, 3, "3 × 9 = 28", "false", ""),
    (9, 3, "z × 9 = 27", "not checkable", ""),
]


def told(found: list[Claim]) -> list[tuple[int, int, str, str, str]]:
    return [(c.line, c.column, c.text, c.verdict.value, c.how) for c in found]


@pytest.mark.parametrize("kind", [None, "markdown"])
def test_claims_come_in_the_order_of_the_text_each_at_its_place(kind: str | None) -> None:
    found = claims(TEXT, kind)
    assert told(found) == FOUND
    lines = TEXT.splitlines()
    for claim in found:
        assert lines[claim.line - 1][claim.column - 1 : claim.end_column - 1] == claim.text
        assert claim.end_line == claim.line
        assert claim.place == ""


def test_a_claim_over_lines_ends_where_its_last_line_does() -> None:
    (claim,) = claims("So\n\n2·3\n+ 4\n  = 11, says he")
    assert (claim.line, claim.column, claim.end_line, claim.end_column) == (3, 1, 5, 7)
    assert claim.text == "2·3\n+ 4\n  = 11"


def test_the_facade_is_the_same() -> None:
    assert check.claims(TEXT) == claims(TEXT)


def test_what_is_right_instead_is_told_and_why() -> None:
    by_text = {claim.text: claim for claim in claims(TEXT)}
    assert by_text["q · k = 8"].exact == 7
    assert by_text["3 × 9 = 27"].exact == 27
    assert by_text["z × 9 = 27"].exact is None
    assert by_text["z × 9 = 27"].cause == "z: no number in the text"


def test_one_stretch_has_one_claim_and_the_gravest_is_kept() -> None:
    text = "weights = [2, 6]/8 = [0.25, 0.85]\n\nThe attention weights: [0.25, 0.85]"
    found = claims(text)
    places = [(claim.line, claim.column, claim.text) for claim in found]
    assert len(set(places)) == len(places)
    assert {claim.verdict for claim in found} == {Truth.FALSE}


@pytest.mark.parametrize("verdicts", list(permutations(Truth)))
def test_of_all_that_is_found_of_one_stretch_the_gravest_is_told(
    verdicts: tuple[Truth, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    for grave in (3, 2):  # false of all three, true of the first two or not
        said = [Finding(0, 5, verdict) for verdict in verdicts[:grave]]
        monkeypatch.setattr(checked.rules, "findings", lambda *_, said=said: said)
        (claim,) = claims("Here is no claim.")
        worst = next(t for t in (Truth.FALSE, Truth.TRUE, Truth.UNCHECKED) if t in verdicts[:grave])
        assert (claim.text, claim.verdict) == ("Here ", worst)


def test_order_is_by_place_then_by_end() -> None:
    text = "\n\n".join(f"{i} × 3 = {i * 3} = {i} + {2 * i}" for i in range(3, 9))
    found = claims(text)
    assert [(c.line, c.column) for c in found] == sorted((c.line, c.column) for c in found)
    assert len(found) == 12
    assert {c.verdict for c in found} == {Truth.TRUE}


HTML = "<p>First.</p>\n<p>3 &times; 9 = <b>28</b></p>\n"
LATEX = "\\documentclass{article}\n\\begin{document}\n$3 \\times 9 = 28$\n\\end{document}\n"
NOTEBOOK = json.dumps(
    {
        "nbformat": 4, "nbformat_minor": 5, "metadata": {},
        "cells": [
            {"cell_type": "markdown", "metadata": {}, "source": ["# First\n", "q = (2, 1)"]},
            {"cell_type": "markdown", "metadata": {}, "source": ["It is\n", "q · (3, 1) = 8"]},
        ],
    }
)  # fmt: skip
DOCUMENTS = [  # a source, its kind, where its claim stands
    ("First.\n3 × 9 = 28\n", "text", (2, 1, "")),
    ("First.\n\n> **3 × 9 = 28**\n", "markdown", (3, 5, "")),
    (HTML, "html", (2, 4, "")),
    (LATEX, "latex", (3, 2, "")),
    (NOTEBOOK, "notebook", (2, 1, "cell 2")),
]


@pytest.mark.parametrize(("source", "kind", "place"), DOCUMENTS, ids=[row[1] for row in DOCUMENTS])
def test_every_kind_of_document_is_read_told_or_guessed(
    source: str, kind: str, place: tuple[int, int, str]
) -> None:
    for said in (kind, None):
        (claim,) = claims(source, said)
        assert claim.verdict == "false"
        assert (claim.line, claim.column, claim.place) == place


def test_a_page_is_read_once_and_its_claims_found_on_it() -> None:
    page = page_of(TEXT, "markdown")
    assert claims_on(page) == claims(TEXT)
    assert page.text.startswith("# Attention")


def test_another_kind_is_refused_by_its_name() -> None:
    with pytest.raises(
        InputError, match=re.escape("kind='word' is unknown; a document is one of markdown, html")
    ):
        claims("1 + 1 = 2", "word")


def test_a_broken_notebook_is_refused() -> None:
    with pytest.raises(InputError, match="notebook"):
        claims("not a notebook", "notebook")


def test_a_longer_text_than_a_book_is_refused_whole_and_says_its_length() -> None:
    text = "1 + 1 = 3\n" + " " * MAX_CHARACTERS
    for reader in (claims, page_of):
        with pytest.raises(
            InputError, match=r"^the text has 12,000,010 characters; up to 12,000,000 are checked at a time$"
        ):
            reader(text)


def test_a_text_without_a_claim_has_none() -> None:
    for text in ("", "\n\n", "Nothing is claimed here.", "x = 5", "| a | b |\n|---|---|\n| 1 | 2 |\n"):
        assert claims(text) == []


def test_the_same_words_twice_are_two_claims() -> None:
    found = claims("3 × 9 = 28\n\n3 × 9 = 28\n")
    assert [claim.line for claim in found] == [1, 3]
