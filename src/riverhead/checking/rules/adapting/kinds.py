"""Which kind of implementation a thing is, and so who says how it is called."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from riverhead.checking.rules.adapting.cache import cache
from riverhead.checking.rules.adapting.functions import attention, takes_qkv
from riverhead.checking.rules.adapting.looks import looks_like as looks_beside
from riverhead.checking.rules.adapting.module import heads_adapter
from riverhead.checking.rules.adapting.module import looks_like as looks_like_heads
from riverhead.checking.rules.adapting.module_making import made
from riverhead.checking.rules.adapting.parts import merge, positions
from riverhead.checking.rules.adapting.positions import alibi, rope
from riverhead.checking.rules.adapting.roles import roles_of
from riverhead.checking.rules.adapting.signature import Asked, name_of, signature_of
from riverhead.checking.rules.running.subject import Adapter
from riverhead.errors import InputError

__all__ = ["KINDS", "adapter_of"]

KINDS: Mapping[str, Callable[[Any, Asked], Adapter]] = {
    "attention": attention,
    "heads": heads_adapter,
    "rope": rope,
    "alibi": alibi,
    "cache": cache,
    "positions": positions,
    "merge": merge,
}


def adapter_of(thing: Any, asked: Asked) -> Adapter:
    """Return how a thing is called: as the kind that was asked for, or as what it looks like."""
    kind = asked.kind or kind_of(thing, asked)
    if kind not in KINDS:
        raise InputError(f"the kind is one of {', '.join(KINDS)}; {kind!r} was given")
    return KINDS[kind](thing, asked)


def kind_of(thing: Any, asked: Asked) -> str:
    """Say what a thing looks like.

    Raises `InputError` where it looks like nothing that is known.

    >>> kind_of(lambda q, k, v, mask=None: q, Asked())
    'attention'
    """
    beside = looks_beside(thing)
    if beside is not None:
        return beside
    if takes_qkv(thing):
        return "heads" if _has_weights(thing, asked) else "attention"
    if looks_like_heads(thing):
        return "heads"
    names = [p.name for p in signature_of(thing).named if p.default is p.empty]
    if len(names) == 3 or not signature_of(thing).named:  # q, k, v by other names
        return "attention"
    raise InputError(
        f"{name_of(thing)} takes {', '.join(names[:10]) or 'nothing'}: what it does is not known from that; "
        f"say it: --kind {'|'.join(KINDS)}"
    )


def _has_weights(thing: Any, asked: Asked) -> bool:
    """Whether what takes q, k and v projects them first: a class is made to see, a function is given W's."""
    if inspect.isroutine(thing):
        return not _needs_nothing_more(thing, asked) and looks_like_heads(thing)
    if inspect.isclass(thing) and looks_like_heads(thing):
        thing, _ = made(thing, asked)
    return looks_like_heads(thing)


def _needs_nothing_more(thing: Any, asked: Asked) -> bool:
    try:
        roles_of(name_of(thing), signature_of(thing), asked)
    except InputError:
        return False
    return True
