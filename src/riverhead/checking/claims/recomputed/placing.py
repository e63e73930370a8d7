"""Where in attention a printed block stands, and how well it fits there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from riverhead.checking.claims.recomputed.blocks import Block, Bools, Floats
from riverhead.checking.claims.recomputed.recompute import Inputs, Stages
from riverhead.checking.claims.recomputed.roles import Role

__all__ = ["Place", "fitting", "places"]

HIDDEN = -1e4  # what a text adds to hide a token, where it does not write −∞
_STAGES = {  # the stages that a role may mean; the last are taken only where every number fits
    Role.DOTS: (("dots", "masked dots"), ()),
    Role.SCALED: (("scaled", "unmasked"), ("dots", "masked dots")),
    Role.SCORES: (("dots", "scaled", "masked dots", "unmasked"), ("weights",)),
    Role.EXP: (("exp", "shifted exp"), ()),
    Role.SUM: (("sum", "shifted sum"), ()),
    Role.WEIGHTS: (("weights",), ("exp", "dots", "scaled")),
    Role.OUT: (("out",), ("weights",)),
    Role.GRID: (("weights", "scaled", "dots", "exp", "masked dots", "unmasked", "shifted exp"), ()),
}


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A block at ``stage``, from row ``query`` on; ``exact`` and ``fits`` have the block's own shape."""

    stage: str
    query: int
    exact: Floats
    fits: Bools
    known: bool  # the row could be no other: the only one, named, or all of them
    halves: Floats  # how far the printed digits reach here: 0 of integers that have to be equal

    @property
    def agreeing(self) -> int:
        return int(self.fits.sum())

    @property
    def whole(self) -> bool:
        return bool(self.fits.all())

    def rank(self, block: Block) -> tuple[int, int, float]:
        """The better, the larger: how many numbers fit, how soon the name says so, how near they are."""
        surely, perhaps = _STAGES[block.meaning.role]
        with np.errstate(all="ignore"):
            off = abs(block.values - self.exact) / (1 + abs(self.exact))
        near = -float(np.nan_to_num(off, nan=1e9, posinf=1e9).sum())
        return self.agreeing, -(*surely, *perhaps).index(self.stage), near


def fitting(block: Block, exact: Floats, halves: Floats) -> Bools:
    """Say of each printed number whether it is ``exact`` within ``halves``; −1e9 stands for −∞."""
    with np.errstate(all="ignore"):
        off = abs(block.values - exact)
        edge = 1e-9 * np.where(np.isfinite(exact), np.maximum(1, abs(exact)), 0)
        near: Bools = np.isfinite(exact) & (off <= halves + edge)
    hidden = np.isneginf(exact) & (block.values <= HIDDEN)
    met: Bools = near | hidden
    return met


def places(block: Block, stages: Stages, inputs: Inputs, columns: bool) -> list[Place]:
    """Return every place where the block may stand, those that its name says first."""
    surely, perhaps = _STAGES[block.meaning.role]
    found = [place for stage in surely for place in _at(block, stages, stage, inputs, columns)]
    found += [
        place for stage in perhaps for place in _at(block, stages, stage, inputs, columns) if place.whole
    ]
    return found


def _at(block: Block, stages: Stages, stage: str, inputs: Inputs, columns: bool) -> list[Place]:
    exact = stages.get(stage)
    if exact is None:
        return []
    if columns and block.depth == 2:
        exact = exact.T
    shape = block.values.shape
    if block.depth == 2 and shape == exact.shape:
        return [_place(block, stage, 0, exact, known=True)]
    if exact.shape[1] == 1 and shape == (1, len(exact)) and len(exact) > 1:  # one number for each query
        return [_place(block, stage, 0, exact.T, known=True)]
    if shape != (1, exact.shape[1]) or (columns and block.depth == 2):
        return []
    named = _query(block, inputs, len(exact))
    rows = range(len(exact)) if named is None else (named,)
    return [_place(block, stage, row, exact[row : row + 1], known=len(rows) == 1) for row in rows]


def _place(block: Block, stage: str, query: int, exact: Floats, known: bool) -> Place:
    open_name = block.meaning.role is Role.SCORES and stage not in ("dots", "masked dots")
    equal = block.whole and (open_name or not block.meaning.sure)  # else 1 1 2 would be any scores between
    halves = np.zeros_like(block.halves) if equal else block.halves
    return Place(stage, query, exact, fitting(block, exact, halves), known, halves)


def _query(block: Block, inputs: Inputs, n_queries: int) -> int | None:
    """The row whose token the name says, by its word or by its number (from 1, unless the text has a 0)."""
    token = block.meaning.token or (block.tokens[0] if block.depth == 2 and len(block.tokens) == 1 else "")
    names = [name.lower() for name in inputs.q_tokens]
    if token and token.lower() in names:
        return names.index(token.lower())
    said = [names.index(word) for word in dict.fromkeys(block.label.lower().split()) if word in names]
    if len(said) == 1:
        return said[0]
    return 0 if n_queries == 1 else None
