"""What printed stages of attention carry forward: all that later ones may be."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from riverhead.checking.claims.recomputed.blocks import Bools, Floats
from riverhead.checking.claims.recomputed.recompute import Inputs, Spans, Way, carry

__all__ = ["Carried"]

FROM = ("weights", "exp", "scaled", "dots")  # what a stage is carried from, the nearest first


@dataclass(slots=True, eq=False)
class Carried:
    """Printed rows that are not false: what later stages may have been worked out from."""

    inputs: Inputs
    way: Way
    rows: dict[tuple[str, int], list[Spans]] = field(default_factory=dict)

    def keep(self, stage: str, query: int, low: Floats, high: Floats) -> None:
        for step, (least, most) in enumerate(zip(low, high, strict=True)):
            self.rows.setdefault((stage, query + step), []).append(Spans(least, most))

    def reaches(self, stage: str, query: int, low: Floats, high: Floats) -> Bools:
        """Say which numbers of one row, from ``low`` to ``high``, follow from what is printed before them."""
        met = np.zeros(low.shape, dtype=bool)
        if stage == "sum":
            for row in self.rows.get(("exp", query), []) + self._from("scaled", "exp", query):
                met |= Spans(row.low.sum(keepdims=True), row.high.sum(keepdims=True)).meets(low, high)
            return met
        for source in FROM[FROM.index(stage) + 1 :] if stage in FROM else FROM:
            for row in self._from(source, stage, query):
                met |= row.meets(low, high)
        if stage == "weights":
            for row in self._divided(query):
                met |= row.meets(low, high)
        return met | self._from_inputs(stage, query).meets(low, high)

    def _from(self, source: str, stage: str, query: int) -> list[Spans]:
        carried = [
            carry(row, source, stage, self.way, self.inputs, query)
            for row in self.rows.get((source, query), [])
        ]
        return [row for row in carried if row is not None]

    def _divided(self, query: int) -> list[Spans]:
        """Printed exponentials over their printed sum."""
        sums = self.rows.get(("sum", query), [])
        exps = self.rows.get(("exp", query), [])
        return [
            Spans(one.low / total.high, one.high / total.low)
            for one in exps
            for total in sums
            if total.low[0] > 0
        ]

    def _from_inputs(self, stage: str, query: int) -> Spans:
        """What the inputs give where they are rounded themselves."""
        given = self.inputs
        corners = np.stack(
            [
                (given.q[query] + a * given.q_half[query]) * (given.k + b * given.k_half)
                for a in (-1, 1)
                for b in (-1, 1)
            ]
        )  # (4, T_k, d_k)
        dots = Spans(corners.min(axis=0).sum(axis=-1), corners.max(axis=0).sum(axis=-1))
        found = carry(dots, "dots", stage, self.way, given, query)
        assert found is not None, "a stage is only reached where it was worked out"
        return found
