"""A module made of its class or factory: each argument of the constructor by what its name says it is."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from inspect import Parameter
from typing import Any

from riverhead.checking.rules.adapting.module_names import size_of
from riverhead.checking.rules.adapting.signature import Asked, name_of
from riverhead.checking.rules.draw import Sizes
from riverhead.errors import InputError

__all__ = ["is_factory", "made"]

LENGTH = 32  # of tables and masks that a module makes beforehand: longer than any text of a trial
ALWAYS: Mapping[str, Any] = {"dropout": 0.0, "batch_first": True}  # given even where there is a default
NEEDED: Mapping[str, Any] = {
    "length": LENGTH, "max_batch": 8, "bias": True, "layer": 0, "no": False, "training": False,
}  # fmt: skip


def is_factory(thing: Any) -> bool:
    """Whether a class or a function takes sizes alone, and so makes a module.

    >>> def attention_of(d_model, n_heads): ...
    >>> is_factory(attention_of), is_factory(lambda x, W_q, n_heads: x)
    (True, False)
    """
    needed = [p for p in _parameters(thing) if p.default is p.empty]
    roles = {size_of(p.name) for p in _parameters(thing)}
    return bool({"d_model", "config", "n_heads", "d_k"} & roles) and all(size_of(p.name) for p in needed)


def made(thing: Callable[..., Any], asked: Asked) -> tuple[Any, dict[str, int]]:
    """Return a module with its sizes by what they are for; those not in ``asked.arguments`` are a trial's.

    Raises `InputError`, naming the argument, where one must be given that is not known.
    """
    name = name_of(thing)
    parameters = _parameters(thing)
    sizes = _sizes({size_of(p.name) for p in parameters}, asked.arguments)
    given = {}
    heads = next((p.default for p in parameters if size_of(p.name) == "n_heads"), None)
    for p in parameters:
        role = size_of(p.name)
        if p.name in asked.arguments:
            given[p.name] = asked.arguments[p.name]
        elif role == "config":
            given[p.name] = Config(sizes, asked.arguments, p.name)
        elif role in sizes and (
            role in ALWAYS or p.default is p.empty or (role == "n_kv_heads" and not _fits(p, heads, sizes))
        ):
            given[p.name] = sizes[role]
        elif p.default is p.empty:
            raise InputError(
                f"{name} must be given {p.name!r}, and what that is for is not known; give it: "
                f"--argument {p.name}=VALUE"
            )
    try:
        module = thing(**given)
    except Exception as raised:
        shown = ", ".join(f"{key}={value!r}" for key, value in given.items())
        raise InputError(
            f"{name}({shown}) raised {type(raised).__name__}: {raised}; "
            "give what it needs: --argument NAME=VALUE"
        ) from raised
    told = {size_of(key): value for key, value in given.items() if type(value) is int}
    return module, {role: value for role, value in told.items() if role is not None}


def _fits(n_kv_heads: Parameter, n_heads: Any, sizes: Mapping[str, Any]) -> bool:
    """Whether its default alone divides the heads, which have a default, too: a trial's number does not."""
    both = type(n_kv_heads.default) is int and type(n_heads) is int
    return both and n_heads % sizes["n_kv_heads"] != 0


def _parameters(thing: Any) -> list[Parameter]:
    try:
        found = inspect.signature(thing).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p for p in found if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]


def _sizes(roles: set[str | None], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return each size; those that were given decide the others, so that heads fit."""
    usual = Sizes()
    told = {size_of(key): value for key, value in arguments.items() if type(value) is int}
    alone = not roles & {"n_heads", "config"}  # one head, as wide as d_k
    H = told.get("n_heads", 1 if alone else usual.H)
    d_k = told.get("d_k") or told.get("d_model", usual.d_k * H) // H or usual.d_k
    d_model = told.get("d_model", usual.d_k * usual.H if alone else H * d_k)
    G = told.get("n_kv_heads", usual.G if H % usual.G == 0 else 1)
    return {
        **ALWAYS,
        **NEEDED,
        "n_heads": H,
        "d_model": d_model,
        "n_kv_heads": G,
        "d_k": usual.d_k if alone and "d_k" not in told else d_k,
        "d_v": told.get("d_v", usual.d_v),
        "inner": told.get("inner", usual.d_k if alone else H * d_k),
    }


class Config:
    """What a constructor reads its sizes from, as attributes or as keys, under any known name."""

    def __init__(self, sizes: Mapping[str, Any], arguments: Mapping[str, Any], name: str) -> None:
        self._sizes, self._arguments, self._name = sizes, arguments, name

    def __getattr__(self, key: str) -> Any:
        if key.startswith("__"):
            raise AttributeError(key)
        if key in self._arguments:
            return self._arguments[key]
        role = size_of(key)
        if role is None or role not in self._sizes:
            raise AttributeError(f"what {self._name}.{key} is for is not known: --argument {key}=VALUE")
        return self._sizes[role]

    def __getitem__(self, key: str) -> Any:
        return getattr(self, key)

    def get(self, key: str, default: Any = None) -> Any:
        """Return a value by its name, as a dict does."""
        return getattr(self, key, default)

    def __repr__(self) -> str:
        return f"<{self._name} with the sizes of a trial>"
