"""What came back: found by shape and by name, and made NumPy arrays of."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from riverhead.checking.rules.adapting.layout import RETURNED, WEIGHTS, fits
from riverhead.checking.rules.adapting.roles import known_names, plain

__all__ = ["Reading", "as_array", "dtype_of", "parts", "pick", "read", "said"]

Key: TypeAlias = tuple[str, Any]  # ("whole", None), ("item", 0), ("item", "out"), ("field", "weights")
WHOLE: Key = ("whole", None)
FLOATS = ("float64", "float32", "float16", "bfloat16")


@dataclass(frozen=True, slots=True)
class Reading:
    """Where the output and the weights stand in what a function returns, and how each lies."""

    out: Key
    layout: str
    weights: Key | None = None
    weights_layout: str = ""


def is_tensor(x: Any) -> bool:
    """Whether something is a tensor of torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def is_module(x: Any) -> bool:
    """Whether something is a module of torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.nn.Module)


def dtype_of(x: Any) -> str:
    """Return the dtype of what a function returned: of a list its numbers', of what is no float "float64".

    >>> dtype_of(np.float32([1])), dtype_of([[1.0]]), dtype_of([np.float16(1)])
    ('float32', 'float64', 'float16')
    """
    while isinstance(x, (list, tuple)) and x:
        x = x[0]
    name = str(getattr(x, "dtype", "float64")).removeprefix("torch.")
    return name if name in FLOATS else "float64"


def as_array(x: Any) -> NDArray[Any]:
    """Make a NumPy array of what a function returned; bfloat16 becomes float32, which holds all of it.

    Raises `TypeError` where it is no array of real numbers.

    >>> as_array([[1, 2], [3, 4]]).dtype
    dtype('float64')
    """
    found: NDArray[Any]
    if is_tensor(x):
        x = x.detach().cpu()
        found = (x.float() if dtype_of(x) == "bfloat16" else x).numpy()
    elif isinstance(x, (list, tuple)):
        found = np.stack([as_array(each) for each in x]) if x and not _numbers(x) else np.array(x, float)
    elif isinstance(x, (np.ndarray, np.number)) or hasattr(type(x), "__array__"):
        found = np.asarray(x)
    else:
        raise TypeError(f"it returned {said(x)}, no array")
    if found.dtype.kind == "O" and all(hasattr(type(each), "__float__") for each in found.flat):
        found = found.astype(float)
    if found.dtype.kind not in "fiub":
        raise TypeError(f"it returned an array of {found.dtype}, no real numbers")
    return found.copy() if found.dtype.kind == "f" else found.astype(float)


def _numbers(x: list[Any] | tuple[Any, ...]) -> bool:
    return all(isinstance(each, (int, float)) for each in x)


def said(x: Any) -> str:
    """What something is, in a few words.

    >>> said((1, None)), said(None), said(np.ones((2, 3)))
    ('a tuple of int, NoneType', 'None', 'an ndarray of shape (2, 3)')
    """
    name = type(x).__name__
    article = "an" if name[:1].lower() in "aeio" or name.startswith("nd") else "a"
    if x is None:
        return "None"
    if isinstance(getattr(x, "shape", None), tuple):
        return f"{article} {name} of shape {tuple(x.shape)}"
    if isinstance(x, (tuple, list)):
        return f"{article} {name} of {', '.join(type(each).__name__ for each in x[:5]) or 'nothing'}"
    return f"{article} {name}"


def parts(result: Any) -> Iterator[tuple[Key, str, Any]]:
    """Yield what may be an array in a result: where it stands, its name if it has one, and itself."""
    if isinstance(result, Mapping):
        yield from ((("item", name), str(name), result[name]) for name in list(result)[:50])
        return
    yield WHOLE, "", result
    if isinstance(result, (tuple, list)):
        names = getattr(result, "_fields", ("",) * len(result))
        yield from ((("item", i), names[i], each) for i, each in enumerate(result[:50]))
    elif not is_tensor(result) and not isinstance(result, np.ndarray):
        yield from _fields(result)


def _fields(result: Any) -> Iterator[tuple[Key, str, Any]]:
    names = [name for table in known_names("results").values() for name in table]
    for name in names:
        try:
            value = getattr(result, name)
        except Exception:  # noqa: BLE001 - a property of somebody's object may raise anything
            continue
        if not callable(value):
            yield ("field", name), name, value


def pick(result: Any, key: Key) -> Any:
    """Return the part that stands there."""
    how, name = key
    return result if how == "whole" else result[name] if how == "item" else getattr(result, name)


def best(found: list[tuple[bool, int, Key]], lone: bool = False) -> Key | None:
    """Return the part with the best (named so, score); the first of equals, or with ``lone`` none of them."""
    if not found:
        return None
    top = max(each[:2] for each in found)
    equals = [key for *score, key in found if tuple(score) == top]
    return None if lone and len(equals) > 1 else equals[0]


def read(result: Any, layout: str, sizes: Mapping[str, int]) -> Reading | None:
    """Find the output and the weights in a result; None where nothing has a row for each query."""
    found = []
    for key, name, value in parts(result):
        try:
            found.append((key, plain(name), as_array(value).shape))
        except Exception:  # noqa: BLE001 - what is no array is not what is looked for
            continue
    of = known_names("results")
    outs = [
        (name in of["out"], score, key)
        for key, name, shape in found
        if (score := _as_out(shape, layout, sizes))
    ]
    out = best(outs)
    if out is None:
        return None
    shape_of = {key: shape for key, _, shape in found}
    weights = [
        (name in of["weights"], score, key)
        for key, name, shape in found
        if key != out and (score := _as_weights(shape, layout, sizes))
    ]
    chosen = best(weights, lone=True)
    return Reading(
        out,
        next(each for each in RETURNED[layout] if fits(shape_of[out], each, sizes)),
        chosen,
        next((each for each in WEIGHTS[layout] if chosen and fits(shape_of[chosen], each, sizes)), ""),
    )


def _as_out(shape: tuple[int, ...], layout: str, sizes: Mapping[str, int]) -> int:
    """How well a shape suits an output: it has a row for each query, and is as wide as values, not as T_k."""
    laid = next((each for each in RETURNED[layout] if fits(shape, each, sizes)), None)
    if laid is None:
        return 0
    width = shape[-1] // sizes["H"] if "(" in laid else shape[-1]
    return 3 if width == sizes["d_v"] else 1 if width == sizes["S"] else 2


def _as_weights(shape: tuple[int, ...], layout: str, sizes: Mapping[str, int]) -> int:
    laid = [each for each in WEIGHTS[layout] if fits(shape, each, sizes)]
    return len(WEIGHTS[layout]) - WEIGHTS[layout].index(laid[0]) if laid else 0
