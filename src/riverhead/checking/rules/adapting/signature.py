"""What somebody's function takes, by name: read from its signature, its schema or its docstring."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from inspect import Parameter
from types import FunctionType
from typing import Any

__all__ = ["Asked", "Signature", "attribute", "function_of", "name_of", "signature_of"]

MOST_PARAMETERS = 100  # more than any attention takes: what has more is no function of attention


@dataclass(frozen=True, slots=True)
class Asked:
    """What is said of a function: its kind, its arrays ("numpy", "torch", "list"), more arguments."""

    kind: str | None = None
    arrays: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Signature:
    """The parameters of a function, and where they are known from; where from nowhere, ``*args`` alone."""

    parameters: tuple[Parameter, ...]
    read_from: str

    @property
    def named(self) -> tuple[Parameter, ...]:
        """Those that have a name of their own."""
        return tuple(p for p in self.parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD))

    @property
    def takes_more(self) -> bool:
        """Whether it takes any name at all (``**kwargs``)."""
        return any(p.kind is p.VAR_KEYWORD for p in self.parameters)


NOTHING = Signature((Parameter("args", Parameter.VAR_POSITIONAL),), "nowhere")


def signature_of(thing: Any) -> Signature:
    """Return what a callable takes; what cannot be found out is not made up.

    >>> [p.name for p in signature_of(lambda q, k, v, mask=None: q).named]
    ['q', 'k', 'v', 'mask']
    """
    for read in (_signature, _schema, _docstring):
        try:
            found = read(thing)
        except Exception:  # noqa: BLE001 - somebody's object may raise anything when looked at
            continue
        if found is not None and len(found.parameters) <= MOST_PARAMETERS:
            return found
    return NOTHING


def _signature(thing: Any) -> Signature | None:
    found = _parameters(thing)
    forward = attribute(thing, "forward")
    if forward is not None and not _named(found):  # a module of torch: __call__ says *args, forward the names
        found = _parameters(forward)
    return Signature(found, "its signature") if found is not None else None


def _parameters(thing: Any) -> tuple[Parameter, ...] | None:
    try:
        return tuple(inspect.signature(thing).parameters.values())
    except (TypeError, ValueError):
        return None


def _named(parameters: tuple[Parameter, ...] | None) -> bool:
    return parameters is not None and any(
        p.kind is not p.VAR_POSITIONAL and p.kind is not p.VAR_KEYWORD for p in parameters
    )


def _schema(thing: Any) -> Signature | None:
    """A function that torch.jit.script made says its parameters in a schema."""
    schema = attribute(thing, "schema")
    if schema is None:
        return None
    made = [
        Parameter(
            each.name,
            Parameter.POSITIONAL_OR_KEYWORD,
            default=each.default_value if each.has_default_value() else Parameter.empty,
        )
        for each in schema.arguments
        if each.name != "self"
    ]
    return Signature(tuple(made), "its schema")


def _docstring(thing: Any) -> Signature | None:
    """A function written in C says its parameters in the first line of its docstring, if anywhere.

    >>> import math
    >>> class F:
    ...     __name__, __doc__ = "f", "f(q, k, v, scale=None) -> Tensor"
    >>> [p.name for p in _docstring(F()).parameters]
    ['q', 'k', 'v', 'scale']
    """
    name, text = attribute(thing, "__name__"), attribute(thing, "__doc__")
    if not isinstance(name, str) or not isinstance(text, str):
        return None
    head = re.match(rf"\s*(?:\w+\.)*{re.escape(name)}(\([^()]*(?:\([^()]*\)[^()]*)*\))", text[:4000])
    if head is None:
        return None
    arguments = ast.parse(f"def f{head[1]}: ...").body[0].args  # type: ignore[attr-defined]
    return Signature(tuple(_of_ast(arguments)), "its docstring")


def _of_ast(arguments: ast.arguments) -> list[Parameter]:
    """Parameters of parsed source; a default that is no plain value stands as None."""
    plain = [*arguments.posonlyargs, *arguments.args]
    defaults = [*[None] * (len(plain) - len(arguments.defaults)), *arguments.defaults]
    first = [
        (each, default, Parameter.POSITIONAL_OR_KEYWORD)
        for each, default in zip(plain, defaults, strict=True)
    ]
    named = [
        (each, default, Parameter.KEYWORD_ONLY)
        for each, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]
    return [
        Parameter(each.arg, kind, default=Parameter.empty if default is None else _literal(default))
        for each, default, kind in [*first, *named]
    ]


def _literal(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None


def attribute(thing: Any, name: str) -> Any:
    """Return an attribute of somebody's object; None where it has none, or raises."""
    try:
        return getattr(thing, name, None)
    except Exception:  # noqa: BLE001 - a property of somebody's object may raise anything
        return None


def function_of(thing: Any) -> FunctionType | None:
    """Return the Python function under wrappers, methods, partials and callable objects, if any."""
    for _ in range(MOST_PARAMETERS):
        if isinstance(thing, partial):
            thing = thing.func
        elif isinstance(thing, FunctionType) and not hasattr(thing, "__wrapped__"):
            return thing
        elif (inner := _inner(thing)) is not None and inner is not thing:
            thing = inner
        else:
            return None
    return None


def _inner(thing: Any) -> Any:
    names = ("__wrapped__", "__func__", "py_func", "forward")
    found = next((x for name in names if (x := attribute(thing, name)) is not None), None)
    if found is None and not inspect.isroutine(thing):
        found = attribute(type(thing), "__call__")
    return found


def name_of(thing: Any) -> str:
    """Return what to call a function in a sentence.

    >>> name_of(partial(name_of, 1))
    'name_of'
    """
    if isinstance(thing, partial):
        return name_of(thing.func)
    if isinstance(scripted := attribute(attribute(thing, "schema"), "name"), str):
        return scripted
    for name in ("__qualname__", "__name__"):
        if isinstance(found := attribute(thing, name), str):
            return found.removeprefix("<locals>.").rsplit("<locals>.", 1)[-1]
    return type(thing).__name__
