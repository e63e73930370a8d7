"""Calls and outcomes as bytes between two processes: a checked JSON header, then the numbers. No pickle."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riverhead.checking.rules.call import Arrays, Call, Outcome
from riverhead.cost.figures import bytes_said

__all__ = ["WireError", "call_of", "of_call", "of_outcome", "outcome_of", "packed", "received"]

FRONT = struct.Struct("<4sIQ")  # the sign, bytes of the header, bytes of the numbers
SIGN = b"rhd1"
MOST_HEADER = 2**20  # bytes
MOST_NUMBERS = 2**28  # bytes of all arrays of a frame
MOST_AXES = 8
MOST_LETTERS = 1000  # of what a function raised
DTYPES = frozenset(np.dtype(code).name for code in "?bhiqBHIQefd")  # real numbers, up to float64

Frame = tuple[dict[str, Any], dict[str, NDArray[Any]]]


class WireError(Exception):
    """What came, or was to go, is no frame of plain numbers; the message says why."""


def packed(header: Mapping[str, Any], arrays: Arrays | None = None) -> bytes:
    """Return a frame; `WireError` for what is no array of real numbers, or too large: before it is copied.

    >>> from io import BytesIO
    >>> received(BytesIO(packed({"a": 1}, {"out": np.ones(2)})).read)
    ({'a': 1}, {'out': array([1., 1.])})
    """
    plain = {name: _plain(name, x) for name, x in (arrays or {}).items()}
    n_bytes = sum(x.nbytes for x in plain.values())
    if n_bytes > MOST_NUMBERS:
        most = bytes_said(MOST_NUMBERS)
        raise WireError(f"{_and(plain)} holds {bytes_said(n_bytes)} of numbers; at most {most} are read")
    lies = [(name, x.dtype.name, x.shape) for name, x in plain.items()]
    try:
        text = json.dumps({**header, "arrays": lies}, default=lambda scalar: scalar.item()).encode()
    except (AttributeError, TypeError, ValueError, RecursionError) as wrong:
        raise WireError(f"what stands beside {_and(plain)} is no plain data: {wrong}") from None
    if len(text) > MOST_HEADER:
        raise WireError(f"{bytes_said(len(text))} stand beside {_and(plain)}: too many")
    bodies = [x.astype(x.dtype.newbyteorder("<"), copy=False).tobytes() for x in plain.values()]
    return b"".join([FRONT.pack(SIGN, len(text), n_bytes), text, *bodies])


def _plain(name: str, x: Any) -> NDArray[Any]:
    """An array of numbers as NumPy's own, whatever subclass it was."""
    if not isinstance(x, np.ndarray):
        raise WireError(f"{name} is no array: {type(x).__name__}")
    if x.dtype == np.longdouble:  # as wide as float64, or wider than anybody asked for
        x = x.astype(np.float64)
    if x.dtype.name not in DTYPES:
        raise WireError(f"{name} holds no real numbers: its dtype is {x.dtype.name}")
    if x.ndim > MOST_AXES:
        raise WireError(f"{name} has {x.ndim} axes; at most {MOST_AXES} are read")
    return np.asarray(x)


def _and(names: Mapping[str, Any]) -> str:
    return ", ".join(names) or "no arrays"


def received(take: Callable[[int], bytes | bytearray]) -> Frame:
    """Read a frame: ``take(n)`` gives the next n bytes. Fresh, writable arrays; `WireError` if it is none."""
    sign, n_header, n_numbers = FRONT.unpack(take(FRONT.size))
    if sign != SIGN or n_header > MOST_HEADER or n_numbers > MOST_NUMBERS:
        raise WireError("what came is no frame")
    try:
        header = json.loads(take(n_header))
        lies = [(str(name), np.dtype(_known(dtype)), tuple(map(_axis, shape)))
                for name, dtype, shape in header.pop("arrays")]  # fmt: skip
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as wrong:
        raise WireError(f"what came has a header that cannot be read: {wrong}") from None
    sizes = [dtype.itemsize * math.prod(shape) for _, dtype, shape in lies]
    if sum(sizes) != n_numbers:
        raise WireError(f"what came says that it has {sum(sizes):,} bytes of numbers, and has {n_numbers:,}")
    arrays = {}
    for (name, dtype, shape), n_bytes in zip(lies, sizes, strict=True):
        read = np.frombuffer(take(n_bytes), dtype.newbyteorder("<")).astype(dtype)
        arrays[name] = read.reshape(shape)
    return header, arrays


def _known(dtype: str) -> str:
    if dtype not in DTYPES:
        raise ValueError(f"the dtype {dtype!r} is none of a number's")
    return dtype


def _axis(size: Any) -> int:
    if type(size) is not int or size < 0:
        raise ValueError(f"an axis of {size!r}")
    return size


def of_call(call: Call) -> bytes:
    """Return a call as a frame."""
    says = {"options": dict(call.options), "dtype": call.dtype, "want": call.want, "how": call.how}
    return packed(says, call.arrays)


def call_of(frame: Frame) -> Call:
    """Return the call of a frame."""
    says, arrays = frame
    return Call(arrays, says["options"], says["dtype"], tuple(says["want"]), says["how"])


def of_outcome(outcome: Outcome) -> bytes:
    """Return an outcome as a frame; of garbage one that says so."""
    cut = {name: getattr(outcome, name)[:MOST_LETTERS] for name in ("error", "ended")}
    try:
        return packed({"facts": dict(outcome.facts), **cut}, outcome.arrays)
    except WireError as garbage:
        return packed({"facts": {}, "error": str(garbage)[:MOST_LETTERS], "ended": ""})


def outcome_of(frame: Frame, noise: str = "") -> Outcome:
    """Return the outcome of a frame; `WireError` unless it is one."""
    says, arrays = frame
    kinds = {"facts": dict, "error": str, "ended": str}
    if any(not isinstance(says.get(name), kind) for name, kind in kinds.items()):
        raise WireError("what came is no outcome")
    return Outcome(arrays, says["facts"], says["error"], says["ended"], noise)
