"""KV caches: what holds keys and values, a step that attends with a cache, a module that takes one back."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riverhead.checking.rules.adapting.arrays import Kind, order
from riverhead.checking.rules.adapting.held import METHODS, counted, held_of, method_of, step_of
from riverhead.checking.rules.adapting.looks import has_forward
from riverhead.checking.rules.adapting.module_making import made
from riverhead.checking.rules.adapting.returns import as_array, dtype_of, is_module
from riverhead.checking.rules.adapting.signature import Asked, name_of
from riverhead.checking.rules.adapting.slots import Slots, constructor, named_in, slots_of
from riverhead.checking.rules.call import Call, Outcome
from riverhead.checking.rules.draw import Sizes
from riverhead.errors import InputError

__all__ = ["cache"]

ROOM = 32  # tokens, where a cache must be told how many it may hold
# What a function may take for an empty cache.
EMPTY: tuple[Callable[[], Any], ...] = (lambda: None, dict, list, tuple)


@dataclass
class Session:
    """One cache while a text is read: an object, or what a function hands back to be handed in again."""

    take: Slots
    thing: Any = None
    state: Any = None
    n: int = 0  # tokens read

    def values(self, give: Callable[[NDArray[Any]], Any], T: int) -> tuple[dict[str, Any], dict[str, Any]]:
        """What is said at each step beside the arrays, and what may have to be told."""
        said = {role: x for role, x in {"cache": self.state, "use_cache": True}.items() if role in self.take}
        places = give(np.arange(self.n, self.n + T))
        said |= {role: x for role, x in {"places": places, "start": self.n}.items() if role in self.take}
        return said, {"layer": 0}


@dataclass(frozen=True, slots=True)
class CacheAdapter:
    """Plays a session: a new cache, piece after piece, and what stands between them."""

    name: str
    new: Callable[[Call], Session]
    array: Kind
    offers: frozenset[str]
    notes: tuple[str, ...]
    width: int = 0  # of what a module takes
    kind: str = "cache"

    def run(self, call: Call) -> Outcome:
        """Play the session; what it raises goes through."""
        other = self.new(call) if call.options.get("beside") else None
        session = self.new(call)
        found: dict[str, NDArray[Any]] = {}
        kept: dict[str, Any] = {}
        counts, dtype = [], "float64"
        for n in range(len(call.options["chunks"])):
            if other is not None:
                self._step(other, call, n, "other_")
            if call.options.get("layers"):  # in their order: a cache may grow layer by layer
                self._step(session, call, n, "other_")
            parts = self._step(session, call, n, layer=int(call.options.get("layers", False)))
            dtype = dtype_of(next(iter(parts.values())))
            kept |= {f"{name}_{n}": x for name, x in parts.items()}
            found |= {f"{name}_{n}": self._back(name, x, call) for name, x in parts.items()}
            counts += [counted(session.thing)] if "count" in self.offers else []
            for event, value in call.options["events"].get(str(n), ()):
                self._event(session, event, value)
        late = {f"late_{name}": self._back(name, x, call) for name, x in kept.items()}
        return Outcome(found | late, {"dtype": dtype, **({"counts": counts} if counts else {})})

    def _step(self, session: Session, call: Call, n: int, side: str = "", layer: int = 0) -> dict[str, Any]:
        """Give one piece; return what came back, as it is."""
        chunks = call.options["chunks"]
        T, end = chunks[n], sum(chunks[: n + 1])
        pieces = {}
        for name in (name for name in "qkvx" if name in session.take):
            piece = call.arrays[side + name][..., end - T : end, :]
            if name == "x":
                piece = piece[..., : self.width]
            elif call.options.get("vectors"):
                piece = piece[0]
            elif call.options.get("tokens_first"):
                piece = piece.swapaxes(-2, -3)
            pieces[name] = self.array.give(np.ascontiguousarray(piece), call.dtype, call.how)
        said, told = session.values(lambda x: self.array.give(x, call.dtype), T)
        if call.options.get("layers") or session.take.must("layer"):
            said["layer"] = layer
        result = session.take(pieces | said, told)
        session.n += 0 if side and call.options.get("layers") else T
        if "keys and values back" in self.offers:
            keys, values, session.state = held_of(result, session.thing, session.state)
            return {"keys": keys, "values": values}
        out, session.state = step_of(result, session.state)
        return {"out": out}

    def _back(self, name: str, x: Any, call: Call) -> NDArray[Any]:
        """An array in the house's axes."""
        found = as_array(x).astype(float)
        if name == "out" and call.options.get("vectors"):
            return found.reshape(1, -1)
        return found.swapaxes(-2, -3) if call.options.get("tokens_first") and found.ndim > 2 else found

    def _event(self, session: Session, event: str, value: Any) -> None:
        method = method_of(session.thing, event)
        if event == "rows":
            slots_of(method, "events", {}, ("rows",))({"rows": self.array.give(np.array(value), "float64")})
        elif event == "crop":
            take = slots_of(method, "events", {}, ("kept",))
            role = "removed" if "removed" in take else "kept"
            take({role: value - session.n if role == "removed" else value})
            session.n = value
        else:
            method()
            session.n = 0


def cache(thing: Any, asked: Asked | None = None) -> CacheAdapter:
    """Return how a cache is called: what holds, f(cache, k, v), a step f(q, k, v, cache), or a module.

    A class is made anew for each session; the argument ``cache`` names what makes the cache that a function
    is handed first. Raises `InputError` where it is not known what to call.

    >>> from riverhead.core import KVCache
    >>> sorted(cache(KVCache).offers)
    ['count', 'keys and values back', 'window']
    """
    asked = asked or Asked()
    arguments = dict(asked.arguments)
    empty = named_in(thing, "cache", arguments.pop("cache", None))
    make = _maker(thing, Asked(asked.kind, asked.arrays, arguments))
    example = make(Call({}, {}))
    method = _appending(thing, example)
    take = slots_of(method, "cache", arguments if method is thing else {})
    inputs = set("qkvx") & set(take.by_role)
    if not ({"k", "v"} <= inputs or inputs == {"x"}):
        raise InputError(
            f"{name_of(thing)} takes {take.words or 'nothing'}; a cache takes k and v, a step q, k, v and a "
            "cache, a module x and a cache"
        )

    def adapter(array: Kind, empty: Callable[[], Any]) -> CacheAdapter:
        def new(call: Call) -> Session:
            held = make(call)
            return Session(slots_of(_appending(thing, held), "cache", take.fixed), held, empty())

        width = _width(example) if "x" in inputs else 0
        notes = (array.words, f"takes {take.words}")
        return CacheAdapter(
            name_of(thing), new, array, frozenset(_offers(thing, example, take)), notes, width
        )

    empties = [empty] if empty is not None else EMPTY if "cache" in take else EMPTY[:1]
    return _first_that_runs(
        name_of(thing),
        [adapter(array, each) for array in order(method, asked.arrays) for each in empties],
        inputs,
    )


def _first_that_runs(name: str, adapters: Sequence[CacheAdapter], inputs: set[str]) -> CacheAdapter:
    raised: dict[str, str] = {}
    for adapter in adapters:
        for vectors in (False, True):
            try:
                adapter.run(_try(inputs, vectors))
            except Exception as error:  # noqa: BLE001 - it is somebody's code
                raised.setdefault(adapter.notes[0], f"{type(error).__name__}: {error}".splitlines()[0][:300])
                continue
            return adapter
    lines = "".join(f"\n  {words}: {why}" for words, why in raised.items())
    raise InputError(f"{name} could not be given tokens:{lines}")


def _try(inputs: set[str], vectors: bool) -> Call:
    """Two tokens, one after another, as wide as those of a trial: a cache may outlive them by mistake."""
    s = Sizes()
    x = np.ones((s.B, s.H, 2, s.d_k)) if not vectors else np.ones((2, s.d_k))
    arrays = {name: np.ones((2, 2, 64)) if name == "x" else x for name in inputs}
    dtype = "float32" if "x" in inputs else "float64"
    return Call(arrays, {"chunks": [1, 1], "events": {}, "vectors": vectors}, dtype)


def _maker(thing: Any, asked: Asked) -> Callable[[Call], Any]:
    """Return what makes a new object for a session; nothing where a function is called."""
    if inspect.isclass(thing):
        if _is_module(thing):
            module, _ = made(thing, asked)
            return lambda call: copy.deepcopy(module)
        take = constructor(thing, "cache", asked.arguments)

        def make(call: Call) -> Any:
            shape = call.arrays["k"].shape if "k" in call.arrays else (1, 1, 1, 1)
            B, H, _, d = ((1,) * 4 + shape)[-4:]
            widths = {"batch": B, "n_heads": H, "d_k": d, "d_v": d}
            sizes = {**widths, "room": ROOM, "window": ROOM, "n_layers": 2}
            said = {"window": call.options["window"]} if "window" in call.options else {}
            return take(said, sizes)

        return make
    if inspect.isroutine(thing):
        return lambda call: None
    return lambda call: copy.deepcopy(thing)


def _is_module(thing: Any) -> bool:
    """Whether a class makes modules that take x."""
    if not has_forward(thing):
        return False
    names = list(inspect.signature(thing.forward).parameters)
    return len(names) > 1 and "x" in slots_of(thing.forward, "cache", {}, ("cache", "x")).by_role


def _appending(thing: Any, example: Any) -> Callable[..., Any]:
    """The function itself, or the method of an object to which tokens are given."""
    if example is None:
        return thing  # type: ignore[no-any-return]
    if is_module(example) and has_forward(example):
        return example  # type: ignore[no-any-return]
    found = next((getattr(example, name) for name in METHODS if callable(getattr(example, name, None))), None)
    if found is None:
        raise InputError(
            f"{name_of(thing)} has none of the methods {', '.join(METHODS)}: nothing to give tokens to"
        )
    return found  # type: ignore[no-any-return]


def _offers(thing: Any, example: Any, take: Slots) -> set[str]:
    offers = {"module"} if "x" in take else {"keys and values back"} if "q" not in take else {"step"}
    if "module" in offers:
        return offers
    offers |= {"layer"} if "layer" in take else set()
    offers |= {"window"} if inspect.isclass(thing) and "window" in constructor(thing, "cache", {}) else set()
    names: Mapping[str, str] = {"rows": "reorder", "crop": "crop", "reset": "reset"}
    offers |= {word for event, word in names.items() if example is not None and _found(example, event)}
    return offers | ({"count"} if example is not None and counted(example) is not None else set())


def _found(example: Any, event: str) -> bool:
    try:
        method_of(example, event)
    except InputError:
        return False
    return True


def _width(module: Any) -> int:
    """How wide x must be for a module: as its first matrix says."""
    if is_module(module):
        shapes = [tuple(p.shape) for p in module.parameters() if p.ndim == 2]
    else:
        shapes = [
            x.shape[::-1]
            for x in vars(module or object).values()
            if isinstance(x, np.ndarray) and x.ndim == 2
        ]
    return int(shapes[0][1]) if shapes else 4
