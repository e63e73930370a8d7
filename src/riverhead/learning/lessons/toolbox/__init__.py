"""What lessons may call by name: sums, figures, and what needs a real model. One module for each."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

__all__ = ["IN_A_MODEL", "NAMES"]

MODULES = (
    "sums",
    "figures",
    "real",
    "projections",
    "spread",
    "mixtures",
    "real_values",
    "cost",
    "positions",
    "masks",
    "heads",
    "real_layer",
    "tiny",
    "block",
)

Words = dict[str, Callable[..., Any]]


def _gathered() -> tuple[Words, Words]:
    names, in_a_model = Words(), Words()
    for name in MODULES:
        module = import_module(f"{__name__}.{name}")
        for found, table in ((names, "NAMES"), (in_a_model, "IN_A_MODEL")):
            for word, call in getattr(module, table, {}).items():
                if word in names or word in in_a_model:
                    raise KeyError(f"two modules of the toolbox have the word {word!r}; {name} is the second")
                found[word] = call
    return names, in_a_model


NAMES, IN_A_MODEL = _gathered()  # the latter take the model first
