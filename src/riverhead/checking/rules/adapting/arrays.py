"""The arrays that a function takes: NumPy's, torch's, or plain lists; how they are made, and how they lie."""

from __future__ import annotations

import importlib.util
import sys
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from riverhead.checking.rules.adapting.signature import function_of
from riverhead.errors import InputError

__all__ = ["KINDS", "Kind", "order"]


class Kind(Protocol):
    """How arrays of one kind are made; each is made anew for each call."""

    name: str
    words: str
    dtypes: tuple[str, ...]
    hows: tuple[str, ...]

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
    """Return the kinds to try, the likeliest first: by what the function's code and annotations mention."""
    if asked is not None:
        if asked not in KINDS:
            raise InputError(f"arrays are {', '.join(KINDS)}; {asked!r} was asked for")
        return (KINDS[asked],)
    names = {"torch": ("torch", "numpy", "list"), "numpy": ("numpy", "torch", "list")}
    tried = names.get(mentioned(thing), ("list", "numpy", "torch"))
    here = "torch" in sys.modules or importlib.util.find_spec("torch") is not None
    return tuple(KINDS[name] for name in tried if name != "torch" or here)


def mentioned(thing: Any) -> str:
    """Return the library that a function uses, "torch" or "numpy": by its own code, else by its module."""
    if type(thing).__module__.split(".")[0] == "torch":
        return "torch"
    function = function_of(thing)
    if function is None:
        return str(getattr(thing, "__module__", None) or "").split(".")[0]
    known = function.__globals__
    closed = [cell.cell_contents for cell in function.__closure__ or () if _filled(cell)]
    used = [known[name] for name in function.__code__.co_names if name in known]
    annotated = list(getattr(function, "__annotations__", {}).values())
    for values in ([*used, *closed, *annotated], list(known.values())):
        roots = {_root(value) for value in values}
        for name in ("torch", "numpy"):
            if name in roots:
                return name
    return ""


def _filled(cell: Any) -> bool:
    try:
        cell.cell_contents
    except ValueError:
        return False
    return True


def _root(value: Any) -> str:
    if isinstance(value, str):  # an annotation not evaluated
        return "torch" if "Tensor" in value else "numpy" if "np." in value or "NDArray" in value else ""
    name = (
        getattr(value, "__name__", "") if isinstance(value, type(sys)) else getattr(value, "__module__", "")
    )
    return str(name).split(".")[0]
