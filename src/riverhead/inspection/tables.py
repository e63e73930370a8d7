"""What ships beside the code: the reference text, the nouns, and the words with their thresholds."""

from __future__ import annotations

import operator
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

__all__ = ["Rule", "first_that_holds", "function_words", "nouns", "reference_text", "rules"]

_HOLDS = {"at_least": operator.ge, "at_most": operator.le, "is": operator.eq}
_SIGNS = {"at_least": "≥", "at_most": "≤", "is": "="}


@dataclass(frozen=True, slots=True)
class Rule:
    """The ``words`` to use ``when`` every condition holds, and whether they claim a ``finding``."""

    words: str
    when: Mapping[str, Mapping[str, Any]]
    finding: bool = False

    def holds(self, facts: Mapping[str, Any]) -> bool:
        """Whether every condition is true of ``facts``; of a fact that is not there none is."""
        return all(
            facts.get(name) is not None and _HOLDS[relation](facts[name], bound)
            for name, relation, bound in self._conditions()
        )

    @property
    def condition(self) -> str:
        """All conditions in words.

        >>> rules("label")[0].condition
        'previous ≥ 0.5'
        """
        return ", ".join(f"{name} {_SIGNS[relation]} {bound}" for name, relation, bound in self._conditions())

    def reason(self, facts: Mapping[str, Any]) -> str:
        """Return the conditions in words, each with the number that meets it.

        >>> rules("label")[0].reason({"previous": 0.742})
        'previous 0.742 ≥ 0.5'
        """
        return ", ".join(
            f"{name} {facts[name]:.3f} {_SIGNS[relation]} {bound}"
            for name, relation, bound in self._conditions()
        )

    def _conditions(self) -> Iterator[tuple[str, str, Any]]:
        for name, bounds in self.when.items():
            for relation, bound in bounds.items():
                yield name, relation, bound


def first_that_holds(rules: Sequence[Rule], facts: Mapping[str, Any]) -> Rule:
    """Return the first rule true of ``facts``; each table ends with one that always is.

    >>> first_that_holds(rules("label"), {"previous": 0.2, "first": 0.7, "near": 0.3}).words
    'sink'
    """
    return next(rule for rule in rules if rule.holds(facts))


@cache
def rules(table: str) -> tuple[Rule, ...]:
    """Read a table of ``labels.toml``: ``"label"`` names a head, ``"says"`` words one of its weights."""
    return tuple(Rule(**entry) for entry in tomllib.loads(_data("labels.toml"))[table])


@cache
def nouns() -> tuple[str, ...]:
    """Read the common nouns a word is swapped for, in the order they are tried."""
    return _lines("nouns.txt")


@cache
def function_words() -> frozenset[str]:
    """Read the words that no noun can stand in for."""
    return frozenset(_lines("function_words.txt"))


@cache
def reference_text() -> str:
    """Read the plain prose on which the habits of heads are measured."""
    return _data("reference.txt")


def _lines(name: str) -> tuple[str, ...]:
    return tuple(line for line in _data(name).splitlines() if line and not line.startswith("#"))


def _data(name: str) -> str:
    return files("riverhead.inspection").joinpath("data", name).read_text(encoding="utf-8")
