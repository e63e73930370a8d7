"""The border of the core: one given value at a time becomes an array or a number it can compute with."""

from __future__ import annotations

import math
import operator
import sys
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from riverhead.errors import DtypeError, InputError

__all__ = ["Align", "Bools", "Floats", "array", "booleans", "count", "floats", "narrow", "number"]

Floats = NDArray[np.floating[Any]]
Bools = NDArray[np.bool_]
Align = Literal["end", "start"]


def array(name: str, x: ArrayLike) -> NDArray[Any]:
    """Return ``x`` as an array; what has ``__array__``, such as a tensor on the CPU, is read in place."""
    if isinstance(x, np.ma.MaskedArray):
        raise InputError(f"{name} is a masked array, whose mask would be lost; give its data, and mask=")
    try:
        return np.asarray(x)
    except (
        TypeError,
        ValueError,
        RuntimeError,
    ) as error:  # ragged; a tensor elsewhere or with grad
        raise InputError(f"{name} cannot be read as an array: {error}") from error


def floats(name: str, x: ArrayLike) -> Floats:
    """Return ``x`` as a float32 or float64 array."""
    given = array(name, x)
    if given.dtype.kind == "f" and given.dtype.itemsize in (4, 8):
        return _plain(given)
    if given.dtype.kind == "b" and name == "bias":
        raise DtypeError("bias is boolean; a boolean says who may attend: give it as mask=")
    wide = "float32" if given.dtype.kind == "f" and given.dtype.itemsize < 4 else "float64"
    raise DtypeError(
        f"{name} is {given.dtype}; float32 and float64 are accepted: convert it, "
        f"as in np.asarray({name}, '{wide}')"
    )


def narrow(name: str, x: ArrayLike) -> tuple[NDArray[Any], str]:
    """Return ``x`` as it is, float16 to float64, and its kind; bfloat16 comes as its bits, uint16."""
    if str(getattr(x, "dtype", "")) == "torch.bfloat16":
        torch = sys.modules["torch"]
        return x.detach().view(torch.int16).numpy().view(np.uint16), "bfloat16"  # type: ignore[union-attr]
    given = array(name, x)
    if given.dtype.kind == "f" and given.dtype.itemsize == 2:
        return _plain(given), "float16"
    wide = floats(name, given)
    return wide, str(wide.dtype)


def _plain(x: Floats) -> Floats:
    """``x``, copied only if its bytes are in another order or between the places they are read from."""
    return np.require(x.astype(x.dtype.newbyteorder("="), copy=False), requirements="A")


def booleans(name: str, x: ArrayLike) -> Bools:
    """Return ``x`` as a boolean array."""
    given = array(name, x)
    if given.dtype != np.bool_:
        raise DtypeError(
            f"{name} is {given.dtype}; it must be boolean, True = may attend; "
            "numbers to add to the scores are bias="
        )
    return given


def number(name: str, x: float, above: float = -math.inf) -> float:
    """Return ``x`` as a finite float greater than ``above``."""
    try:
        value = float(x)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} is {x!r}; it must be a finite number") from error
    if not math.isfinite(value) or value <= above:
        greater = "" if above == -math.inf else f" greater than {above:g}"
        raise InputError(f"{name} is {value:g}; it must be a finite number{greater}")
    return value


def count(name: str, n: int, least: int = 1) -> int:
    """Return ``n`` as an int of at least ``least``."""
    try:
        value = operator.index(n)
    except TypeError as error:
        raise InputError(f"{name} is {n!r}; it must be a whole number, at least {least}") from error
    if isinstance(n, bool) or value < least:
        raise InputError(f"{name} is {n}; it must be a whole number, at least {least}")
    return value
