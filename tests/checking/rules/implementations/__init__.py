"""Attention as people write it: with one classic mistake each, and right in many forms."""

from __future__ import annotations

from importlib import import_module

from implementations.tables import Implementation

__all__ = ["accepted", "wrong"]

WRONG = {
    "numpy": ("wrong_numpy", "wrong_numpy_given", "wrong_modules_numpy", "wrong_positions_numpy"),
    "torch": ("wrong_torch", "wrong_torch_given", "wrong_modules_torch", "wrong_positions_torch"),
}
ACCEPTED = {
    "numpy": ("accepted", "accepted_positions"),
    "torch": ("accepted_torch", "accepted_modules", "accepted_positions_torch"),
}


def wrong(library: str) -> dict[tuple[str, str], Implementation]:
    """Every wrong implementation, by what it is and the id of its mistake."""
    modules = [import_module(f"implementations.{name}") for name in WRONG[library]]
    return {(each.kind, id): each for module in modules for id, each in module.WRONG.items()}


def accepted(library: str) -> dict[str, Implementation]:
    """Every right implementation, by its form."""
    modules = [import_module(f"implementations.{name}") for name in ACCEPTED[library]]
    return {form: each for module in modules for form, each in module.ACCEPTED.items()}
