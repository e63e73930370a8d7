"""Somebody's function, run in this very process: quick, and only for functions that are trusted."""

from __future__ import annotations

import warnings
from typing import Protocol

import numpy as np

from riverhead.checking.rules.call import Call, Outcome
from riverhead.checking.rules.running.raised import described

__all__ = ["Adapter", "Direct"]


class Adapter(Protocol):
    """Hands a call over in the function's own names, arrays and layout, and brings its results back."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def offers(self) -> frozenset[str]: ...
    @property
    def notes(self) -> tuple[str, ...]: ...

    def run(self, call: Call) -> Outcome:
        """Call the function once; what it raises goes through."""


class Direct:
    """A subject without a process of its own."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter
        self.name, self.kind = adapter.name, adapter.kind
        self.offers, self.notes = adapter.offers, adapter.notes

    def call(self, call: Call) -> Outcome:
        """Run it once; what it raises is told, not raised."""
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # where warnings are errors, they are none of the function
                return self._adapter.run(call)
        except Exception as raised:  # noqa: BLE001 - it is somebody's code
            return Outcome(error=described(raised))
