"""The sheet on which a derivation is worked by hand."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence

from riverhead.checking.answers.draft import Draft, Wired
from riverhead.checking.answers.sheet import Cell, Sheet
from riverhead.derivation import Derivation
from riverhead.derivation.scaling import multiplier
from riverhead.derivation.tokens import position
from riverhead.errors import InputError

__all__ = ["ASKED", "attention_sheet"]

ASKED = ("dots", "scores", "exp", "sum", "weights", "out", "y")
ASKABLE = ("q", "k", "v", "dots", "scores", "masked", "exp", "sum", "weights", "out", "merged", "y")
LARGEST_SCORE = 600.0  # beyond, a derivation takes the row's peak off first: no sum for paper

Rows = Sequence[Sequence[float]]
Label = Callable[[int, int], str]


def attention_sheet(
    derivation: Derivation,
    ask: Collection[str] = ASKED,
    *,
    decimals: int = 2,
    queries: Collection[str | int] | None = None,
) -> Sheet:
    """Return the sheet on which a derivation is worked by hand; every truth is the derivation's own.

    ``ask`` names the steps to fill in, of those there are; the others are the learner's scratch paper.
    ``queries`` keeps to the rows of some tokens. Raises `InputError`.

    >>> from riverhead.derivation import derive
    >>> worked = derive([[2, 1]], k=[[2, 0], [1, 1]], v=[[1], [0]], tokens=["bank"], tokens_k=["sea", "mud"])
    >>> [f"{cell.name}: {cell.truth:.2f}" for cell in attention_sheet(worked, ["weights", "out"]).asked]
    ['weight of bank on sea: 0.67', 'weight of bank on mud: 0.33', 'bank′, component 1: 0.67']
    """
    unknown = [name for name in ask if name not in ASKABLE]
    if unknown:
        raise InputError(f"{unknown[0]!r:.40} cannot be asked for; a sheet has {', '.join(ASKABLE)}")
    exponents = derivation[derivation.exponents].values
    peak = max((abs(x) for head in exponents for row in head for x in row if math.isfinite(x)), default=0.0)
    if peak > LARGEST_SCORE:
        raise InputError(
            f"a score is {peak:.4g}; by hand they go up to {LARGEST_SCORE:g}: make the vectors smaller"
        )
    return _Attention(derivation, ask, decimals, queries).sheet()


class _Attention:
    """The grids of a derivation, put down one after the other, each cell with its parents."""

    def __init__(
        self, worked: Derivation, ask: Collection[str], decimals: int, queries: Collection[str | int] | None
    ) -> None:
        self.worked, self.given, self.ask = worked, worked.given, ask
        self.draft = Draft(worked.title, decimals)
        tokens, every = worked.given.tokens, range(worked.given.T_q)
        self.rows = set(every) if queries is None else {position(tokens, q, "query") for q in queries}

    def sheet(self) -> Sheet:
        """Return it whole."""
        self._constants()
        self._projections()
        for head in range(self.given.n_heads):
            self._scores(head)
            self._weights(head)
            self._out(head)
        self._mixed()
        return self.draft.sheet()

    def _head(self, head: int) -> int | None:
        """What marks a head: nothing where there is only one."""
        return head if self.given.n_heads > 1 else None

    def _id(self, grid: str, head: int, *at: int) -> str:
        return Cell(grid, at, 0.0, head=self._head(head)).id

    def _kv(self, head: int) -> int:
        return head * self.given.n_kv_heads // self.given.n_heads

    def _put(self, grid: str, head: int | None, wired: Callable[[int, int], Wired], label: Label) -> None:
        """Put down one head's grid; ``wired`` and ``label`` take row and column."""
        by_query, by_key = grid not in ("k", "v"), grid in ("exp", "weights")
        exponents = self.worked[self.worked.exponents].values[head or 0]
        for i, row in enumerate(self.worked[grid].values[head or 0]):
            for j, truth in enumerate(row):
                step, parents = wired(i, j)
                at = (i,) if grid == "sum" else (i, j)
                words = label(i, j) + ("" if head is None else f", head {head}")
                asked = grid in self.ask and (not by_query or i in self.rows)
                hidden = by_key and exponents[i][j] == -math.inf
                self.draft.cell(
                    grid, step, parents, at, truth=truth, head=head, exact=hidden, asked=asked, label=words
                )

    def _constants(self) -> None:
        """What divides the dots, and what it is mistaken for."""
        g = self.given
        self.draft.given("d_k", float(g.d_k))
        self.draft.given("divisor", 1 / multiplier(g))
        d_model = len(g.x[0]) if g.x else g.d_k * g.n_heads
        if d_model != g.d_k:
            self.draft.given("root_d_model", math.sqrt(d_model))

    def _projections(self) -> None:
        g = self.given
        for name, rows in (("x", g.x), ("x_k", g.x_k)):
            if rows:
                self.draft.given(name, rows)
        for name, W in (("W_q", g.W_q), ("W_k", g.W_k), ("W_v", g.W_v)):
            if W:
                self.draft.given(name, W)
        for name, matrix, heads in (
            ("q", g.W_q, g.n_heads),
            ("k", g.W_k, g.n_kv_heads),
            ("v", g.W_v, g.n_kv_heads),
        ):
            for head in range(heads):
                if matrix is None:
                    self.draft.given(name, self.worked[name].values[head], head=self._head(head))
                else:
                    self._project(name, self._head(head), len(matrix), len(matrix[0]) // heads)

    def _project(self, name: str, head: int | None, height: int, width: int) -> None:
        """One head's q, k or v: x with that head's columns of W."""
        first, inner = (head or 0) * width, range(height)
        x = "x_k" if name != "q" and self.given.x_k else "x"
        labels = self.given.asking if name == "q" else self.given.answering

        def wired(i: int, j: int) -> Wired:
            column = [f"W_{name}.{c}.{first + j}" for c in inner]
            return "dot", [*(f"{x}.{i}.{c}" for c in inner), *column]

        self._put(name, head, wired, lambda i, j: f"{name} of {labels[i]}, component {j + 1}")

    def _pair(self, what: str) -> Label:
        asking, answering = self.given.asking, self.given.answering
        return lambda i, j: f"{what} {asking[i]} on {answering[j]}"

    def _scores(self, head: int) -> None:
        mark, kv, d = self._head(head), self._kv(head), range(self.given.d_k)

        def dot(i: int, j: int) -> Wired:
            return "dot", [*(self._id("q", head, i, c) for c in d), *(self._id("k", kv, j, c) for c in d)]

        def scaled(i: int, j: int) -> Wired:
            return "divide", [self._id("dots", head, i, j), "divisor"]

        def masked(i: int, j: int) -> Wired:
            hides = self.worked["masked"].values[head][i][j] == -math.inf
            return ("hidden", ()) if hides else ("same", [self._id("scores", head, i, j)])

        self._put("dots", mark, dot, self._pair("dot product of"))
        self._put("scores", mark, scaled, self._pair("score of"))
        if self.worked.exponents == "masked":
            self._put("masked", mark, masked, self._pair("masked score of"))

    def _weights(self, head: int) -> None:
        mark, keys = self._head(head), range(self.given.T_k)
        sums = self.worked["sum"].values[head]

        def exp(i: int, j: int) -> Wired:
            return "exp", [self._id(self.worked.exponents, head, i, j)]

        def total(i: int, j: int) -> Wired:
            return "total", [self._id("exp", head, i, n) for n in keys]

        def share(i: int, j: int) -> Wired:
            sees_nothing = sums[i][0] == 0
            return (
                ("zero", ())
                if sees_nothing
                else ("divide", [self._id("exp", head, i, j), self._id("sum", head, i)])
            )

        self._put("exp", mark, exp, self._pair("e^score of"))
        self._put("sum", mark, total, lambda i, j: f"sum of {self.given.asking[i]}'s row")
        self._put("weights", mark, share, self._pair("weight of"))

    def _out(self, head: int) -> None:
        keys, kv = range(self.given.T_k), self._kv(head)

        def mixed(i: int, j: int) -> Wired:
            weights = [self._id("weights", head, i, n) for n in keys]
            return "dot", [*weights, *(self._id("v", kv, n, j) for n in keys)]

        self._put("out", self._head(head), mixed, lambda i, j: f"{self.given.asking[i]}′, component {j + 1}")

    def _mixed(self) -> None:
        """The heads side by side, and W_o."""
        g, asking = self.given, self.given.asking
        left = "merged" if g.n_heads > 1 else "out"

        def beside(i: int, j: int) -> Wired:
            return "same", [self._id("out", j // g.d_v, i, j % g.d_v)]

        def mixed(i: int, j: int) -> Wired:
            inner = range(len(g.W_o or ()))
            return "dot", [*(f"{left}.{i}.{c}" for c in inner), *(f"W_o.{c}.{j}" for c in inner)]

        if g.n_heads > 1:
            self._put("merged", None, beside, lambda i, j: f"the heads of {asking[i]} side by side, {j + 1}")
        if g.W_o:
            self.draft.given("W_o", g.W_o)
            self._put("y", None, mixed, lambda i, j: f"y of {asking[i]}, component {j + 1}")
