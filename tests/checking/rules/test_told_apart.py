"""Every wrong function is named by its own mistake alone; right functions in any form pass untouched."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from implementations import LIBRARIES, right, wrong
from implementations.tables import Implementation
from threadpoolctl import threadpool_limits

from riverhead.checking.rules import Report, Sizes
from riverhead.checking.rules.rule import rules
from riverhead.checking.rules.studies import STUDIES
from riverhead.checking.rules.studies.memory import MEMORY

ROOT = Path(__file__).parents[3]


def installed() -> list[str]:
    return [library for library in LIBRARIES if importlib.util.find_spec(library)]


def cases(table: Any) -> list[Any]:
    """One test for each implementation; torch's are skipped by name where there is no torch."""
    found = []
    for library in LIBRARIES:
        marks = [pytest.mark.oracle] if library == "torch" else []
        if library in installed():
            each = table(library).items()
            found += [pytest.param(name, it, marks=marks, id=f"{library} {name}") for name, it in each]
        else:
            skip = pytest.mark.skip("torch is not installed: the [oracle] extra")
            found.append(pytest.param("", None, marks=[*marks, skip], id=library))
    return found


@pytest.fixture(scope="module", autouse=True)
def quickly() -> Iterator[None]:
    """With one thread, soonest for a handful of numbers, and without memory: long texts, and no mistake."""
    asked = {kind: tuple(each for each in studies if each is not MEMORY) for kind, studies in STUDIES.items()}
    with threadpool_limits(1), pytest.MonkeyPatch.context() as patch:
        for kind, studies in asked.items():
            patch.setitem(STUDIES, kind, studies)
        yield


@cache
def plainly(each: Implementation) -> Report:
    """What is said at the usual sizes."""
    return each.report()


def said(report: Report) -> list[str]:
    """The mistakes found; one without a name by the rule that it breaks."""
    return [failure.mistake or failure.rule for failure in report.failed]


# Wrong functions


@pytest.mark.parametrize(("name", "each"), cases(wrong))
def test_a_wrong_function_is_named_by_its_mistake_alone(name: str, each: Implementation) -> None:
    assert said(plainly(each)) == [each.mistake]


def test_all_pairs_are_told_apart() -> None:
    """No two mistakes have one name, and a name is one mistake's: by what is said, not by what is meant."""
    for library in installed():
        found: dict[tuple[str, ...], set[str]] = {}
        for each in wrong(library).values():
            found.setdefault((each.kind, *said(plainly(each))), set()).add(each.mistake)
        assert {names: mistakes for names, mistakes in found.items() if len(mistakes) > 1} == {}


def test_every_rule_is_broken_by_a_function() -> None:
    reports = [plainly(each) for library in installed() for each in wrong(library).values()]
    broken = {failure.rule for report in reports for failure in report.failed}
    studied = {study.name for studies in STUDIES.values() for study in studies}
    asked = {id for id, rule in rules().items() if rule.cases in studied and rule.level != "convention"}
    if installed() == list(LIBRARIES):
        assert asked - broken == set(ELSEWHERE)


ELSEWHERE = {  # rules that no function of these tables breaks alone, and why
    "hidden-keys": "what moves the output by more than rounding is found by the mask's own values",
    "future": "likewise, by those of the causal mask",
    "order": "who gives the right values for keys in one order does so in another",
    "cache-fresh": "what all caches share holds what earlier calls read: not even the first is right",
}

# Right functions


@pytest.mark.parametrize(("form", "each"), cases(right))
def test_a_right_form_passes_untouched(form: str, each: Implementation) -> None:
    report = plainly(each)
    assert {failure.rule: failure.level for failure in report.failed} == dict.fromkeys(each.weak, "should")
    assert report.ok
    assert report.passed


# The page


def test_the_page_shows_what_is_said() -> None:
    pytest.importorskip("torch", reason="the page is of both libraries: the [oracle] extra")
    spec = importlib.util.spec_from_file_location("printed", ROOT / "benchmarks" / "implementations.py")
    assert spec is not None
    assert spec.loader is not None
    printed = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(printed)
    page = (ROOT / "docs" / "checking-mutants.md").read_text("utf-8")
    assert printed.page(plainly) == page, (
        "python benchmarks/implementations.py --format markdown prints it anew"
    )


# At any sizes


@st.composite
def drawn_sizes(draw: st.DrawFn) -> Sizes:
    """Every axis different, H a multiple of G, and no divisor of one mistake that of another."""
    G, times = draw(st.sampled_from([(2, 3), (3, 2), (2, 4)]))
    T_q, T_k, d_k, d_v = draw(st.sampled_from(SIZES))
    return Sizes(B=draw(st.sampled_from([2, 3])), H=G * times, G=G, T_q=T_q, T_k=T_k, d_k=d_k, d_v=d_v)


SIZES = [(3, 5, 4, 7), (4, 7, 2, 5), (5, 7, 4, 3), (3, 7, 8, 5), (4, 5, 10, 7)]
some = settings(max_examples=30, deadline=None, phases=[Phase.reuse, Phase.generate])  # nothing to shrink


def any_of(table: Any, library: str) -> st.SearchStrategy[str]:
    return st.sampled_from(sorted(table(library)))


@pytest.mark.parametrize("library", installed())
@some
@given(data=st.data(), sizes=drawn_sizes(), seed=st.integers(0, 10_000))
def test_wrong_functions_are_named_at_any_sizes(library: str, data: Any, sizes: Sizes, seed: int) -> None:
    each = wrong(library)[data.draw(any_of(wrong, library))]
    assert said(each.report(sizes=sizes, seed=seed)) == [each.mistake]


@pytest.mark.parametrize("library", installed())
@some
@given(data=st.data(), sizes=drawn_sizes(), seed=st.integers(0, 10_000))
def test_right_forms_pass_at_any_sizes(library: str, data: Any, sizes: Sizes, seed: int) -> None:
    each = right(library)[data.draw(any_of(right, library))]
    report = each.report(sizes=sizes, seed=seed)
    assert {failure.rule for failure in report.failed} == set(each.weak)


# The function and the module of a lesson


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("name", "kind"), [("scaled_dot_product_attention", "attention"), ("SelfAttention", "heads")]
)
def test_the_lessons_attention_is_right_but_for_empty_rows_and_nan(name: str, kind: str) -> None:
    pytest.importorskip("torch", reason="needs the [oracle] extra")
    from implementations import from_scratch

    report = Implementation(getattr(from_scratch, name), kind=kind).report()
    assert [(failure.rule, failure.level, failure.mistake) for failure in report.failed] == [
        ("empty-row", "must", "empty-row-nan"),
        ("hidden-nan", "should", "hidden-nan"),
    ]
