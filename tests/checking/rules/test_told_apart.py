"""Every wrong function is named by its own mistake alone; right functions in any form pass untouched."""

from __future__ import annotations

import importlib.util
from functools import cache
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from implementations import LIBRARIES, accepted, wrong
from implementations.tables import Implementation

from riverhead.checking.rules import Sizes
from riverhead.checking.rules.report import Report
from riverhead.checking.rules.rule import rules
from riverhead.checking.rules.studies import STUDIES


def cases(table: Any) -> list[Any]:
    """One test for each implementation; torch's are skipped by name where there is no torch."""
    found = []
    for library in LIBRARIES:
        if library not in installed():
            skip = pytest.mark.skip("torch is not installed: the [oracle] extra")
            found.append(pytest.param(None, None, marks=skip, id=library))
            continue
        marks = [pytest.mark.oracle] if library == "torch" else []
        for name, each in table(library).items():
            words = name if isinstance(name, str) else " ".join(name)
            found.append(pytest.param(name, each, marks=marks, id=f"{library} {words}"))
    return found


def installed() -> list[str]:
    return [library for library in LIBRARIES if importlib.util.find_spec(library)]


@st.composite
def drawn_sizes(draw: st.DrawFn) -> Sizes:
    """Every axis different, H a multiple of G, and no divisor of one mistake that of another."""
    G, times = draw(st.sampled_from([(2, 3), (3, 2), (2, 4)]))
    T_q, T_k, d_k, d_v = draw(st.sampled_from(SIZES))
    return Sizes(B=draw(st.sampled_from([2, 3])), H=G * times, G=G, T_q=T_q, T_k=T_k, d_k=d_k, d_v=d_v)


SIZES = [(3, 5, 4, 7), (4, 7, 2, 5), (5, 7, 4, 3), (3, 7, 8, 5), (4, 5, 10, 7)]


ONCE = settings(max_examples=1, phases=[Phase.generate])  # nothing to shrink: a call is a handful of numbers


@cache
def plainly(each: Implementation) -> Report:
    """What is said at the usual sizes."""
    return each.report()


@pytest.mark.parametrize(("name", "each"), cases(wrong))
def test_a_wrong_function_is_named_by_its_mistake_alone(name: tuple[str, str], each: Implementation) -> None:
    _, id = name
    assert said(plainly(each)) == [id]


@pytest.mark.parametrize(("name", "each"), cases(wrong))
@ONCE
@given(sizes=drawn_sizes(), seed=st.integers(0, 10_000))
def test_it_is_named_at_any_sizes(
    name: tuple[str, str], each: Implementation, sizes: Sizes, seed: int
) -> None:
    _, id = name
    assert said(each.report(sizes=sizes, seed=seed)) == [id]


def said(report: Report) -> list[str]:
    """The mistake of everything that failed; what has no name, by its rule."""
    return [failure.mistake or failure.rule for failure in report.failed]


@pytest.mark.parametrize(("form", "each"), cases(accepted))
def test_a_right_form_passes_untouched(form: str, each: Implementation) -> None:
    report = plainly(each)
    assert {failure.rule for failure in report.failed} == set(each.weak)
    assert report.ok
    assert report.passed


@pytest.mark.parametrize(("form", "each"), cases(accepted))
@ONCE
@given(sizes=drawn_sizes(), seed=st.integers(0, 10_000))
def test_it_passes_at_any_sizes(form: str, each: Implementation, sizes: Sizes, seed: int) -> None:
    assert {failure.rule for failure in each.report(sizes=sizes, seed=seed).failed} == set(each.weak)


def test_all_pairs_are_told_apart() -> None:
    """Named alone, no two alike: else one name would stand for two."""
    for library in installed():
        names = [(kind, tuple(said(plainly(each)))) for (kind, _), each in wrong(library).items()]
        assert len(set(names)) == len(names)


def test_every_rule_has_a_function_that_breaks_it() -> None:
    broken = {
        failure.rule
        for library in installed()
        for each in wrong(library).values()
        for failure in plainly(each).failed
    }
    asked = {rule.cases: rule for rule in rules().values()}
    studied = {study.name for studies in STUDIES.values() for study in studies}
    assert studied <= set(asked)
    must = {rule.id for rule in rules().values() if rule.cases in studied and rule.level != "convention"}
    assert must - broken == set()
