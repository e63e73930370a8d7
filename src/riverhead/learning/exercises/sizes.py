"""Sizes of a model, drawn and shown."""

from __future__ import annotations

from collections.abc import Mapping

from riverhead.checking.answers import Draft
from riverhead.cost.sizes import MEANINGS
from riverhead.learning.exercises.draw import Draw
from riverhead.numbers import grouped
from riverhead.scene import Math, Sub, Symbol, Table

__all__ = ["drawn", "given", "table"]

SMALL = {"d_k": (2, 4, 8), "H": (4, 6, 8, 9)}
REAL = {"d_k": (64, 128), "H": (8, 16, 24, 32)}


def drawn(draw: Draw, real: bool, unlike: int = 0) -> dict[str, int]:
    """Return d_model, H, G and d_k, small or as in models; G is from 2 to below H, and not ``unlike``.

    >>> sorted(drawn(Draw("shapes-1-k3m9q2"), real=False))
    ['G', 'H', 'd_k', 'd_model']
    """
    of = REAL if real else SMALL
    H, G = draw.choice([(H, G) for H in of["H"] for G in range(2, H) if H % G == 0 and unlike != G])
    d_k = draw.choice(of["d_k"])
    return {"d_model": H * d_k, "H": H, "G": G, "d_k": d_k}


def given(draft: Draft, sizes: Mapping[str, int]) -> None:
    """Put the sizes down on a sheet, each under its name."""
    for name, size in sizes.items():
        draft.given(name, float(size))


def table(sizes: Mapping[str, int]) -> Table:
    """Return a table of sizes: symbol, number, meaning."""
    return Table(
        ("", "", ""), tuple((symbol(name), grouped(size), MEANINGS[name]) for name, size in sizes.items())
    )


def symbol(name: str) -> Math:
    """Return a size's symbol: d_model with its index below."""
    base, _, index = name.partition("_")
    return Sub(Symbol(base), Symbol(index)) if index else Symbol(base)
