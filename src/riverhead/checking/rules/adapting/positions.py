"""Functions that tell attention where a token stands: RoPE turns vectors, ALiBi gives heads a bias."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riverhead.checking.rules.adapting.arrays import Kind, order
from riverhead.checking.rules.adapting.returns import as_array, dtype_of, is_module, said
from riverhead.checking.rules.adapting.signature import Asked, name_of
from riverhead.checking.rules.adapting.slots import Slots, constructor, named_in, slots_of
from riverhead.checking.rules.call import Call, Outcome
from riverhead.errors import InputError

__all__ = ["alibi", "rope"]

BASE = 10_000.0
WIDTHS = (8, 64, 128, 32, 16)  # a module may be made for one width alone
LENGTH = 4096  # rows of a table that is made beforehand
METHODS = ("rotate_queries_or_keys", "apply_rotary", "apply_rotary_emb", "rotate", "forward", "__call__")
BATCHED = ("position_ids", "pos_ids", "input_pos")  # these are (B, T)


@dataclass(frozen=True, slots=True)
class RopeAdapter:
    """Calls what turns vectors: a function, or a method of a module that is made for their width."""

    name: str
    make: Callable[[int], Slots]  # by width
    table: Slots | None  # the maker of its table, where one was named
    array: Kind
    offers: frozenset[str]
    notes: tuple[str, ...]
    kind: str = "rope"

    def run(self, call: Call) -> Outcome:
        """Call the function once; what it raises goes through."""
        if call.options.get("vectors"):
            return self._one_by_one(call)
        turn = self.make(call.arrays["x"].shape[-1])
        first = bool(call.options.get("tokens_first"))
        vectors = {
            role: self.array.give(
                np.ascontiguousarray(x.swapaxes(-2, -3) if first else x), call.dtype, call.how
            )
            for role, x in call.arrays.items()
        }
        result = turn(vectors | self._placed(turn, call), self._told(call))
        results = result if "y" in turn else (result,)
        if not isinstance(results, (tuple, list)) or len(results) != len(vectors):
            raise TypeError(f"it returned {said(result)}; {len(vectors)} arrays are wanted")
        arrays = [as_array(x) for x in results]
        arrays = [x.swapaxes(-2, -3) if first and x.ndim > 2 else x for x in arrays]
        return Outcome(dict(zip(("out", "y"), arrays, strict=False)), {"dtype": dtype_of(results[0])})

    def _one_by_one(self, call: Call) -> Outcome:
        """Call a function of one vector and one position for each token; what it gives, put together."""
        turn, offset = self.make(call.arrays["x"].shape[-1]), int(call.options.get("offset", 0))
        T = call.arrays["x"].shape[-2]
        rows: dict[str, list[Any]] = {role: [] for role in call.arrays}
        for t, place in enumerate(call.options.get("positions", range(offset, offset + T))):
            vectors = {role: self.array.give(x[t].copy(), call.dtype) for role, x in call.arrays.items()}
            said = {role: int(place) for role in ("positions", "offset") if role in turn}
            result = turn(vectors | said, self._told(call))
            for row, each in zip(rows.values(), result if "y" in turn else (result,), strict=True):
                row.append(as_array(each))
        arrays = {("out" if role == "x" else role): np.stack(row) for role, row in rows.items()}
        return Outcome(arrays, {"dtype": str(arrays["out"].dtype)})

    def _placed(self, turn: Slots, call: Call) -> dict[str, Any]:
        """Where the tokens stand: as positions, as an offset, or in a table."""
        T, offset = call.arrays["x"].shape[-2], int(call.options.get("offset", 0))
        places = np.asarray(call.options.get("positions", range(offset, offset + T)))
        given: dict[str, Any] = {}
        if "positions" in turn and (turn.must("positions") or offset or "positions" in call.options):
            batched = turn.by_role["positions"].name in BATCHED and call.arrays["x"].ndim > 2
            shape = (call.arrays["x"].shape[0], T) if batched else (T,)
            given["positions"] = self.array.give(np.broadcast_to(places, shape), call.dtype)
        elif "offset" in turn and (turn.must("offset") or offset):
            given["offset"] = offset
        if "cos" in turn or "angles" in turn:
            whole = "positions" in turn or "offset" in turn
            given |= self._looked_up(turn, call, slice(None) if whole else places)
        return given

    def _looked_up(self, turn: Slots, call: Call, rows: Any) -> dict[str, Any]:
        """The table, of the maker that was named, else as a call says that it is laid out."""
        width, n = call.arrays["x"].shape[-1], call.options.get("offset", 0) + call.arrays["x"].shape[-2]
        n = max([n, *(place + 1 for place in call.options.get("positions", ()))])
        if self.table is not None:
            made = self.table({}, {"width": width, "length": LENGTH, "base": BASE})
            rows = rows if isinstance(rows, slice) else rows.tolist()
            if "cos" in turn:
                return {"cos": made[0][rows], "sin": made[1][rows]}
            return {"angles": made[rows]}
        angles = np.arange(n)[:, None] * BASE ** (-np.arange(0, width, 2) / width)  # (n, d/2)
        how, _, batched = str(call.options.get("table", "half")).partition(", ")
        parts = [laid(np.cos(angles), how)[rows], laid(np.sin(angles), how)[rows]]
        parts = [part[None] if batched else part for part in parts]
        if "cos" in turn:
            return {
                role: self.array.give(x, call.dtype) for role, x in zip(("cos", "sin"), parts, strict=True)
            }
        both = np.stack(parts, axis=-1) if how == "pairs" else parts[0] + 1j * parts[1]
        return {"angles": self.array.give(both, call.dtype)}

    def _told(self, call: Call) -> dict[str, Any]:
        """What a function may have to be told."""
        x = call.arrays["x"]
        n = int(call.options.get("offset", 0)) + x.shape[-2]
        heads = x.shape[-3] if x.ndim > 2 else 1
        return {"length": n, "width": x.shape[-1], "base": BASE, "n_heads": heads}


def laid(x: NDArray[Any], how: str) -> NDArray[Any]:
    """Lay a table (T, d/2) out for d components, "half" or "interleaved"; otherwise leave it."""
    if how == "half":
        return np.concatenate([x, x], axis=-1)
    return np.repeat(x, 2, axis=-1) if how == "interleaved" else x


def rope(thing: Any, asked: Asked | None = None) -> RopeAdapter:
    """Return how a RoPE function, or a module that turns vectors, is called.

    Takes f(x), f(x, positions), f(x, offset), f(q, k, …), with cos and sin or a table as a parameter; the
    argument ``table`` names the function that makes it. Raises `InputError` where it cannot be called.

    >>> from riverhead.core import rope as own
    >>> sorted(rope(own).offers - set(rope(own).array.dtypes))
    ['angles', 'offset']
    """
    asked = asked or Asked()
    arguments = dict(asked.arguments)
    maker = _maker(thing, arguments.pop("table", None)) if not _takes(thing, "table") else None
    make = _made(thing, arguments)
    turn = make(WIDTHS[0]) if inspect.isclass(thing) else make(0)
    looks_up = "cos" in turn or "angles" in turn
    offers = {"angles"} if not looks_up or maker is not None else {"table"}
    offers |= {"q and k at once"} if "y" in turn else set()
    offers |= {"positions", "offset"} if "positions" in turn else {"offset"} if "offset" in turn else set()
    raised: dict[str, str] = {}  # by what each kind of array gave last
    for array in order(maker.function if maker else thing, asked.arrays):
        adapter = RopeAdapter(name_of(thing), make, maker, array, frozenset({*offers, *array.dtypes}), ())
        for call in _tries("table" in offers, "y" in turn):
            try:
                adapter.run(call)
            except Exception as error:  # noqa: BLE001 - it is somebody's code
                raised[array.words] = f"{type(error).__name__}: {error}".splitlines()[0][:300]
                continue
            if "table" in offers and "positions" in turn and _takes_gathered(adapter, "y" in turn):
                name = turn.by_role["positions"].name
                return rope(thing, replace(asked, arguments={**asked.arguments, name: None}))
            notes = (array.words, f"takes {turn.words}")
            return RopeAdapter(adapter.name, make, maker, array, adapter.offers, notes)
    lines = "".join(f"\n  {words}: {why}" for words, why in raised.items())
    raise InputError(f"{name_of(thing)} could not be called with vectors to turn:{lines}")


def _takes_gathered(adapter: RopeAdapter, pair: bool) -> bool:
    """Whether a table longer than the text never fits: its rows are looked up beforehand, one a token.

    transformers kept ``position_ids`` in the signature where it had no effect any more.
    """
    fit = [call for call in _tries(True, pair) if _keeps_shape(adapter, call)]
    return bool(fit) and not any(
        _keeps_shape(adapter, replace(call, options={**call.options, "offset": 4})) for call in fit
    )


def _keeps_shape(adapter: RopeAdapter, call: Call) -> bool:
    try:
        return adapter.run(call).out.shape == call.arrays["x"].shape
    except Exception:  # noqa: BLE001 - it is somebody's code
        return False


def _takes(thing: Any, name: str) -> bool:
    """Whether a parameter has just this name, and so is no maker of a table."""
    try:
        return name in inspect.signature(thing).parameters
    except (TypeError, ValueError):
        return False


def _tries(table: bool, pair: bool) -> Iterator[Call]:
    tables = ("half", "narrow", "half, batched", "narrow, batched", "complex", "pairs") if table else ("",)
    for width in WIDTHS:
        for leading in ((), (2,), (2, 3), (2, 5)):  # the last: as many heads as tokens
            for how in tables:
                x = np.ones((*leading, 5, width))
                options = {"offset": 0, "tokens_first": len(leading) == 2} | ({"table": how} if how else {})
                for first in (False, True) if len(leading) == 2 else (False,):
                    yield Call({"x": x, "y": x} if pair else {"x": x}, options | {"tokens_first": first})
    x = np.ones((5, WIDTHS[0]))
    yield Call({"x": x, "y": x} if pair else {"x": x}, {"offset": 0, "vectors": True})


def _made(thing: Any, arguments: Mapping[str, Any]) -> Callable[[int], Slots]:
    """Return what gives the turning function for a width: a class is made for each."""
    made: dict[int, Any] = {}

    def make(width: int) -> Slots:
        if inspect.isclass(thing):
            if width not in made:
                slots = constructor(thing, "rope", arguments, ("width",))
                made[width] = slots({}, {"width": width, "length": LENGTH, "base": BASE})
            return _turner(made[width], {})
        return _turner(thing, arguments)

    return make


def _turner(thing: Any, arguments: Mapping[str, Any]) -> Slots:
    """The parameters of a function, or of the method that turns."""
    if not inspect.isroutine(thing) and not isinstance(thing, partial):
        method = next(
            (getattr(thing, name) for name in METHODS if callable(getattr(thing, name, None))), thing
        )
        thing = thing if is_module(thing) and getattr(method, "__name__", "") == "forward" else method
    slots = slots_of(thing, "rope", arguments, ("x",))
    if "y" in slots and "x" not in slots:  # a function of keys alone
        by_role = {"x" if role == "y" else role: p for role, p in slots.by_role.items()}
        slots = Slots(slots.function, by_role, slots.fixed)
    return slots


def _maker(thing: Any, named: Any) -> Slots | None:
    """Where the function that makes the table takes what."""
    maker = named_in(thing, "table", named)
    return None if maker is None else slots_of(maker, "rope", {}, ("width", "length"))


# ---------------------------------------------------------------- ALiBi


@dataclass(frozen=True, slots=True)
class AlibiAdapter:
    """Calls what gives slopes or a bias for a number of heads."""

    name: str
    make: Callable[[int], Slots]  # by the number of heads
    array: Kind
    offers: frozenset[str]
    notes: tuple[str, ...]
    kind: str = "alibi"

    def run(self, call: Call) -> Outcome:
        """Call the function once; what it raises goes through."""
        n, T_q, T_k = (int(call.options[name]) for name in ("n_heads", "T_q", "T_k"))
        take = self.make(n)
        mask = self.array.give(np.ones((1, T_k), np.int64), "float64") if "mask" in take else None
        lengths = {"T": T_k, "T_q": T_q, "T_k": T_k, "mask": mask}
        given = {role: value for role, value in lengths.items() if role in take and value is not None}
        result = take({"n_heads": n} | given, {"dtype": _float32(self.array)})
        found = as_array(result)
        while (found.ndim > 3 and found.shape[0] == 1) or (found.ndim == 2 and found.shape[0] == 1):
            found = found[0]
        if found.ndim == 2 and not given and found.shape == (n, 1):
            found = found[:, 0]
        if (
            given and found.ndim == 3 and found.shape[1:] == (1, T_k)
        ):  # a row for all queries: up to a constant
            found = np.broadcast_to(found, (n, T_q, T_k))
        elif not given:
            found = found.reshape(n) if found.size == n else found
        return Outcome({"out": np.array(found, float)}, {"dtype": "float64"})


def _float32(array: Kind) -> Any:
    """The dtype itself, for who asks for one."""
    if array.name != "torch":
        return np.float32
    import torch

    return torch.float32


def alibi(thing: Any, asked: Asked | None = None) -> AlibiAdapter:
    """Return how what gives ALiBi's slopes, or its bias, is called.

    Takes f(n_heads), f(n_heads, T), f(n_heads, T_q, T_k); a class is made with the number of heads. Raises
    `InputError` where it cannot be called.

    >>> from riverhead.core import alibi_bias
    >>> sorted(alibi(alibi_bias).offers)
    ['bias', 'cross']
    """
    asked = asked or Asked()
    first = ("n_heads", "T", "T_k")

    def make(n: int) -> Slots:
        if not inspect.isclass(thing):
            return slots_of(thing, "alibi", asked.arguments, first)
        return slots_of(
            constructor(thing, "alibi", asked.arguments, first)({}, {"n_heads": n, "T": 64}), "alibi", {}
        )

    take, raised = make(8), {}
    offers = {"bias"} if {"T", "T_q", "T_k", "mask"} & set(take.by_role) else set()
    offers |= {"cross"} if {"T_q", "T_k"} <= set(take.by_role) else set()
    for array in order(thing, asked.arrays):
        adapter = AlibiAdapter(
            name_of(thing), make, array, frozenset(offers),
            (f"takes {take.words}",))  # fmt: skip
        try:
            adapter.run(Call({}, {"n_heads": 8, "T_q": 5, "T_k": 5}))
        except Exception as error:  # noqa: BLE001 - it is somebody's code
            raised[array.words] = f"{type(error).__name__}: {error}".splitlines()[0][:300]
            continue
        return adapter
    raise InputError(
        f"{name_of(thing)} could not be called with a number of heads: {next(iter(raised.values()))}"
    )
