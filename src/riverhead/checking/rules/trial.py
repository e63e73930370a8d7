"""A trial asks a function study after study, and keeps what is known of it so far."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from riverhead.checking.rules.arithmetic import arithmetic, working
from riverhead.checking.rules.call import Call, Outcome
from riverhead.checking.rules.draw import Draw
from riverhead.checking.rules.judge import differ, dtype_of, explain, looseness, tolerance
from riverhead.checking.rules.offers import lacking
from riverhead.checking.rules.pipeline import ATTENTION, follow
from riverhead.checking.rules.report import Agreed, Failure, NotOffered, Report
from riverhead.checking.rules.rule import Change, Choice, Rule, rules

__all__ = ["Observed", "Study", "Subject", "Trial", "by_value"]

Observed = Sequence[tuple[Call, Outcome]]


class Subject(Protocol):
    """Somebody's function, run wherever it is run."""

    name: str
    kind: str
    offers: frozenset[str]  # what its calls may hold: mask, causal, scale, heads, weights, gradient, …
    notes: tuple[str, ...]

    def call(self, call: Call) -> Outcome:
        """Run it once; never raises for what the function does."""


@dataclass(frozen=True, slots=True)
class Study:
    """Calls whose results are judged together, and how; the rules whose ``cases`` name it are about them.

    ``ways`` are the mistakes and conventions that may explain the results; ``usual`` what is agreed upon
    where none of them does: aspect, name and words. ``optional``: raising is no fault but "not offered".
    ``about_dtype``: its calls keep their dtype, whatever is known of the function.
    """

    name: str
    calls: Callable[[Trial], Sequence[Call]]
    ways: tuple[Choice, ...] = ()
    usual: tuple[Agreed, ...] = ()
    judge: Callable[[Trial, Study, Observed], None] | None = None
    optional: bool = False
    about_dtype: bool = False


@dataclass
class Trial:
    """What is known of a subject, and what was said of it; studies add to both."""

    subject: Subject
    draw: Draw
    expect: Mapping[str, str] = field(default_factory=dict)  # aspect: the convention asked for
    steps: Mapping[str, Change] = field(default_factory=lambda: ATTENTION)
    known: list[Choice] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)  # what a study found that later ones need
    passed: list[str] = field(default_factory=list)
    failed: list[Failure] = field(default_factory=list)
    conventions: list[Agreed] = field(default_factory=list)
    not_offered: list[NotOffered] = field(default_factory=list)
    not_judged: list[NotOffered] = field(default_factory=list)
    noise: str = ""
    lost: str = ""  # the broken rule without which no later value can be judged

    def run(self, studies: Iterable[Study], tell: Callable[[int, int, str], None] = lambda *_: None) -> None:
        """Ask every study in turn; ``tell`` hears (number, of how many, name)."""
        studies = tuple(studies)
        for number, study in enumerate(studies):
            tell(number, len(studies), study.name)
            self._ask(study)

    def _ask(self, study: Study) -> None:
        asked = self._asked(study)
        if not asked:
            return
        calls = study.calls(self)
        if not calls:
            return
        if self.always_causal:
            calls = [replace(call, options={**call.options, "causal": True}) for call in calls]
        if not study.about_dtype:
            calls = [self._in_its_digits(call) for call in calls]
        observed = [(call, self.ask(call)) for call in calls]
        ended = [(call, outcome) for call, outcome in observed if outcome.ended]
        raised = [(call, outcome) for call, outcome in observed if outcome.error]
        if ended:
            self._stopped(asked, *ended[0])
        elif raised and study.optional:
            self.not_offered += [NotOffered(rule.id, raised[0][1].error) for rule in asked]
        else:
            (study.judge or by_value)(self, study, observed)

    @property
    def always_causal(self) -> bool:
        """Whether the function lets no query see the future, asked to or not."""
        return "always_causal" in self.offers

    @property
    def offers(self) -> frozenset[str]:
        """What calls may hold: what the function says of itself, and what was found of it."""
        found: frozenset[str] = self.facts.get("offers", frozenset())
        lacks: frozenset[str] = self.facts.get("lacks", frozenset())
        return (self.subject.offers | found) - lacks

    def qkv(
        self,
        *leading: int,
        kv: tuple[int, ...] | None = None,
        T_q: int | None = None,
        T_k: int | None = None,
        d_v: int | None = None,
    ) -> dict[str, NDArray[Any]]:
        """Draw q, k, v: as many queries as keys unless told otherwise, v as wide as k where it must be."""
        s = self.draw.sizes
        wide = (d_v or s.d_v) if "d_v" in self.subject.offers else s.d_k
        T_k = T_k or s.T_k
        return self.draw.qkv(*leading, kv=kv, T_q=T_q or T_k, T_k=T_k, d_v=wide)

    def ask(self, call: Call) -> Outcome:
        """Run the function once more; what it prints is kept."""
        outcome = self.subject.call(call)
        self.noise = self.noise or outcome.noise
        return outcome

    def _in_its_digits(self, call: Call) -> Call:
        """A function that rounds to float32 on the way was made for no more, and is given no more."""
        narrow = any(choice.agreed == ("precision", "float32") for choice in self.known)
        return replace(call, dtype="float32") if narrow and call.dtype == "float64" else call

    def _asked(self, study: Study) -> list[Rule]:
        """The rules of a study that this function can be asked; the others are not offered."""
        asked = []
        for rule in self.rules_of(study):
            lacks = lacking(rule.needs, self.offers)
            broken = [id for id in ("runs", *rule.after) if self.broke(id)]
            if self.lost and study.judge is None:
                broken = broken or [self.lost]
            if lacks:
                self.not_offered.append(NotOffered(rule.id, lacks))
            elif broken:
                self.not_judged.append(NotOffered(rule.id, f"follows from {', '.join(broken)}"))
            else:
                asked.append(rule)
        return asked

    def rules_of(self, study: Study) -> list[Rule]:
        """Every rule that a study is about."""
        return [rule for rule in rules().values() if rule.cases == study.name]

    def broke(self, id: str) -> bool:
        """Whether a rule was found broken."""
        return any(failure.rule == id for failure in self.failed)

    def said(self, id: str) -> bool:
        """Whether anything has been said of a rule."""
        beside = {each.rule for each in (*self.not_offered, *self.not_judged)}
        return id in self.passed or id in beside or self.broke(id)

    def _stopped(self, asked: list[Rule], call: Call, outcome: Outcome) -> None:
        """The function did not come to an end by itself: that breaks the first rule, whatever it says."""
        first, *others = asked
        self.fail(first.id, call, detail=outcome.trouble, script="")
        self.not_judged += [NotOffered(rule.id, f"follows from {first.id}") for rule in others]

    def pass_(self, *ids: str) -> None:
        """Say that rules hold; of one that was said to be broken, nothing."""
        self.passed += [id for id in ids if not self.said(id)]

    def fail(self, id: str, call: Call, **found: Any) -> None:
        """Say that a rule is broken, once, with the call that shows it, whatever held before."""
        if not self.broke(id):
            self.passed = [passed for passed in self.passed if passed != id]
            given = {name: x.tolist() for name, x in call.arrays.items() if x.size <= MOST_SHOWN}
            found = {"given": {**given, **call.options}, "script": self._script(call), **found}
            self.failed.append(Failure(id, rules()[id].level, **found))

    def _script(self, call: Call) -> str:
        """The call as source, where the function's adapter can write it."""
        if "script" not in self.subject.offers:
            return ""
        written = self.subject.call(replace(call, want=(*call.want, "script")))
        return str(written.facts.get("script", ""))

    def agree(self, *agreed: Agreed) -> None:
        """Say which convention is kept."""
        self.conventions += agreed

    def wanted(self, aspect: str, name: str) -> bool:
        """Whether a convention is one that may be kept: the one that was asked for, or any if none was."""
        return self.expect.get(aspect, name) == name

    def report(self) -> Report:
        """Return what was said."""
        order = list(rules())
        return Report(
            self.subject.name,
            self.subject.kind,
            tuple(sorted(self.passed, key=order.index)),
            tuple(sorted(self.failed, key=lambda failure: order.index(failure.rule))),
            tuple(self.conventions),
            tuple(sorted(self.not_offered, key=lambda each: order.index(each.rule))),
            tuple(sorted(self.not_judged, key=lambda each: order.index(each.rule))),
            self.subject.notes,
            self.noise,
        )


MOST_SHOWN = 400  # numbers of an array that go into a report: a trial's arrays, no long one's


def by_value(trial: Trial, study: Study, observed: Observed) -> None:
    """Judge by the fewest changes that explain every result: their rules are broken, the others hold."""
    asked = [rule.id for rule in trial.rules_of(study) if not trial.said(rule.id)]
    found = explain(observed, trial.known, study.ways, trial.steps)
    if found is None:
        call, outcome = _first_apart(trial, observed)
        trial.fail(asked[0], call, **cell_of(trial, call, outcome))
        why = f"follows from {asked[0]}: what was found is wrong in a way that is not known"
        trial.not_judged += [NotOffered(id, why) for id in asked[1:]]
        if asked[0] == "definition":
            trial.lost = trial.lost or "definition"
        return
    said = {agreed.aspect for agreed in trial.conventions}
    kept = {agreed.aspect: agreed for agreed in study.usual if agreed.aspect not in said}
    before = tuple(trial.known)
    for choice in found:
        if choice.agreed is not None and trial.wanted(*choice.agreed):
            kept[choice.agreed[0]] = Agreed(*choice.agreed, choice.says)
            continue
        call, outcome = _first_apart(trial, observed, before)
        trial.fail(choice.rule, call, mistake=choice.id, did=choice.says, **cell_of(trial, call, outcome))
        if choice.agreed is not None:
            kept.pop(choice.agreed[0], None)
    trial.known += found
    for agreed in kept.values():
        if trial.wanted(agreed.aspect, agreed.name):
            trial.agree(agreed)
        else:
            detail = f"{agreed.aspect} is {agreed.name}; {trial.expect[agreed.aspect]} was asked for"
            trial.fail(asked[0], observed[0][0], detail=detail)
    trial.pass_(*asked)


def _first_apart(
    trial: Trial, observed: Observed, known: Sequence[Choice] | None = None
) -> tuple[Call, Outcome]:
    """The first case that shows a difference."""
    for call, outcome in observed:
        if cell_of(trial, call, outcome, known).get("cell") is not None or outcome.trouble:
            return call, outcome
    return observed[0]


def cell_of(
    trial: Trial, call: Call, outcome: Outcome, known: Sequence[Choice] | None = None, array: str = "out"
) -> dict[str, Any]:
    """Return the first cell that differs from what is right by all that is known: what a `Failure` takes."""
    if outcome.trouble:
        return {"detail": outcome.trouble}
    known = trial.known if known is None else known
    try:
        steps = follow(call, known, trial.steps)
    except ValueError:
        return {"detail": "with what is known of it already, these arrays do not fit each other"}
    right, found = np.asarray(getattr(steps, array)), outcome.arrays[array]
    if right.shape != found.shape:
        return {"detail": f"{array} has the shape {found.shape}, not {right.shape}"}
    dtype = dtype_of(outcome, call.dtype)
    cell = differ(found, right, tolerance(right, dtype, looseness(steps, dtype, known)))
    if cell is None:
        return {}
    return {
        "cell": cell,
        "array": array,
        "found": float(found[cell]),
        "right": float(right[cell]),
        "arithmetic": arithmetic(steps, cell, array),
        "working": working(steps, cell, array),
        "beside": tuple(x.id for x in known if x.agreed is None or not trial.wanted(*x.agreed)),
    }
