"""A report as JUnit XML, which continuous integration reads: a test case for each rule."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree as Tree

from riverhead.checking.rules.report import Failure
from riverhead.checking.rules.reports.scene import found, told
from riverhead.checking.rules.reports.standing import Standing
from riverhead.checking.rules.rule import rules
from riverhead.render.letters import visible, visible_lines

__all__ = ["junit"]


def junit(standing: Standing) -> str:
    """Return XML 1.0 that holds no character it forbids: what is not printable stands as a symbol.

    What is wrong is a failure; what is accepted, weak, not offered or not judged is skipped with the reason.
    A stale line is a failing case of its own, named after its rule.
    """
    report = standing.report
    cases = [*_failing(standing), *_skipped(standing)]
    cases += [(id, None) for id in report.passed]
    order = list(rules())
    cases.sort(key=lambda case: order.index(case[0]))
    failures = sum(outcome is not None and outcome.tag == "failure" for _, outcome in cases)
    skipped = sum(outcome is not None and outcome.tag == "skipped" for _, outcome in cases)
    counts = {"tests": len(cases), "failures": failures, "errors": 0, "skipped": skipped}
    suites = Tree.Element("testsuites", {name: str(n) for name, n in counts.items()})
    suite = Tree.SubElement(suites, "testsuite", {"name": visible(report.title), **suites.attrib})
    _conventions(suite, standing)
    for id, outcome in cases:
        case = Tree.SubElement(suite, "testcase", classname=visible(report.title), name=id)
        if outcome is not None:
            case.append(outcome)
    said = [*report.notes, *([f"printed: {report.noise}"] if report.noise else [])]
    if said:
        Tree.SubElement(suite, "system-out").text = _text("\n".join(said))
    Tree.indent(suites)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + Tree.tostring(suites, "unicode") + "\n"


def _failing(standing: Standing) -> Iterator[tuple[str, Tree.Element | None]]:
    for failure in standing.wrong:
        yield failure.rule, _outcome("failure", failure.mistake or failure.level, failure.says, failure)
    for line in standing.stale:
        yield line.rule, _outcome("failure", "stale", standing.known.says(line, standing.report))


def _skipped(standing: Standing) -> Iterator[tuple[str, Tree.Element | None]]:
    for failure, line in standing.accepted:
        said = f"accepted: {line.why or failure.says} ({standing.known.name}:{line.line})"
        yield failure.rule, _outcome("skipped", "accepted", said)
    for failure in standing.weak:
        yield failure.rule, _outcome("skipped", "weak", f"weak: {failure.says} {found(failure)}")
    for each in standing.report.not_offered:
        yield each.rule, _outcome("skipped", "not offered", each.why)
    for each in standing.report.not_judged:
        yield each.rule, _outcome("skipped", "not judged", each.why)


def _outcome(tag: str, type: str, message: str, failure: Failure | None = None) -> Tree.Element:
    outcome = Tree.Element(tag, type=visible(type), message=visible(message))
    if failure is not None:
        outcome.text = _text("\n".join(told(failure)))
    return outcome


def _conventions(suite: Tree.Element, standing: Standing) -> None:
    if standing.report.conventions:
        properties = Tree.SubElement(suite, "properties")
        for each in standing.report.conventions:
            value = visible(f"{each.name}: {each.says}")
            Tree.SubElement(properties, "property", name=visible(each.aspect), value=value)


def _text(raw: str) -> str:
    return "\n".join(visible_lines(raw))
