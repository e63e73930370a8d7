"""A call as Python source: the arrays typed in full, in the function's own kind and layout."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from riverhead.checking.rules.adapting.returns import Key, Reading, is_tensor
from riverhead.checking.rules.call import Call

if TYPE_CHECKING:
    from riverhead.checking.rules.adapting.attention import Handed, Way

__all__ = ["script"]

MOST = 2000  # numbers that are typed: a trial with samples and heads has 800
PLAIN = (bool, int, float, str, type(None))
STRANGE = "…"  # what is no plain value

# What brings a layout to (B, H, T, d), and that to the axes of a call's q; what undoes itself is left out
FOUR: Mapping[str, str] = {
    "T d": "[None, None]",
    "B T d": "[:, None]",
    "T B d": ".swapaxes(0, 1)[:, None]",
    "B H T d": "",
    "B T H d": ".swapaxes(1, 2)",
    "B T (H d)": ".reshape({B}, {T}, {H}, -1).swapaxes(1, 2)",
}
RANK: Mapping[int, str] = {2: "[0, 0]", 3: "[:, 0]", 4: ""}
NOTHING = ("[None, None][0, 0]", "[:, None][:, 0]")


def script(way: Way, call: Call, handed: Handed, reading: Reading) -> str:
    """Return lines that type the arrays and call ``f``, the function; what they use is imported elsewhere.

    They end with ``out``, and ``weights`` where those were asked for, in the house's layout. Empty where the
    call cannot be written down: long arrays, views, objects.
    """
    size = sum(np.size(x) for x in call.arrays.values())
    if call.how or not set(call.want) <= {"weights", "script"} or size > MOST:
        return ""
    arrays: dict[str, str] = {}
    positions, names = way.roles.bind(handed.values)
    roles = {id(value): role for role, value in handed.values.items()}
    given = [_written(value, roles.get(id(value), ""), arrays) for value in positions]
    given += [f"{name}={_written(value, name, arrays)}" for name, value in names.items()]
    if any(each.endswith(STRANGE) for each in given):
        return ""
    called, rank = f"f({', '.join(given)})", call.arrays["q"].ndim
    back = _back(reading.layout, rank).format(**handed.sizes)
    lines = [*arrays.values(), *_results(way, call, reading, called, back)]
    return "\n".join(lines)


def _written(value: Any, name: str, arrays: dict[str, str]) -> str:
    """A value as an expression; an array gets a line of its own."""
    if isinstance(value, np.ndarray | list) or is_tensor(value):
        name = name or f"array_{len(arrays)}"
        arrays[name] = f"{name} = {_array(value)}"
        return name
    plain = isinstance(value, PLAIN) or (
        isinstance(value, tuple) and all(isinstance(each, PLAIN) for each in value)
    )
    return repr(value) if plain else STRANGE


def _array(value: Any) -> str:
    if isinstance(value, list):
        return _rows(value)
    maker, usual = ("torch.tensor", "float32") if is_tensor(value) else ("np.array", "float64")
    library, dtype = maker.partition(".")[0], str(value.dtype).removeprefix("torch.")
    said = "" if dtype in (usual, "bool", "int64") else f", dtype={library}.{dtype}"
    return f"{maker}({_rows(value.tolist())}{said})"


def _rows(value: Any, indent: str = "") -> str:
    """Nested lists, a row on a line.

    >>> print(_rows([[1, 2], [3, 4]]))
    [
        [1, 2],
        [3, 4],
    ]
    """
    if not isinstance(value, list) or not value or not isinstance(value[0], list):
        return repr(value)
    inner = f"{indent}    "
    rows = "".join(f"{inner}{_rows(each, inner)},\n" for each in value)
    return f"[\n{rows}{indent}]"


def _back(layout: str, rank: int) -> str:
    """What brings an array in a layout to as many axes as a call's q has.

    >>> _back("T B d", 3), _back("B T H d", 2), _back("B T d", 3)
    ('.swapaxes(0, 1)', '.swapaxes(1, 2)[0, 0]', '')
    """
    back = FOUR[layout] + RANK[rank]
    for both in NOTHING:
        back = back.removesuffix(both)
    return back


def _weights_back(layout: str, rank: int) -> str:
    """The same of weights; those that are averaged over heads stay as they are."""
    axes = len(layout.split())
    return "" if axes == 3 and rank == 4 else _back({2: "T d", 3: "B T d", 4: "B H T d"}[axes], rank)


def _results(way: Way, call: Call, reading: Reading, called: str, back: str) -> Iterator[str]:
    """The call, and what of its result is the output, and the weights."""
    wanted = {"out": (reading.out, back)}
    if "weights" in call.want and reading.weights is not None:
        wanted["weights"] = (reading.weights, _weights_back(reading.weights_layout, call.arrays["q"].ndim))
    whole = reading.out[0] == "whole" and len(wanted) == 1
    if not whole:
        yield f"result = {called}"
    for name, (key, layout) in wanted.items():
        picked = called if whole else _picked(key)
        listed = f"np.array({picked})" if way.kind.name == "list" else picked
        yield f"{name} = {listed}{layout}"


def _picked(key: Key) -> str:
    how, name = key
    return "result" if how == "whole" else f"result[{name!r}]" if how == "item" else f"result.{name}"
