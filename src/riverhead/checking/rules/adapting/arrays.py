"""The arrays that a function takes: NumPy's, torch's, or plain lists; how they are made, and how they lie."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import suppress
from types import CodeType, FunctionType, ModuleType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from riverhead.checking.rules.adapting.signature import function_of
from riverhead.errors import InputError

__all__ = ["KINDS", "Kind", "order"]

MOST_FOLLOWED = 50  # functions that are looked into, of those that a function calls


class Kind(Protocol):
    """How arrays of one kind are made; each is made anew for each call."""

    @property
    def name(self) -> str: ...
    @property
    def words(self) -> str: ...
    @property
    def dtypes(self) -> tuple[str, ...]: ...
    @property
    def hows(self) -> tuple[str, ...]: ...

    def give(self, x: NDArray[Any], dtype: str, how: str = "") -> Any:
        """Make an array: ``dtype`` is for real numbers; booleans and whole numbers stay what they are."""


class Numpy:
    """NumPy's arrays."""

    name, words = "numpy", "NumPy arrays"
    dtypes = ("float64", "float32", "float16")
    hows = ("strided", "reversed", "expanded", "readonly")

    def give(self, x: NDArray[Any], dtype: str, how: str = "") -> Any:
        if dtype not in self.dtypes:
            raise InputError(f"NumPy has no {dtype}")
        made = laid(np.array(x, dtype if x.dtype.kind == "f" else x.dtype), how)
        if how == "readonly":
            made.flags.writeable = False
        return made


class Lists:
    """Nested lists of Python's numbers."""

    name, words = "list", "lists of numbers"
    dtypes: tuple[str, ...] = ("float64",)
    hows: tuple[str, ...] = ()

    def give(self, x: NDArray[Any], dtype: str, how: str = "") -> Any:
        if dtype != "float64" or how:
            raise InputError(f"a list holds float64, in one way only; {dtype} {how} was asked for")
        return x.tolist()


class Torch:
    """Tensors of torch, on the CPU."""

    name, words = "torch", "torch tensors"
    dtypes = ("float64", "float32", "float16", "bfloat16")
    hows = ("strided", "expanded")

    def give(self, x: NDArray[Any], dtype: str, how: str = "") -> Any:
        import torch

        made = torch.from_numpy(np.array(x))
        made = made.to(getattr(torch, dtype)) if x.dtype.kind == "f" else made
        if not how:
            return made
        strides = [step // x.itemsize for step in laid(x, how).strides]
        reach = 1 + sum((n - 1) * step for n, step in zip(x.shape, strides, strict=True))
        stored = torch.full((reach,), torch.nan if x.dtype.kind == "f" else 1, dtype=made.dtype)
        view = stored.as_strided(x.shape, strides)
        if how == "strided":
            return view.copy_(made)
        lone = tuple(slice(None) if step else slice(1) for step in strides)
        view[lone].copy_(made[lone])
        return view


def laid(x: NDArray[Any], how: str) -> NDArray[Any]:
    """Return the same numbers as a view that lies in memory otherwise; what is between them is NaN.

    "strided": axes stored in the reverse order, every other number; "reversed": the same, backwards;
    "expanded": an axis along which nothing changes is stored once, with a stride of 0.

    >>> laid(np.ones((3, 2)), "strided").strides
    (16, 48)
    """
    if how in ("strided", "reversed"):
        between = np.nan if x.dtype.kind == "f" else 1
        stored = np.full((2 * x.shape[0], *x.shape[1:]), between, x.dtype, order="F")
        view = stored[:: 2 if how == "strided" else -2]
        view[...] = x
        return view
    if how == "expanded":
        kept = x
        for axis in range(x.ndim):
            first = kept.take([0], axis)
            kept = first if np.array_equal(np.broadcast_to(first, kept.shape), kept) else kept
        return np.broadcast_to(kept, x.shape)
    return x


KINDS: dict[str, Kind] = {kind.name: kind for kind in (Numpy(), Torch(), Lists())}


def order(thing: Any, asked: str | None) -> tuple[Kind, ...]:
    """Return the kinds to try, the likeliest first: by what the function's code and annotations mention.

    Where they mention neither, lists come first: what works with lists alone was written for them.
    """
    if asked is not None:
        if asked not in KINDS:
            raise InputError(f"arrays are {', '.join(KINDS)}; {asked!r} was asked for")
        return (KINDS[asked],)
    first = {"torch": ("torch", "numpy", "list"), "numpy": ("numpy", "torch", "list")}
    tried = first.get(mentioned(thing), ("list", "numpy", "torch"))
    here = "torch" in sys.modules or importlib.util.find_spec("torch") is not None
    return tuple(KINDS[name] for name in tried if name != "torch" or here)


def mentioned(thing: Any) -> str:
    """Return the library that a function uses, "torch" or "numpy", by its code and what that calls; else "".

    >>> mentioned(lambda x: np.exp(x)), mentioned(lambda x: x)
    ('numpy', '')
    """
    if _root(type(thing)) == "torch":
        return "torch"
    function = function_of(thing)
    if function is None:
        return str(getattr(thing, "__module__", None) or "").split(".")[0]
    roots = {_root(value) for value in _used(function, set())}
    return next((name for name in ("torch", "numpy") if name in roots), "")


def _used(function: FunctionType, met: set[FunctionType]) -> Iterator[Any]:
    """Yield what a function's code and annotations mention, and what those of functions do that it calls."""
    met.add(function)
    yield from getattr(function, "__annotations__", {}).values()
    codes = [function.__code__]
    for code in codes:
        codes += [const for const in code.co_consts if isinstance(const, CodeType)]
    names = {name for code in codes for name in code.co_names}
    yield from names & {"torch", "numpy"}  # imported inside
    known = [function.__globals__[name] for name in names if name in function.__globals__]
    for value in [*known, *_closed(function)]:
        inner = function_of(value) if callable(value) and not isinstance(value, type) else None
        yield value
        if inner is not None and inner not in met and len(met) < MOST_FOLLOWED:
            yield from _used(inner, met)


def _closed(function: FunctionType) -> Iterator[Any]:
    for cell in function.__closure__ or ():
        with suppress(ValueError):  # not filled yet
            yield cell.cell_contents


def _root(value: Any) -> str:
    if isinstance(value, str):  # an annotation that is not evaluated, or the name of what is imported
        words = {"torch": ("torch", "Tensor"), "numpy": ("numpy", "np.", "NDArray")}
        return next((name for name, parts in words.items() if any(part in value for part in parts)), "")
    name = (
        getattr(value, "__name__", "") if isinstance(value, ModuleType) else getattr(value, "__module__", "")
    )
    return str(name).split(".")[0]
