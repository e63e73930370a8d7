"""Every rule, for whoever wants to know what is asked before anything is."""

from __future__ import annotations

from typing import Any

from riverhead.checking.rules import conventions
from riverhead.checking.rules.rule import Choice, Rule, rules
from riverhead.checking.rules.studies import STUDIES
from riverhead.errors import InputError
from riverhead.scene import Part, Scene, Table, Text

__all__ = ["listed", "listing", "rules_of"]

TITLE = "The rules of attention"
LEVELS = {"must": "Must hold", "should": "Should hold", "convention": "Agreed upon"}


def rules_of(kind: str) -> tuple[Rule, ...]:
    """Return what a kind of implementation is asked, in order; `InputError` where there is no such kind.

    >>> [rule.id for rule in rules_of("attention")][:2]
    ['definition', 'scale']
    """
    if kind not in STUDIES:
        raise InputError(f"the kind is one of {', '.join(STUDIES)}; {kind!r} was given")
    studies = {study.name for study in STUDIES[kind]}
    return tuple(rule for rule in rules().values() if rule.cases in studies)


def listed(kinds: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return the rules of some kinds as plain data, each with the mistakes that break it."""
    return [
        {
            "kind": kind, "rule": rule.id, "level": rule.level, "says": rule.says, "source": rule.source,
            "mistakes": [{"id": way.id, "says": way.says} for way in _mistakes(kind, rule)],
        }
        for kind in kinds
        for rule in rules_of(kind)
    ]  # fmt: skip


def listing(kinds: tuple[str, ...]) -> Scene:
    """Return the rules of some kinds as a scene, each with the mistakes that break it, and conventions."""
    parts: list[Part] = []
    for kind in kinds:
        asked = rules_of(kind)
        parts.append(Text((f"{kind}: {len(asked)} rules",), "heading"))
        for rule in asked:
            parts.append(Text((f"{rule.id}: {rule.says}",), "heading"))
            parts.append(Text((f"{LEVELS[rule.level]}; {rule.source}",), "note"))
            if ways := _mistakes(kind, rule):
                parts.append(Table((None, None), tuple((way.id, way.says) for way in ways)))
        agreed = conventions(STUDIES[kind])
        parts.append(Text((f"{kind}: what --expect may ask for",), "heading"))
        parts.append(Table((None, None), tuple((name, ", ".join(names)) for name, names in agreed.items())))
    return Scene(TITLE, tuple(parts))


def _mistakes(kind: str, rule: Rule) -> tuple[Choice, ...]:
    """The mistakes of a rule; one that several studies know in the same words stands once."""
    ways = (way for study in STUDIES[kind] for way in study.ways)
    mistakes = [way for way in ways if way.rule == rule.id and way.agreed is None]
    return tuple({(way.id, way.says): way for way in mistakes}.values())
