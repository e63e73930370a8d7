"""Somebody's function, run in a forked child: a hang, a crash, an exit and noise are told, not suffered."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from riverhead.checking.rules.call import Call, Outcome
from riverhead.checking.rules.running.child import serve
from riverhead.checking.rules.running.limits import Limits
from riverhead.checking.rules.running.process import LostError, Process
from riverhead.checking.rules.running.wire import WireError, of_call, outcome_of
from riverhead.errors import InputError

if TYPE_CHECKING:
    from riverhead.checking.rules.adapting.signature import Asked

__all__ = ["Isolated"]

MOST_LOST = 3  # calls in a row without an answer: then it is not asked again


class Isolated:
    """A subject in a process of its own, loaded and adapted there, ended with its ``with`` block.

    ``load()`` runs in the child alone. After a hang or a crash the next call gets a new child; after three in
    a row it is not asked again. `InputError` on entering where it cannot be loaded, or called.

    >>> import numpy as np
    >>> from riverhead.checking.rules.adapting.signature import Asked
    >>> from riverhead.core import attention
    >>> with Isolated(lambda: attention, Asked()) as subject:
    ...     subject.call(Call({name: np.ones((2, 1)) for name in "qkv"})).out
    array([[1.],
           [1.]])
    """

    name: str
    kind: str
    offers: frozenset[str]
    notes: tuple[str, ...]

    def __init__(self, load: Callable[[], Any], asked: Asked, limits: Limits | None = None) -> None:
        self._load, self._asked, self._limits = load, asked, limits or Limits()
        self._process: Process | None = None
        self._lost, self._why = 0, ""

    def __enter__(self) -> Self:
        if not hasattr(os, "fork"):
            raise InputError("this system cannot fork: isolated=False runs the function in this very process")
        _, says = self._started()
        self.name, self.kind = str(says["name"]), str(says["kind"])
        self.offers, self.notes = frozenset(map(str, says["offers"])), tuple(map(str, says["notes"]))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def call(self, call: Call) -> Outcome:
        """Run it once; whatever it does comes back as an outcome."""
        if self._lost >= MOST_LOST:
            return Outcome(ended=f"{self._why}; not asked again")
        question = of_call(call)
        try:
            process = self._process or self._started()[0]
            answer = process.ask(question, self._limits.seconds)
            outcome = outcome_of(answer, process.noise())
        except (InputError, LostError, WireError) as lost:
            self._lost, self._why = self._lost + 1, str(lost)
            return Outcome(ended=self._why, noise=self._end())
        self._lost = 0
        return outcome

    def _started(self) -> tuple[Process, dict[str, Any]]:
        """A new child, and what it says of its function."""
        work = partial(serve, load=self._load, asked=self._asked, limits=self._limits)
        process = self._process = Process(work)
        try:
            self._asked_for(process, "load", self._limits.load_seconds)
            says = self._asked_for(process, "call", self._limits.seconds)
        except BaseException:
            self._end()
            raise
        return process, says

    def _asked_for(self, process: Process, what: str, seconds: float) -> dict[str, Any]:
        """What the child says of itself as soon as it could do that."""
        try:
            says, _ = process.ask(b"", seconds)
        except LostError as lost:
            raise InputError(f"it could not be {what}ed: {lost}") from None
        if "refused" in says:
            raise InputError(str(says["refused"]))
        return says

    def _end(self) -> str:
        """End the child, if there is one, and return what it had printed."""
        if self._process is None:
            return ""
        process, self._process = self._process, None
        noise = process.noise()
        process.end()
        return noise
