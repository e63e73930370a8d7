"""A function that takes x and its W's: they are handed over with each call, in the sizes of a trial."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from inspect import Parameter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riverhead.checking.rules.adapting.module_names import forward_role, named, size_of
from riverhead.checking.rules.draw import Sizes

__all__ = ["Handed", "handed"]

Array = NDArray[Any]


@dataclass
class Handed:
    """The parameters of a function, which it keeps nowhere."""

    shapes: Mapping[str, tuple[int, ...]]  # by the house's names
    called: Mapping[str, str]  # what the function calls each of them
    n_heads: int
    n_kv_heads: int
    turned: bool = False  # taken as (out, in)
    arrays: dict[str, Array] = field(default_factory=dict)
    packed: bool = False
    plain: bool = True

    @property
    def names(self) -> frozenset[str]:
        """W_q, b_q, …: those that there are."""
        return frozenset(self.shapes)

    def read(self, gradient: bool = False) -> dict[str, Array]:
        """Return the arrays as they were handed over last; zeros before."""
        return {name: self.arrays.get(name, np.zeros(shape)) for name, shape in self.shapes.items()}

    def write(self, arrays: Mapping[str, Array]) -> None:
        """Hand others over from now on."""
        self.arrays = {name: np.asarray(arrays[name], float) for name in self.shapes}

    def stored(self, name: str) -> Array:
        """An array as the function takes it."""
        x = self.read()[name]
        return np.ascontiguousarray(x.T) if self.turned and x.ndim == 2 else x


def handed(parameters: list[Parameter], told: Mapping[str, int]) -> Handed:
    """Return the W's and b's that a function takes; sizes that were told decide the others."""
    s, roles = Sizes(), {size_of(p.name) for p in parameters}
    H = told.get("n_heads", s.H if "n_heads" in roles else 1)
    G = told.get("n_kv_heads", s.G if "n_kv_heads" in roles and H % s.G == 0 else H)
    d_k = told.get("d_k", s.d_k)
    d_model = told.get("d_model", s.H * s.d_k if H == 1 else H * d_k)
    wide = {
        "q": (d_model, H * d_k),
        "k": (d_model, G * d_k),
        "v": (d_model, G * d_k),
        "o": (H * d_k, d_model),
    }
    inputs = {"q", "k", "v"} if not any(forward_role(p.name) == "x" for p in parameters) else set()
    shapes, called = {}, {}
    for p in parameters:
        known = named(p.name) if len(p.name) > 1 and forward_role(p.name) not in inputs else None
        if known is not None and known.job in wide:
            name = f"{'b' if known.bias else 'W'}_{known.job}"
            shapes[name] = wide[known.job][known.bias :]
            called[name] = p.name
    return Handed(shapes, called, H, G)
