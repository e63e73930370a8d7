"""The KV cache: the keys and values of the tokens already read, so that a new token costs one row."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from riverhead.core.border import Floats, count, floats
from riverhead.errors import DtypeError, ShapeError
from riverhead.shapes import check_axis, check_rank

__all__ = ["KVCache"]

LEAST_ROOM = 16  # tokens; a cache that starts with one token does not grow at each of the next


class KVCache:
    """Keys (..., G, T, d_k) and values (..., G, T, d_v) of one layer, to which tokens are appended.

    With a sliding ``window`` only the tokens that a coming query can see are kept. Shazeer 2019, §2.4.

    >>> cache = KVCache()
    >>> for token in ([[1.0, 0.0]], [[0.0, 1.0]]):
    ...     keys, values = cache.append(token, token)
    >>> len(cache), keys.shape, cache.nbytes
    (2, (2, 2), 64)
    """

    def __init__(self, *, window: int | None = None) -> None:
        self.window = None if window is None else count("window", window)
        self._rooms: tuple[Floats, ...] = ()  # k's and v's, larger than what is held
        self._first = self._end = 0  # the tokens held stand there at first:end
        self._length = 0

    def __len__(self) -> int:
        """Return how many tokens have been appended, which is the position of the next one."""
        return self._length

    @property
    def nbytes(self) -> int:
        """The bytes of the keys and values held, without the room for more."""
        return sum(held.nbytes for held in self._held())

    def append(self, k: ArrayLike, v: ArrayLike) -> tuple[Floats, Floats]:
        """Add the keys and values of the next tokens; return all that are held, read-only.

        Their queries then attend to what comes back, with ``causal=True`` and the same ``window``. Raises
        `ShapeError` or `DtypeError` if they differ from the tokens before by more than their number.
        """
        new = floats("k", k), floats("v", v)
        self._check(*new)
        T = new[0].shape[-2]
        if self.window is not None:  # the first new query sees window − 1 tokens before itself
            self._first = max(self._first, self._end - (self.window - 1))
        if not self._rooms or self._end + T > self._rooms[0].shape[-2]:
            self._move(new)
        for room, x in zip(self._rooms, new, strict=True):
            room[..., self._end : self._end + T, :] = x
        self._end += T
        self._length += T
        keys, values = self._held()
        return keys, values

    def _held(self) -> list[Floats]:
        held = [room[..., self._first : self._end, :] for room in self._rooms]
        for view in held:
            view.flags.writeable = False
        return held

    def _move(self, new: tuple[Floats, Floats]) -> None:
        """Move what is held to the front of new arrays, with room for twice as much."""
        n_held = self._end - self._first
        room = max(2 * (n_held + new[0].shape[-2]), LEAST_ROOM)
        larger = tuple(np.empty((*x.shape[:-2], room, x.shape[-1]), x.dtype) for x in new)
        for to, held in zip(larger, self._held(), strict=False):  # nothing is held before the first
            to[..., :n_held, :] = held
        self._rooms, self._first, self._end = larger, 0, n_held

    def _check(self, k: Floats, v: Floats) -> None:
        check_rank("k", k.shape, "T_k d_k")
        check_rank("v", v.shape, "T_k d_v")
        check_axis("T_k", "each key is paired with one value", k=k.shape[-2], v=v.shape[-2])
        for name, room, x in zip("kv", self._rooms, (k, v), strict=False):
            if (*x.shape[:-2], x.shape[-1]) != (*room.shape[:-2], room.shape[-1]):
                held = (*room.shape[:-2], self._end - self._first, room.shape[-1])
                raise ShapeError(f"{name} is {x.shape}, the cache holds {held}; only T_k may differ")
            if x.dtype != room.dtype:
                raise DtypeError(f"{name} is {x.dtype}, the cache holds {room.dtype}; convert one of them")
