"""A rule of attention is data: its id, one sentence, its source, its level, and the cases that show it."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

__all__ = ["Change", "Choice", "Level", "Rule", "rules"]

FILES = (  # of rules, in the order in which they are asked
    "plain", "together", "masks", "place", "given", "precision", "conduct", "gradient", "module",
    "rope", "alibi", "cache", "parts",
)  # fmt: skip

Level: TypeAlias = Literal["must", "should", "convention"]
Change: TypeAlias = Callable[[Any], Any]  # a step of the pipeline, worked out of the steps before it


@dataclass(frozen=True, slots=True)
class Rule:
    """What holds of every right implementation (``must``), of a good one (``should``), or is agreed upon.

    ``cases`` names the study whose calls show it; ``needs`` is what a function must offer to be asked,
    ``mask|key_mask`` one of the two.
    ``after`` names a rule: where that one is broken, this one says nothing new and is not judged.
    """

    id: str
    says: str
    source: str
    level: Level
    cases: str
    needs: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to do a step otherwise: a mistake, or what may be agreed upon.

    ``changes`` replace steps of the pipeline; one named ``weights+`` comes after that step and changes what
    it came to, and several of those may follow each other. ``agreed`` is (aspect, name) of a convention, as
    in ("mask", "drop"): it is reported, and wrong only where another was asked for. ``loose`` is the relative
    error that the way itself brings, as rounding to float16 does.
    """

    id: str
    rule: str
    says: str
    changes: Mapping[str, Change] = field(default_factory=dict)
    agreed: tuple[str, str] | None = None
    loose: float = 0.0


@cache
def rules() -> Mapping[str, Rule]:
    """Return every rule by id, in the order in which they are asked.

    >>> print(rules()["scale"].says)
    Scores are q·k times 1/√d_k, d_k the width of one head.
    """
    folder = files("riverhead.checking.rules") / "data"
    texts = [(folder / f"{name}.toml").read_text("utf-8") for name in FILES]
    found = [
        Rule(**raw | {name: tuple(raw.get(name, ())) for name in ("needs", "after")})
        for text in texts
        for raw in tomllib.loads(text)["rule"]
    ]
    return MappingProxyType({rule.id: rule for rule in found})
