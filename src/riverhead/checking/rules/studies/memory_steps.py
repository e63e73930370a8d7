"""A KV cache as a row of named steps, and the ways in which each is done otherwise."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riverhead.checking.rules.rule import Change, Choice
from riverhead.core.equation import softmax

__all__ = ["CACHE", "SHARED", "STEP_WAYS", "STORE_WAYS", "UNWRITTEN", "pieces"]

Array = NDArray[Any]
State = Array | None
ROOMS = (8, 10, 12, 16, 20, 24, 32, 48, 50, 64, 100, 128, 256, 512, 1000, 1024, 2048, 4096)  # tokens


def pieces(x: Array, chunks: Any) -> list[Array]:
    """Cut (..., T, d) into the pieces that come one after another."""
    ends = np.cumsum(chunks)
    return [x[..., end - n : end, :] for n, end in zip(chunks, ends, strict=True)]


def join(*parts: State) -> Array:
    """Put tokens one after another."""
    return np.concatenate([part for part in parts if part is not None], axis=-2)


def zeros(like: Array, T: int) -> Array:
    """Slots that were not written."""
    return np.zeros((*like.shape[:-2], T, like.shape[-1]))


def play(p: SimpleNamespace, x: Array, state: State, write: Any, show: Any, choose: Any) -> list[Array]:
    """What a cache gives back after each piece."""
    given = []
    for n, piece in enumerate(pieces(x, p.chunks)):
        before, state = state, write(state, piece, n)
        state = p.keep(state)
        given.append(show(before, state, piece, n))
        for event, value in p.events.get(str(n), ()):
            state = {"rows": choose, "crop": p.cut, "reset": p.clear}[event](state, value)
    return given


def attended(p: SimpleNamespace) -> Array:
    """The outputs of all steps one after another, as a step function gives them: (..., T, d_v)."""
    rows = []
    for q, k, v in zip(pieces(p.q, p.chunks), p.keys, p.values, strict=True):
        scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])  # (..., T_q, T_k)
        hidden = np.broadcast_to(~p.visible(q.shape[-2], k.shape[-2]), scores.shape)
        rows.append(softmax(np.where(hidden, -np.inf, scores), hidden=hidden) @ v)
    return np.concatenate(rows, axis=-2)


def flat(p: SimpleNamespace) -> Array:
    """Everything that came back, as one row: keys and values of each step, with their shapes."""
    arrays = [x for step in zip(p.keys, p.values, strict=True) for x in step]
    return np.concatenate([np.concatenate([x.shape, x.ravel()]) for x in arrays])


# In this order. p.q, p.k, p.v are (..., T, d); ``write`` gives the new state of the old one and a piece.
CACHE: Mapping[str, Change] = {
    "begin": lambda p: (None, None),  # keys and values of a new cache
    "write": lambda p: lambda state, new, n: join(state, new),
    "write_v": lambda p: p.write,
    "keep": lambda p: lambda state: state if p.window is None else state[..., -p.window :, :],
    "choose": lambda p: lambda state, rows: state[list(rows)],
    "choose_v": lambda p: p.choose,
    "cut": lambda p: lambda state, n: state[..., :n, :],
    "clear": lambda p: lambda state, _: None,
    "show": lambda p: lambda before, after, new, n: after,
    "show_v": lambda p: p.show,
    "of_values": lambda p: p.v,
    "keys": lambda p: play(p, p.k, p.begin[0], p.write, p.show, p.choose),
    "values": lambda p: play(p, p.of_values, p.begin[1], p.write_v, p.show_v, p.choose_v),
    "visible": lambda p: lambda T_q, T_k: np.arange(T_k) <= T_k - T_q + np.arange(T_q)[:, None],
    "out": lambda p: attended(p) if p.steps else flat(p),
}


def overwritten(at: int) -> Callable[..., Array]:
    """Write over what stands there: at the first slot, or at the last."""

    def write(state: State, new: Array, n: int) -> Array:
        if state is None:
            return new
        if at < 0:
            return join(state[..., :at, :], new)
        T = new.shape[-2]
        return join(new, state[..., T:, :])

    return write


def along(axis: int) -> Change:
    """Join along another axis."""
    return lambda p: lambda state, new, n: new if state is None else np.concatenate([state, new], axis=axis)


def hole(always: bool) -> Change:
    """Leave a slot before the first token of a step: before every one, or before the first step alone."""
    return lambda p: (
        lambda state, new, n: (
            new
            if state is None
            else join(state, zeros(new, 1), new)
            if always or n == 1
            else join(state, new)
        )
    )


def first_only(p: SimpleNamespace) -> Any:
    """Keep as many as the first piece had."""
    return lambda state, new, n: join(state, new)[..., -p.chunks[0] :, :]


def roomy(room: int) -> Change:
    """Give back the whole room."""
    return lambda p: (
        lambda before, after, new, n: (
            after if after.shape[-2] > room else join(after, zeros(after, room - after.shape[-2]))
        )
    )


WAYS = (
    Choice("cache-not-appended", "cache-step", "each step sees its own tokens alone: nothing is kept",
           {"write": lambda p: lambda state, new, n: new}),
    Choice("cache-reads-before-writing", "cache-step",
           "a step reads what was held before its own tokens came",
           {"show": lambda p: lambda before, after, new, n: after if before is None else before}),
    Choice("cache-frozen", "cache-step", "after the first piece nothing is written any more",
           {"write": lambda p: lambda state, new, n: new if state is None else state}),
    Choice("cache-appends-twice", "cache-step", "each token is written twice",
           {"write": lambda p: lambda state, new, n: join(state, new, new)}),
    Choice("cache-appends-twice-later", "cache-step", "after the first piece each token is written twice",
           {"write": lambda p: lambda state, new, n: join(state, new, *([] if state is None else [new]))}),
    Choice("cache-prepends", "cache-order", "new tokens are put before the old ones",
           {"write": lambda p: lambda state, new, n: new if state is None else join(new, state)}),
    Choice("cache-overwrites-first", "cache-kept", "new tokens are written over the first ones",
           {"write": lambda p: overwritten(0)}),
    Choice("cache-overwrites-last", "cache-kept",
           "new tokens are written from the last one's slot on, L − 1 and not L",
           {"write": lambda p: overwritten(-1)}),
    Choice("cache-drops-oldest", "cache-kept",
           "no more tokens are kept than the first piece had: the oldest go",
           {"write": first_only}),
    Choice("cache-hole", "cache-slots",
           "the first step writes at L + 1: slot L was never written, and is read",
           {"write": hole(False)}),
    Choice("cache-hole-each", "cache-slots", "each step leaves a slot that was never written, and is read",
           {"write": hole(True)}),
    Choice("cache-keys-only", "cache-values",
           "after the first piece keys are written, but no values: those are zero",
           {"write_v": lambda p: lambda state, new, n: new if state is None else join(state, 0 * new)}),
    Choice("cache-values-only", "cache-values",
           "after the first piece values are written, but no keys: those are zero",
           {"write": lambda p: lambda state, new, n: new if state is None else join(state, 0 * new),
            "write_v": lambda p: lambda state, new, n: join(state, new)}),
    Choice("cache-values-late", "cache-values", "values come a step late: the newest tokens' are still zero",
           {"show_v": lambda p: lambda before, after, new, n:
            join(after[..., : -new.shape[-2], :], 0 * new)}),
    Choice("cache-values-are-keys", "cache-values", "the keys are kept as values, too",
           {"of_values": lambda p: p.k}),
    Choice("cache-values-frozen", "cache-values", "the values of the first piece stand for all that follow",
           {"write_v": lambda p: lambda state, new, n: new if state is None
            else join(state, state[..., : new.shape[-2], :])}),
    Choice("cache-concat-wrong-axis", "cache-axis", "keys are joined along the last axis, the components",
           {"write": along(-1)}),
    Choice("cache-concat-heads", "cache-axis", "keys are joined along the axis of the heads",
           {"write": along(-3)}),
    Choice("cache-concat-batch", "cache-axis", "keys are joined along the axis of the samples",
           {"write": along(0)}),
)  # fmt: skip
MASKS = (
    Choice("cache-piece-unmasked", "cache-pieces",
           "in a piece of several tokens each sees those after it, too",
           {"visible": lambda p: lambda T_q, T_k: np.ones((T_q, T_k), bool)}),
    Choice("cache-mask-from-start", "cache-pieces",
           "the causal mask starts at the first key: a piece sees only the start",
           {"visible": lambda p: lambda T_q, T_k:
            np.arange(T_k) <= np.arange(T_q)[:, None] + (T_k if T_q == 1 else 0)}),
    Choice("cache-mask-own", "cache-pieces",
           "the causal mask starts at the first key, also for a single token",
           {"visible": lambda p: lambda T_q, T_k: np.arange(T_k) <= np.arange(T_q)[:, None]}),
)  # fmt: skip
UNWRITTEN = tuple(
    Choice("cache-unwritten-read", "cache-slots", f"all {room} slots are read, also those never written",
           {"show": roomy(room), **mask})
    for room in ROOMS for mask in (MASKS[0].changes, {})
)  # fmt: skip
SHARED = Choice("cache-shared", "cache-fresh", "a new cache holds what another one read",
                {"begin": lambda p: (p.other_k, p.other_v)})  # fmt: skip
STORE_WAYS = WAYS
STEP_WAYS = (*WAYS, *MASKS)
