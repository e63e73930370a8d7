"""Functions that give the positions of padded rows, and functions that make two partial results one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from riverhead.checking.rules.adapting.arrays import Kind, order
from riverhead.checking.rules.adapting.returns import as_array, dtype_of, said
from riverhead.checking.rules.adapting.signature import Asked, name_of
from riverhead.checking.rules.adapting.slots import Slots, slots_of
from riverhead.checking.rules.call import Call, Outcome
from riverhead.errors import InputError

__all__ = ["merge", "positions"]

SIDES = ("out_a", "lse_a", "out_b", "lse_b")


@dataclass(frozen=True, slots=True)
class PartAdapter:
    """Calls a function of arrays alone; ``wide`` where each sum has an axis of 1 beside its row."""

    name: str
    kind: str
    take: Slots
    array: Kind
    notes: tuple[str, ...]
    wide: bool = False
    offers: frozenset[str] = frozenset()

    def run(self, call: Call) -> Outcome:
        """Call the function once; what it raises goes through."""
        given = {}
        for name, x in call.arrays.items():
            x = x.astype(np.int64) if x.dtype.kind == "b" else x
            given[name] = self.array.give(
                x[..., None] if self.wide and name.startswith("lse") else x, call.dtype
            )
        result = self.take(given)
        if self.kind == "positions":
            return Outcome({"out": as_array(result)}, {"dtype": "float64"})
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            raise TypeError(
                f"it returned {said(result)}; the output of both parts and their log-sum-exp are wanted"
            )
        out, lse = (as_array(x) for x in result)
        lse = lse[..., None] if lse.ndim < out.ndim else lse
        return Outcome({"out": np.concatenate([out, lse], axis=-1)}, {"dtype": dtype_of(result[0])})


def _adapter(thing: Any, asked: Asked, kind: str, take: Slots, tries: Mapping[str, Any]) -> PartAdapter:
    raised: dict[str, str] = {}
    notes = (f"takes {take.words}",)
    for array in order(thing, asked.arrays):
        for wide in (False, True) if kind == "merge" else (False,):
            adapter = PartAdapter(name_of(thing), kind, take, array, (array.words, *notes), wide)
            try:
                shape = adapter.run(Call(tries)).out.shape
            except Exception as error:  # noqa: BLE001 - it is somebody's code
                raised.setdefault(array.words, f"{type(error).__name__}: {error}".splitlines()[0][:300])
                continue
            if kind == "positions" or shape == (5, 4):
                return adapter
            raised.setdefault(array.words, f"outputs (5, 3) and sums (5,) were merged to {shape}")
    lines = "".join(f"\n  {words}: {why}" for words, why in raised.items())
    raise InputError(f"{name_of(thing)} could not be called:{lines}")


def positions(thing: Any, asked: Asked | None = None) -> PartAdapter:
    """Return how a function of a mask (B, T), 1 where a token is real, is called; it gives positions (B, T).

    >>> positions(lambda attention_mask: attention_mask.cumsum(-1) - 1).notes[-1]
    'takes attention_mask'
    """
    asked = asked or Asked()
    take = slots_of(thing, "places", asked.arguments, ("mask",))
    return _adapter(thing, asked, "positions", take, {"mask": np.ones((3, 5), bool)})


def merge(thing: Any, asked: Asked | None = None) -> PartAdapter:
    """Return how a function of two outputs (T, d) and their log-sum-exps (T,) is called.

    By position they are out_a, lse_a, out_b, lse_b. Raises `InputError` where it cannot be called.
    """
    asked = asked or Asked()
    take = slots_of(thing, "merge", asked.arguments, SIDES)
    tries = {name: np.ones((5, 3)) if name.startswith("out") else np.ones(5) for name in SIDES}
    return _adapter(thing, asked, "merge", take, tries)
