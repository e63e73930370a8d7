"""What a cache hands back, wherever it stands: keys and values, a step's output, a count of tokens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from riverhead.checking.rules.adapting.returns import as_array, said
from riverhead.errors import InputError

__all__ = ["METHODS", "counted", "held_of", "method_of", "step_of"]

METHODS = ("update", "append", "add", "extend", "push", "insert", "write", "store", "step", "attend",
           "decode", "forward", "__call__")  # fmt: skip
PAIRS = (
    ("k", "v"), ("keys", "values"), ("key", "value"), ("k_cache", "v_cache"), ("key_cache", "value_cache"),
    ("cache_k", "cache_v"), ("K", "V"), ("_k", "_v"), ("_keys", "_values"),
)  # fmt: skip
READERS = ("get", "read", "kv", "state", "fetch")
EVENTS: Mapping[str, tuple[str, ...]] = {
    "rows": ("reorder_cache", "reorder", "batch_select_indices", "select_rows", "reorder_beams"),
    "crop": ("crop", "truncate", "trim", "cut"),
    "reset": ("reset", "clear", "empty"),
}
COUNTS = (
    "get_seq_length",
    "n_tokens",
    "cur_len",
    "current_length",
    "length",
    "n_seen",
    "seen_tokens",
    "__len__",
)


def held_of(result: Any, thing: Any, state: Any) -> tuple[Any, Any, Any]:
    """Return the keys, the values, and the cache for the next piece: what came back, or what was changed.

    >>> held_of(([[1.0]], [[2.0]]), None, None)
    ([[1.0]], [[2.0]], ([[1.0]], [[2.0]]))
    """
    if isinstance(result, tuple) and len(result) == 3:  # keys, values and the cache, in some order
        arrays = [each for each in result if _is_array(each)]
        others = [each for each in result if not _is_array(each)]
        if len(arrays) == 2:
            return arrays[0], arrays[1], others[0]
    for source in (result, thing, state):
        found = _pair(source)
        if found is not None:
            whole = source is result and not isinstance(
                result, (tuple, list)
            )  # it brings the new cache itself
            return (*found, result if whole or not _changed(state) else state)
    raise TypeError(f"it returned {said(result)}; keys and values are wanted, as two arrays")


def _changed(state: Any) -> bool:
    """Whether a cache that was handed in is one that is written to, and so stays the same object."""
    return (
        state is not None
        and not isinstance(state, tuple)
        and (not isinstance(state, (dict, list)) or bool(state))
    )


def _pair(source: Any) -> tuple[Any, Any] | None:
    """Two arrays, or what holds them under a known name."""
    if source is None:
        return None
    if isinstance(source, (tuple, list)) and len(source) == 2 and all(map(_is_array, source)):
        return source[0], source[1]
    for names in PAIRS:
        found = [_named(source, name) for name in names]
        if all(x is not None and _is_array(x) for x in found):
            return found[0], found[1]
    for name in READERS:
        reader = getattr(source, name, None)
        if callable(reader) and not isinstance(source, Mapping):
            try:
                found = reader()
            except TypeError:
                continue
            if isinstance(found, (tuple, list)) and len(found) == 2 and all(map(_is_array, found)):
                return found[0], found[1]
    return None


def _named(source: Any, name: str) -> Any:
    if isinstance(source, Mapping):
        return source.get(name)
    found = getattr(source, name, None)
    return None if callable(found) else found


def _is_array(x: Any) -> bool:
    try:
        return as_array(x).ndim > 0
    except Exception:  # noqa: BLE001 - what is no array
        return False


def step_of(result: Any, state: Any) -> tuple[Any, Any]:
    """Return a step's output, and the cache for the next: what came with it, or the one that was given."""
    if _is_array(result) and not isinstance(result, tuple):
        return result, state
    if isinstance(result, (tuple, list)) and len(result) >= 2 and _is_array(result[0]):
        rest = result[1:]
        return result[0], rest[0] if len(rest) == 1 else _cache_among(rest)
    raise TypeError(f"it returned {said(result)}; an output is wanted, and the cache")


def _cache_among(rest: Any) -> Any:
    """Of several things beside the output the one that is no lone array; else all: keys and values."""
    kept = [each for each in rest if each is not None and not _is_array(each)]
    return kept[0] if len(kept) == 1 else tuple(rest)


def method_of(thing: Any, event: str) -> Callable[..., Any]:
    """Return the method for an event; `InputError` where there is none."""
    for name in EVENTS[event]:
        found = getattr(thing, name, None)
        if callable(found):
            return found  # type: ignore[no-any-return]
    raise InputError(f"{type(thing).__name__} has none of the methods {', '.join(EVENTS[event])}")


def counted(thing: Any) -> int | None:
    """Return how many tokens a cache says that it has read; None where it does not say."""
    for name in COUNTS:
        try:
            found = getattr(thing, name, None)
            found = found() if callable(found) else found
        except Exception:  # noqa: BLE001 - what cannot be asked does not count
            continue
        if found is not None and not isinstance(found, bool) and hasattr(found, "__index__"):
            return int(found)
    return None
