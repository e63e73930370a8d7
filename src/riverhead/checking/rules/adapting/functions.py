"""Functions of q, k, v, and classes whose objects are such: made, told apart from modules with weights."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from riverhead.checking.rules.adapting.attention import AttentionAdapter
from riverhead.checking.rules.adapting.module_making import made
from riverhead.checking.rules.adapting.module_names import size_of
from riverhead.checking.rules.adapting.offering import attention_adapter
from riverhead.checking.rules.adapting.probing import SIZES
from riverhead.checking.rules.adapting.returns import is_module
from riverhead.checking.rules.adapting.roles import INPUTS, role_of, roles_of
from riverhead.checking.rules.adapting.signature import Asked, Signature, name_of, signature_of

__all__ = ["attention", "forward_of", "takes_qkv"]


def forward_of(thing: Any) -> Any:
    """Return what is called when a thing, or an object of a class, is: a function itself, or a method."""
    if inspect.isclass(thing):
        return getattr(thing, "forward", None) or thing.__call__  # of a class: what its objects have
    return thing


def takes_qkv(thing: Any) -> bool:
    """Whether q, k and v are among the parameters by name.

    >>> takes_qkv(lambda q, k, v: q), takes_qkv(lambda x, W_q, W_k, W_v: x)
    (True, False)
    """
    roles = {role_of(p.name, p.default) for p in _signature(thing).named}
    return set(INPUTS) <= roles


def _signature(thing: Any) -> Signature:
    found = signature_of(forward_of(thing))
    kept = tuple(p for i, p in enumerate(found.parameters) if i or not inspect.isclass(thing))
    return replace(found, parameters=kept)


def attention(thing: Any, asked: Asked) -> AttentionAdapter:
    """Return how a function of q, k, v is called, or an object, or what a class makes.

    Raises `InputError` where it cannot be made or called.
    """
    name, signature = name_of(thing), _signature(thing)
    if not inspect.isclass(thing):
        adapter = attention_adapter(_evaluating(thing), name, roles_of(name, signature, asked), asked)
        return replace(adapter, offers=adapter.offers | {"script"})  # an object that is made has no name
    own = {p.name for p in signature_of(thing).named}
    to_make = {key: value for key, value in asked.arguments.items() if key in own}
    to_call = {key: value for key, value in asked.arguments.items() if key not in own}
    roles = roles_of(name, signature, replace(asked, arguments=to_call))
    maker = Maker(thing, to_make)
    maker.made(SIZES.d_k)  # what it lacks is said before it is called
    return attention_adapter(maker, name, roles, asked)


def _evaluating(thing: Any) -> Any:
    """A module of torch in evaluation."""
    if is_module(thing):
        thing.eval()
    return thing


@dataclass
class Maker:
    """Calls an object of a class, made for the width of q that it is called with."""

    thing: Any
    arguments: Mapping[str, Any]
    objects: dict[int, Any] = field(default_factory=dict)

    @property
    def __wrapped__(self) -> Any:
        return forward_of(self.thing)

    def __call__(self, *positions: Any, **names: Any) -> Any:
        q = positions[0] if positions else next(x for name, x in names.items() if role_of(name) == "q")
        width = _width(q)
        if width not in self.objects:
            self.objects[width] = _evaluating(self.made(width))
        return self.objects[width](*positions, **names)

    def made(self, width: int) -> Any:
        """Make an object for vectors of a width."""
        told = {
            p.name: width for p in signature_of(self.thing).named if size_of(p.name) in ("d_k", "d_model")
        }
        found, _ = made(self.thing, Asked(arguments={**told, **self.arguments}))
        return found


def _width(q: Any) -> int:
    """The last axis of an array, or of nested lists."""
    if hasattr(q, "shape"):
        return int(q.shape[-1])
    while isinstance(q[0], (list, tuple)):
        q = q[0]
    return len(q)
