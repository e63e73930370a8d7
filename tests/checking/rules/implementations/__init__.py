"""Attention as people write it: with one classic mistake each, and right in many forms."""

from __future__ import annotations

from importlib import import_module

from implementations.tables import Implementation

__all__ = ["LIBRARIES", "right", "wrong"]

LIBRARIES = ("numpy", "torch")

WRONG = (
    *("wrong_{}", "wrong_{}_masks", "wrong_{}_place", "wrong_{}_given", "wrong_{}_conduct"),
    *("wrong_modules_{}", "wrong_rope_{}", "wrong_parts_{}", "wrong_caches_{}"),
)
ACCEPTED = {
    "numpy": ("accepted_own", "accepted", "accepted_positions"),
    "torch": ("accepted_own_torch", "accepted_torch", "accepted_modules", "accepted_positions_torch"),
}


def wrong(library: str) -> dict[str, Implementation]:
    """Every wrong implementation, by what it is and its mistake."""
    modules = [import_module(f"implementations.{name.format(library)}") for name in WRONG]
    return {f"{each.kind} {name}": each for module in modules for name, each in module.WRONG.items()}


def right(library: str) -> dict[str, Implementation]:
    """Every right implementation, by its form."""
    modules = [import_module(f"implementations.{name}") for name in ACCEPTED[library]]
    return {form: each for module in modules for form, each in module.ACCEPTED.items()}
