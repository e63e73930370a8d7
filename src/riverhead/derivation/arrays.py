"""The border of a derivation: lists, arrays and tensors become frozen rows, or the error names the spot."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riverhead.errors import DtypeError, InputError, ShapeError

__all__ = [
    "Bools",
    "Grid",
    "Rows",
    "check_size",
    "flags",
    "freeze",
    "grid",
    "number",
    "rows",
    "split",
    "whole",
]

Rows = tuple[tuple[float, ...], ...]  # (T, d)
Grid = tuple[Rows, ...]  # (H, T, d)
Bools = tuple[tuple[tuple[bool, ...], ...], ...]  # (1 or H, T_q, T_k)

MOST_NUMBERS = 1 << 21  # of one operand: 512 tokens of a model 4096 wide
DEEPEST = 4  # axes a nested list may have: batch, head, token, component


def rows(name: str, value: Any) -> Rows:
    """Return ``value (T, d)`` as frozen rows of finite floats."""
    array = _drop_batch(name, _numbers(name, value), 2)
    if array.ndim != 2:
        raise ShapeError(f"{name} has {_axes(array)}; it needs two: one row for each token, or input")
    return freeze(array[None])[0]


def grid(name: str, value: Any, n_heads: int) -> Grid:
    """Return ``value`` as frozen (H, T, d): three axes as they are, two split among ``n_heads``."""
    array = _drop_batch(name, _numbers(name, value), 3)
    if array.ndim == 2:
        array = split(name, array, n_heads)
    if array.ndim != 3:
        raise ShapeError(f"{name} has {_axes(array)}; it needs (T, d), or (heads, T, d) for several heads")
    return freeze(array)


def split(name: str, array: NDArray[np.float64], n_heads: int) -> NDArray[np.float64]:
    """Return ``array (T, H·d)`` as (H, T, d), as `riverhead.core.heads` does."""
    T, width = array.shape
    if width % n_heads:
        raise ShapeError(f"{name} is {width} wide, which {n_heads} heads cannot share equally")
    return array.reshape(T, n_heads, width // n_heads).swapaxes(0, 1)


def flags(name: str, value: Any) -> Bools:
    """Return ``value (T_q, T_k)`` or (H, T_q, T_k) as frozen booleans; True = may attend."""
    value = _on_cpu(value)
    _check_nested(name, value, _flag)
    array = np.asarray(value)
    if array.dtype != bool:
        raise DtypeError(f"{name} is {array.dtype}; it takes booleans, True = may attend")
    if array.ndim == 4 and array.shape[0] == 1:
        array = array[0]
    if array.ndim not in (2, 3) or not array.size:
        raise ShapeError(f"{name} has {_axes(array)}; it needs (T_q, T_k) or (heads, T_q, T_k)")
    check_size(name, array.size)
    array = array if array.ndim == 3 else array[None]
    return tuple(tuple(tuple(bool(cell) for cell in row) for row in head) for head in array)


def freeze(array: NDArray[np.float64]) -> Grid:
    """Return ``array (H, T, d)`` as tuples of floats."""
    return tuple(tuple(tuple(row) for row in head) for head in array.tolist())


def whole(name: str, value: Any, least: int = 1) -> int:
    """Return ``value`` as an int of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InputError(f"{name} is {str(value)[:40]!r}; it takes a whole number, at least {least}")
    return int(value)


def number(name: str, value: Any) -> float:
    """Return ``value`` as one finite float."""
    if isinstance(value, str | bool) or not hasattr(value, "__float__"):
        raise InputError(f"{name} is {str(value)[:40]!r}; it takes a number")
    try:
        found = float(value)
    except (OverflowError, TypeError, ValueError) as error:
        raise InputError(f"{name} is not one number: {error}") from error
    if not math.isfinite(found):
        raise InputError(f"{name} is {found}; it takes a finite number")
    return found


def _numbers(name: str, value: Any) -> NDArray[np.float64]:
    """Return any nesting of finite numbers as a float64 array."""
    value = _on_cpu(value)
    _check_nested(name, value, number)
    check_size(name, math.prod(getattr(value, "shape", ())))
    try:
        array = np.asarray(value, dtype=np.float64 if isinstance(value, list | tuple) else None)
    except (TypeError, ValueError) as error:
        raise ShapeError(f"{name} is not a full grid of numbers: {error}") from error
    if array.dtype.kind not in "iuf":
        raise DtypeError(f"{name} is {array.dtype}; it takes integers or floats")
    if not array.size:
        raise ShapeError(f"{name} is empty: {array.shape}; it needs at least one number in every axis")
    array = array.astype(np.float64)
    if not np.isfinite(array).all():
        at = tuple(int(n) for n in np.argwhere(~np.isfinite(array))[0])
        raise InputError(f"{name}{list(at)} is {array[at]}; every number has to be finite")
    return array


def check_size(name: str, size: int) -> None:
    """Raise `InputError` where ``name`` would have more numbers than are kept."""
    if size > MOST_NUMBERS:
        raise InputError(f"{name} has {size:,} numbers; a derivation takes up to {MOST_NUMBERS:,} at a time")


def _on_cpu(value: Any) -> Any:
    """Bring a tensor, known by its ways (torch is never imported here), to an array NumPy can read."""
    if not hasattr(value, "detach"):
        return value
    tensor = value.detach().cpu()
    return (tensor.double() if tensor.is_floating_point() else tensor).numpy()


def _flag(name: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise DtypeError(f"{name} is {str(value)[:40]!r}; it takes True (may attend) or False")


def _check_nested(name: str, value: Any, check: Callable[[str, Any], object], depth: int = 0) -> None:
    """Name the row of nested lists that is too short, or the entry that ``check`` refuses."""
    if not isinstance(value, list | tuple):
        if not hasattr(value, "shape"):
            check(name, value)
        return
    if depth == DEEPEST:
        raise ShapeError(f"{name} is a list still; at most {DEEPEST} axes are read")
    lengths = [len(item) if isinstance(item, list | tuple) else None for item in value]
    odd = next((n for n, length in enumerate(lengths) if length != lengths[0]), None)
    if odd is not None:
        first, found = (f"has {n}" if n is not None else "is a number" for n in (lengths[0], lengths[odd]))
        raise ShapeError(f"{name}[{odd}] {found}, {name}[0] {first}; every row needs as many numbers")
    for n, item in enumerate(value):
        _check_nested(f"{name}[{n}]", item, check, depth + 1)


def _drop_batch(name: str, array: NDArray[np.float64], axes: int) -> NDArray[np.float64]:
    """Take away leading axes of size 1; refuse a batch of several."""
    while array.ndim > axes and array.shape[0] == 1:
        array = array[0]
    if array.ndim > axes:
        raise ShapeError(f"{name} has {_axes(array)}; a derivation shows one sequence: give {name}[0]")
    return array


def _axes(array: NDArray[Any]) -> str:
    return f"{array.ndim} {'axis' if array.ndim == 1 else 'axes'} {array.shape}"
