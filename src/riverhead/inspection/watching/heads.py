"""Which heads are watched: names, pairs, or a question asked of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from riverhead.errors import InputError
from riverhead.transformer.names import HeadName, head_name, read_head

__all__ = ["Choice", "Heads"]

Heads = HeadName | Iterable[HeadName] | Callable[[int, int], object] | None


class Choice:
    """The heads asked for; a layer's are known when it is first called.

    >>> Choice(["L1.H0", (1, 2)]).of(1, n_heads=3)
    (0, 2)
    """

    def __init__(self, heads: Heads) -> None:
        self._asks = heads if callable(heads) else None
        self._wanted = None if heads is None or callable(heads) else _pairs(heads)
        self._met: set[tuple[int, int]] = set()

    def of(self, layer: int, n_heads: int) -> tuple[int, ...]:
        """Return the chosen heads of a layer; `InputError` where it has none of that number."""
        if self._wanted is None:
            return tuple(h for h in range(n_heads) if self._asks is None or self._asks(layer, h))
        mine = sorted(pair for pair in self._wanted if pair[0] == layer)
        for pair in mine:
            if pair[1] >= n_heads:
                raise InputError(f"{head_name(*pair)}: L{layer} has {n_heads} heads: H0 to H{n_heads - 1}")
        self._met.update(mine)
        return tuple(h for _, h in mine)

    def missed(self) -> list[str]:
        """Return the names of the heads that no layer had."""
        return [head_name(*pair) for pair in sorted((self._wanted or set()) - self._met)]


def _pairs(heads: HeadName | Iterable[HeadName]) -> set[tuple[int, int]]:
    one = isinstance(heads, str) or (
        isinstance(heads, tuple) and bool(heads) and all(isinstance(n, int) for n in heads)
    )
    several: Any = [heads] if one else heads
    try:
        pairs = {read_head(head) for head in several}
    except TypeError as error:
        raise InputError(
            f"heads is {heads!r}; it takes names as L3.H5, pairs as (3, 5), or a function of layer and head"
        ) from error
    if not pairs:
        raise InputError("heads is empty; leave it out to watch every head")
    return pairs
