"""The rows of weights of one word in two texts, laid over each other place by place, in every head."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from riverhead.inspection.comparison import HeadChange, Place, Row
from riverhead.inspection.one_word import OneWord
from riverhead.inspection.tables import first_that_holds, rules
from riverhead.transformer import head_name

__all__ = ["MAX_PLACES", "LaidOver", "lay_over"]

MAX_PLACES = 256  # listed of each head; what is measured is measured on all
TINY = float(np.finfo(np.float32).tiny)  # a row may have underflowed to 0 wherever both texts have a key

Floats = NDArray[np.float32]
Wide = NDArray[np.float64]
Keys = NDArray[np.intp]
Pair = tuple[OneWord, OneWord]


@dataclass(frozen=True, slots=True, eq=False)
class LaidOver:
    """Two rows of every head by place; `lay_over` makes it.

    ``distance`` is how many tokens before the word a place is, ``keys`` what stands there in each text, −1
    for nothing; the first is the first token's own, with distance 0 as the word itself. ``change``,
    ``alone``, ``from_habit`` and ``moved`` are those of `HeadChange`, each (n_layers, H).
    """

    both: Pair
    distance: Keys  # (n_places,)
    keys: tuple[Keys, Keys]
    weights: tuple[Wide, Wide]  # (n_layers, H, n_places), NaN where a text has no such place
    habit: tuple[Wide, Wide]
    change: Wide
    alone: Wide
    from_habit: tuple[Wide, Wide]
    moved: Keys

    def listed(self) -> list[int]:
        """Return the places to list: all, or those where a head has most weight or moved most of it."""
        n_places = len(self.distance)
        if n_places <= MAX_PLACES:
            return list(range(n_places))
        by_weight = np.argsort(-np.fmax(*self.weights).max(axis=(0, 1)), kind="stable")
        moved = np.unique(self.moved)
        others = by_weight[~np.isin(by_weight, moved)][: max(MAX_PLACES - len(moved), 0)]
        return sorted([*moved.tolist(), *others.tolist()])

    def place(self, n: int) -> Place:
        """Return place ``n`` with the tokens that stand there."""
        keys = tuple(int(key[n]) if key[n] >= 0 else None for key in self.keys)
        tokens = (None if k is None else x.tokens[k] for x, k in zip(self.both, keys, strict=True))
        a, b = tokens
        return Place(int(self.distance[n]) if n else None, (keys[0], keys[1]), (a, b))

    def head(self, at: tuple[int, int], listed: list[int]) -> HeadChange:
        """Return what one head does, its weights on the places ``listed``."""
        change, alone = float(self.change[at]), float(self.alone[at])
        off_a, off_b = _row(np.array([off[at] for off in self.from_habit]))
        farther = None if off_a is None or off_b is None else max(off_a, off_b)
        facts = {"change": change, "alone": alone, "from_habit": farther}
        rule = first_that_holds(rules("change"), facts)
        rows = [_row(x[at][listed]) for x in (*self.weights, *self.habit)]
        return HeadChange(
            head=head_name(*at),
            at=at,
            change=change,
            alone=alone,
            from_habit=(off_a, off_b),
            says=rule.words,
            changed=rule.finding,
            moved=listed.index(int(self.moved[at])),
            weights=(rows[0], rows[1]),
            habit=(rows[2], rows[3]),
        )

    def heads(self, listed: list[int]) -> tuple[HeadChange, ...]:
        """Return every head, the most changed first."""
        every = [self.head((layer, head), listed) for layer, head in np.ndindex(self.change.shape)]
        return tuple(sorted(every, key=lambda head: -head.change))


def lay_over(a: OneWord, b: OneWord) -> LaidOver:
    """Lay the rows of ``a`` and ``b`` over each other: first token on first token, then by distance."""
    distance, keys = places(*((x.word.last, x.weights.shape[-1]) for x in (a, b)))
    weights = (_at(a.weights, keys[0]), _at(b.weights, keys[1]))
    shared = (keys[0] >= 0) & (keys[1] >= 0)
    common = [np.where(shared, w, 0) for w in weights]
    p, q = (w / np.maximum(w.sum(axis=-1, keepdims=True), TINY) for w in common)
    alone = [np.nansum(np.where(shared, 0, w), axis=-1) for w in weights]
    ordinary = shared & (distance != 0)
    candidates = ordinary if ordinary.any() else shared
    return LaidOver(
        both=(a, b),
        distance=distance,
        keys=keys,
        weights=weights,
        habit=(_at(_known(a.habit), keys[0]), _at(_known(b.habit), keys[1])),
        change=np.abs(p - q).sum(axis=-1) / 2,
        alone=np.maximum(*alone),
        from_habit=(_from_habit(a), _from_habit(b)),
        moved=np.where(candidates, np.abs(common[0] - common[1]), -1).argmax(axis=-1),
    )


def places(a: tuple[int, int], b: tuple[int, int]) -> tuple[Keys, tuple[Keys, Keys]]:
    """Return the distances of all places, and the key of each text there; −1 where it has none.

    Each text is (the word's last token, the number of keys it sees). The first token is a place of its own
    and stands first, then comes the farthest, as in the text.

    >>> distance, keys = places((2, 3), (4, 5))
    >>> [row.tolist() for row in (distance[1:], *keys)]
    [[3, 2, 1, 0], [0, -1, -1, 1, 2], [0, 1, 2, 3, 4]]
    """
    farthest = max(a[0], b[0]) - 1
    nearest = min(last + 1 - n_keys for last, n_keys in (a, b))  # below 0 for keys after the word
    distance = np.arange(farthest, nearest - 1, -1)
    of_a, of_b = (
        np.where((last - distance > 0) & (last - distance < n_keys), last - distance, -1)
        for last, n_keys in (a, b)
    )
    return np.append(0, distance), (np.append(0, of_a), np.append(0, of_b))


def _at(rows: Wide | Floats, keys: Keys) -> Wide:
    """``rows`` (..., n_keys) by place, NaN where there is no key."""
    placed: Wide = np.where(keys >= 0, rows[..., keys], np.nan)
    return placed


def _known(habit: Floats) -> Wide:
    """The habit of the keys that have one in some head, NaN for the others."""
    known: Wide = np.where(habit.any(axis=(0, 1)), habit, np.nan)
    return known


def _from_habit(word: OneWord) -> Wide:
    """½ Σ|w − habit| over the keys that have a habit, (n_layers, H); NaN where none has one."""
    habit = _known(word.habit)
    off: Wide = np.nansum(np.abs(word.weights - habit), axis=-1) / 2
    return np.where(np.isnan(habit).all(axis=-1), np.nan, off)


def _row(values: Wide) -> Row:
    return tuple(None if np.isnan(value) else float(value) for value in values)
