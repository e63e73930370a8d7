"""A report as a scene: what is wrong first, then what was agreed, what holds, what was not asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from riverhead.checking.rules.arithmetic import Working, apart, shown
from riverhead.checking.rules.report import Failure, Report
from riverhead.checking.rules.reports.reproduce import reproduce
from riverhead.checking.rules.reports.standing import Standing
from riverhead.checking.rules.rule import rules
from riverhead.scene import Cell, Code, Fold, Matrix, Part, Scene, Symbol, Table, Text

__all__ = ["found", "mistake", "scene", "table", "told"]

NOISE, NOISE_LINES = 300, 4  # characters and lines of what a function printed; JSON has all that was kept


def scene(standing: Standing, everything: bool = False) -> Scene:
    """Return what is wrong in full, the rest counted; with ``everything`` every rule and number too."""
    report = standing.report
    parts: list[Part] = []
    for failure in standing.wrong:
        parts += _failure(report, failure, "Broken", everything)
    parts += [Text((standing.known.says(line, report),), "heading") for line in standing.stale]
    for failure in standing.weak:
        parts += _failure(report, failure, "Weak", everything)
    if not parts and report.passed and not standing.accepted:
        parts.append(Text(("Every rule that was asked holds.",)))
    parts += [*_accepted(standing), *_conventions(report), *_rest(report, everything), *_called(report)]
    return Scene(report.title, (*parts, Text((standing.summary,), "heading")))


def table(standing: Standing, everything: bool = False) -> Scene:
    """Return the same as one table under the summary, as a comment on a change has room for."""
    report = standing.report
    kinds = [("broken", standing.wrong), ("weak", standing.weak)]
    rows = [(each.rule, how, each.says, found(each), mistake(each)) for how, some in kinds for each in some]
    rows += [
        (each.rule, "accepted", each.says, found(each), line.why or mistake(each))
        for each, line in standing.accepted
    ]
    if everything:
        rows += [(id, "holds", rules()[id].says, "", "") for id in report.passed]
        rows += [
            (each.rule, "not offered", rules()[each.rule].says, each.why, "") for each in report.not_offered
        ]
        rows += [
            (each.rule, "not judged", rules()[each.rule].says, each.why, "") for each in report.not_judged
        ]
    parts: list[Part] = [Text((standing.summary,))]
    parts += [Text((standing.known.says(line, report),)) for line in standing.stale]
    if rows:
        parts.append(Table(("rule", "", "what holds of attention", "what was found", "mistake"), tuple(rows)))
    agreed = tuple((f"{each.aspect}={each.name}", each.says) for each in report.conventions)
    if agreed:
        parts.append(Table(("convention", "here"), agreed))
    return Scene(report.title, (*parts, *_called(report)))


def found(failure: Failure) -> str:
    """Return in a line what was found and what is right: ``out[0, 1] is 0.25; right is 0.5 = …``.

    >>> print(found(Failure("scale", "must", (0, 1), "out", 0.25, 0.5, "0.5·1")))
    out[0, 1] is 0.25; right is 0.5 = 0.5·1
    """
    if failure.cell is None or failure.found is None:
        return failure.detail
    place = f"{failure.array}[{', '.join(map(str, failure.cell))}]"
    if failure.right is None:
        return "; ".join(filter(None, [f"{place} is {shown(failure.found)}", failure.detail]))
    is_, right = apart(failure.found, failure.right)
    exactly = right.text == shown(failure.right).text  # else it has digits that the sum does not come to
    sum_ = f" {'=' if exactly else '≈'} {failure.arithmetic}" if failure.arithmetic else ""
    would = f"with {' and '.join(failure.beside)} alone it would be" if failure.beside else "right is"
    return "; ".join(filter(None, [f"{place} is {is_}", f"{would} {right}{sum_}", failure.detail]))


def told(failure: Failure) -> list[str]:
    """Return a failure in lines: the mistake if it is known, the rule and its source, what was found."""
    return [line for line in (mistake(failure), f"{failure.says} ({failure.source})", found(failure)) if line]


def mistake(failure: Failure) -> str:
    """Return what was done instead, as a clause, with the id of the mistake; empty where none is known."""
    if failure.did:
        return f"{failure.did} ({failure.mistake})" if failure.mistake else failure.did
    return failure.mistake


def _failure(report: Report, failure: Failure, how: str, everything: bool) -> Iterator[Part]:
    yield Text((f"{how}: {failure.says}",), "heading")
    if line := found(failure):
        yield Text((line,))
    if did := mistake(failure):
        yield Text((f"That is what you get when {did}.",))
    elif failure.right is not None:
        yield Text(("No mistake that is known here gives just these numbers.",))
    if failure.working is not None and failure.right is not None:
        summary = f"How {shown(failure.right)} is made"
        yield Fold(summary, tuple(_working(failure.working)), open=everything)
    if failure.given:
        yield Fold("What it was given", tuple(_given(failure)), open=everything)
    if script := reproduce(report, failure):
        yield Fold("A script that shows it", (Code(script, "python"),), open=everything)
    yield Text((f"Rule {failure.rule}: {failure.source}.",), "note")


def _working(worked: Working) -> Iterator[Part]:
    """The dots as sums, then key by key what becomes of them."""
    dots = next(iter(worked.columns.values()))
    for key, (sum_, dot) in enumerate(zip(worked.sums, dots, strict=True)):
        yield Text((f"q·k of key {key}: {sum_} = {shown(dot)}",))
    columns = zip(*worked.columns.values(), strict=True)
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (str(key), *map(shown, row)) for key, row in enumerate(columns)
    )
    yield Table(("key", *worked.columns), rows)


def _given(failure: Failure) -> Iterator[Part]:
    """The arrays as matrices, of each the head and the sample that the cell lies in; then the options."""
    options = []
    for name, value in failure.given.items():
        if isinstance(value, list):
            yield from _array(name, np.asarray(value), failure)
        elif value is not None:
            options.append(f"{name} = {value}")
    if options:
        yield Text((", ".join(options),))


def _array(name: str, array: Any, failure: Failure) -> Iterator[Part]:
    at = _leading(array.shape[:-2], failure)
    place = f"{name}[{', '.join(map(str, at))}]" if at else name
    rows = np.atleast_2d(array[at].astype(float))
    if rows.size:
        cells = tuple(tuple(map(shown, row)) for row in rows)
        labels = tuple(map(str, range(len(cells)))), tuple(map(str, range(len(cells[0]))))
        yield Matrix(Symbol(place), *labels, cells)


def _leading(shape: tuple[int, ...], failure: Failure) -> tuple[int, ...]:
    """Where in an array's leading axes the cell's numbers come from; neighbouring heads share a kv head."""
    cell = (failure.cell or ())[:-2]
    heads = np.shape(failure.given.get("q", ()))[:-2]
    at = []
    for axis, n in enumerate(shape):
        index = cell[axis] if axis < len(cell) else 0
        shared = heads[axis] // n if axis < len(heads) and n else 1
        at.append(min(index // max(shared, 1), n - 1))
    return tuple(at)


def _accepted(standing: Standing) -> Iterator[Part]:
    if standing.accepted:
        yield Text(("Accepted",), "heading")
    for failure, line in standing.accepted:
        what = " by ".join(filter(None, [failure.rule, failure.mistake]))
        why = f": {line.why}" if line.why else ""
        yield Text((f"{what}{why} ({standing.known.name}:{line.line})",))


def _conventions(report: Report) -> Iterator[Part]:
    if report.conventions:
        yield Text(("Conventions, neither right nor wrong",), "heading")
        yield Table((None, None), tuple((f"{x.aspect}={x.name}", x.says) for x in report.conventions))
        first = report.conventions[0]
        yield Text((f"--expect {first.aspect}={first.name} makes one a rule.",), "note")


def _rest(report: Report, everything: bool) -> Iterator[Part]:
    """What holds, and what was not asked: counted, or each rule by its sentence or by the reason."""
    rows = [(id, rules()[id].says) for id in report.passed]
    folds = [_counted(len(rows), ("holds", "hold"), rows, everything)]
    for some, what in ((report.not_judged, "not judged"), (report.not_offered, "not offered")):
        by_why: dict[str, list[str]] = {}
        for each in some:
            by_why.setdefault(each.why, []).append(each.rule)
        rows = [(why, ", ".join(ids)) for why, ids in by_why.items()]
        because = f" ({rows[0][0]})" if len(rows) == 1 else ""
        said = f"is {what}{because}", f"are {what}{because}"
        folds.append(_counted(len(some), said, rows, everything))
    if any(folds):
        yield Text(("The other rules",), "heading")
        yield from filter(None, folds)


def _counted(n: int, said: tuple[str, str], rows: list[tuple[str, str]], everything: bool) -> Fold | None:
    summary = f"{n} rule{'' if n == 1 else 's'} {said[n != 1]}"
    return Fold(summary, (Table((None, None), tuple(rows)),), open=everything) if n else None


def _called(report: Report) -> Iterator[Part]:
    if report.notes or report.noise:
        yield Text(("How it was called",), "heading")
    for note in report.notes:
        yield Text((note,))
    if report.noise:
        yield Text(("It printed:",))
        yield Code(_begun(report.noise))


def _begun(noise: str) -> str:
    """The first of what was printed."""
    kept = "\n".join(noise[:NOISE].split("\n")[:NOISE_LINES]).rstrip()
    return f"{kept} …" if len(kept) < len(noise.rstrip()) else kept
