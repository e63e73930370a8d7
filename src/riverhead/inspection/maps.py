"""The maps of heads over a text: any weight of any of them, and a picture of any window."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from riverhead.core import AttentionMap, attend
from riverhead.cost import Config
from riverhead.derivation.tokens import bare
from riverhead.display import Displayable
from riverhead.errors import InputError
from riverhead.inspection.words import find, words_read
from riverhead.numbers import fixed
from riverhead.scene import Axis, Heatmap, Matrix, Part, Scene, Symbol, Text
from riverhead.transformer import Reading, head_name, parse_head

__all__ = ["HeadMap", "HeadMaps", "head_maps", "heads_named", "window"]

HELD_BYTES = 512_000_000  # of q and k
LISTED = 1 << 18  # weights that are written out one by one
NUMBERS = 12  # queries and keys up to which a scene has every weight as a number

Array = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class HeadMap:
    """What a head's map follows from: its q and k, their scale, and which keys a query sees.

    >>> x = np.eye(3, dtype=np.float32)
    >>> HeadMap("L0.H0", x, x, scale=1.0, causal=True, window=None).weights[2].round(3)
    array([0.212, 0.212, 0.576])
    """

    name: str
    q: Array  # (T, d_k)
    k: Array  # (T, d_k)
    scale: float
    causal: bool
    window: int | None

    def sees(self, i: int, j: int) -> bool:
        """Whether the query ``i`` may attend to the key ``j``."""
        return (j <= i or not self.causal) and (self.window is None or abs(i - j) < self.window)

    @property
    def weights(self) -> AttentionMap:
        """The map (T, T) in float64, made from the float32 q and k whenever it is asked for."""
        q, k = self.q.astype(np.float64), self.k.astype(np.float64)
        nothing = np.zeros((len(k), 1))
        return attend(q, k, nothing, scale=self.scale, causal=self.causal, window=self.window, top=0)


@dataclass(frozen=True, eq=False)
class HeadMaps(Displayable):
    """The maps of some heads of a model over the tokens of one text (T)."""

    model: str
    tokens: tuple[str, ...]
    heads: tuple[HeadMap, ...]
    opens: str  # what --model calls the model

    @property
    def title(self) -> str:
        """Whose maps these are, and how long the text is."""
        whose = self.heads[0].name if len(self.heads) == 1 else f"{len(self.heads)} heads"
        return f"{whose} of {self.model}, {len(self.tokens):,} tokens"

    def seen(self, rows: range) -> range:
        """Return the keys that a query of ``rows`` sees in any of the heads, from the first to the last."""
        T = len(self.tokens)
        reach = [T if head.window is None else head.window - 1 for head in self.heads]
        ahead = [0 if head.causal else n for head, n in zip(self.heads, reach, strict=True)]
        return range(max(rows.start - max(reach), 0), min(rows.stop + max(ahead), T))

    def scene(self, rows: range | None = None, keys: range | None = None, size: int = 64) -> Scene:
        """Lay out a window of each map: its weights up to 12 × 12, else at most ``size`` × ``size`` shades.

        A shade stands for the largest of the weights that fall into it. Without ``keys`` they are those that
        a query of ``rows`` sees.
        """
        rows = rows or range(len(self.tokens))
        keys = keys or self.seen(rows)
        parts: list[Part] = []
        for head in self.heads:
            if len(self.heads) > 1:
                parts.append(Text((head.name,), "heading"))
            parts.append(self._drawn(head, rows, keys, size))
        note = NOTE + self.heads[0].causal * ADVICE.format(model=self.opens, head=self.heads[0].name)
        return Scene(self.title, (*parts, Text((note,), "note")))

    def _drawn(self, head: HeadMap, rows: range, keys: range, size: int) -> Part:
        A = head.weights
        down, across = self._axis("query", rows, size), self._axis("key", keys, size)
        if max(len(rows), len(keys)) <= NUMBERS:
            cells = tuple(tuple(fixed(A[i, j]) if head.sees(i, j) else None for j in keys) for i in rows)
            return Matrix(Symbol("A"), down.labels, across.labels, cells, shade=True)
        picture = _picture(A, rows, keys, size)
        tall, wide = (-(-len(side) // n) for side, n in zip((rows, keys), picture.shape, strict=True))
        caption = f"queries {_ends(rows)}, keys {_ends(keys)}"
        return Heatmap(tuple(map(tuple, picture.tolist())), down, across, caption, pooled=(tall, wide))

    def _axis(self, name: str, side: range, size: int) -> Axis:
        if len(side) <= max(size, NUMBERS):
            return Axis(name, tuple(bare(self.tokens[n]) for n in side), first=side.start)
        first, last = (f"{n:,} {bare(self.tokens[n])}" for n in (side[0], side[-1]))
        return Axis(name, ends=(first, last))

    def cut(self, rows: range | None = None, keys: range | None = None) -> dict[str, NDArray[np.float64]]:
        """Return the weights of a window of each map (n, m), by head; a hidden one is 0.

        Without ``keys`` they are those that a query of ``rows`` sees. Raises `InputError` where the weights
        are more than 262,144.
        """
        rows = rows or range(len(self.tokens))
        keys = keys or self.seen(rows)
        if (n := len(self.heads) * len(rows) * len(keys)) > LISTED:
            raise InputError(
                f"the window has {n:,} weights, at most {LISTED:,} are written out: "
                "name fewer heads, or less of them with rows and keys"
            )
        return {head.name: head.weights[_slice(rows), _slice(keys)] for head in self.heads}


NOTE = "A weight alone is no finding: a head may look at a place whatever the word."
# what happens without the head is measured in next-token odds, which only a causal model has
ADVICE = (
    " riverhead show TEXT --model {model} --head {head} sets habit, swap and what happens without the head "
    "beside it."
)


def head_maps(reading: Reading, heads: Sequence[str]) -> HeadMaps:
    """Return the maps of ``heads`` over the text that was read.

    Raises `InputError` for a head the model does not have, and for more of them than 512 MB of q and k.
    """
    config, T = reading.model.config, len(reading.tokens)
    n_bytes = 4 * len(heads) * T * config.d_k * 2
    if n_bytes > HELD_BYTES:
        raise InputError(
            f"q and k of {len(heads)} heads over {T:,} tokens take {n_bytes / 1e6:,.0f} MB, at most "
            f"{HELD_BYTES / 1e6:,.0f} MB are held: name fewer heads, or give a shorter text"
        )
    found = []
    for name in heads:
        head = reading.head(name)
        found.append(HeadMap(head.name, head.q, head.k, float(head.scale), head.causal, head.window))
    model = reading.model
    return HeadMaps(model.title, tuple(reading.tokens), tuple(found), model.name)


def heads_named(patterns: Sequence[str], config: Config) -> tuple[str, ...]:
    """Return the heads that patterns name, each once: ``L16.H0``, ``L16.*``, ``*.H3``, ``all``.

    Raises `InputError` for a pattern that is none of these, and for a layer or a head that is not there.

    >>> from types import SimpleNamespace
    >>> heads_named(["L1.*"], SimpleNamespace(n_layers=2, n_heads=3))
    ('L1.H0', 'L1.H1', 'L1.H2')
    """
    found: dict[str, None] = {}
    for pattern in patterns:
        said = "*.*" if pattern.strip().lower() == "all" else pattern.strip().upper()
        match = re.fullmatch(r"(?:L(\d{1,6})|\*)\.(?:H(\d{1,6})|\*)", said, re.ASCII)
        if match is None:
            raise InputError(f"{pattern!r:.60} names no heads; write L16.H0, L16.*, *.H3 or all")
        layer, head = match.groups()
        parse_head((int(layer or 0), int(head or 0)), config)
        for at in range(config.n_layers) if layer is None else [int(layer)]:
            for index in range(config.n_heads) if head is None else [int(head)]:
                found[head_name(at, index)] = None
    return tuple(found)


def window(reading: Reading, said: str, axis: str) -> range:
    """Return the tokens that ``said`` names: ``100:160``, ``:50``, ``412``, ``bank#2``, ``river:bank``.

    Numbers count from 0 and end before the last, as in Python; a word is there with all its tokens. Raises
    `InputError` naming ``axis``.
    """
    T = len(reading.tokens)
    first, colon, last = said.strip().partition(":")
    start = _place(reading, first, axis) if first or not colon else range(1)
    stop = _place(reading, last, axis, end=True) if last else range(T) if colon else start
    found = range(start.start, stop.stop)
    if not 0 <= found.start < found.stop <= T:
        raise InputError(
            f"{axis} {said!r:.60} is {found.start}:{found.stop}; the tokens are 0:{T}, and a window has at "
            "least one of them"
        )
    return found


def _place(reading: Reading, said: str, axis: str, end: bool = False) -> range:
    """The tokens of a word, or the one with this number; as an end that one is no longer there."""
    if said.isascii() and said.isdecimal() and len(said) < 10:
        return range(int(said), int(said) + (not end))
    try:
        word = find(words_read(reading.model.tokenizer, reading.text, reading.token_ids), said)
    except InputError as wrong:
        raise InputError(f"{axis}: {wrong}; or numbers, as 100:160") from None
    return range(word.start, word.stop)


def _slice(side: range) -> slice:
    return slice(side.start, side.stop)


def _ends(side: range) -> str:
    return f"{side[0]:,} to {side[-1]:,}"


def _picture(A: AttentionMap, rows: range, keys: range, size: int) -> NDArray[np.float64]:
    """The largest weights of a window in at most ``size`` × ``size`` cells, a row of cells at a time."""
    at_row, at_key = (np.arange(n := min(size, len(side))) * len(side) // n for side in (rows, keys))
    ends = [*at_row[1:], len(rows)]
    return np.stack(
        [
            np.maximum.reduceat(A[rows.start + a : rows.start + b, _slice(keys)], at_key, axis=1).max(axis=0)
            for a, b in zip(at_row, ends, strict=True)
        ]
    )
