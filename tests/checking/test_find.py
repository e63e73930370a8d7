"""Claims found on a page: chains, lines that go on, names, lists, rows, words; and what is none."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riverhead.checking.claims.find import find
from riverhead.checking.claims.reading.expression import Expression, Items, Number, Operation
from riverhead.checking.claims.reading.numerals import LONGEST
from riverhead.checking.claims.reading.parse import expression

SIGN = {"true": "+", "false": "-", "not checkable": "?"}


def found(text: str) -> list[str]:
    """Every finding in the text's order: + true, - false, ? not checkable, and the words it is about."""
    findings = sorted(find(text).findings, key=lambda finding: (finding.start, finding.end))
    return [f"{SIGN[f.verdict]} {text[f.start : f.end]}" for f in findings]


def bound(text: str) -> dict[str, str]:
    return {binding.name: text[binding.start : binding.end] for binding in find(text).bindings}


FOUND: dict[str, list[tuple[str, list[str]]]] = {
    "a claim in a sentence": [
        ("2 + 3 = 5", ["+ 2 + 3 = 5"]),
        ("2 + 3 = 6", ["- 2 + 3 = 6"]),
        ("So 2·3 + 1·4 = 10, as said.", ["+ 2·3 + 1·4 = 10"]),
        ("So 2·3 + 1·4 = 11, as said.", ["- 2·3 + 1·4 = 11"]),
        ("The sum 2 + 3 is 5.", ["+ 2 + 3 is 5"]),
        ("The sum 2 + 3 is 6.", ["- 2 + 3 is 6"]),
        ("2 + 3 equals 6", ["- 2 + 3 equals 6"]),
        ("2 + 3 gives 6", ["- 2 + 3 gives 6"]),
        ("1/3 is about 0.33", ["+ 1/3 is about 0.33"]),
        ("2 × 12 including biases = 24", ["+ 2 × 12 including biases = 24"]),
        ("2 × 12 including biases = 25", ["- 2 × 12 including biases = 25"]),
        ("2 × 12 (with biases) = 25", ["- 2 × 12 (with biases) = 25"]),
        ("2 × 12 = only 25", ["- 2 × 12 = only 25"]),
        ("2 × 12 = about 23", ["- 2 × 12 = about 23"]),
        ("37 × 9 = about 300", ["+ 37 × 9 = about 300"]),
        ("37 × 9 = 300", ["- 37 × 9 = 300"]),
        ("6 is 2 × 3", []),
        ("12 = 5 + 8", ["- 12 = 5 + 8"]),
    ],
    "chains": [
        ("2·3 + 4 = 6 + 4 = 10", ["+ 2·3 + 4 = 6 + 4", "+ 6 + 4 = 10"]),
        ("2·3 + 4 = 6 + 4 = 11", ["+ 2·3 + 4 = 6 + 4", "- 6 + 4 = 11"]),
        ("2·3 + 4 = 7 + 4 = 11", ["- 2·3 + 4 = 7 + 4", "+ 7 + 4 = 11"]),
        ("√8 = 2.828 ≈ 2.83", ["+ √8 = 2.828", "+ 2.828 ≈ 2.83"]),
        ("√8 = 2.828 ≈ 2.84", ["+ √8 = 2.828", "- 2.828 ≈ 2.84"]),
        ("x = 2·3 = 6", ["+ 2·3 = 6"]),
        ("x = 2·3 = 7", ["- 2·3 = 7"]),
        ("2·3 → 6 → 7", ["+ 2·3 → 6"]),
        ("q · k = 2·1 + 1·3 = 6", ["- 2·1 + 1·3 = 6"]),
    ],
    "lines that go on": [
        ("2·3 + 4\n= 10", ["+ 2·3 + 4\n= 10"]),
        ("2·3 + 4\n= 11", ["- 2·3 + 4\n= 11"]),
        ("2·3\n+ 4\n= 11", ["- 2·3\n+ 4\n= 11"]),
        ("2·3 +\n4 = 11", ["- 2·3 +\n4 = 11"]),
        ("x = 2·3 + 4\n  = 6 + 4\n  = 11", ["+ 2·3 + 4\n  = 6 + 4", "- 6 + 4\n  = 11"]),
        ("x = (2 + 1\n  − 4)·2 = −3", ["- (2 + 1\n  − 4)·2 = −3"]),
        ("2·[3, 4] =\n[6, 9]", ["- 2·[3, 4] =\n[6, 9]"]),
        ("2·3 + 4\n\n= 11", ["- 2·3 + 4\n\n= 11"]),
        ("2·3 + 4\n\nIt goes on.\n\n= 11", []),
        ("x = 7\n= 3 + 5", []),  # a number, then a line of another: weak
        ("2·3\n\n4 = 4", []),
    ],
    "names": [
        ("q = (2, 1), k = (3, 1), q · k = 7", ["+ q · k = 7"]),
        ("q = (2, 1), k = (3, 1), q · k = 8", ["- q · k = 8"]),
        ("q_a = (2, 1)\n\n$q_{a} \\cdot (3, 1) = 8$", ["- q_{a} \\cdot (3, 1) = 8"]),
        ("d = 3\n\nd = 4\n\nd + 1 = 4", ["- d + 1 = 4"]),
        ("d = 3\n\nd = 4\n\nd + 1 = 5", ["+ d + 1 = 5"]),
        ("d = 2·3 = 6\n\nd + 1 = 8", ["+ 2·3 = 6", "- d + 1 = 8"]),
        ("d = √2 ≈ 1.41\n\nd · 10 = 14.1", ["+ √2 ≈ 1.41", "+ d · 10 = 14.1"]),
        ("d + 1 = 5", ["? d + 1 = 5"]),
        ("d = 3\n\nd = 4", []),
        ("d = k = 4", []),
        ("7 = d", []),
    ],
    "lists without brackets": [
        ("[1, 2, 5]/8 = 0.125, 0.25, 0.625", ["+ [1, 2, 5]/8 = 0.125, 0.25, 0.625"]),
        ("[1, 2, 5]/8 = 0.125, 0.25, 0.725", ["- [1, 2, 5]/8 = 0.125, 0.25, 0.725"]),
        ("[1, 2]/8 = 0.125, 0.25", ["+ [1, 2]/8 = 0.125, 0.25"]),
        ("2 + 3 = 5, 7 = 3 + 4", ["+ 2 + 3 = 5", "+ 7 = 3 + 4"]),
        ("2 + 3 = 5, 6 and 7", ["+ 2 + 3 = 5"]),
        ("1/4, 2/4, 1/4 = 0.25, 0.5, 0.25", ["+ 1/4, 2/4, 1/4 = 0.25, 0.5, 0.25"]),
        ("1/4, 2/4, 1/4 = 0.25, 0.6, 0.25", ["- 1/4, 2/4, 1/4 = 0.25, 0.6, 0.25"]),
        ("1/√2, 4/√2 = 0.71, 2.83", ["+ 1/√2, 4/√2 = 0.71, 2.83"]),
        ("1/4, 2/4 = 0.25, 0.5, 0.25", ["? 2/4 = 0.25, 0.5, 0.25"]),
        ("3 + 4, 5 + 6 = 11", ["+ 5 + 6 = 11"]),
    ],
    "arrows": [
        ("2·3 → 6", ["+ 2·3 → 6"]),
        ("2·3 → 7", []),  # what a whole number becomes may be anything
        ("2·3.5 → 8", ["- 2·3.5 → 8"]),
        ("[2, 6]/8 → [0.25, 0.75]", ["+ [2, 6]/8 → [0.25, 0.75]"]),
        ("[2, 6]/8 → [0.25, 0.85]", ["- [2, 6]/8 → [0.25, 0.85]"]),
        ("7 → 2·3", []),
        ("2·3 → 2·4", []),
        ("5 → 7", []),
        ("loss 0.61 → 0.42", []),
        ("(1, 2) → (3, 4)", []),
        ("a → 7", []),
    ],
    "joins that are weak": [
        ("5 ± 2·3 = 7", []),
        ("5 ± 2·3 = 6", ["+ 2·3 = 6"]),
        ("… + 2·3 = 7", []),
        ("n! × 2·3 = 7", []),
    ],
    "what is said to sum": [
        ("[0.7, 0.3] (sums to 1.0)", ["+ [0.7, 0.3] (sums to 1.0"]),
        ("[0.70, 0.40] (sums to 1.0)", ["- [0.70, 0.40] (sums to 1.0"]),
        ("[0.70, 0.40] sum up to 1", ["- [0.70, 0.40] sum up to 1"]),
    ],
    "no claim": [
        ("x = 5", []),
        ("= 5", []),
        ("3 = 3", []),
        ("See pages 3 - 5 and 7.", []),
        ("f(x) = 2·x", []),
        ("2·3", []),
        ("2·3 = y", []),
        ("", []),
        ("\n\n", []),
        ("2·3 =", []),
    ],
}  # fmt: skip
ROWS = [row for rows in FOUND.values() for row in rows]


@pytest.mark.parametrize(("text", "findings"), ROWS, ids=[row[0] for row in ROWS])
def test_what_a_text_claims_is_found_and_nothing_else(text: str, findings: list[str]) -> None:
    assert found(text) == findings


@pytest.mark.parametrize(("text", "findings"), ROWS, ids=[row[0] for row in ROWS])
def test_a_claim_is_found_wherever_on_a_page_it_stands(text: str, findings: list[str]) -> None:
    page = f"First some prose.\n\n{text}\n\nAnd then some more."
    if not text.startswith("=") and text:
        assert [claim.strip() for claim in found(page)] == findings


BOUND: list[tuple[str, dict[str, str]]] = [
    ("q = (2, 1)", {"q": "(2, 1)"}),
    ("q_{bank} = (2, 1)", {"qbank": "(2, 1)"}),
    ("**q₁** = [2, 1]", {"q1": "[2, 1]"}),
    ("weights: [0.4, 0.6]", {"weights": "[0.4, 0.6]"}),
    ("Attention weights: [0.4, 0.6]", {"Attentionweights": "[0.4, 0.6]"}),
    ("probs = 0.61, 0.22, 0.17", {"probs": "0.61, 0.22, 0.17"}),
    ("p = 0.61, 0.39", {"p": "0.61, 0.39"}),
    ("p = 3, 4", {"p": "3"}),
    ("x = 1/4 = 0.25", {"x": "0.25"}),
    ("q · k = 2 + 3 = 5", {"q·k": "5"}),
    ("x = 2·3", {}),
    ("[0.4, 0.6]", {}),
    ("x ≠ 3", {}),
    ("2 + 3 = 5", {}),
    ("x = y", {}),
]


@pytest.mark.parametrize(("text", "names"), BOUND, ids=[row[0] for row in BOUND])
def test_names_are_bound_to_what_is_printed(text: str, names: dict[str, str]) -> None:
    assert bound(text) == names


def test_a_binding_has_the_label_that_the_text_has() -> None:
    (binding,) = find("The attention weights w_1 = [0.4, 0.6].").bindings
    assert binding.label == "The attention weights w_1"
    assert isinstance(binding.value, Items)
    (binding,) = find("- **Scores** for `bank`: [2, 1]").bindings
    assert binding.label.startswith("Scores")
    assert binding.label.endswith("bank")


def test_the_last_value_holds_and_an_expression_is_worked_out_where_it_is_bound() -> None:
    names = find("x = 3\n\ny = 2·4\n\nx = 5\n\nz = w").names
    assert names["x"] == Number(5, 0.0, "5", 20, 21)
    assert isinstance(names["y"], Operation)
    assert "z" not in names


def test_names_given_hold_until_they_are_bound_anew() -> None:
    given: dict[str, Expression] = {"d": Number(3, 0.0, "3", 0, 0)}
    text = "d + 1 = 4\n\nd = 5\n\nd + 1 = 4"
    verdicts = [finding.verdict.value for finding in find(text, given).findings]
    assert verdicts == ["true", "false"]
    assert given == {"d": Number(3, 0.0, "3", 0, 0)}


def test_a_name_never_stands_for_itself() -> None:
    for text in ("x = x + 1\n\nx + 1 = 2", "a = b\nb = a\n\na + 1 = 2", "a = a·a\n\na·2 = 4"):
        assert not [claim for claim in found(text) if claim[0] == "-"]


BELOW = [  # weights that are only called a softmax, below their scores
    ("scores: [2, 1]\nsoftmax: [0.73, 0.27]", "true"),
    ("scores: [2, 1]\nsoftmax: [0.63, 0.37]", "false"),
    ("scores = [2, 1]\nsoftmax = [0.67, 0.33]", "true"),  # over √2, which a page may say elsewhere
    ("scores: [2, 1, 0]\nsoftmax weights: [0.67, 0.24, 0.09]", "true"),
]


@pytest.mark.parametrize(("text", "verdict"), BELOW, ids=[row[0] for row in BELOW])
def test_weights_only_called_softmax_are_held_against_the_scores_above(text: str, verdict: str) -> None:
    (finding,) = find(text).findings
    assert finding.verdict == verdict
    assert finding.start >= text.index("\n")


@pytest.mark.parametrize(
    "text",
    [
        "names: [2, 1]\nsoftmax: [0.63, 0.37]",
        "scores: [2, 1, 0]\nsoftmax: [0.63, 0.37]",
        "scores: [2, 1]\n" + "x" * 200 + "\nsoftmax: [0.63, 0.37]",
    ],
)
def test_other_lists_are_not_held_against_each_other(text: str) -> None:
    assert found(text) == []


def test_scores_and_their_weights_behind_an_arrow() -> None:
    assert found("softmax: [3, 1] → [0.88, 0.12]") == ["+ [3, 1] → [0.88, 0.12]"]
    assert found("softmax: [3, 1] → [0.78, 0.22]") == ["- [3, 1] → [0.78, 0.22]"]


def test_a_number_too_long_to_read_is_said() -> None:
    (finding,) = find("= " + "7" * 500 + " + 1").findings
    assert finding.verdict == "not checkable"
    assert finding.cause == f"a number of 500 characters; up to {LONGEST} are read"


def test_findings_lie_in_the_text_and_within_their_claim() -> None:
    text = "q = (2, 1)\n" + "\n".join(f"q · ({i}, 2) = {2 * i + 2 + (i == 7)}" for i in range(12))
    findings = find(text).findings
    assert [finding.verdict.value for finding in findings].count("false") == 1
    for finding in findings:
        assert expression(text[finding.start : finding.end].split(" = ")[0]) is not None


terms = st.lists(st.integers(1, 99), min_size=2, max_size=5)


@settings(max_examples=60, deadline=None)
@given(st.lists(terms, min_size=1, max_size=6), st.data())
def test_of_many_sums_exactly_the_spoilt_ones_are_false(sums: list[list[int]], data: st.DataObject) -> None:
    spoilt = [data.draw(st.booleans()) for _ in sums]
    part = data.draw(st.sampled_from(["\n", "\n\n", "; ", ", so ", " | ", "\n- "]))
    lines = [
        f"{' + '.join(map(str, row))} = {sum(row) + 1000 * wrong}"
        for row, wrong in zip(sums, spoilt, strict=True)
    ]
    assert [claim[0] for claim in found(part.join(lines))] == ["-" if wrong else "+" for wrong in spoilt]


@settings(max_examples=60, deadline=None)
@given(terms, st.integers(0, 4), st.sampled_from([" = ", "\n= ", "\n  = ", " =\n"]))
def test_a_chain_is_false_where_it_goes_wrong(row: list[int], wrong: int, relation: str) -> None:
    """Each step adds the first two: the step spoilt is false, the others true."""
    steps = [row]
    while len(steps[-1]) > 1:
        head, *rest = steps[-1]
        off = 1000 if len(steps) == wrong else 0
        steps.append([head + rest[0] + off, *rest[1:]])
    text = relation.join(" + ".join(map(str, step)) for step in steps) + " "
    signs = [claim[0] for claim in found(text)]
    assert signs == ["-" if at == wrong else "+" for at in range(1, len(steps))]


def test_a_name_is_a_side_of_no_claim() -> None:
    assert found("x = y") == found("x = 3 = y") == found("2·3 = y") == []
