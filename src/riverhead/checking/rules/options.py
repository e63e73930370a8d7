"""What is asked for in words: ``n_heads=3`` for an argument, ``mask=drop`` for a convention."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from riverhead.errors import InputError

__all__ = ["arguments", "expected"]


def arguments(given: Iterable[str]) -> dict[str, Any]:
    """Read arguments: a value is JSON where it is some, else the word itself; `InputError` without a name.

    >>> arguments(["n_heads=3", "bias=false", "norm=rms"])
    {'n_heads': 3, 'bias': False, 'norm': 'rms'}
    """
    found: dict[str, Any] = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not equals or not name.isidentifier():
            raise InputError(f"the argument {each[:80]!r} is no NAME=VALUE")
        if name in found:
            raise InputError(f"the argument {name} is given twice")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


def expected(asked: Iterable[str]) -> dict[str, str]:
    """Read the conventions that are asked for; `InputError` for one that nothing keeps or breaks.

    >>> expected(["mask=drop"])
    {'mask': 'drop'}
    """
    from riverhead.checking.rules import conventions
    from riverhead.checking.rules.studies import STUDIES

    known = conventions(study for studies in STUDIES.values() for study in studies)
    found: dict[str, str] = {}
    for each in asked:
        aspect, _, name = each.partition("=")
        if aspect not in known:
            raise InputError(f"{each[:80]!r} is no convention; what may be asked for is {', '.join(known)}")
        if name not in known[aspect]:
            raise InputError(f"{each[:80]!r}: {aspect} is {' or '.join(known[aspect])}")
        if found.setdefault(aspect, name) != name:
            raise InputError(f"{aspect}={found[aspect]} and {each} are asked for: give one")
    return found
