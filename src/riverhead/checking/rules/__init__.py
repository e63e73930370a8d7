"""Rules of attention, and somebody's implementation run against them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from riverhead.checking.rules.draw import Draw, Sizes
from riverhead.checking.rules.report import Report
from riverhead.checking.rules.running.limits import Limits
from riverhead.errors import InputError

if TYPE_CHECKING:
    from riverhead.checking.rules.trial import Study

__all__ = ["Limits", "Report", "Sizes", "conventions", "implementation"]


def implementation(
    f: Callable[..., Any] | str,
    *,
    kind: str | None = None,
    arrays: str | None = None,
    expect: Mapping[str, str] | None = None,
    seed: int = 0,
    sizes: Sizes | None = None,
    isolated: bool = True,
    limits: Limits | None = None,
    arguments: Mapping[str, Any] | None = None,
    tell: Callable[[int, int, str], None] = lambda *_: None,
) -> Report:
    """Run somebody's attention against the rules, on small exact cases, and name what it does otherwise.

    ``f`` is a function, a class, a module of torch, or where one is: ``"package.module:function"``,
    ``"path/to/file.py:function"``. ``kind`` is one of `STUDIES`, ``arrays`` "numpy", "torch" or "list"; both
    are found out where they are not given. ``expect`` asks for conventions, as in ``{"mask": "drop"}``: see
    `conventions`. The same ``seed`` and ``sizes`` give the same cases. ``arguments`` are handed over with
    every call, or to a class when it is made. ``tell`` hears how far it is.

    It runs in a forked child with `Limits`, where a hang or a crash is told; ``isolated=False`` runs it in
    this very process. `InputError` where it cannot be found or called, or an argument is none that is known.

    >>> import numpy as np
    >>> def attention(q, k, v):
    ...     scores = q @ k.swapaxes(-1, -2)
    ...     weights = np.exp(scores - scores.max(-1, keepdims=True))
    ...     return weights / weights.sum(-1, keepdims=True) @ v
    >>> implementation(attention).mistakes
    ('no-scale',)
    """
    from riverhead.checking.rules import adapting
    from riverhead.checking.rules.running.isolated import Isolated
    from riverhead.checking.rules.running.subject import Direct
    from riverhead.checking.rules.running.target import load_target
    from riverhead.checking.rules.studies import STUDIES
    from riverhead.checking.rules.trial import Trial

    _known("kind", kind, STUDIES)
    asked = adapting.Asked(kind, arrays, dict(arguments or {}))

    def load() -> Any:
        return load_target(f) if isinstance(f, str) else f

    here = Isolated(load, asked, limits) if isolated else nullcontext(Direct(adapting.adapt(load(), asked)))
    with here as subject:
        studies = STUDIES[subject.kind]
        trial = Trial(subject, Draw(sizes, seed), _expected(expect or {}, conventions(studies)))
        trial.run(studies, tell)
        return replace(trial.report(), target=f if isinstance(f, str) else "")


def conventions(studies: Iterable[Study]) -> dict[str, tuple[str, ...]]:
    """Return the names of every convention that studies can tell apart, by aspect.

    >>> from riverhead.checking.rules.studies import STUDIES
    >>> conventions(STUDIES["attention"])["mask"]
    ('added', 'drop', 'keep')
    """
    found: dict[str, set[str]] = {}
    for study in studies:
        ways = [way.agreed for way in study.ways if way.agreed is not None]
        for aspect, name in [*ways, *((usual.aspect, usual.name) for usual in study.usual)]:
            found.setdefault(aspect, set()).add(name)
    return {aspect: tuple(sorted(names)) for aspect, names in sorted(found.items())}


def _expected(expect: Mapping[str, str], known: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    for aspect, name in expect.items():
        _known("expect", aspect, known)
        _known(f"expect {aspect}", name, known[aspect])
    return dict(expect)


def _known(what: str, given: str | None, allowed: Iterable[str]) -> None:
    allowed = list(allowed)
    if given is not None and given not in allowed:
        near = get_close_matches(str(given), allowed, 1)
        mean = f"; did you mean {near[0]}?" if near else ""
        raise InputError(f"{what} is {given!r}; it is one of {', '.join(allowed) or 'none'}{mean}")
