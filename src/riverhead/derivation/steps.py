"""The steps of a derivation, in order: what each is called and what its rows and columns are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from riverhead.derivation.arrays import Grid

__all__ = ["KINDS", "Kind", "Step"]

Axis = Literal["queries", "keys", "components", "sum"]


@dataclass(frozen=True, slots=True)
class Kind:
    """What every step of one name has in common."""

    title: str
    rows: Axis
    columns: Axis


KINDS = {
    "tokens": Kind("The tokens", "queries", "components"),
    "x": Kind("One vector for each token", "queries", "components"),
    "x_k": Kind("One vector for each token that answers", "keys", "components"),
    "q": Kind("Queries: what each token asks", "queries", "components"),
    "k": Kind("Keys: what each token answers to", "keys", "components"),
    "v": Kind("Values: what each token hands over", "keys", "components"),
    "dots": Kind("Score: every query · every key", "queries", "keys"),
    "scores": Kind("Scale", "queries", "keys"),
    "masked": Kind("Mask", "queries", "keys"),
    "exp": Kind("Exponentials", "queries", "keys"),
    "sum": Kind("Sum of each row", "queries", "sum"),
    "weights": Kind("Weights: each row a recipe", "queries", "keys"),
    "out": Kind("Spend the weights on the values", "queries", "components"),
    "merged": Kind("The heads side by side", "queries", "components"),
    "y": Kind("W_o mixes the heads", "queries", "components"),
    "formula": Kind("The formula", "queries", "components"),
}


@dataclass(frozen=True, slots=True)
class Step:
    """One step: every number it makes, and what is true of them."""

    name: str  # one of KINDS
    says: str
    values: Grid = ()  # (heads, rows, columns); nothing for the tokens and the formula

    @property
    def title(self) -> str:
        """The step in a few words."""
        return KINDS[self.name].title

    @property
    def array(self) -> NDArray[np.float64]:
        """The numbers as an array (heads, rows, columns)."""
        return np.array(self.values)
