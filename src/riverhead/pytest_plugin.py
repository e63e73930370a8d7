"""Each rule of attention as a test, ``pytest --riverhead module:function``; light until it is asked for."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from riverhead.checking.rules.reports.known import Known
    from riverhead.checking.rules.reports.standing import Standing

ROOM = "riverhead"  # what the ids of these tests begin with
MINE = f"{ROOM}::"

OPTIONS: dict[str, dict[str, Any]] = {
    "--riverhead": {
        "action": "append", "metavar": "MODULE:FUNCTION",
        "help": "run an implementation of attention against the rules of attention, each a test",
    },
    "--riverhead-kind": {
        "metavar": "KIND", "help": "what it is, where its parameters do not say it: heads, rope, …",
    },
    "--riverhead-expect": {
        "action": "append", "metavar": "ASPECT=NAME", "help": "a convention that it has to keep: mask=drop",
    },
    "--riverhead-argument": {
        "action": "append", "metavar": "NAME=VALUE", "help": "what else it is given: n_heads=3",
    },
    "--riverhead-known": {
        "metavar": "FILE", "help": "accepted failures, a rule a line; one that no longer fails is a failure",
    },
    "--riverhead-strict": {"action": "store_true", "help": "what should hold must"},
}  # fmt: skip


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options, and ``riverhead`` to what an ini file may say."""
    group = parser.getgroup(ROOM, "rules of attention")
    for name, how in OPTIONS.items():
        group.addoption(name, **how)
    parser.addini(ROOM, "implementations to run against the rules of attention, one a line", type="linelist")


def pytest_configure(config: pytest.Config) -> None:
    """Make the mark known that every one of these tests carries: ``-m riverhead``."""
    config.addinivalue_line("markers", f"{ROOM}: a rule of attention, asked of an implementation")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Take the ids of these tests from the arguments: they name no file."""
    args = session.config.args
    ids = tuple(each for each in args if each.startswith(MINE))
    args[:] = [each for each in args if each not in ids]
    session.stash[SELECTED] = ids
    return (yield)


SELECTED = pytest.StashKey[tuple[str, ...]]()


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Put the implementations beside whatever else a session collects."""
    report = yield
    if isinstance(collector, pytest.Session) and report.passed:
        report.result.extend(implementations(collector))
    return report


def implementations(session: pytest.Session) -> Iterator[Implementation]:
    """Return what is to be asked: what ids name, else what the option and the ini file do."""
    config, ids = session.config, session.stash.get(SELECTED, ())
    targets = [*(config.getoption("--riverhead") or ()), *config.getini(ROOM)]
    for target in dict.fromkeys(each.split("::")[1] for each in ids) or dict.fromkeys(targets):
        own = tuple(id for id in ids if f"{id}::".startswith(f"{MINE}{target}::"))
        name = plain(target)
        yield Implementation.from_parent(session, name=name, nodeid=MINE + name, target=target, ids=own)


class Implementation(pytest.Collector):
    """Somebody's attention; it is loaded when it is collected, and runs when its first rule is asked."""

    def __init__(self, *, target: str, ids: tuple[str, ...], **node: Any) -> None:
        super().__init__(**node)
        self.target, self._ids = target, ids
        self.add_marker(ROOM)

    def collect(self) -> Iterator[Rule]:
        """The rules for its kind, in order."""
        from riverhead.checking.rules.reports.listing import rules_of
        from riverhead.errors import RiverheadError

        try:
            _ = self._given(), self.known  # what is wrong in an option is said before anything runs
            found = {rule.id: rule.says for rule in rules_of(self._kind())}
        except (RiverheadError, OSError) as wrong:
            raise self.CollectError(plain(f"{self.name}: {wrong}")) from wrong
        for id in self._chosen(found):
            yield Rule.from_parent(self, name=id, says=found[id])

    def _chosen(self, rules: Iterable[str]) -> list[str]:
        """Which rules the ids of the command line name; without one, all."""
        own = [id.removeprefix(MINE + self.target).removeprefix("::") for id in self._ids]
        if not self._ids or "" in own:
            return list(rules)
        if strange := [id for id in own if id not in rules]:
            raise self.CollectError(plain(f"{self.name} is asked no rule {strange[0]!r}"))
        return [id for id in rules if id in own]

    def _kind(self) -> str:
        """What it is; unless that is said it is loaded and tried, in a process of its own."""
        if kind := self.config.getoption("--riverhead-kind"):
            return str(kind)
        from riverhead.checking.rules.adapting.signature import Asked
        from riverhead.checking.rules.running.isolated import Isolated
        from riverhead.checking.rules.running.target import load_target

        with Isolated(
            lambda: load_target(self.target), Asked(arguments=self._given()["arguments"])
        ) as subject:
            return subject.kind

    def _given(self) -> dict[str, Any]:
        from riverhead.checking.rules.options import arguments, expected

        option = self.config.getoption
        return {
            "kind": option("--riverhead-kind"),
            "expect": expected(option("--riverhead-expect") or ()),
            "arguments": arguments(option("--riverhead-argument") or ()),
        }

    @cached_property
    def known(self) -> Known:
        """The accepted failures that are about it."""
        from riverhead.checking.rules.reports.known import NOTHING, known

        path = self.config.getoption("--riverhead-known")
        return NOTHING if path is None else known(path).of(self.target)

    @cached_property
    def standing(self) -> Standing | str:
        """What was found of it, or why nothing could be: it runs once, however many rules are asked."""
        from riverhead.check import implementation
        from riverhead.checking.rules.reports.standing import Standing
        from riverhead.errors import RiverheadError

        try:
            report = implementation(self.target, **self._given())
        except RiverheadError as wrong:
            return str(wrong)
        return Standing(report, self.known, bool(self.config.getoption("--riverhead-strict")))


class Rule(pytest.Item):
    """One rule, asked of one implementation."""

    parent: Implementation

    def __init__(self, *, says: str, **node: Any) -> None:
        super().__init__(**node)
        self._says = says

    def reportinfo(self) -> tuple[str, None, str]:
        """Where it stands: in no file."""
        return ROOM, None, f"{self.parent.name} {self.name}"

    def runtest(self) -> None:
        """Pass, or say as pytest does what is wrong, accepted or not asked."""
        standing = self.parent.standing
        if isinstance(standing, str):
            pytest.fail(plain(f"{self.parent.name} could not be run: {standing}"), pytrace=False)
        for line in standing.stale:
            if line.rule == self.name:
                pytest.fail(plain(standing.known.says(line, standing.report)), pytrace=False)
        self._broken(standing)
        for each in (*standing.report.not_offered, *standing.report.not_judged):
            if each.rule == self.name:
                pytest.skip(plain(each.why))
        if self.name not in standing.report.passed:
            pytest.skip("was not asked")

    def _broken(self, standing: Standing) -> None:
        from riverhead.checking.rules.reports.scene import told

        for failure, line in standing.accepted:
            if failure.rule == self.name:
                pytest.xfail(plain(f"accepted: {line.why or failure.did or failure.detail}"))
        for failure in standing.weak:
            if failure.rule == self.name:
                pytest.xfail(plain(f"weak, not wrong: {self._says}"))
        for failure in standing.wrong:
            if failure.rule == self.name:
                pytest.fail(plain("\n".join(told(failure))), pytrace=False)


def plain(text: str) -> str:
    """Return text that no terminal obeys."""
    from riverhead.render.letters import visible_lines

    return "\n".join(visible_lines(text))
