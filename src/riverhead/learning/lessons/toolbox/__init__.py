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

NAMES: dict[str, Callable[..., Any]] = {}
IN_A_MODEL: dict[str, Callable[..., Any]] = {}  # these take the model first

for name in MODULES:
    module = import_module(f"{__name__}.{name}")
    for found, names in ((NAMES, "NAMES"), (IN_A_MODEL, "IN_A_MODEL")):
        for word, call in getattr(module, names, {}).items():
            if word in NAMES or word in IN_A_MODEL:
                raise KeyError(f"two modules of the toolbox call something {word!r}; {name} is the second")
            found[word] = call
