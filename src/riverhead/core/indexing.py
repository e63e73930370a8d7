"""An index as NumPy reads it, taken apart axis by axis, so that only what it asks for has to be made."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from riverhead.errors import InputError

__all__ = ["Part", "place", "split", "taken", "within"]

Part = int | slice | NDArray[np.intp]  # of one axis; numbers are checked, and counted from the front


def split(index: Any, shape: tuple[int, ...]) -> tuple[list[Part], int | None]:
    """Return what ``index`` takes from each axis (..., H, T_q, T_k), and the axis its ellipsis stands before.

    That axis is None where the index leaves the last two alone. Raises `InputError` naming the axis.

    >>> split((0, ..., -1), (3, 5, 7))
    ([0, slice(None, None, None), 6], 1)
    """
    given = list(index) if isinstance(index, tuple) else [index]
    names = [*(f"axis {n}" for n in range(len(shape) - 3)), "H", "T_q", "T_k"][-len(shape) :]
    dots = [n for n, part in enumerate(given) if part is Ellipsis]
    if len(dots) > 1 or len(given) - len(dots) > len(shape):
        raise InputError(
            f"the map has {len(shape)} axes, ({', '.join(names)}); {_short(index)} asks for more"
        )
    at = dots[0] if dots else len(given)
    before, after = given[:at], given[at + 1 :]
    unsaid = [slice(None)] * (len(shape) - len(before) - len(after))
    parts = [_part(*axis) for axis in zip(names, [*before, *unsaid, *after], shape, strict=True)]
    lists = [part.shape for part in parts if isinstance(part, np.ndarray)]
    try:
        np.broadcast_shapes(*lists)
    except ValueError as error:
        raise InputError(f"lists of shapes {', '.join(map(str, lists))} do not broadcast together") from error
    return parts, None if at <= len(shape) - 2 and not after else at


def within(parts: list[Part], dots: int) -> tuple[list[Any], tuple[Any, ...]]:
    """Return the parts as cuts that keep every axis, and the index that leads from that block to the result.

    So a block of rows and keys, and NumPy's own rules on it, give what NumPy gives on the whole.
    """
    cuts: list[Any] = []
    rest: list[Any] = []
    for part in parts:
        if isinstance(part, slice):
            cuts.append(part)
            rest.append(slice(None))
        elif isinstance(part, int):
            cuts.append(slice(part, part + 1))
            rest.append(0)
        else:
            cuts.append(part.ravel())
            rest.append(np.arange(part.size).reshape(part.shape))
    return cuts, (*rest[:dots], ..., *rest[dots:])  # the lists on its two sides do not stand side by side


def taken(size: int, cut: slice | NDArray[np.intp]) -> int:
    """Return how many places a cut takes from an axis."""
    return len(range(size)[cut]) if isinstance(cut, slice) else len(cut)


def place(axis: str, number: Any, size: int) -> int:
    """Return one place on an axis, counted from the front."""
    part = _part(axis, number, size)
    if not isinstance(part, int):
        raise InputError(f"{axis} is {number!r}; it must be a whole number")
    return part


def _part(axis: str, given: Any, size: int) -> Part:
    if isinstance(given, slice):
        try:
            given.indices(size)
        except (TypeError, ValueError) as error:
            raise InputError(f"{axis} is indexed by {given!r}: {error}") from error
        return given
    try:
        places = np.asarray(given)
    except ValueError:  # ragged
        places = np.asarray(None)
    if places.dtype == np.bool_ and places.shape == (size,):
        places = np.flatnonzero(places)
    if places.dtype.kind not in "iu" and places.size:
        raise InputError(
            f"{axis} is indexed by {_short(given)}; give a whole number, a slice, a list of whole numbers, "
            f"or {size} booleans"
        )
    outside = places[(places < -size) | (places >= size)]
    if outside.size:
        raise InputError(f"{axis} is indexed by {outside[0]}; it has {size}")
    if not places.ndim:
        return int(places) % size
    return places.astype(np.intp) % max(size, 1)


def _short(given: Any) -> str:
    shown = repr(given)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."
