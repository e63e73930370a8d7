"""Every backend against the rules, and the table of what each does where they differ."""

from __future__ import annotations

import tomllib
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypeAlias

from riverhead.checking.backends.backend import Backend, tried
from riverhead.checking.backends.cells import NOTHING, Cell, Row, cell_of, refused
from riverhead.checking.backends.probes import PROBES
from riverhead.checking.rules.report import Failure, Report
from riverhead.display import Displayable
from riverhead.errors import InputError

if TYPE_CHECKING:
    from riverhead.scene import Scene

__all__ = ["Audit", "Audited", "Tell", "audit", "quiet", "rows"]


Tell: TypeAlias = Callable[[float, float, str | None], None]  # done, of how many, the name of what comes


def quiet(done: float, total: float, name: str | None) -> None:
    """Say nothing."""


@dataclass(frozen=True, slots=True)
class Audited:
    """One backend: what the rules found of it, and a cell for each row; none where it does not run."""

    backend: Backend
    reports: tuple[Report, ...] = ()
    cells: tuple[Cell, ...] = ()

    @property
    def beside(self) -> tuple[Failure, ...]:
        """What the rules found wrong of which the table has no row; what was refused is not wrong."""
        told = {rule for row in rows() for rule in row.rules}
        failed = [failure for report in self.reports[:1] for failure in report.failed]
        return tuple(each for each in failed if each.rule not in told and not refused(each))

    @property
    def broken(self) -> bool:
        """Whether it breaks a rule that must hold."""
        levels = [failure.level for failure in self.beside]
        return "must" in levels or any(cell.standing == "broken" for cell in self.cells)

    def to_dict(self, rows: Sequence[Row]) -> dict[str, Any]:
        """Return everything as plain data, the cells by the titles of their rows."""
        behaviour = {row.title: asdict(cell) for row, cell in zip(rows, self.cells, strict=bool(self.cells))}
        found: dict[str, Any] = {
            "name": self.backend.name,
            "says": self.backend.says,
            "available": self.backend.attend is not None,
            "why": self.backend.why,
            "ok": not self.broken,
            "behaviour": behaviour,
        }
        if self.reports:
            report, shown = self.reports[0], ("rule", "level", "mistake", "did", "detail")
            found["passed"] = list(report.passed)
            found["failed"] = [{name: getattr(each, name) for name in shown} for each in report.failed]
            found["conventions"] = {each.aspect: each.name for each in report.conventions}
            found["not_offered"] = {each.rule: each.why for each in report.not_offered}
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Audit(Displayable):
    """What was measured of some backends on this machine, with these versions."""

    of: str
    versions: Mapping[str, str]
    rows: tuple[Row, ...]
    backends: tuple[Audited, ...]

    @property
    def ok(self) -> bool:
        """Whether no backend breaks a rule that must hold."""
        return not any(each.broken for each in self.backends)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        backends = [each.to_dict(self.rows) for each in self.backends]
        return {"of": self.of, "ok": self.ok, "versions": dict(self.versions), "backends": backends}

    def scene(self) -> Scene:
        """Return the table, and what there is to say of what breaks a rule."""
        from riverhead.checking.backends.scene import scene

        return scene(self)


@cache
def rows() -> tuple[Row, ...]:
    """Return the rows of the table, in order.

    >>> rows()[0].title
    'largest error, float32'
    """
    text = (files("riverhead.checking.backends") / "rows.toml").read_text("utf-8")
    lists = ("rules", "conventions")
    return tuple(
        Row(**raw | {name: tuple(raw.get(name, ())) for name in lists}) for raw in tomllib.loads(text)["row"]
    )


def audit(
    of: str,
    backends: Sequence[Backend],
    versions: Mapping[str, str],
    probes: Mapping[str, Callable[[Backend], Cell]],
    tell: Tell = quiet,
) -> Audit:
    """Run every backend against the rules of attention, and measure what no rule asks.

    ``probes`` are measurements beyond those of `PROBES`, by name; ``tell`` hears how far it is.
    """
    found = []
    for number, backend in enumerate(backends):
        tell(number, len(backends), backend.name)

        def part(share: float, at: int = number) -> None:
            tell(at + share, len(backends), None)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a backend warns of is what is measured
            found.append(_audited(tried(backend), probes, part))
    kept = [i for i in range(len(rows())) if any(each.cells and each.cells[i] != NOTHING for each in found)]
    shown = [Audited(a.backend, a.reports, tuple(a.cells[i] for i in kept if a.cells)) for a in found]
    return Audit(of, versions, tuple(rows()[i] for i in kept), tuple(shown))


def _audited(
    backend: Backend, probes: Mapping[str, Callable[[Backend], Cell]], tell: Callable[[float], None]
) -> Audited:
    attend = backend.attend
    if attend is None:
        return Audited(backend)
    try:
        reports = reports_of(attend, tell)
    except InputError as refused:
        return Audited(replace(backend, attend=None, why=str(refused)))
    drops = any((each.aspect, each.name) == ("mask", "drop") for each in reports[0].conventions)

    def cell(row: Row) -> Cell:
        if row.probe in probes:
            return probes[row.probe](backend)
        return PROBES[row.probe](attend, drops) if row.probe in PROBES else cell_of(row, reports)

    return Audited(backend, reports, tuple(cell(row) for row in rows()))


def reports_of(
    attend: Callable[..., Any], tell: Callable[[float], None] = lambda _: None
) -> tuple[Report, ...]:
    """Return what the rules find of a function; then of what followed from a broken rule, asked by itself."""
    from riverhead.checking.rules.adapting import Asked
    from riverhead.checking.rules.draw import Draw
    from riverhead.checking.rules.running.isolated import Isolated
    from riverhead.checking.rules.studies import STUDIES
    from riverhead.checking.rules.trial import Trial

    studies = STUDIES["attention"]
    with Isolated(lambda: attend, Asked("attention", "torch")) as subject:
        trial = Trial(subject, Draw())
        trial.run(studies, lambda number, n_studies, _: tell(number / n_studies))
        first = trial.report()
        open_ = {each.rule for each in first.not_judged}
        agreed = [choice for choice in trial.known if choice.agreed is not None]
        again = Trial(subject, Draw(), known=agreed, facts=trial.facts)
        again.run(each for each in studies if not open_.isdisjoint(rule.id for rule in again.rules_of(each)))
        return first, again.report()
